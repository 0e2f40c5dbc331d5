"""Queries that mean the same to MySQL and to the console, and the rows that they are asked of.

Owns: the two tables, in a MySQL server and in the lake; the queries with where they are from.
Must not know: how a query is run.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.lake import Lake
from tests.support.servers.mysql import MysqlServer
from tests.support.spark_session import Tables

FOLDER: Final = Path(__file__).parents[1] / "contract" / "lake" / "engine" / "mysql_select"
DATABASE: Final = "corpus"
COLLATION: Final = "utf8mb4_0900_bin"

_ORDERS: Final = (
    ("id", "INT NOT NULL PRIMARY KEY", "INT", pa.int32()),
    ("person", "INT", "INT", pa.int32()),
    ("status", "VARCHAR(20)", "VARCHAR(20)", pa.string()),
    ("amount", "DECIMAL(10,2)", "DECIMAL(10,2)", pa.decimal128(10, 2)),
    ("qty", "SMALLINT", "SMALLINT", pa.int16()),
    ("total", "BIGINT", "BIGINT", pa.int64()),
    ("ratio", "DOUBLE", "DOUBLE", pa.float64()),
    ("at", "DATETIME", "DATETIME", pa.timestamp("us")),
    ("day", "DATE", "DATE", pa.date32()),
    ("seen", "TIMESTAMP NULL", "TIMESTAMP", pa.timestamp("us", tz="UTC")),
    ("note", "TEXT", "STRING", pa.string()),
    ("doc", "JSON", "JSON", pa.string()),
    ("flag", "TINYINT(1)", "TINYINT", pa.int8()),
    ("code", "VARCHAR(20)", "VARCHAR(20)", pa.string()),
)
_PEOPLE: Final = (
    ("id", "INT NOT NULL PRIMARY KEY", "INT", pa.int32()),
    ("name", "VARCHAR(40)", "VARCHAR(40)", pa.string()),
    ("email", "VARCHAR(60)", "VARCHAR(60)", pa.string()),
    ("born", "DATE", "DATE", pa.date32()),
    ("city", "VARCHAR(20)", "VARCHAR(20)", pa.string()),
    ("boss", "INT", "INT", pa.int32()),
    ("score", "FLOAT", "FLOAT", pa.float32()),
)


def _day(text: str | None) -> dt.date | None:
    return None if text is None else dt.date.fromisoformat(text)


def _at(text: str | None) -> dt.datetime | None:
    return None if text is None else dt.datetime.fromisoformat(text)


def _order(*row: Any) -> tuple[Any, ...]:
    number, person, status, amount, qty, total, ratio, at, day, seen, note, doc, flag, code = row
    exact = None if amount is None else Decimal(amount)
    return (number, person, status, exact, qty, total, ratio, _at(at), _day(day), _at(seen), note, doc, flag, code)


# fmt: off
ORDERS: Final = (
    _order(1, 1, "new", "10.50", 3, 10_000_000_000, 0.5, "2024-01-31 23:59:59", "2024-01-31", "2024-01-31 12:00:00",
           "Hello World", '{"a": 1, "b": {"c": "x"}, "tags": ["p", "q"]}', 1, "5"),
    _order(2, 1, "New", "0.01", 1, -7, -1.25, "2024-02-29 00:00:00", "2024-02-29", None,
           "100%", '{"a": "two", "b": {"c": null}, "tags": []}', 0, "05"),
    _order(3, 2, "paid", "99.99", 2, 0, 1e20, "2023-12-31 10:20:30", "2023-12-31", "2023-12-31 23:30:00",
           "a_b", '{"a": 2.5, "b": {"c": true}}', 1, "abc"),
    _order(4, 2, "PAID", "-5.25", 10, 42, 0.1, "2024-03-01 12:34:56", "2024-03-01", "2024-07-01 00:00:01",
           "tab\there", '{"a": null, "n": {"x": [1, {"y": 2}]}}', None, "12abc"),
    _order(5, 3, "shipped", None, None, None, None, None, None, None, None, None, None, None),
    _order(6, 3, "", "1234567.89", 7, 123456789, 2.675, "2025-01-01 00:00:00", "2025-01-01", "2025-01-01 05:00:00",
           "naïve café", '{"a": "q\\"uote", "b": {"c": "Z"}}', 1, "7.5"),
    _order(7, None, "new", "3.33", 7, 1, 3.0, "2024-06-15 08:00:00", "2024-06-15", "2024-06-15 08:00:00",
           "  padded  ", "[1, 2, 3]", 0, "1e2"),
    _order(8, 4, "paid", "10.50", 5, 99, 1e-7, "2024-06-16 08:00:01", "2024-06-16", "2024-06-16 08:00:01",
           "it's, ok", '{"b": {"c": "x, y: z"}, "a": 1e3}', 1, ""),
    _order(9, 4, "new", "0.00", 0, 5, 123456.789, "2024-12-30 18:45:00", "2024-12-30", "2024-12-30 18:45:00",
           "日本語", '{"a": 7, "k": "v"}', 0, "-3"),
    _order(10, 9, "lost", "7.00", 4, 8, 0.0, "2022-05-05 05:05:05", "2022-05-05", "2022-05-05 05:05:05",
           "back\\slash", '{"a": [1, 2], "b": {"c": 5}}', 1, "x,y,z"),
)
PEOPLE: Final = (
    (1, "Ann Lee", "ann@Example.com", _day("1990-05-17"), "Berlin", None, 1.5),
    (2, "bob", "BOB@example.org", _day("1985-12-31"), "berlin", 1, 0.1),
    (3, "Çelik", None, _day("2000-02-29"), "Paris", 1, None),
    (4, "Dan Brown Jr", "dan@x.io", None, None, 2, 12.25),
    (5, "eve", "", _day("1970-01-01"), "Rome", 2, -3.0),
)
# fmt: on
NAMES: Final = ("orders", "people")
_TABLES: Final = (("orders", _ORDERS, ORDERS), ("people", _PEOPLE, PEOPLE))


@dataclass(frozen=True, slots=True)
class Asked:
    """A query of the corpus. `origin`: where it is from."""

    sql: str
    origin: str
    file: str


def corpus(folder: Path = FOLDER) -> Iterator[Asked]:
    """Each query ends with ; at the end of a line; a comment before it says where it and the next ones are from."""
    for file in sorted(folder.glob("*.sql")):
        origin, lines = "", list[str]()
        for line in file.read_text().splitlines():
            if line.startswith("-- ") and not lines:
                origin = line[3:]
                continue
            lines.append(line)
            if line.endswith(";"):
                yield Asked("\n".join(lines).strip().removesuffix(";"), origin, file.name)
                lines = []


def fill_server(server: MysqlServer) -> None:
    """The tables in a MySQL server."""
    server.run(f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE} COLLATE {COLLATION}")
    with server.connect(database=DATABASE, init_command="SET time_zone = '+00:00'") as connection:
        cursor = connection.cursor()
        for name, columns, rows in _TABLES:
            definition = ", ".join(f"`{column}` {kind}" for column, kind, _, _ in columns)
            cursor.execute(f"CREATE TABLE {name} ({definition})")
            marks = ", ".join(["%s"] * len(columns))
            cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)


def fill_lake(lake: Lake, server: MysqlServer, folder: Path) -> Tables:
    """The same in the lake; JSON as that server prints it, which is what a job writes."""
    tables = Tables(lake, folder)
    tables.catalog.create_database(DATABASE, if_not_exists=False)
    tables.db = DATABASE
    docs, place = (
        dict(server.run(f"SELECT id, doc FROM {DATABASE}.orders")),
        [name for name, *_ in _ORDERS].index("doc"),
    )
    printed = [(*row[:place], docs[row[0]], *row[place + 1 :]) for row in ORDERS]
    for name, columns, rows in (("orders", _ORDERS, printed), ("people", _PEOPLE, PEOPLE)):
        definition = ", ".join(f"`{column}` {kind}" for column, _, kind, _ in columns)
        table = tables.make(
            f"({definition}) UNIQUE KEY(id)".replace("`id` INT", "`id` INT NOT NULL"),
            columns=[column for column, *_ in columns],
            name=name,
            types={column: kind for column, _, _, kind in columns},
        )
        table.commit([(ChangeKind.INSERT, *row) for row in _in_utc(columns, rows)])
    return tables


def _in_utc(
    columns: Sequence[tuple[str, str, str, pa.DataType]], rows: Sequence[tuple[Any, ...]]
) -> list[tuple[Any, ...]]:
    moments = {place for place, (*_, kind) in enumerate(columns) if pa.types.is_timestamp(kind) and kind.tz}
    return [
        tuple(
            value.replace(tzinfo=dt.UTC) if place in moments and value is not None else value
            for place, value in enumerate(row)
        )
        for row in rows
    ]
