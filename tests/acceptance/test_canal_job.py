"""A real canal server between MySQL and one frontend: Doris' own statement, from CREATE SYNC to rows."""

import contextlib
import random
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import pymysql
import pytest

from syncmgr.errors import Code
from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.canal import CanalServer, ZooKeeper
from tests.support.servers.mysql import MysqlServer
from tests.support.servers.proxy import Proxy
from tests.support.until import HANG_SECOND, PROMPT_SECOND, until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

DORIS = """
CREATE SYNC `test_db`.`job1`
(
FROM `mysql_db1`.`tbl1` INTO `test_tbl`
(k1, k2, v1)
)
FROM BINLOG
(
"type" = "canal",
"canal.server.ip" = "127.0.0.1",
"canal.server.port" = "{port}",
"canal.destination" = "example",
"canal.username" = "",
"canal.password" = ""
)
"""

GUIDE = (  # to Binlog Load, in Doris' documentation
    """CREATE TABLE `target_test` (
  `id` int(11) NOT NULL COMMENT "",
  `name` int(11) NOT NULL COMMENT ""
) ENGINE=OLAP
UNIQUE KEY(`id`)
COMMENT "OLAP"
DISTRIBUTED BY HASH(`id`) BUCKETS 8;
""",
    """-- enable batch delete
ALTER TABLE target_test ENABLE FEATURE "BATCH_DELETE";
""",
    """CREATE SYNC `demo`.`job`
(
FROM `demo`.`source_test1` INTO `target_test`
(id,name)
)
FROM BINLOG
(
"type" = "canal",
"canal.server.ip" = "127.0.0.1",
"canal.server.port" = "11111",
"canal.destination" = "xxx",
"canal.username" = "canal",
"canal.password" = "canal"
);
""",
)


class Shop:
    """A source table that canal reads, its target and the job between them, under names of their own."""

    def __init__(self, name: str, mysql: MysqlServer, fe: FrontendProcess) -> None:
        self.name = name
        self.mysql = mysql
        self.fe = fe
        self.table = f"{name}.orders"
        mysql.run(
            f"CREATE DATABASE {name}",
            f"CREATE TABLE {self.table} (id BIGINT PRIMARY KEY, status VARCHAR(16), amount DECIMAL(12,2),"
            " at DATETIME(6), note TEXT)",
        )
        fe.sql(f"CREATE DATABASE {name}")
        fe.sql(
            f"CREATE TABLE {self.table} (id BIGINT NOT NULL, status VARCHAR(16), amount DECIMAL(12,2),"
            f" at DATETIME(6), note STRING) UNIQUE KEY(id)",
        )

    def create_sync(self, canal: CanalServer, properties: str = "", port: int = 0) -> None:
        """`port`: of a proxy before canal."""
        self.fe.sql(
            f"CREATE SYNC {self.name}.job1 (FROM {self.table} INTO orders) FROM BINLOG"
            f' ("type" = "canal", "canal.server.ip" = "127.0.0.1", "canal.server.port" = "{port or canal.port}",'
            f' "canal.destination" = "{canal.destination}", "canal.username" = "canal", "canal.password" = "canal")'
            f" {properties}"
        )

    def source_rows(self) -> list[tuple[Any, ...]]:
        return self.mysql.run(f"SELECT id, status, amount, at, note FROM {self.table} ORDER BY id")

    def lake_rows(self) -> list[tuple[Any, ...]]:
        rows = self.fe.sql(f"SELECT id, status, amount, at, note FROM {self.table} ORDER BY id")
        return [tuple(row.values()) for row in rows]

    def wait_until_equal(self) -> None:
        """Row by row, exact values."""
        expected = self.source_rows()
        self.fe.await_rows(lambda: self.lake_rows() == expected, why=f"{self.name} equal to its source")

    def job(self) -> dict[str, Any]:
        return self.fe.job(self.name)


@pytest.fixture
def shop(mysql_server: MysqlServer, frontend: FrontendProcess) -> Iterator[Callable[..., Shop]]:
    """Makes shops; their jobs end with the test, before its canal servers do."""
    made: list[Shop] = []

    def make(name: str) -> Shop:
        made.append(Shop(name, mysql_server, frontend))
        return made[-1]

    yield make
    for each in made:
        if each.job()["State"] != "CANCELLED":
            frontend.sql(f"STOP SYNC JOB {each.name}.job1")


def test_doris_own_example_runs(
    mysql_server: MysqlServer, frontend: FrontendProcess, canal: Callable[..., CanalServer]
) -> None:
    """The manual's statement, unchanged but for the port, maps by place and shows what Doris showed."""
    mysql_server.run(
        "CREATE DATABASE mysql_db1",
        "CREATE TABLE mysql_db1.tbl1 (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, score INT)",
    )
    frontend.sql("CREATE DATABASE test_db")
    frontend.sql("CREATE TABLE test_db.test_tbl (k1 INT NOT NULL, k2 VARCHAR(20), v1 INT) UNIQUE KEY(k1)")
    server = canal(open_to_all=True)
    frontend.sql(DORIS.format(port=server.port))
    mysql_server.run(
        "INSERT INTO mysql_db1.tbl1 VALUES (1, 'one', 10), (2, 'two', NULL), (3, 'three', 30)",
        "UPDATE mysql_db1.tbl1 SET score = 20 WHERE id = 2",
        "UPDATE mysql_db1.tbl1 SET id = 4 WHERE id = 3",
        "DELETE FROM mysql_db1.tbl1 WHERE id = 1",
    )
    expected = [(2, "two", 20), (4, "three", 30)]

    def rows() -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in frontend.sql("SELECT k1, k2, v1 FROM test_db.test_tbl ORDER BY k1")]

    frontend.await_rows(lambda: rows() == expected, why="the rows")
    until(lambda: frontend.job("test_db")["Msg"] is None, why="no Msg")  # a commit that takes long is one
    job = frontend.job("test_db")
    assert (job["Type"], job["State"]) == ("CANAL", "RUNNING")
    assert job["Channel"] == "mysql_db1.tbl1->test_tbl"
    assert job["JobConfig"] == f"address:127.0.0.1:{server.port},destination:example,batchSize:8192"
    assert job["Status"]["server"] == f"127.0.0.1:{server.port}"
    frontend.await_caught_up("test_db")
    frontend.sql("CREATE TABLE test_db.test_tbl2 (k1 INT NOT NULL, k2 VARCHAR(20), v1 INT) UNIQUE KEY(k1)")
    with pytest.raises(pymysql.err.MySQLError, match=r"is already read by sync job 'test_db.job1'"):
        frontend.sql(DORIS.format(port=server.port).replace("job1", "job2").replace("test_tbl", "test_tbl2"))
    frontend.sql("STOP SYNC JOB test_db.job1")


def test_the_three_statements_of_doris_guide_run(
    mysql_server: MysqlServer, frontend: FrontendProcess, canal: Callable[..., CanalServer]
) -> None:
    """Word for word, but for canal's port: the table with MySQL's display widths, Batch Delete, which a warning says
    is always enabled, and the job; rows come, change and go.
    """
    mysql_server.run("DROP DATABASE IF EXISTS demo", "CREATE DATABASE demo")
    mysql_server.run("CREATE TABLE demo.source_test1 (`id` int(11) NOT NULL PRIMARY KEY, `name` int(11) NOT NULL)")
    frontend.sql("CREATE DATABASE demo")
    server = canal(destination="xxx")
    connection = frontend.connect("demo")
    with contextlib.closing(connection), connection.cursor() as cursor:
        for statement, warned in zip(GUIDE, (2, 1, 0), strict=True):
            cursor.execute(statement.replace("11111", str(server.port)))
            cursor.execute("SHOW WARNINGS")
            told = list(cursor.fetchall())
            assert [(row["Level"], row["Code"]) for row in told] == [("Warning", 1618)] * warned, told
    mysql_server.run(
        "INSERT INTO demo.source_test1 VALUES (1, 10), (2, 20)",
        "UPDATE demo.source_test1 SET name = 21 WHERE id = 2",
        "DELETE FROM demo.source_test1 WHERE id = 1",
    )

    def rows() -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in frontend.sql("SELECT * FROM demo.target_test ORDER BY id")]

    frontend.await_rows(lambda: rows() == [(2, 21)], why="the rows")
    frontend.sql("STOP SYNC JOB demo.job")


@pytest.mark.slow
def test_explaining_takes_no_rows_from_the_reader(shop: Callable[..., Shop], canal: Callable[..., CanalServer]) -> None:
    """EXPLAIN SYNC on a destination that a job reads, under whatever name of the server, leaves that job its filter,
    and says what CREATE SYNC would; also while the job is paused.
    """
    s, server = shop("canal_explained"), canal()
    s.mysql.run(f"CREATE TABLE {s.name}.people (id BIGINT PRIMARY KEY)")
    s.fe.sql(f"CREATE TABLE {s.name}.people (id BIGINT NOT NULL) UNIQUE KEY(id)")
    s.create_sync(server)
    s.mysql.run(f"INSERT INTO {s.table} (id) VALUES (1)")
    s.wait_until_equal()

    def explained(host: str) -> str:
        [row] = s.fe.sql(
            f"EXPLAIN SYNC {s.name}.job2 (FROM {s.name}.people INTO people (id)) FROM BINLOG"
            f' ("type" = "canal", "canal.server.ip" = "{host}", "canal.server.port" = "{server.port}",'
            f' "canal.destination" = "{server.destination}", "canal.username" = "canal", "canal.password" = "canal")'
        )
        return str(row["Outcome"])

    outcomes = [explained("127.0.0.1"), explained("localhost")]
    s.mysql.run(f"INSERT INTO {s.table} (id) VALUES (2)")
    s.wait_until_equal()
    s.fe.sql(f"PAUSE SYNC JOB {s.name}.job1")
    outcomes += [explained("127.0.0.1"), explained("localhost")]
    s.mysql.run(f"INSERT INTO {s.table} (id) VALUES (3)")
    s.fe.sql(f"RESUME SYNC JOB {s.name}.job1")
    s.wait_until_equal()
    assert all(f"is already read by sync job '{s.name}.job1'" in outcome for outcome in outcomes)


def test_a_job_goes_on_at_another_address_of_canal(
    shop: Callable[..., Shop], canal: Callable[..., CanalServer]
) -> None:
    """SET SOURCE: the new address is asked whether it serves the destination to that login, which takes nothing from
    the job; a login that canal refuses, another destination and a stored password for another server are refused, and
    the job goes on.
    """
    server = canal()
    moving = shop("canal_moving")
    moving.create_sync(server)
    moving.mysql.run(f"INSERT INTO {moving.table} VALUES (1, 'new', 1.5, NULL, 'first')")
    moving.wait_until_equal()
    proxy = Proxy(server.port)
    elsewhere = f'"canal.server.port" = "{proxy.port}"'

    def set_source(*told: str) -> None:
        moving.fe.sql(f"ALTER SYNC JOB canal_moving.job1 SET SOURCE ({', '.join(told)})")

    for told, code in (
        (('"canal.password" = "wrong"',), Code.CANAL_ACCESS_DENIED),
        (('"canal.destination" = "other"',), Code.PROPERTY_WRONG),
        ((elsewhere,), Code.PROPERTY_MISSING),
    ):
        with pytest.raises(pymysql.err.MySQLError) as caught:
            set_source(*told)
        assert caught.value.args[0] == code.number, caught.value
    set_source(elsewhere, '"canal.username" = "canal"', '"canal.password" = "canal"')
    moving.mysql.run(f"INSERT INTO {moving.table} VALUES (2, 'new', 2.5, NULL, 'moved')")
    moving.wait_until_equal()
    assert proxy.cut() > 0
    shown = moving.fe.sql("SHOW CREATE SYNC JOB canal_moving.job1")[0]["Create Sync Job"]
    assert elsewhere in shown
    assert '"canal.password" = "******"' in shown
    moving.mysql.run(f"INSERT INTO {moving.table} VALUES (3, 'new', 3.5, NULL, 'cut')")
    moving.wait_until_equal()
    moving.fe.sql("STOP SYNC JOB canal_moving.job1")
    proxy.close()


def test_kills_lose_and_double_nothing(
    shop: Callable[..., Shop], canal: Callable[..., CanalServer], mysql_server: MysqlServer
) -> None:
    """Kill -9 of canal, workers and the frontend under load: the job goes on by itself, and the lake is the source."""
    s, server = shop("canal_kills"), canal()
    s.create_sync(server)
    dice = random.Random(7)

    def load() -> None:
        for _ in range(20):
            key = dice.randrange(100)
            mysql_server.run(
                "BEGIN",
                f"REPLACE INTO {s.table} (id, status, amount) VALUES ({key}, 's{dice.randrange(9)}', {key}.25)",
                f"UPDATE {s.table} SET note = 'n{key}' WHERE id < {key}",
                f"UPDATE IGNORE {s.table} SET id = id + 1000 WHERE id = {dice.randrange(100)}",
                f"DELETE FROM {s.table} WHERE id = {dice.randrange(1100)}",
                "COMMIT",
            )

    load()
    s.wait_until_equal()
    until(lambda: has_cursor(server), why="canal's first cursor")
    load()
    server.kill()
    load()
    until(lambda: "Cannot reach the canal server" in (s.job()["Msg"] or ""), why="Msg")
    server.start()
    load()
    s.fe.kill_workers()
    load()
    s.fe.kill()
    load()
    s.fe.start()
    load()
    s.wait_until_equal()
    until(lambda: s.job()["Msg"] is None, why="Msg cleared")
    assert s.job()["State"] == "RUNNING"


def has_cursor(server: CanalServer) -> bool:
    meta = server.folder / "data" / server.destination / "meta.dat"
    return meta.exists() and b"postion" in meta.read_bytes()


def test_pause_and_stop_wait_for_nobody(shop: Callable[..., Shop], canal: Callable[..., CanalServer]) -> None:
    """While canal is away the job says so, and PAUSE, RESUME and STOP are answered at once; what they may wait for
    takes longer than this test's client has patience.
    """
    s, server = shop("canal_away"), canal()
    s.create_sync(server, f'PROPERTIES ("pause_timeout_second" = "{2 * HANG_SECOND}")')
    s.mysql.run(f"INSERT INTO {s.table} (id) VALUES (1)")
    s.wait_until_equal()
    until(lambda: has_cursor(server), why="canal's first cursor")
    server.kill()
    until(lambda: "Cannot reach the canal server" in (s.job()["Msg"] or ""), why="Msg")
    for statement, state in (("PAUSE", "PAUSED"), ("RESUME", None), ("PAUSE", "PAUSED")):
        begin = time.monotonic()
        s.fe.sql(f"{statement} SYNC JOB {s.name}.job1")
        assert time.monotonic() - begin < PROMPT_SECOND
        assert state is None or s.job()["State"] == state
    s.mysql.run(f"INSERT INTO {s.table} (id) VALUES (2)")
    server.start()
    s.fe.sql(f"RESUME SYNC JOB {s.name}.job1")
    s.wait_until_equal()
    s.fe.sql(f"STOP SYNC JOB {s.name}.job1")
    assert s.job()["State"] == "CANCELLED"


@pytest.mark.slow
def test_a_lost_cursor_pauses_the_job(shop: Callable[..., Shop], canal: Callable[..., CanalServer]) -> None:
    """Canal forgot where it was and went on at its source's end: the job stops, says what is missing, and stays so."""
    s, server = shop("canal_lost"), canal()
    s.create_sync(server)
    for number in range(3):
        s.mysql.run(f"INSERT INTO {s.table} (id) VALUES ({number})")
        s.wait_until_equal()
    server.stop()
    shutil.rmtree(server.folder / "data")
    s.mysql.run(f"INSERT INTO {s.table} (id) VALUES (10), (11)", f"INSERT INTO {s.table} (id) VALUES (12)")
    server.start()
    s.mysql.run(f"INSERT INTO {s.table} (id) VALUES (20)")
    until(lambda: s.job()["State"] == "PAUSED", why="the pause")
    assert "cannot continue at binlog." in s.job()["Msg"]
    assert "(error 20125)" in s.job()["Msg"]
    assert [row[0] for row in s.lake_rows()] == [0, 1, 2]


@pytest.mark.slow
def test_a_torn_transaction_is_shown_until_its_end(
    shop: Callable[..., Shop], canal: Callable[..., CanalServer]
) -> None:
    """A transaction larger than canal's ring arrives in parts; Status says so, and says when it is whole."""
    s = shop("canal_torn")
    ring = ("--set", "canal.instance.memory.buffer.size=1024", "--set", "canal.instance.transaction.size=16")
    server = canal(options=ring)
    proxy = Proxy(server.port)
    s.create_sync(server, port=proxy.port)
    s.mysql.run(f"INSERT INTO {s.table} (id) VALUES (-1)")
    s.wait_until_equal()
    proxy.rate = 100_000.0  # otherwise it may be complete before the first query
    rows = (f"INSERT INTO {s.table} (id, note) VALUES ({number}, REPEAT('x', 20000))" for number in range(150))
    s.mysql.run("BEGIN", *rows, "COMMIT")
    until(lambda: s.job()["Status"]["torn"], why="torn")
    proxy.rate = None
    s.wait_until_equal()
    until(lambda: not s.job()["Status"]["torn"], why="whole")
    s.fe.sql(f"STOP SYNC JOB {s.name}.job1")
    proxy.close()


@pytest.mark.slow
def test_what_the_first_rows_tell_is_checked(shop: Callable[..., Shop], canal: Callable[..., CanalServer]) -> None:
    """Nobody can ask canal for a table's columns: a list that does not fit pauses the job with the list to write."""
    s, server = shop("canal_list"), canal()
    s.fe.sql(
        f"CREATE SYNC {s.name}.job1 (FROM {s.table} INTO orders (id, status, amount)) FROM BINLOG"
        f' ("type" = "canal", "canal.server.ip" = "127.0.0.1", "canal.server.port" = "{server.port}",'
        ' "canal.destination" = "example", "canal.username" = "canal", "canal.password" = "canal")'
    )
    s.mysql.run(f"INSERT INTO {s.table} (id) VALUES (1)")
    until(lambda: s.job()["State"] == "PAUSED", why="the pause")
    assert "such as (id, status, amount, at, note)" in s.job()["Msg"]
    s.fe.sql(f"STOP SYNC JOB {s.name}.job1")
    s.create_sync(server)
    s.wait_until_equal()


def test_a_statement_pauses_a_job_that_has_no_rows_to_read(
    shop: Callable[..., Shop], canal: Callable[..., CanalServer]
) -> None:
    """And the message offers nothing that would be refused: no RESYNC, no ADD TABLE, no SKIP."""
    s, server = shop("canal_truncated"), canal()
    s.create_sync(server)
    s.mysql.run(f"INSERT INTO {s.table} (id) VALUES (1)")
    s.wait_until_equal()
    s.mysql.run(f"TRUNCATE TABLE {s.table}")
    until(lambda: s.job()["State"] == "PAUSED", why="the pause")
    assert "the advice in Status says how to start again" in s.job()["Msg"]
    assert "delete the destination's cursor" in s.job()["Status"]["advice"]
    assert "RESYNC" not in s.job()["Msg"]
    assert "RESYNC" not in s.job()["Status"]["advice"]
    for refused in (f"RESYNC TABLE {s.table}", f"ADD TABLE FROM {s.name}.other INTO other", "SKIP DDL"):
        with pytest.raises(pymysql.err.MySQLError):
            s.fe.sql(f"ALTER SYNC JOB {s.name}.job1 {refused}")
    for given in ('"on_ddl_stop" = "table"', '"on_rows_change" = "resync"'):
        with pytest.raises(pymysql.err.MySQLError, match="canal"):
            s.fe.sql(f"ALTER SYNC JOB {s.name}.job1 SET ({given})")


@pytest.mark.slow
def test_a_cluster_is_followed(
    shop: Callable[..., Shop], canal: Callable[..., CanalServer], zookeeper: ZooKeeper
) -> None:
    """Through ZooKeeper the job finds the active server, follows a takeover, and SHOW names the server that is read."""
    s = shop("canal_cluster")
    first = canal(destination="canal_cluster", zookeeper=zookeeper)
    second = canal(destination="canal_cluster", zookeeper=zookeeper)
    s.fe.sql(
        f"CREATE SYNC {s.name}.job1 (FROM {s.table} INTO orders) FROM BINLOG"
        f' ("type" = "canal", "canal.zk.servers" = "{zookeeper.address}", "canal.destination" = "canal_cluster",'
        ' "canal.username" = "canal", "canal.password" = "canal")'
    )
    for number in range(3):
        s.mysql.run(f"INSERT INTO {s.table} (id) VALUES ({number})")
        s.wait_until_equal()
    assert s.job()["Status"]["server"] == f"127.0.0.1:{first.port}"
    assert s.job()["JobConfig"] == f"address:{zookeeper.address},destination:canal_cluster,batchSize:8192"
    first.kill()
    s.mysql.run(f"INSERT INTO {s.table} (id) VALUES (10)", f"UPDATE {s.table} SET status = 'x' WHERE id = 1")
    until(lambda: s.job()["Status"]["server"] == f"127.0.0.1:{second.port}", why="the takeover")
    s.wait_until_equal()
    assert s.job()["State"] == "RUNNING"
