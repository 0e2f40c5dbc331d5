"""A user with few rights runs through the whole list of attacks while a job commits."""

import json
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pymysql
import pytest

from syncmgr.config.settings import find
from tests.acceptance.frontend import ROOT, FrontendProcess
from tests.attacks.console import GUESSED, LOADER, NOBODY, PASSWORD, READER
from tests.attacks.rounds import ATTACKS
from tests.support.servers.mysql import MysqlServer
from tests.support.until import HANG_SECOND, until

pytestmark = [pytest.mark.mysql, pytest.mark.spark, pytest.mark.long]

BINLOG = (
    'FROM BINLOG ("type" = "mysql", "start" = "latest", "mysql.host" = "127.0.0.1", "mysql.port" = "{port}",'
    ' "mysql.user" = "root", "mysql.password" = "", "mysql.ssl" = "disabled")'
)
PROBES = 20  # rows, each of which has to arrive before the next
LOOKS = 50
MOST_TIMES = 2.0  # as old as at rest
MOST_MEMORY = 600 << 20  # more of the frontend than at rest
LOOK_SECOND = 0.1
ROUND_SECOND = 1200.0  # of the longest, on a busy machine


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """Seconds, each sorted: until a row was committed, and until SHOW SYNC JOB had answered, login included."""

    ages: list[float]
    shows: list[float]

    def __add__(self, other: "Measured") -> "Measured":
        return Measured(ages=sorted(self.ages + other.ages), shows=sorted(self.shows + other.shows))

    def __str__(self) -> str:
        ages, shows = (f"{statistics.median(each):.2f} s, p99 {p99(each):.2f} s" for each in (self.ages, self.shows))
        return f"rows {ages}; SHOW {shows}"


def p99(values: list[float]) -> float:
    return values[int(0.99 * (len(values) - 1) + 0.5)]


class Victim:
    """A frontend with a job, and three accounts that it should not have trusted."""

    def __init__(self, mysql: MysqlServer, folder: Path) -> None:
        self.mysql, self.rows = mysql, 0
        self.cut_off = 0
        self.rest: Measured | None = None  # after the last attack
        self.fe = FrontendProcess(folder, {"query_nice": find("query_nice").default}).start()
        mysql.run("CREATE DATABASE attacked", "CREATE TABLE attacked.t (id BIGINT PRIMARY KEY)")
        self.fe.sql("CREATE DATABASE attacked")
        self.fe.sql("CREATE DATABASE own")
        for name in ("attacked.t", "own.t"):
            self.fe.sql(f"CREATE TABLE {name} (id BIGINT NOT NULL) UNIQUE KEY(id)")
        for user in (NOBODY, READER, LOADER, GUESSED):
            self.fe.sql(f"CREATE USER {user} IDENTIFIED BY '{PASSWORD}'")
        self.fe.sql(f"GRANT SELECT_PRIV ON attacked.t TO {READER}")
        self.fe.sql(f"GRANT LOAD_PRIV ON own.* TO {LOADER}")
        self.fe.sql(f"CREATE SYNC attacked.job1 (FROM attacked.t INTO t) {BINLOG.format(port=mysql.port)}")
        until(lambda: self.fe.job("attacked")["State"] == "RUNNING", why="the job")

    def measured(self) -> Measured:
        return Measured(
            ages=sorted(self._age() for _ in range(PROBES)), shows=sorted(self._look() for _ in range(LOOKS))
        )

    def measured_for(self, seconds: float) -> Measured:
        """As many rows as come in this time, at least one, and SHOW after each. A login of ours that was cut off
        is counted: it comes from the attacker's address, and has no place of its own.
        """
        ages, shows, end = list[float](), list[float](), time.monotonic() + seconds
        while not ages or not shows or time.monotonic() < end:
            try:
                ages.append(self._age())
                shows.append(self._look())
            except pymysql.err.OperationalError:
                self.cut_off += 1
        return Measured(ages=sorted(ages), shows=sorted(shows))

    def _look(self) -> float:
        begun = time.monotonic()
        self.fe.sql("SHOW SYNC JOB FROM attacked")
        return time.monotonic() - begun

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
    it.measured()  # what is done for the first time takes longer
    it.fe.sql("SELECT count(*) FROM attacked.t")  # starts the query engine, which no attack is to wait for
    yield it
    it.fe.kill()


class Attack:
    """In a process of its own; returns what its rounds reported."""

    def __init__(self, name: str, victim: Victim) -> None:
        command = [sys.executable, "-m", "tests.attacks", name, str(victim.fe.port), str(victim.mysql.port)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        self._victim = victim
        self._lines: list[dict[str, Any]] = []
        self.peak = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.append(json.loads(line))

    def _watch(self) -> None:
        while self._process.poll() is None:
            self.peak = max(self.peak, self._victim.memory())
            time.sleep(LOOK_SECOND)

    @property
    def begun(self) -> bool:
        return bool(self._lines)

    @property
    def rounds(self) -> list[dict[str, Any]]:
        return self._lines[1:]

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for each in (self._reader, self._watcher):
            each.join(HANG_SECOND)
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.mark.parametrize("name", ATTACKS)
def test_rows_arrive_whoever_attacks(victim: Victim, name: str) -> None:
    """Twice as old as at rest at most, by medians, and SHOW answers; every statement of the attack is answered; the
    frontend's memory stays bounded, and nothing is left over.
    """
    before = victim.rest or victim.measured()
    memory = victim.memory()
    attack = Attack(name, victim)
    try:
        until(lambda: attack.begun, why="the attacker")
        during = victim.measured()
        until(lambda: attack.rounds, deadline=ROUND_SECOND, why="the end of a round")
    finally:
        attack.end()
    victim.rest = victim.measured()
    rest = before + victim.rest
    times = statistics.median(during.ages) / statistics.median(rest.ages)
    grown, left = attack.peak - memory, victim.memory() - memory
    answers = Counter[str]()
    for each in attack.rounds:
        answers.update(each["answers"])
    print(
        f"\n{name}: {times:.2f} times as old; attacked {during}; at rest {rest};"
        f" {grown >> 20} MiB more, {left >> 20} MiB of them left; {len(attack.rounds)} rounds, answers {dict(answers)}"
    )
    assert [each["broken"] for each in attack.rounds if each["broken"]] == []
    assert all(each["sent"] == sum(each["answers"].values()) for each in attack.rounds)
    assert times < MOST_TIMES
    assert grown < MOST_MEMORY
    assert victim.fe.job("attacked")["State"] == "RUNNING"
    assert victim.fe.sql("SELECT count(*) AS n FROM attacked.t") == [{"n": victim.rows}]
