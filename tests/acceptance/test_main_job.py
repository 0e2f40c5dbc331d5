"""One MySQL server, one frontend, one lake: the main job from CREATE SYNC to rows, through kills and restarts."""

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pymysql
import pytest

from tests.acceptance.frontend import FrontendProcess
from tests.conftest import need_snapshots
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

BINLOG = (
    'FROM BINLOG ("type" = "mysql", "mysql.host" = "127.0.0.1", "mysql.port" = "{port}", '
    '"mysql.user" = "root", "mysql.password" = "", "mysql.ssl" = "disabled")'
)


class Shop:
    """A source table, its target and the job between them, under names of their own."""

    def __init__(self, name: str, mysql: MysqlServer, fe: FrontendProcess, columns: str = "") -> None:
        self.name = name
        self.mysql = mysql
        self.fe = fe
        self.source = mysql.connect()
        with self.source.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE IF NOT EXISTS {name}")
            cursor.execute(
                f"CREATE TABLE {name}.orders (id BIGINT PRIMARY KEY, status VARCHAR(16), amount DECIMAL(12,2),"
                " at DATETIME(6), note TEXT)",
            )
        fe.sql(f"CREATE DATABASE {name}")
        fe.sql(
            f"CREATE TABLE {name}.orders (id BIGINT NOT NULL, status VARCHAR(16), amount DECIMAL(12,2),"
            f" at DATETIME(6), note STRING) UNIQUE KEY(id) {columns}",
        )

    def create_sync(self, properties: str = "") -> None:
        binlog = BINLOG.format(port=self.mysql.port)
        self.fe.sql(f"CREATE SYNC {self.name}.job1 (FROM {self.name}.orders INTO orders) {binlog} {properties}")

    def run(self, *statements: str) -> None:
        """One transaction."""
        with self.source.cursor() as cursor:
            cursor.execute("BEGIN")
            for statement in statements:
                cursor.execute(statement)
            cursor.execute("COMMIT")

    def source_rows(self) -> list[tuple[Any, ...]]:
        with self.source.cursor() as cursor:
            cursor.execute(f"SELECT id, status, amount, at, note FROM {self.name}.orders ORDER BY id")
            return [tuple(row) for row in cursor.fetchall()]

    def lake_rows(self) -> list[tuple[Any, ...]]:
        rows = self.fe.sql(f"SELECT id, status, amount, at, note FROM {self.name}.orders ORDER BY id")
        return [tuple(row.values()) for row in rows]

    def wait_until_equal(self) -> None:
        """Row by row, exact values."""
        expected = self.source_rows()
        self.fe.await_rows(lambda: self.lake_rows() == expected, why=f"{self.name} equal to its source")

    def job(self) -> dict[str, Any]:
        return self.fe.job(self.name)


@pytest.fixture
def shop(mysql_server: MysqlServer, frontend: FrontendProcess) -> Callable[..., Shop]:
    need_snapshots(mysql_server)
    return lambda name, columns="": Shop(name, mysql_server, frontend, columns)


def test_every_kind_of_change_arrives(shop: Callable[..., Shop]) -> None:
    """Inserts, updates, updates of the key, deletes, NULLs, rollbacks and big transactions reach the lake exactly."""
    s = shop("changes")
    s.create_sync()
    s.run(
        "INSERT INTO changes.orders VALUES (1,'new',9.99,'2026-01-02 03:04:05.678901','first'), (2,NULL,NULL,NULL,NULL)"
    )
    s.run("UPDATE changes.orders SET amount = -12345678.99 WHERE id = 2", "DELETE FROM changes.orders WHERE id = 1")
    s.run("INSERT INTO changes.orders (id, note) VALUES (3, 'caf\u00e9 \U0001f600'), (4, '')")
    s.run("UPDATE changes.orders SET id = 30 WHERE id = 3", "UPDATE changes.orders SET id = 3 WHERE id = 4")
    s.run(
        "INSERT INTO changes.orders (id) SELECT 1000 + n FROM (WITH RECURSIVE r AS"
        " (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 900) SELECT n FROM r) t"
    )
    with s.source.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("INSERT INTO changes.orders (id) VALUES (77)")
        cursor.execute("ROLLBACK")
    s.wait_until_equal()
    until(lambda: s.job()["Status"]["commits"] > 0, why="a commit that counts")  # it does once the rows are there
    until(lambda: s.job()["Msg"] is None, why="no Msg")  # a commit that takes long is one
    job = s.job()
    assert job["State"] == "RUNNING"
    assert job["Channel"] == "changes.orders->orders"
    s.fe.await_caught_up(s.name)


def test_pause_and_resume_lose_nothing(shop: Callable[..., Shop]) -> None:
    """While paused nothing arrives; after RESUME everything does; each state is what Doris calls it."""
    s = shop("pausing")
    s.create_sync()
    s.run("INSERT INTO pausing.orders (id) VALUES (1)")
    s.wait_until_equal()
    s.fe.sql("PAUSE SYNC JOB pausing.job1")
    assert s.job()["State"] == "PAUSED"
    until(lambda: s.job()["Status"]["server"] is None, why="the end of the reading")  # PAUSE does not wait for it
    with pytest.raises(pymysql.err.MySQLError, match="A PAUSED job cannot be paused"):
        s.fe.sql("PAUSE SYNC JOB pausing.job1")
    s.run("INSERT INTO pausing.orders (id) VALUES (2)", "UPDATE pausing.orders SET status = 'late' WHERE id = 1")
    assert len(s.lake_rows()) == 1
    s.fe.sql("RESUME SYNC JOB pausing.job1")
    s.wait_until_equal()
    s.fe.sql("STOP SYNC JOB pausing.job1")
    job = s.job()
    assert (job["State"], job["Msg"]) == ("CANCELLED", "SyncFailMsg [type=USER_CANCEL, msg=user cancel]")
    with pytest.raises(pymysql.err.MySQLError, match="A CANCELLED job cannot be stopped"):
        s.fe.sql("STOP SYNC JOB pausing.job1")


@pytest.mark.slow
def test_partitioned_tables_stay_right(shop: Callable[..., Shop]) -> None:
    """BUCKETS 4: deletes and data carry their partition, so that no row is left or lost."""
    s = shop("buckets", "DISTRIBUTED BY HASH(id) BUCKETS 4")
    s.create_sync()
    for start in (0, 100):
        values = ", ".join(f"({start + n}, 'new', {n}.50)" for n in range(100))
        s.run(f"INSERT INTO buckets.orders (id, status, amount) VALUES {values}")
    s.run("UPDATE buckets.orders SET status = 'paid' WHERE id % 3 = 0", "DELETE FROM buckets.orders WHERE id % 7 = 0")
    s.wait_until_equal()


def test_columns_and_where_decide_what_arrives(shop: Callable[..., Shop]) -> None:
    """`target = expression` fills a column, WHERE keeps only rows that meet it, also when they stop to meet it."""
    s = shop("filtered")
    binlog = BINLOG.format(port=s.mysql.port)
    s.fe.sql(
        "CREATE SYNC filtered.job1 (FROM filtered.orders INTO orders"
        " (id, amount = amount * 2, note = CONCAT(status, '!'))"
        f" WHERE status <> 'hidden') {binlog}",
    )
    s.run("INSERT INTO filtered.orders (id, status, amount) VALUES (1,'a',1.25), (2,'hidden',5), (3,'b',2), (4,NULL,1)")
    s.run("UPDATE filtered.orders SET status = 'hidden' WHERE id = 3")
    expected = [(1, None, Decimal("2.50"), None, "a!")]
    until(lambda: s.job()["Status"]["consumed_rows"] >= 5)
    s.fe.await_rows(lambda: s.lake_rows() == expected, why="filtered rows")


@pytest.mark.long
def test_kills_lose_and_double_nothing(shop: Callable[..., Shop]) -> None:
    """Kill -9 of workers and of the frontend under load: the job goes on by itself, and the lake equals the source."""
    s = shop("kills")
    s.create_sync()
    dice = random.Random(11)

    def load() -> None:
        for _ in range(40):
            key = dice.randrange(200)
            s.run(
                f"REPLACE INTO kills.orders (id, status, amount) VALUES ({key}, 's{dice.randrange(9)}', {key}.25)",
                f"UPDATE kills.orders SET note = 'n{key}' WHERE id < {key}",
                f"DELETE FROM kills.orders WHERE id = {dice.randrange(200)}",
            )

    load()
    for _ in range(2):
        until(s.fe.workers, why="a worker")
        s.fe.kill_workers()
        load()
    for _ in range(2):
        s.fe.kill()
        load()
        s.fe.start()
        load()
    s.wait_until_equal()
    assert s.job()["State"] == "RUNNING"


def test_a_source_that_comes_back_is_read_on(shop: Callable[..., Shop]) -> None:
    """MySQL is killed and started again: the job retries, says so meanwhile, and loses nothing."""
    s = shop("reborn")
    s.create_sync()
    s.run("INSERT INTO reborn.orders (id) VALUES (1)")
    s.wait_until_equal()
    s.mysql.kill()
    until(lambda: "Cannot reach the MySQL server" in (s.job()["Msg"] or ""), why="Msg")
    s.mysql.start()
    s.source = s.mysql.connect()
    s.run("INSERT INTO reborn.orders (id) VALUES (2)")
    s.wait_until_equal()
    until(lambda: s.job()["Msg"] is None, why="Msg cleared")


def test_a_ddl_that_fits_passes_and_one_that_does_not_pauses(shop: Callable[..., Shop]) -> None:
    """A new column does not disturb the mapped ones; where DDL pauses a job, so does TRUNCATE, with its text."""
    s = shop("ddl")
    binlog = BINLOG.format(port=s.mysql.port)
    channel = "FROM ddl.orders INTO orders (id, status, amount, at, note)"
    s.fe.sql(f"CREATE SYNC ddl.job1 ({channel}) {binlog} PROPERTIES ('on_ddl' = 'pause')")
    s.run("INSERT INTO ddl.orders (id) VALUES (1)")
    with s.source.cursor() as cursor:
        cursor.execute("ALTER TABLE ddl.orders ADD COLUMN extra INT FIRST")
    s.run("INSERT INTO ddl.orders (id, extra, note) VALUES (2, 7, 'after')")
    s.wait_until_equal()
    with s.source.cursor() as cursor:
        cursor.execute("TRUNCATE TABLE ddl.orders")
    until(lambda: s.job()["State"] == "PAUSED", why="the pause")
    assert "TRUNCATE" in s.job()["Msg"]
    assert len(s.lake_rows()) == 2


def test_the_tables_are_open(shop: Callable[..., Shop]) -> None:
    """Pyiceberg opens the catalog file and reads equal rows after a fold."""
    from pyiceberg.catalog.sql import SqlCatalog

    s = shop("opened")
    s.create_sync()
    s.run("INSERT INTO opened.orders (id, amount) VALUES (1, 1.5), (2, 2.5), (3, 3.5)")
    s.wait_until_equal()
    s.run("UPDATE opened.orders SET amount = 9 WHERE id = 2", "DELETE FROM opened.orders WHERE id = 3")
    s.wait_until_equal()
    lake = s.fe.folder / "var" / "lake"
    catalog = SqlCatalog("lake", uri=f"sqlite:///{lake}/catalog.db", warehouse=str(lake))

    def rows() -> list[tuple[int, Decimal]] | None:
        try:
            found = catalog.load_table("opened.orders").scan(selected_fields=("id", "amount")).to_arrow()
        except ValueError:  # equality deletes that are not folded yet
            return None
        return sorted((row["id"], row["amount"]) for row in found.to_pylist())

    s.fe.await_rows(lambda: rows() == [(1, Decimal("1.50")), (2, Decimal("9.00"))], why="the fold")
