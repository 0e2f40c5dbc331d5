"""Death at every named place of staging, commit, start, pause, resume, stop and upkeep."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymysql
import pytest

from syncmgr.crash import CrashPoint
from tests.acceptance.frontend import FrontendProcess
from tests.support.files import below
from tests.support.servers.mysql import MysqlServer
from tests.support.small_disk import NoMountError, SmallDisk
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

BURST = 100  # rounds of the writer
REST_SECOND = 6.0
BINLOG = (
    'FROM BINLOG ("type" = "mysql", "start" = "latest", "mysql.host" = "127.0.0.1", "mysql.port" = "{port}", '
    '"mysql.user" = "root", "mysql.password" = "", "mysql.ssl" = "disabled")'
)
TABLES = ("one", "two")
STAGING = (CrashPoint.ROWS_STAGED, CrashPoint.SEGMENTS_CLOSED, CrashPoint.EPOCH_CLOSED, CrashPoint.EPOCH_SENT)
COMMIT = (
    CrashPoint.EPOCH_STAGED,
    CrashPoint.INTENT_STORED,
    CrashPoint.FILES_WRITTEN,
    CrashPoint.VECTORS_WRITTEN,
    CrashPoint.TABLE_COMMITTED,
    CrashPoint.CHANNELS_COMMITTED,
    CrashPoint.EPOCH_STORED,
    CrashPoint.ACKED,
    CrashPoint.STAGED_FILES_DROPPED,
)
START = (CrashPoint.START_STORED, CrashPoint.STAGING_SWEPT)
UPKEEP = (
    CrashPoint.COMPACTION_WRITTEN,
    CrashPoint.COMPACTED,
    CrashPoint.EXPIRY_BEGUN,
    CrashPoint.EXPIRED,
)
FOLD = (CrashPoint.FOLD_WRITTEN, CrashPoint.FOLDED)
LAGGARD = (CrashPoint.LAGGARD_COMMITTED, CrashPoint.LAGGARD_STORED)
BEHIND = 4  # epochs


@dataclass
class World:
    """A source whose two tables change all the time, and a frontend that dies."""

    mysql: MysqlServer
    fe: FrontendProcess
    ended: threading.Event = field(default_factory=threading.Event)
    turn: threading.Lock = field(default_factory=threading.Lock)
    rests: bool = False  # upkeep wants some files and snapshots, and then a quiet moment

    def create_tables(self) -> None:
        self.fe.sql("CREATE DATABASE dying")
        for table in TABLES:
            self.fe.sql(f"CREATE TABLE dying.{table} (id BIGINT NOT NULL, number BIGINT) UNIQUE KEY(id)")

    @property
    def create_sync(self) -> str:
        channels = ", ".join(f"FROM dying.{table} INTO {table}" for table in TABLES)
        return f"CREATE SYNC dying.job1 ({channels}) {BINLOG.format(port=self.mysql.port)}"

    def begin(self) -> None:
        """From here on the source changes; the job has begun, so that every row that changes is in the lake."""
        threading.Thread(target=self.write, daemon=True).start()
        self.commits(2)

    def write(self) -> None:
        """Keys come, change, move and go, in two tables at a time, for as long as it takes."""
        number = 0
        while not self.ended.wait(0.05):
            number += 1
            key = number % 50
            if self.rests and number % BURST == 0:
                self.ended.wait(REST_SECOND)
            with self.turn:
                for table in TABLES:
                    self.mysql.run(
                        f"REPLACE INTO dying.{table} VALUES ({key}, {number}), ({key + 1000}, {number})",
                        f"UPDATE dying.{table} SET number = number + 1 WHERE id <= {key}",
                        f"UPDATE IGNORE dying.{table} SET id = id + 500 WHERE id = {key}",
                        f"DELETE FROM dying.{table} WHERE id % 50 = {(number + 25) % 50}",
                    )

    def state(self) -> str:
        return str(self.fe.job("dying")["State"])

    def commits(self, more: int) -> None:
        """Waits for so many commits from now on."""
        goal = self.fe.job("dying")["Status"]["commits"] + more
        until(lambda: self.fe.job("dying")["Status"]["commits"] >= goal, why="commits")

    def die_while(self, point: CrashPoint, statement: str) -> None:
        """The frontend dies at the point that a statement leads to; the client loses its connection, or is answered.
        It dies again while it recovers from that.
        """
        self.die_once(point, statement)
        self.fe.start().kill()
        self.fe.start()

    def die_once(self, point: CrashPoint, statement: str) -> None:
        """Without a start after that."""
        self.fe.arm(point)
        with contextlib.suppress(pymysql.err.OperationalError):
            self.fe.sql(statement)
        self.fe.await_death(point)

    def laggards(self) -> dict[str, Any]:
        behind: dict[str, Any] = self.fe.job("dying")["Status"]["behind"]
        return behind

    def has_reached(self, executed: str) -> bool:
        """A table that could not take an epoch takes it a moment later: the position has passed it by then."""
        status = self.fe.job("dying")["Status"]
        return bool(status["position"]["gtid"] == executed and not status["behind"])

    def compare(self) -> None:
        """The lake equals the source, no row was missed, and no staged file is left."""
        with self.turn:
            executed = self.mysql.run("SELECT @@gtid_executed")[0][0].replace("\n", "")
            until(lambda: self.has_reached(executed), why="the end")
            for table in TABLES:
                sql = f"SELECT id, number FROM dying.{table} ORDER BY id"
                assert [tuple(row.values()) for row in self.fe.sql(sql)] == self.mysql.run(sql)
                assert self.fe.job("dying")["Status"]["index"][table]["missing"] == 0
            staging = self.fe.folder / "var" / "staging"
            until(lambda: not list(below(staging, "*.parquet")), why="an empty staging")


Dying = Callable[..., World]


@pytest.fixture
def dying(mysql_server: MysqlServer, tmp_path: Path) -> Iterator[Dying]:
    """Makes the world, with a job that has committed, or without one."""
    worlds: list[World] = []

    def make(*, job: bool = True, rests: bool = False, **settings: object) -> World:
        mysql_server.run(
            "DROP DATABASE IF EXISTS dying",
            "CREATE DATABASE dying",
            *(f"CREATE TABLE dying.{table} (id BIGINT PRIMARY KEY, number BIGINT)" for table in TABLES),
        )
        world = World(mysql_server, FrontendProcess(tmp_path, settings).start(), rests=rests)
        worlds.append(world)
        world.create_tables()
        if job:
            world.fe.sql(world.create_sync)
            world.begin()
        return world

    yield make
    for world in worlds:
        world.ended.set()
        assert world.fe.stop() == 0


def test_death_of_worker_and_frontend_loses_and_doubles_nothing(dying: Dying) -> None:
    """The worker dies at each of its points while the JVM stays; then the frontend in a pause, whose answer is lost, at
    the three points of a commit that matter most, and after a compaction, always while it recovers from the death
    before. The lake equals the source, no row was missed.
    """
    world = dying(upkeep_interval_second=0.5)
    _kill_workers(world)
    world.compare()
    world.die_once(CrashPoint.PAUSE_STORED, "PAUSE SYNC JOB dying.job1")
    world.fe.start()
    assert world.state() == "PAUSED"
    world.die_once(CrashPoint.RESUME_STORED, "RESUME SYNC JOB dying.job1")
    for point in (CrashPoint.INTENT_STORED, CrashPoint.TABLE_COMMITTED, CrashPoint.EPOCH_STORED, CrashPoint.COMPACTED):
        world.fe.die_at(point)
    world.fe.start()
    world.compare()


def _kill_workers(world: World) -> None:
    java = world.fe.java()
    for point in STAGING:
        for _ in ("in health", "in the recovery"):
            world.fe.arm(point)
            until(lambda point=point: not world.fe.is_armed(point), why=f"death of the worker at '{point}'")
        world.commits(2)
    assert world.fe.java() == java


@pytest.mark.long
def test_death_between_every_two_steps_loses_and_doubles_nothing(dying: Dying) -> None:
    """At each point of the start and of the commit in turn, always while it recovers from the death before."""
    world = dying()
    world.fe.kill()
    for point in (*START, *COMMIT):
        world.fe.die_at(point)
    world.fe.start()
    world.compare()


@pytest.mark.long
def test_death_in_the_life_of_a_job_leaves_it_where_it_was_told_to_be(dying: Dying) -> None:
    """A statement whose answer was lost has been carried out, as far as it was stored; no row is lost by it."""
    world = dying(job=False)
    world.die_while(CrashPoint.JOB_ADDED, world.create_sync)
    world.begin()
    world.compare()
    world.die_while(CrashPoint.PAUSE_STORED, "PAUSE SYNC JOB dying.job1")
    assert world.state() == "PAUSED"
    world.die_while(CrashPoint.RESUME_STORED, "RESUME SYNC JOB dying.job1")
    world.compare()
    world.die_while(CrashPoint.STAGING_REMOVED, "STOP SYNC JOB dying.job1")
    assert world.state() == "CANCELLED"
    staging = world.fe.folder / "var" / "staging"
    until(lambda: not list(staging.glob("job-*")), why="an empty staging")
    for table in TABLES:
        world.fe.sql(f"DROP TABLE dying.{table}")
    with world.turn:
        world.mysql.run(*(f"DELETE FROM dying.{table}" for table in TABLES))
        world.fe.sql("DROP DATABASE dying")
        world.create_tables()
        world.fe.sql(world.create_sync)
    world.commits(2)
    world.compare()
    world.die_while(CrashPoint.STOP_STORED, "STOP SYNC JOB dying.job1")
    assert world.state() == "CANCELLED"


@pytest.mark.long
def test_death_in_upkeep_changes_no_row(dying: Dying) -> None:
    """Before and after every commit of fold, compaction and expiry, while commits go on."""
    world = dying(rests=True, consistent_point_keep_second=2, upkeep_interval_second=0.5)
    world.fe.kill()
    for point in UPKEEP:
        _die_in_upkeep(world, point)
    world.fe.start()
    world.compare()
    world.fe.kill()
    world.fe.set("key_index_max_bytes", 0)
    for point in FOLD:
        _die_in_upkeep(world, point)
    world.fe.start()
    world.compare()


def _die_in_upkeep(world: World, point: CrashPoint) -> None:
    """And again while it recovers from that."""
    world.fe.arm(point)
    world.fe.start()
    world.fe.await_death(point)
    world.fe.die_at(CrashPoint.TABLE_COMMITTED)


@pytest.mark.long
def test_death_while_a_table_catches_up_loses_and_doubles_nothing(dying: Dying) -> None:
    """One table's disk was full and its epochs wait: death after the commit of one of them, and before the next."""
    world = dying(job=False)
    disk = _disk_of(world, "two")
    try:
        world.fe.sql(world.create_sync)
        world.begin()
        disk.fill()
        until(
            lambda: any(behind["epochs"] >= BEHIND for behind in world.laggards().values()),
            why="a table that is behind",
        )
        world.fe.arm(LAGGARD[0])
        disk.free()
        world.fe.await_death(LAGGARD[0])
        world.fe.die_at(LAGGARD[1])
        world.fe.start()
        world.compare()
        assert not world.laggards()
    finally:
        world.ended.set()
        world.fe.stop()
        disk.unmount()


def _disk_of(world: World, table: str) -> SmallDisk:
    """A small disk for the table's files; there are none yet."""
    lake = world.fe.folder / "var" / "lake"
    (place,) = {file.parent.parent for file in below(lake, "*.metadata.json") if f"/{table}" in str(file)}
    try:
        return SmallDisk(place / "data", 128)
    except NoMountError as error:
        pytest.skip(f"a small disk cannot be mounted here: {error}")


def test_each_point_has_its_death() -> None:
    """A point that no test names would promise nothing."""
    texts = "".join(file.read_text() for file in Path(__file__).parents[1].rglob("test_*.py"))
    assert [point for point in CrashPoint if f"CrashPoint.{point.name}" not in texts] == []
