"""Tables of one name in many databases go into one target, each row with the database that it is from."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymysql
import pytest

from syncmgr.errors import Code
from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

BINLOG = (
    'FROM BINLOG ("type" = "mysql", "mysql.host" = "127.0.0.1", "mysql.port" = "{port}", "mysql.user" = "root", '
    '"mysql.password" = "", "mysql.ssl" = "disabled")'
)
ROWS = 300
FRESH, MOVED = 10_000, 20_000  # the keys of written rows begin after it, and go this far when they are moved
Row = tuple[Any, ...]


class Shards:
    """Databases of one prefix with a table `orders` in each, whose keys are the same everywhere."""

    def __init__(self, prefix: str, mysql: MysqlServer, fe: FrontendProcess, *, key: str = "PRIMARY KEY") -> None:
        self.prefix, self.mysql, self.fe, self.key = prefix, mysql, fe, key
        self.databases: list[str] = []
        self.written = 0
        for number in range(3):
            self.add(number)
        fe.sql(f"CREATE DATABASE {prefix}")

    def add(self, number: int) -> str:
        db = f"{self.prefix}_{number}"
        values = ", ".join(f"({row}, 'row {row} of {db}', {row}.25)" for row in range(ROWS))
        self.mysql.run(
            f"CREATE DATABASE {db}",
            f"CREATE TABLE {db}.orders (id BIGINT {self.key}, status VARCHAR(40), total DECIMAL(8,2))",
            f"INSERT INTO {db}.orders VALUES {values}",
        )
        self.databases.append(db)
        return db

    def statement(self, channel: str, verb: str = "CREATE", properties: str = "") -> str:
        return f"{verb} SYNC {self.prefix}.job1 ({channel}) {BINLOG.format(port=self.mysql.port)} {properties}"

    def expected(self, columns: str = "id, status, total") -> list[Row]:
        told = " UNION ALL ".join(f"SELECT '{db}' db, {columns} FROM {db}.orders" for db in self.databases)
        return self.mysql.run(f"SELECT * FROM ({told}) t ORDER BY 1, 2")

    def lake(self, columns: str = "id, status, total", at: str = "") -> list[Row]:
        sql = f"SELECT source_database, {columns} FROM {self.prefix}.orders{at} ORDER BY 1, 2"
        try:
            return [tuple(row.values()) for row in self.fe.sql(sql)]
        except pymysql.err.MySQLError as error:
            if error.args[0] not in {Code.TABLE_CHANGED.number, Code.UNKNOWN_COLUMN.number}:
                raise
            return []  # it was planned before the change of schema

    def wait_until_equal(self, columns: str = "id, status, total") -> None:
        def equal() -> bool:
            assert self.fe.job(self.prefix)["State"] != "PAUSED", self.fe.job(self.prefix)["Msg"]
            return self.lake(columns) == self.expected(columns)

        self.fe.await_rows(equal, why="equal rows")

    def wait_for_snapshot(self) -> None:
        phases = f"SELECT DISTINCT phase FROM information_schema.sync_snapshots WHERE job_schema = '{self.prefix}'"
        until(lambda: self.fe.sql(phases) == [{"phase": "streaming"}], why="the snapshot")

    def differing(self) -> set[Row]:
        """What of the source the lake has not, or has otherwise."""
        return {*self.expected()} - {*self.lake()}

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Inserts, updates, moved keys and deletes, the same keys in each database."""
        ended = threading.Event()
        writer = threading.Thread(target=self._write, args=(ended, tuple(self.databases)))
        writer.start()
        try:
            yield
        finally:
            ended.set()
            writer.join()

    def _write(self, ended: threading.Event, databases: tuple[str, ...]) -> None:
        number = 0
        while not ended.wait(0.02):
            number += 1
            table = f"{databases[number % len(databases)]}.orders"
            self.mysql.run(
                f"INSERT INTO {table} (id, status, total) VALUES ({FRESH} + {number}, 'new', {number})",
                f"UPDATE {table} SET status = 'changed {number}' WHERE id = {number % ROWS}",
                f"UPDATE {table} SET id = id + {MOVED} WHERE id = {FRESH} + {number} - 9",
                f"DELETE FROM {table} WHERE id = {(number * 7) % ROWS}",
            )
            self.written = number


def test_shards_come_into_one_table_and_stay_equal(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Explained, made, filled and followed under writes through a death; a database that comes later joins; at a
    consistent point all of them are there.
    """
    shards = Shards("mall", mysql_server, frontend)
    fe, channel = shards.fe, r"FROM TABLES LIKE 'mall\_%.orders' INTO orders"
    told = fe.sql(shards.statement(channel, "EXPLAIN"))
    assert {row["Outcome"] for row in told} == {"ok"}
    assert {row["Source"] for row in told if row["Value"] == "is created"} == {f"mall_{n}.orders" for n in range(3)}
    assert fe.sql("SHOW TABLES FROM mall") == []

    with shards.writing():
        fe.sql(shards.statement(channel))
        shards.wait_for_snapshot()
        fe.kill()
        fe.start()
        late = shards.add(3)
        until(
            lambda: any(row[0] == late for row in shards.lake()),
            why="the database that came",
        )
    shards.wait_until_equal()
    text = fe.sql("SHOW CREATE TABLE mall.orders")[0]["Create Table"]
    assert "PRIMARY KEY (" in text
    assert "PARTITION BY (`source_database`)" in text
    assert (
        r'FROM TABLES LIKE "mall\\_%.orders" INTO `orders`'
        in fe.sql("SHOW CREATE SYNC JOB mall.job1")[0]["Create Sync Job"]
    )
    until(
        lambda: shards.lake(at=" FOR VERSION AS OF 'mall.job1@latest'") == shards.expected(),
        why="a consistent point of all shards",
    )


@pytest.mark.slow
def test_a_statement_on_one_shard_leaves_the_others(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """TRUNCATE, DROP TABLE, RESYNC and columns that come one database after the other change the rows of that
    database alone.
    """
    shards = Shards("arcade", mysql_server, frontend)
    run, fe = shards.mysql.run, shards.fe
    fe.sql(
        shards.statement(
            r"FROM TABLES REGEXP '^arcade_[0-9]+\.orders$' INTO orders",
            properties='PROPERTIES ("on_drop_table" = "drop")',
        )
    )
    shards.wait_until_equal()

    run("TRUNCATE arcade_0.orders", "INSERT INTO arcade_0.orders VALUES (1, 'anew', 1)")
    run("ALTER TABLE arcade_1.orders ADD COLUMN kind VARCHAR(9) DEFAULT 'plain', MODIFY status VARCHAR(200)")
    run("UPDATE arcade_1.orders SET kind = 'other' WHERE id < 10")
    shards.fe.await_rows(lambda: len({row[1] for row in shards.lake("kind")}) == 3, why="the column")
    shards.wait_until_equal()
    assert {row[1] for row in shards.lake("kind") if row[0] != "arcade_1"} == {None}

    run("ALTER TABLE arcade_0.orders ADD COLUMN kind VARCHAR(5) NOT NULL DEFAULT 'old'")
    run("ALTER TABLE arcade_2.orders ADD COLUMN kind VARCHAR(9) DEFAULT 'third'")
    run("UPDATE arcade_2.orders SET kind = 'more' WHERE id = 7")
    shards.wait_until_equal("id, status, total, kind")

    run(
        "SET sql_log_bin = 0",
        "UPDATE arcade_2.orders SET status = 'beside'",
        "DELETE FROM arcade_2.orders WHERE id BETWEEN 90 AND 99",
    )
    fe.sql("ALTER SYNC JOB arcade.job1 RESYNC TABLE arcade_2.orders WHERE id BETWEEN 20 AND 200")
    until(lambda: len(shards.differing()) == ROWS - 181, why="a part of a part")
    fe.sql("ALTER SYNC JOB arcade.job1 RESYNC TABLE arcade_2.orders")
    shards.wait_until_equal("id, status, total, kind")

    run("DROP TABLE arcade_1.orders")
    shards.databases.remove("arcade_1")
    shards.wait_until_equal("id, status, total, kind")
    run("ALTER TABLE arcade_2.orders DROP COLUMN kind", "UPDATE arcade_2.orders SET status = 'without' WHERE id = 5")
    shards.wait_until_equal()
    assert ("arcade_0", "old") in shards.lake("kind")


def test_shards_whose_keys_would_meet_are_refused(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """With the reason and what to do; a table that has the column under another name takes them by a column list."""
    shards = Shards("bazaar", mysql_server, frontend)
    fe, channel = shards.fe, r"FROM TABLES LIKE 'bazaar\_%.orders' INTO orders"

    def refused(create: str, words: str, channel: str = channel) -> None:
        fe.sql(f"CREATE TABLE bazaar.orders {create}")
        with pytest.raises(pymysql.err.MySQLError, match=words) as raised:
            fe.sql(shards.statement(channel))
        assert raised.value.args[0] == Code.SHARDS_REFUSED.number
        fe.sql("DROP TABLE bazaar.orders")

    columns = "id BIGINT NOT NULL, status VARCHAR(40), total DECIMAL(8,2)"
    refused(f"({columns}) UNIQUE KEY(id)", "has no column 'source_database'")
    with_shop, named = (
        f"(shop VARCHAR(64) NOT NULL, {columns})",
        f"{channel} (shop = DATABASE(), id)",
    )
    refused(f"{with_shop} UNIQUE KEY(id)", "keys could meet", named)
    refused(f"{with_shop} UNIQUE KEY(shop, id)", r"PARTITION BY \(shop\)", named)
    refused(f"(shop VARCHAR(3) NOT NULL, {columns}) UNIQUE KEY(shop, id) PARTITION BY (shop)", "does not hold", named)

    fe.sql(f"CREATE TABLE bazaar.orders {with_shop} UNIQUE KEY(shop, id) PARTITION BY (shop)")
    fe.sql(shards.statement(f"{channel} (shop = DATABASE(), id, status, total) EXCLUDE (bazaar_1.orders)"))
    shards.databases.remove("bazaar_1")
    with shards.writing():
        pass
    sql = "SELECT shop, id, status, total FROM bazaar.orders ORDER BY 1, 2"
    until(
        lambda: [tuple(row.values()) for row in fe.sql(sql)] == shards.expected(),
        why="equal rows of two databases",
    )


@pytest.mark.slow
def test_shards_without_a_key_are_appended(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Each from its own exact point on; nothing is missing, and nothing is duplicated. One that leaves is excluded."""
    shards = Shards("kiosk", mysql_server, frontend, key="")
    fe = shards.fe
    append = 'PROPERTIES ("tables_without_key" = "append", "append_on_change" = "ignore")'
    with shards.writing():
        fe.sql(shards.statement(r"FROM TABLES LIKE 'kiosk\_%.orders' INTO orders", properties=append))
        shards.wait_for_snapshot()
    shards.mysql.run("INSERT INTO kiosk_1.orders VALUES (-1, 'last', 1)")
    shards.fe.await_rows(lambda: ("kiosk_1", -1) in shards.lake("id"), why="the last change")
    wanted = Counter((f"kiosk_{number % 3}", FRESH + number) for number in range(1, shards.written + 1))
    # each shard has a channel of its own, which commits by itself
    shards.fe.await_rows(
        lambda: Counter((db, key % MOVED) for db, key in shards.lake("id") if key >= FRESH) == wanted,
        why="each row of every shard, once",
    )

    fe.sql("ALTER SYNC JOB kiosk.job1 DROP TABLE kiosk_2.orders")
    until(lambda: "kiosk_2" not in fe.job("kiosk")["Channel"], why="the end of its channel")
    assert "EXCLUDE (`kiosk_2`.`orders`)" in fe.sql("SHOW CREATE SYNC JOB kiosk.job1")[0]["Create Sync Job"]
    shards.mysql.run(
        "INSERT INTO kiosk_2.orders VALUES (-2, 'nobody', 1)", "INSERT INTO kiosk_0.orders VALUES (-2, 'x', 1)"
    )
    shards.fe.await_rows(lambda: ("kiosk_0", -2) in shards.lake("id"), why="a change behind that")
    assert ("kiosk_2", -2) not in shards.lake("id")
