"""A user with few rights runs through the whole list of attacks while a job commits."""

import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.acceptance.frontend import ROOT, FrontendProcess
from tests.attacks.rounds import ATTACKS, LOADER, NOBODY, PASSWORD, READER
from tests.servers import MysqlServer
from tests.until import HANG_SECOND, until

pytestmark = [pytest.mark.mysql, pytest.mark.spark, pytest.mark.long]

BINLOG = (
    'FROM BINLOG ("type" = "mysql", "start" = "latest", "mysql.host" = "127.0.0.1", "mysql.port" = "{port}",'
    ' "mysql.user" = "root", "mysql.password" = "", "mysql.ssl" = "disabled")'
)
PROBES = 15  # rows, each of which has to arrive before the next
MOST_TIMES = 2.0  # as old as at rest
OF_TEXTS = {"brackets": 4.0, "long-texts": 6.0}  # megabytes that a parser reads in the frontend's own process
MOST_MEMORY = 600 << 20  # more of the frontend than at rest


class Victim:
    """A frontend with a job, and three accounts that it should not have trusted."""

    def __init__(self, mysql: MysqlServer, folder: Path) -> None:
        self.mysql, self.rows = mysql, 0
        self.fe = FrontendProcess(folder, {"query_nice": 10}).start()
        mysql.run("CREATE DATABASE attacked", "CREATE TABLE attacked.t (id BIGINT PRIMARY KEY)")
        self.fe.sql("CREATE DATABASE attacked")
        self.fe.sql("CREATE DATABASE own")
        for name in ("attacked.t", "own.t"):
            self.fe.sql(f"CREATE TABLE {name} (id BIGINT NOT NULL) UNIQUE KEY(id)")
        for user in (NOBODY, READER, LOADER):
            self.fe.sql(f"CREATE USER {user} IDENTIFIED BY '{PASSWORD}'")
        self.fe.sql(f"GRANT SELECT_PRIV ON attacked.t TO {READER}")
        self.fe.sql(f"GRANT LOAD_PRIV ON own.* TO {LOADER}")
        self.fe.sql(f"CREATE SYNC attacked.job1 (FROM attacked.t INTO t) {BINLOG.format(port=mysql.port)}")
        until(lambda: self.fe.job("attacked")["State"] == "RUNNING", why="the job")

    def ages(self) -> list[float]:
        """Seconds until each of some rows was committed."""
        return [self._age() for _ in range(PROBES)]

    def _age(self) -> float:
        begun = time.monotonic()
        self.rows += 1
        self.mysql.run(f"INSERT INTO attacked.t VALUES ({self.rows})")
        until(lambda: self.fe.job("attacked")["Status"]["consumed_rows"] >= self.rows, step=0.01, why="the row")
        return time.monotonic() - begun

    def memory(self) -> int:
        assert self.fe.process is not None
        return psutil.Process(self.fe.process.pid).memory_info().rss


@pytest.fixture(scope="module")
def victim(mysql_server: MysqlServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    it = Victim(mysql_server, tmp_path_factory.mktemp("attacked"))
    it.ages()
    yield it
    it.fe.kill()


class Attack:
    """In a process of its own; it counts the rounds that have ended."""

    def __init__(self, name: str, port: int) -> None:
        command = [sys.executable, "-m", "tests.attacks", name, str(port)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        self.rounds = 0
        self._reader = threading.Thread(target=self._count, daemon=True)
        self._reader.start()

    def _count(self) -> None:
        assert self._process.stdout is not None
        for _ in self._process.stdout:
            self.rounds += 1

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(HANG_SECOND)
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.mark.parametrize("name", ATTACKS)
def test_rows_arrive_whoever_attacks(victim: Victim, name: str) -> None:
    """Twice as old as at rest at most, by medians; the frontend's memory stays bounded, and nothing is left over."""
    memory, before = victim.memory(), victim.ages()
    attack = Attack(name, victim.fe.port)
    try:
        until(lambda: attack.rounds, why="the first round")
        during = victim.ages()
    finally:
        attack.end()
    after = victim.ages()
    rest = statistics.median(before + after)
    times = statistics.median(during) / rest
    grown = victim.memory() - memory
    print(
        f"{name}: {times:.2f} times as old (rest {rest:.2f} s, attacked at most {max(during):.2f} s),"
        f" {attack.rounds} rounds, {grown >> 20} MiB more"
    )
    assert times < OF_TEXTS.get(name, MOST_TIMES)
    assert grown < MOST_MEMORY
    assert victim.fe.job("attacked")["State"] == "RUNNING"
    assert victim.fe.sql("SELECT count(*) AS n FROM attacked.t") == [{"n": victim.rows}]
