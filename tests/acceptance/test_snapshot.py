"""Rows that were there before the job: all of them arrive, once, whatever happens meanwhile."""

import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql
import pytest

from syncmgr.crash import CrashPoint
from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import MysqlServer
from tests.support.servers.proxy import Proxy
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

CAUGHT_UP_SECOND = 900.0
ROWS = 2000
BINLOG = (
    'FROM BINLOG ("type" = "mysql", "start" = "snapshot", "mysql.host" = "127.0.0.1", "mysql.port" = "{port}", '
    '"mysql.user" = "{user}", "mysql.password" = "", "mysql.ssl" = "disabled")'
)
POINTS = (
    CrashPoint.PLAN_STORED,
    CrashPoint.FILES_WRITTEN,
    CrashPoint.TABLE_COMMITTED,
    CrashPoint.CHUNK_STORED,
    CrashPoint.SNAPSHOT_STORED,
)
CHUNKS = (
    'PROPERTIES ("snapshot_chunk_rows" = "{rows}", "snapshot_max_connections" = "{connections}", '
    '"snapshot_retry_max_second" = "5", "snapshot_max_rows_per_second" = "{rate}")'
)
COLUMNS = "id, code, number, amount, note"


class Filled:
    """Two source tables with rows, one with a composite key, and their targets, under names of their own."""

    def __init__(self, name: str, mysql: MysqlServer, fe: FrontendProcess, place: str = "") -> None:
        self.name, self.mysql, self.fe = name, mysql, fe
        columns = "id BIGINT NOT NULL, code VARCHAR(9) NOT NULL, number BIGINT, amount DECIMAL(12,2), note VARCHAR(99)"
        mysql.run(f"CREATE DATABASE {name}")
        for table, key in (("one", "id"), ("two", "code, id")):
            mysql.run(f"CREATE TABLE {name}.{table} ({columns}, PRIMARY KEY ({key}))")
            for start in range(0, ROWS, 1000):
                rows = ", ".join(self._row(number) for number in range(start, start + 1000))
                mysql.run(f"INSERT INTO {name}.{table} VALUES {rows}")
        fe.sql(f"CREATE DATABASE {name}")
        for table, key in (("one", "id"), ("two", "code, id")):
            fe.sql(f"CREATE TABLE {name}.{table} ({columns}) UNIQUE KEY({key}) {place}")

    def _row(self, number: int) -> str:
        return f"({number}, 'c{number % 7}', {number}, {number}.25, 'n{number}')"

    def create_sync(
        self, rows: int = 200, connections: int = 2, user: str = "root", more: str = "", rate: int = 0
    ) -> None:
        """`rate`: rows a second, until `hurry`, so that it is still being read when a busy machine comes to look."""
        channels = f"FROM {self.name}.one INTO one, FROM {self.name}.two INTO two"
        properties = CHUNKS.format(rows=rows, connections=connections, rate=rate)
        source = self.binlog(user).replace(")", f"{more})")
        self.fe.sql(f"CREATE SYNC {self.name}.job1 ({channels}) {source} {properties}")

    def hurry(self) -> None:
        self.fe.sql(f'ALTER SYNC JOB {self.name}.job1 SET ("snapshot_max_rows_per_second" = "0")')

    def binlog(self, user: str = "root") -> str:
        return BINLOG.format(port=self.mysql.port, user=user)

    def job(self) -> dict[str, Any]:
        return self.fe.job(self.name)

    def loads(self) -> dict[str, dict[str, Any]]:
        loads: dict[str, dict[str, Any]] = self.job()["Status"]["snapshot"]
        return loads

    def chunks(self, table: str) -> int:
        chunks: int = self.loads()[table]["chunks"]
        return chunks

    def listed(self) -> list[tuple[Any, ...]]:
        """What information_schema shows of the snapshots of this job."""
        sql = "SELECT source_table, target_table, phase, chunks FROM information_schema.sync_snapshots"
        rows = self.fe.sql(f"{sql} WHERE job_schema = '{self.name}' AND chunks_done <= chunks ORDER BY 1")
        return [tuple(row.values()) for row in rows]

    def done(self) -> int:
        return sum(load["chunks_done"] for load in self.loads().values())

    @contextmanager
    def writing(self, pause: float = 0.03) -> Iterator[None]:
        """Keys come, change, move across the table, go and come back, for as long as it takes."""
        ended = threading.Event()
        writer = threading.Thread(target=self._write, args=(ended, pause))
        writer.start()
        try:
            yield
        finally:
            ended.set()
            writer.join()

    def _write(self, ended: threading.Event, pause: float) -> None:
        dice, beyond = random.Random(5), 10**6
        while not ended.wait(pause):
            for table in ("one", "two"):
                key, other = dice.randrange(ROWS), dice.randrange(ROWS)
                try:
                    self.mysql.run(
                        f"UPDATE {self.name}.{table} SET number = number + 1 WHERE id BETWEEN {key} AND {key + 20}",
                        f"UPDATE IGNORE {self.name}.{table} SET id = {beyond + key}, code = 'm' WHERE id = {key}",
                        f"UPDATE IGNORE {self.name}.{table} SET id = {other} WHERE id = {beyond + other}",
                        f"DELETE FROM {self.name}.{table} WHERE id = {other}",
                        f"INSERT IGNORE INTO {self.name}.{table} VALUES {self._row(dice.randrange(ROWS))}",
                        f"REPLACE INTO {self.name}.{table} VALUES ({other}, 'r', {key}, NULL, NULL)",
                    )
                except pymysql.err.MySQLError:
                    if ended.wait(0.2):  # the server is being started again
                        return

    def wait_until_equal(self) -> None:
        """Row by row, exact values, and past the upper bound."""
        until(
            lambda: {load["phase"] for load in self.loads().values()} == {"streaming"},
            deadline=CAUGHT_UP_SECOND,
            why="the end of the snapshot",
        )
        for table in ("one", "two"):
            sql = f"SELECT {COLUMNS} FROM {self.name}.{table} ORDER BY id, code"
            expected = self.mysql.run(sql)
            self.fe.await_rows(
                lambda sql=sql, expected=expected: [tuple(row.values()) for row in self.fe.sql(sql)] == expected,  # type: ignore[misc]
                deadline=CAUGHT_UP_SECOND,
                why=f"{table} equal to its source",
            )
            until(
                lambda table=table: self.job()["Status"]["index"][table]["state"] == "ready",  # type: ignore[misc]
                why=f"the key index of {table}",
            )


@pytest.fixture
def filled(mysql_server: MysqlServer, frontend: FrontendProcess) -> Callable[..., Filled]:
    return lambda name, place="": Filled(name, mysql_server, frontend, place)


@pytest.mark.parametrize("place", [pytest.param("", marks=pytest.mark.long), "DISTRIBUTED BY HASH(id) BUCKETS 2"])
def test_rows_that_were_there_arrive_under_writes(filled: Callable[..., Filled], place: str) -> None:
    """Snapshot, then binlog: nothing is lost, duplicated or left over, and SHOW reports its progress."""
    f = filled(f"snap{len(place)}", place)
    with f.writing():
        f.create_sync(rate=120)
        until(lambda: f.done() >= 3, deadline=CAUGHT_UP_SECOND, why="some chunks")
        load = f.loads()["one"]
        assert load["chunks"] >= 8
        assert 0 < load["rows"] <= ROWS + 500
        assert f.listed() == [("one", "one", "snapshot", load["chunks"]), ("two", "two", "snapshot", f.chunks("two"))]
        f.hurry()
        until(lambda: f.loads()["two"]["phase"] != "snapshot", deadline=CAUGHT_UP_SECOND, why="the last chunk")
    f.wait_until_equal()
    assert f.job()["Status"]["index"]["one"]["missing"] == 0
    f.mysql.run(f"DELETE FROM {f.name}.one WHERE id % 2 = 0", f"UPDATE {f.name}.two SET note = 'after'")
    f.wait_until_equal()


def test_what_a_snapshot_read_is_counted(filled: Callable[..., Filled]) -> None:
    """Its rows, and the bytes of its files, before any change comes."""
    f = filled("counted")
    f.create_sync(rows=ROWS)
    f.wait_until_equal()
    f.fe.sql("PAUSE SYNC JOB counted.job1")
    status = f.job()["Status"]
    assert status["consumed_rows"] == 2 * ROWS
    assert status["consumed_bytes"] > 2 * ROWS  # compressed


def test_a_target_that_has_rows_is_refused(filled: Callable[..., Filled]) -> None:
    """What the source no longer has would stay in it forever."""
    f = filled("refused")
    f.create_sync(rows=ROWS)
    f.wait_until_equal()
    f.fe.sql("STOP SYNC JOB refused.job1")
    with pytest.raises(pymysql.err.MySQLError, match=r"the target is not empty.*\"start\" = \"latest\""):
        f.create_sync()


@pytest.mark.slow
def test_rows_are_read_from_a_replica(frontend: FrontendProcess, tmp_path: Path) -> None:
    """The source is spared: rows come from a replica that is behind, and what it lacked from the source's binlog."""
    source, replica = (MysqlServer(tmp_path / n, variables={"server-id": n}).start() for n in ("1", "2"))
    try:
        replica.follow(source)
        f = Filled("spared", source, frontend)
        has = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'spared'"
        until(lambda: replica.run(has)[0][0] == 2, deadline=CAUGHT_UP_SECOND, why="the tables on the replica")
        last = "SELECT count(*) FROM spared.two"
        until(lambda: replica.run(last)[0][0] == ROWS, deadline=CAUGHT_UP_SECOND, why="the rows on the replica")
        replica.run("STOP REPLICA SQL_THREAD", "SET GLOBAL log_output = 'TABLE'", "SET GLOBAL general_log = ON")
        source.run("UPDATE spared.one SET note = 'later' WHERE id < 500", "DELETE FROM spared.two WHERE id > 1500")
        f.create_sync(rows=500, more=f', "snapshot.host" = "127.0.0.1:{replica.port}"')
        until(lambda: f.done() >= 1, deadline=CAUGHT_UP_SECOND, why="a chunk")
        replica.run("START REPLICA SQL_THREAD")
        f.wait_until_equal()
        read = "SELECT count(*) FROM mysql.general_log WHERE argument LIKE 'SELECT%FROM `spared`.`one`%'"
        assert replica.run(read)[0][0] >= f.chunks("one")
        assert f"snapshot.host:127.0.0.1:{replica.port}" in f.job()["JobConfig"]
        f.fe.sql("STOP SYNC JOB spared.job1")
    finally:
        source.stop()
        replica.stop()


def test_pause_gives_up_what_is_being_read(filled: Callable[..., Filled]) -> None:
    """However long the source would take for it: the job can be resumed at once, and all rows come."""
    f = filled("given_up")
    proxy = Proxy(f.mysql.port)
    proxy.holds = lambda data: b"FROM" in data and b"`note`" in data and b"1=0" not in data  # rows, not their types
    try:
        f.create_sync(rows=ROWS, more=f', "snapshot.host" = "127.0.0.1:{proxy.port}"')
        until(proxy.held.is_set, why="a reading")
        f.fe.sql("PAUSE SYNC JOB given_up.job1")
        f.fe.sql("RESUME SYNC JOB given_up.job1")
        until(lambda: f.job()["State"] == "RUNNING", why="the end of the reading")
        assert f.done() == 0
        proxy.holds = lambda _: False
        f.wait_until_equal()
    finally:
        proxy.close()
    f.fe.sql("STOP SYNC JOB given_up.job1")


def test_pause_resume_and_kills_read_only_open_chunks(filled: Callable[..., Filled]) -> None:
    """PAUSE ends a reading; the JVM, the server and the frontend die; what is done is not read again."""
    f = filled("mended")
    with f.writing(0.05):
        f.create_sync(rows=100, connections=1, rate=100)
        until(lambda: f.done() >= 2, deadline=CAUGHT_UP_SECOND, why="two chunks")
        f.fe.sql("PAUSE SYNC JOB mended.job1")
        assert f.job()["State"] == "PAUSED"
        done = f.done()
        f.fe.sql("RESUME SYNC JOB mended.job1")
        until(lambda: f.done() > done, deadline=CAUGHT_UP_SECOND, why="more chunks")
        assert f.loads()["one"]["phase"] == "snapshot"
        f.fe.kill()
        f.fe.start()
        done = f.done()  # some may have come until the kill
        until(lambda: f.done() > done, deadline=CAUGHT_UP_SECOND, why="more chunks after a kill")
        os.kill(f.fe.java()[0], signal.SIGKILL)
        done = f.done()
        until(lambda: f.done() > done + 1, deadline=CAUGHT_UP_SECOND, why="more chunks after Spark's death")
        f.hurry()
        # otherwise it loses rows that its binlog has
        f.mysql.run("SET GLOBAL innodb_flush_log_at_trx_commit = 1", "FLUSH ENGINE LOGS")
        f.mysql.kill()
        f.mysql.start()
    f.wait_until_equal()


@pytest.mark.slow
def test_a_table_that_fails_stays_behind_alone(filled: Callable[..., Filled]) -> None:
    """Without SELECT on one table the other streams, and Msg says why; with it, the rows arrive automatically."""
    f = filled("alone")
    f.mysql.run(
        "CREATE USER alone IDENTIFIED BY ''",
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO alone",
        "GRANT SELECT ON alone.one TO alone",
        "GRANT SELECT ON alone.two TO alone",
    )
    with f.writing(0.05):
        f.create_sync(rows=200, connections=1, user="alone", rate=150)
        until(lambda: f.done() >= 2, deadline=CAUGHT_UP_SECOND, why="some chunks")
        f.mysql.run("REVOKE SELECT ON alone.two FROM alone")
        f.hurry()
        until(lambda: f.loads()["one"]["phase"] == "streaming", deadline=CAUGHT_UP_SECOND, why="the other table")
        assert f.loads()["two"]["phase"] == "snapshot"
        until(lambda: "alone.two" in str(f.job()["Msg"]), deadline=CAUGHT_UP_SECOND, why="a Msg")
        sql = "SELECT reason FROM information_schema.sync_snapshots WHERE job_schema = 'alone' AND source_table = 'two'"
        until(lambda: "SELECT" in str(f.fe.sql(sql)[0]["reason"]), why="the reason")
        f.mysql.run("GRANT SELECT ON alone.two TO alone")
        until(lambda: f.loads()["two"]["phase"] != "snapshot", deadline=CAUGHT_UP_SECOND, why="the late table")
    f.wait_until_equal()


@pytest.mark.slow
def test_one_without_a_key_that_fails_comes_by_itself(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Its value is reported, the other table streams; once fixed, it has each row once, and is not emptied by a
    TRUNCATE that is in the binlog before its point.
    """
    mysql, fe, tables = mysql_server, frontend, ("logged", "emptied")
    mysql.run("CREATE DATABASE keyless", "CREATE TABLE keyless.orders (id INT PRIMARY KEY)")
    fe.sql("CREATE DATABASE keyless")
    fe.sql("CREATE TABLE keyless.orders (id INT NOT NULL) UNIQUE KEY(id)")
    for table in tables:
        mysql.run(
            f"CREATE TABLE keyless.{table} (line VARCHAR(9), number BIGINT UNSIGNED)",
            f"INSERT INTO keyless.{table} VALUES ('old', 1), ('bad', 18446744073709551615)",
        )
        fe.sql(f"CREATE TABLE keyless.{table} (line VARCHAR(9), number BIGINT) DUPLICATE KEY(line)")
    binlog, values = BINLOG.format(port=mysql.port, user="root"), 'PROPERTIES ("on_value_error" = "stop")'
    channels = ", ".join(f"FROM keyless.{table} INTO {table}" for table in ("orders", *tables))
    fe.sql(f"CREATE SYNC keyless.job1 ({channels}) {binlog} {values}")
    until(lambda: "184467440737095516" in str(fe.job("keyless")["Msg"]), deadline=CAUGHT_UP_SECOND, why="the value")
    mysql.run("INSERT INTO keyless.orders VALUES (2)")
    until(lambda: fe.sql("SELECT id FROM keyless.orders"), deadline=CAUGHT_UP_SECOND, why="the other table")

    fe.sql("PAUSE SYNC JOB keyless.job1")
    until(lambda: fe.job("keyless")["State"] == "PAUSED", deadline=CAUGHT_UP_SECOND, why="the pause")
    mysql.run("INSERT INTO keyless.emptied VALUES ('gone', 2)", "TRUNCATE keyless.emptied")
    mysql.run("INSERT INTO keyless.emptied VALUES ('new', 3), ('new', 3)")
    fe.sql("RESUME SYNC JOB keyless.job1")
    until(lambda: lines(fe, "emptied") == ["new", "new"], deadline=CAUGHT_UP_SECOND, why="the emptied table")
    mysql.run("INSERT INTO keyless.emptied VALUES ('newer', 4)", "DELETE FROM keyless.logged WHERE line = 'bad'")
    until(lambda: lines(fe, "logged") == ["old"], deadline=CAUGHT_UP_SECOND, why="the late table")
    mysql.run("INSERT INTO keyless.logged VALUES ('newer', 5)")
    until(lambda: lines(fe, "logged") == ["newer", "old"], deadline=CAUGHT_UP_SECOND, why="the changes behind")
    assert lines(fe, "emptied") == ["new", "new", "newer"]
    assert fe.job("keyless")["Msg"] is None
    fe.sql("STOP SYNC JOB keyless.job1")


def lines(fe: FrontendProcess, table: str) -> list[str]:
    return [row["line"] for row in fe.sql(f"SELECT line FROM keyless.{table} ORDER BY line")]


@pytest.mark.long
def test_death_between_every_two_steps(mysql_server: MysqlServer, tmp_path: Path) -> None:
    """The frontend dies at each point of a snapshot in turn, under writes; the lake equals the source."""
    fe = FrontendProcess(tmp_path).start()
    f = Filled("snapdying", mysql_server, fe)
    try:
        with f.writing(0.05):
            fe.arm(POINTS[0])
            f.create_sync(rows=150, connections=2)
            fe.await_death(POINTS[0])
            for point in POINTS[1:]:
                fe.die_at(point)
            fe.start()
        f.wait_until_equal()
        assert fe.stop() == 0
    finally:
        fe.stop()
