"""What an operator sees while something is broken, and what the lake holds afterwards."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from syncmgr.errors import Code
from syncmgr.job.failure import TREATMENTS
from tests.acceptance.frontend import QUIET_LAG_SECOND, FrontendProcess
from tests.support.files import below
from tests.support.servers.mysql import MysqlServer
from tests.support.servers.proxy import Proxy
from tests.support.small_disk import NoMountError, SmallDisk
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

BINLOG = (
    'FROM BINLOG ("type" = "mysql", "mysql.host" = "127.0.0.1", "mysql.port" = "{port}", "mysql.user" = "root",'
    ' "mysql.password" = "", "mysql.ssl" = "disabled")'
)
SMALL = 'PROPERTIES ("max_retry" = "0")'


def small_disk(folder: Path, mebibytes: int) -> SmallDisk:
    try:
        return SmallDisk(folder, mebibytes)
    except NoMountError as error:
        pytest.skip(f"a small disk cannot be mounted here: {error}")


class Place:
    """A source, a bad network, and a frontend whose metadata is on a small disk if that is allowed."""

    def __init__(self, mysql: MysqlServer, fe: FrontendProcess, proxy: Proxy, meta: SmallDisk | None) -> None:
        self.mysql, self.fe, self.proxy, self.meta = mysql, fe, proxy, meta

    def create(self, db: str, *tables: str) -> None:
        self.mysql.run(f"CREATE DATABASE {db}")
        self.fe.sql(f"CREATE DATABASE {db}")
        for table in tables:
            self.mysql.run(f"CREATE TABLE {db}.{table} (id BIGINT PRIMARY KEY, v LONGTEXT)")
            self.fe.sql(f"CREATE TABLE {db}.{table} (id BIGINT NOT NULL, v STRING) UNIQUE KEY(id)")
        channels = ", ".join(f"FROM {db}.{table} INTO {table}" for table in tables)
        self.fe.sql(f"CREATE SYNC {db}.job1 ({channels}) {BINLOG.format(port=self.proxy.port)} {SMALL}")

    def is_equal(self, db: str, table: str) -> bool:
        rows = [tuple(row.values()) for row in self.fe.sql(f"SELECT id, sha2(v, 256) FROM {db}.{table} ORDER BY id")]
        return rows == self.mysql.run(f"SELECT id, sha2(v, 256) FROM {db}.{table} ORDER BY id")

    def await_equal(self, db: str, *tables: str) -> None:
        for table in tables:
            self.fe.await_rows(lambda table=table: self.is_equal(db, table), why=f"{db}.{table} is as its source")

    def await_trouble(self, db: str, code: Code) -> dict[str, Any]:
        """A job that keeps retrying."""
        jobs: list[dict[str, Any]] = []  # a moment later it may be well, until it is tried again

        def told() -> bool:
            jobs.append(self.fe.job(db))
            return f"(error {code.number}) at 20" in str(jobs[-1]["Msg"])

        until(told, why=f"{code}")
        assert jobs[-1]["State"] == "RUNNING"
        assert jobs[-1]["Status"]["advice"] == TREATMENTS[code].advice
        return jobs[-1]

    def await_health(self, db: str) -> None:
        until(lambda: self.fe.job(db)["Msg"] is None, why="an empty Msg")
        assert self.fe.job(db)["State"] == "RUNNING"


@pytest.fixture(scope="module")
def place(mysql_server: MysqlServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    fe = FrontendProcess(tmp_path_factory.mktemp("faults"))
    try:
        meta = SmallDisk(fe.folder / "var" / "meta", 64)
    except NoMountError:
        meta = None
    fe.start()
    proxy = Proxy(mysql_server.port)
    yield Place(mysql_server, fe, proxy, meta)
    proxy.close()
    assert fe.stop() == 0
    if meta is not None:
        meta.unmount()


def test_an_outage_pauses_no_job(place: Place) -> None:
    """While the source is away the job stays RUNNING, Msg says why at once, and is empty when that has passed."""
    place.create("away", "t")
    place.mysql.run("INSERT INTO away.t VALUES (1, 'before')")
    place.await_equal("away", "t")
    place.proxy.refuses = True
    place.proxy.cut()
    assert f"127.0.0.1:{place.proxy.port}" in place.await_trouble("away", Code.SOURCE_UNREACHABLE)["Msg"]
    place.mysql.run("INSERT INTO away.t VALUES (2, 'meanwhile')")
    until(lambda: (place.fe.job("away")["Status"]["lag_second"] or 0) > QUIET_LAG_SECOND, why="lag")
    assert place.fe.job("away")["State"] == "RUNNING"
    place.proxy.refuses = False
    place.await_equal("away", "t")
    place.await_health("away")
    place.fe.sql("STOP SYNC JOB away.job1")


def test_a_slow_network_only_takes_longer(place: Place) -> None:
    """Rows arrive, and no error is reported."""
    place.create("slow", "t")
    place.proxy.rate = 60_000.0
    values = ", ".join(f"({n}, '{'x' * 1000}')" for n in range(200))
    place.mysql.run(f"INSERT INTO slow.t VALUES {values}")
    place.await_equal("slow", "t")
    assert place.fe.job("slow")["Msg"] is None
    place.proxy.rate = None
    place.fe.sql("STOP SYNC JOB slow.job1")


def test_a_full_staging_disk_stops_reading_until_there_is_room(place: Place) -> None:
    """Nothing is lost and nothing but the disk has to be fixed."""
    job = place.fe.folder / "var" / "staging"
    disk = small_disk(job, 16)
    try:
        place.create("full", "t")
        place.mysql.run("INSERT INTO full.t VALUES (1, 'small')")
        place.await_equal("full", "t")
        disk.fill(leave=4096)
        rows = (f"INSERT INTO full.t VALUES ({n}, HEX(RANDOM_BYTES(1000)))" for n in range(2, 200))
        place.mysql.run("BEGIN", *rows, "COMMIT")  # the first of them alone would have room
        assert str(job) in place.await_trouble("full", Code.DISK_FULL)["Msg"]
        assert place.fe.sql("SELECT count(*) n FROM full.t") == [{"n": 1}]
        disk.free()
        place.await_equal("full", "t")
        place.await_health("full")
        place.fe.sql("STOP SYNC JOB full.job1")
        until(lambda: not list(job.glob("job-*")), why="an empty staging")
    finally:
        disk.unmount()


def test_a_full_disk_of_the_metadata_stops_no_job_for_good(place: Place) -> None:
    """What cannot be stored is not committed; with room again the job goes on by itself, whatever error it met."""
    if place.meta is None:
        pytest.skip("a small disk cannot be mounted here")
    place.create("meta", "t")
    place.mysql.run("INSERT INTO meta.t VALUES (1, 'before')")
    place.await_equal("meta", "t")
    log = place.fe.folder / "log" / "fe.log"
    place.meta.fill()
    place.mysql.run("INSERT INTO meta.t VALUES (2, 'meanwhile')")
    until(lambda: f"{Code.META_DOWN.template[:30]}" in log.read_text(), why="a word in the log")
    told = place.await_trouble("meta", Code.META_DOWN)  # which cannot be stored either
    assert told["Status"]["needs_operator"] is True
    place.meta.free()
    place.await_equal("meta", "t")
    place.await_health("meta")
    began = "the metadata cannot be written: " in log.read_text()  # not of an outage between two beats
    until(lambda: not began or "the metadata can be written again" in log.read_text(), why="the end in the log")
    place.fe.sql("STOP SYNC JOB meta.job1")


def test_one_table_on_a_full_disk_does_not_stop_its_sibling(place: Place) -> None:
    """Status and Msg name the table and the reason; the sibling goes on; with room again the table catches up."""
    place.create("part", "good", "bad")
    place.mysql.run("INSERT INTO part.good VALUES (0, 'x')")
    place.await_equal("part", "good")
    place.fe.await_caught_up("part")
    (location,) = {
        path.parent.parent for path in below(place.fe.folder / "var/lake", "*.metadata.json") if "/bad" in str(path)
    }
    disk = small_disk(location / "data", 2)
    try:
        disk.fill()
        for number in range(1, 30):
            place.mysql.run(
                f"INSERT INTO part.good VALUES ({number}, 'x')", f"INSERT INTO part.bad VALUES ({number}, 'y')"
            )
        message = place.await_trouble("part", Code.CHANNEL_BEHIND)["Msg"]
        assert "part.bad" in message
        assert "No space left" in message
        place.await_equal("part", "good")
        status = place.fe.job("part")["Status"]
        behind = status["behind"]
        assert behind.keys() == {"part.bad"}
        assert (behind["part.bad"]["state"], status["needs_operator"]) == ("BEHIND", True)
        assert status["synced_until"] == behind["part.bad"]["since"]
        assert behind["part.bad"]["error"] == Code.LAKE_FULL.number
        assert behind["part.bad"]["advice"] == TREATMENTS[Code.LAKE_FULL].advice
        assert behind["part.bad"]["bytes"] > 0
        disk.free()
        place.await_equal("part", "bad")
        place.await_health("part")
        assert place.fe.job("part")["Status"]["behind"] == {}
        place.fe.sql("STOP SYNC JOB part.job1")
    finally:
        disk.unmount()
