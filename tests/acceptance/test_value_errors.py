"""Values that a target cannot hold: what on_value_error makes of them, from the source's row to SQL."""

import contextlib
import datetime as dt
import json
from collections.abc import Iterator
from typing import Any, Final
from zlib import crc32

import pymysql
import pytest

from syncmgr.crash import CrashPoint
from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import crossed, some_slow
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

SOURCE: Final = "id BIGINT PRIMARY KEY, day DATE, big BIGINT UNSIGNED, name VARCHAR(20), price DECIMAL(12,2)"
TARGET: Final = "id BIGINT NOT NULL, day DATE, big BIGINT, name VARCHAR(5), price DECIMAL(12,1)"
BAD: Final = {  # by id: the row, and the column that the target cannot hold
    11: ("'0000-00-00', 1, 'a', 1", "day"),
    12: ("'2024-00-01', 1, 'a', 1", "day"),
    13: ("'2024-01-01', 18446744073709551615, 'a', 1", "big"),
    14: ("'2024-01-01', 1, 'longer', 1", "name"),
    15: ("'2024-01-01', 1, 'a', 1.25", "price"),
}


class Shop:
    """A table with a row that fits and one of every kind that does not, its narrow target and the job between them."""

    def __init__(self, name: str, mysql: MysqlServer, fe: FrontendProcess) -> None:
        self.name, self.mysql, self.fe = name, mysql, fe
        mysql.run(f"CREATE DATABASE {name}", f"CREATE TABLE {name}.t ({SOURCE})")
        fe.sql(f"CREATE DATABASE {name}")
        fe.sql(f"CREATE TABLE {name}.t ({TARGET}) UNIQUE KEY(id)")

    def create_sync(self, policy: str | None, start: str) -> None:
        source = (
            f'"type" = "mysql", "start" = "{start}", "mysql.host" = "127.0.0.1", "mysql.port" = "{self.mysql.port}", '
            '"mysql.user" = "root", "mysql.password" = "", "mysql.ssl" = "disabled"'
        )
        properties = "" if policy is None else f'PROPERTIES ("on_value_error" = "{policy}")'
        self.fe.sql(f"CREATE SYNC {self.name}.job1 (FROM {self.name}.t INTO t) FROM BINLOG ({source}) {properties}")

    def write(self) -> None:
        bad = ", ".join(f"({number}, {values})" for number, (values, _) in BAD.items())
        self.mysql.run(
            f"INSERT INTO {self.name}.t VALUES (1, '2024-01-01', 9223372036854775807, 'fits', 1.5)",
            f"INSERT INTO {self.name}.t VALUES {bad}",
        )

    def rows(self) -> dict[int, dict[str, Any]]:
        return {row.pop("id"): row for row in self.fe.sql(f"SELECT * FROM {self.name}.t")}

    def letters(self) -> list[dict[str, Any]]:
        where = f"JOB_SCHEMA = '{self.name}'"
        return self.fe.sql(f"SELECT * FROM information_schema.sync_dead_letters WHERE {where}")

    def job(self) -> dict[str, Any]:
        return self.fe.job(self.name)


@pytest.fixture
def shop(request: pytest.FixtureRequest, mysql_server: MysqlServer, frontend: FrontendProcess) -> Iterator[Shop]:
    made = Shop(f"values_{crc32(request.node.name.encode())}", mysql_server, frontend)
    yield made
    with contextlib.suppress(pymysql.err.MySQLError):
        frontend.sql(f"STOP SYNC JOB {made.name}.job1")


def test_a_narrow_target_is_refused_unless_values_are_looked_at(shop: Shop) -> None:
    """CREATE SYNC names the column and the property; with the property it does not."""
    with pytest.raises(pymysql.err.MySQLError, match=r"big.*bigint unsigned.*on_value_error"):
        shop.create_sync(None, "latest")
    shop.create_sync("stop", "latest")
    shop.write()
    until(lambda: shop.job()["State"] == "PAUSED")
    assert "0000-00-00" in shop.job()["Msg"]
    assert shop.letters() == []


def test_stop_stops_at_rows_that_are_there(shop: Shop) -> None:
    """A snapshot's row with a value that its target would round or cut pauses the job before any of it is written."""
    shop.mysql.run(
        f"INSERT INTO {shop.name}.t VALUES (1, '2024-01-01', 1, 'fits', 1.5), (2, '2024-01-01', 1, 'a', 1.25)"
    )
    shop.create_sync("stop", "snapshot")
    until(lambda: shop.job()["State"] == "PAUSED")
    assert "price" in shop.job()["Msg"]
    assert "1.25" in shop.job()["Msg"]
    assert shop.rows() == {}
    assert shop.letters() == []


def test_null_stands_for_a_value_that_does_not_fit(shop: Shop) -> None:
    """In the rows that were there and in the changes, and the rest of its row is right."""
    shop.write()
    shop.create_sync("null", "snapshot")
    shop.mysql.run(f"UPDATE {shop.name}.t SET name = 'much longer' WHERE id = 14")
    shop.fe.await_caught_up(shop.name)
    rows = shop.rows()
    assert rows[1] == {"day": dt.date(2024, 1, 1), "big": 2**63 - 1, "name": "fits", "price": rows[1]["price"]}
    for number, (_, column) in BAD.items():
        assert [name for name, value in rows[number].items() if value is None] == [column], number
    assert shop.letters() == []


@pytest.mark.parametrize("start", some_slow(["latest", "snapshot"], always=["latest"]))
def test_dead_letters_can_be_read(shop: Shop, start: str) -> None:
    """Rows that the target cannot hold are reported once, through a kill of the frontend, and arrive as soon as they
    fit.
    """
    if start == "snapshot":
        shop.write()
    shop.create_sync("dead-letter", start)
    if start == "latest":
        shop.write()
    until(lambda: list(shop.rows()) == [1] and len(shop.letters()) == len(BAD))
    letters = {json.loads(letter["SOURCE_ROW"])["id"]: letter for letter in shop.letters()}
    assert {number: letter["COLUMN_NAME"] for number, letter in letters.items()} == {
        str(number): column for number, (_, column) in BAD.items()
    }
    assert letters["11"]["COLUMN_VALUE"] == "0000-00-00"
    assert json.loads(letters["13"]["SOURCE_ROW"])["big"] == "18446744073709551615"
    assert (letters["11"]["BINLOG_FILE"] != "") == (start == "latest")
    if start == "latest":
        shop.fe.kill()
        shop.fe.start()
    shop.mysql.run(
        f"UPDATE {shop.name}.t SET day = '2024-05-06' WHERE id = 11",  # fits now
        f"UPDATE {shop.name}.t SET price = 2.75 WHERE id = 1",  # no longer fits
        f"DELETE FROM {shop.name}.t WHERE id = 12",
    )
    until(lambda: list(shop.rows()) == [11] and len(shop.letters()) == len(BAD) + 1)
    [last] = [letter for letter in shop.letters() if letter["CHANGE_TYPE"] == "UPDATE"]
    assert (last["CHANGE_TYPE"], last["COLUMN_NAME"], last["COLUMN_VALUE"]) == ("UPDATE", "price", "2.75")
    assert last["BINLOG_POSITION"] > 0
    assert shop.job()["Status"]["dead_letters"] == len(BAD) + 1


@pytest.mark.slow
def test_a_row_that_snapshot_and_binlog_bring_is_one_dead_letter(shop: Shop) -> None:
    """Written after the job's start, and before its rows are read: whatever is wrong with it, counted once."""
    shop.fe.arm(CrashPoint.PLAN_STORED)
    shop.create_sync("dead-letter", "snapshot")
    shop.fe.await_death(CrashPoint.PLAN_STORED)
    bad = ", ".join(f"({number}, {values})" for number, (values, _) in BAD.items())
    shop.mysql.run(f"INSERT INTO {shop.name}.t VALUES {bad}")
    shop.fe.start()
    until(lambda: len(shop.letters()) == len(BAD), why="the snapshot's dead letters")
    shop.mysql.run(f"INSERT INTO {shop.name}.t VALUES (1, '2024-01-01', 1, 'fits', 1.5)")
    shop.fe.await_rows(lambda: list(shop.rows()) == [1], why="the binlog after them")
    assert {letter["BINLOG_FILE"] for letter in shop.letters()} == {""}
    assert shop.job()["Status"]["dead_letters"] == len(BAD)


@pytest.mark.slow
@crossed("start", ["snapshot", "latest"], always=[("mysql", "snapshot")])
def test_a_key_that_looks_like_another_stops_its_table(
    any_server: MysqlServer, frontend: FrontendProcess, start: str
) -> None:
    """The source tells two codes of one character apart; once the column is of Unicode RESYNC brings the table back."""
    name = f"alike_{any_server.flavour}_{start}"
    rows = f"INSERT INTO {name}.t VALUES (0xFBFC, 1), (0xEEE0, 2), (0x41, 3)"
    any_server.run(
        f"CREATE DATABASE {name}",
        f"CREATE TABLE {name}.t (id VARCHAR(9) CHARACTER SET cp932 PRIMARY KEY, c INT)",
        f"CREATE TABLE {name}.u (id VARCHAR(9) CHARACTER SET cp932 PRIMARY KEY, c INT)",
        f"INSERT INTO {name}.u VALUES (0xFBFC, 1)",
        *([rows] if start == "snapshot" else []),
    )
    frontend.sql(f"CREATE DATABASE {name}")
    source = (
        f'"type" = "mysql", "start" = "{start}", "mysql.host" = "127.0.0.1", "mysql.port" = "{any_server.port}", '
        '"mysql.user" = "root", "mysql.password" = "", "mysql.ssl" = "disabled"'
    )
    frontend.sql(f"CREATE SYNC {name}.job1 (FROM {name}.* INTO {name}.*) FROM BINLOG ({source})")
    if start == "latest":
        any_server.run(rows)
    any_server.run(f"INSERT INTO {name}.u VALUES (0x8BB4, 2)")

    def lake(table: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in frontend.sql(f"SELECT id, c FROM {name}.{table} ORDER BY c")]

    until(lambda: ("\u6a4b", 2) in lake("u"))
    until(lambda: "holds the bytes eee0" in str(frontend.job(name)["Msg"]), why="a Msg")
    assert frontend.job(name)["State"] == "RUNNING"
    any_server.run(
        f"DELETE FROM {name}.t WHERE c = 1",
        f"ALTER TABLE {name}.t CONVERT TO CHARACTER SET utf8mb4",
    )
    frontend.sql(f"ALTER SYNC JOB {name}.job1 RESYNC TABLE {name}.t")
    until(lambda: lake("t") == [("\u9ad9", 2), ("A", 3)], why="the table in Unicode")
    until(lambda: frontend.job(name)["Msg"] is None, why="no Msg")
    frontend.sql(f"STOP SYNC JOB {name}.job1")
