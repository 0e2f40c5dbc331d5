import sqlite3

import pytest

from syncmgr.console.statements.local.sqlite_engine import SqliteEngine, rows_of
from syncmgr.console.statements.show.show import Listing, filtered, listing
from syncmgr.console.wire.protocol import FieldType
from syncmgr.errors import Code, SyncError
from syncsql import Filter, Limit, OrderItem, ShowSync, parse

JOBS = listing(
    ("JobId", "JobName", "FinishTime"),
    [("2", "b_1", None), ("10", "B%2", "2026-01-01 00:00:00"), ("9", "c", None)],
    like="JobName",
)


def condition(text: str) -> Filter:
    statement = parse(f"SHOW SYNC JOB {text}")[0].statement
    assert isinstance(statement, ShowSync)
    return statement.filter


def ids(shown: Listing) -> list[object]:
    return [row[0] for row in shown.rows]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["2", "10", "9"]),
        ("LIKE 'b%'", ["2", "10"]),
        ("LIKE 'b\\\\%%'", ["10"]),
        ("LIKE 'b\\\\_1'", ["2"]),
        ("LIKE 'c'", ["9"]),
        ("WHERE JobId >= 9", ["10", "9"]),
        ("WHERE JobId IN ('2', 9)", ["2", "9"]),
        ("WHERE jobname = 'C'", ["9"]),
        ("WHERE FinishTime IS NOT NULL", ["10"]),
        ("WHERE FinishTime > '2025-12-31'", ["10"]),
        ("WHERE NOT (JobName LIKE 'b%' AND JobId < 5)", ["10", "9"]),
    ],
)
def test_rows_are_chosen(text: str, expected: list[str]) -> None:
    """LIKE and WHERE choose rows as MySQL does: without case, numbers as numbers."""
    assert ids(filtered(JOBS, condition(text))) == expected


def test_rows_are_ordered_and_cut() -> None:
    """ORDER BY sorts numbers as numbers and keeps equal rows in place; LIMIT and OFFSET cut."""
    assert ids(filtered(JOBS, order=[OrderItem(column="jobid", descending=True)])) == ["10", "9", "2"]
    assert ids(filtered(JOBS, order=[OrderItem(column="FinishTime")])) == ["2", "9", "10"]
    assert ids(filtered(JOBS, limit=Limit(rows=1, offset=1))) == ["10"]


def test_unknown_columns_are_told() -> None:
    """A column that the SHOW has not is 1054."""
    with pytest.raises(SyncError, match="Unknown column 'x' in 'where clause'"):
        filtered(JOBS, condition("WHERE x = 1"))
    with pytest.raises(SyncError, match="Unknown column 'x' in 'order clause'"):
        filtered(JOBS, order=[OrderItem(column="x")])


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM t",
        "CREATE TABLE u (a)",
        "ATTACH ':memory:' AS x",
        "PRAGMA writable_schema = 1",
        "SELECT load_extension('x')",
        "SELECT printf('%.*c', 100000000, 'x')",
        "SELECT zeroblob(1000000000)",
    ],
)
def test_the_guard(sql: str) -> None:
    """After the first question only SELECT is possible, and no function that reaches out or fills the memory."""
    with SqliteEngine() as lite:
        lite.add("t", [("a", "INTEGER")], [(1,)])
        with pytest.raises(SyncError) as caught:
            lite.ask(sql)
        assert caught.value.code is Code.QUERY_FAILED
        assert isinstance(caught.value.__cause__, sqlite3.Error)


def test_answers_are_bounded() -> None:
    """A question whose answer has no end is ended."""
    with SqliteEngine() as lite, pytest.raises(SyncError, match="at most"):
        lite.ask("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n")


def test_types_follow_values() -> None:
    """A column's type is that of its first value."""
    columns = rows_of(["a", "b", "c", "d", "e"], [(None, 1, 1.5, b"x", "y"), (2, 2, 2.5, b"y", "z")]).columns
    assert [column.type for column in columns] == [
        FieldType.LONGLONG,
        FieldType.LONGLONG,
        FieldType.DOUBLE,
        FieldType.BLOB,
        FieldType.VAR_STRING,
    ]
