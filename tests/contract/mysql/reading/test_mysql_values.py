# ruff: noqa: RUF001 - letters of every alphabet are the point
"""Every column type, value by value against SELECT and against an independent decoder, on the same binlog."""

import datetime as dt
import itertools
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pytest
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.row_event import WriteRowsEvent

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import FILE, OFFSET, OP, WHEN
from syncmgr.job.types.cells import Unheld
from syncmgr.job.types.column_range import fits
from syncmgr.job.types.schema import TargetType, arrow_type
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from tests.conftest import need_names
from tests.contract.mysql_reader import Reader, Row, database, facts, latest, reading
from tests.support.servers.mysql import PASSWORD, MysqlServer
from tests.support.slow import SERVERS, on_servers, some_slow

# type -> the literals to insert; every one meets every server that has the type
COMMON: Final = {
    "TINYINT": ["-128", "127", "0"],
    "TINYINT UNSIGNED": ["255", "0"],
    "SMALLINT": ["-32768", "32767"],
    "SMALLINT UNSIGNED": ["65535"],
    "MEDIUMINT": ["-8388608", "8388607", "-1"],
    "MEDIUMINT UNSIGNED": ["16777215", "8388608"],
    "INT": ["-2147483648", "2147483647"],
    "INT UNSIGNED": ["4294967295"],
    "BIGINT": ["-9223372036854775808", "9223372036854775807"],
    "BIGINT UNSIGNED": ["18446744073709551615"],
    "FLOAT": ["1.5", "-3.4e38", "1e-38", "0.1"],
    "DOUBLE": ["1.7976931348623157e308", "-2.5e-300", "0.1"],
    "DECIMAL(1,0)": ["9", "-9", "0"],
    "DECIMAL(12,2)": ["1234567890.12", "-0.01", "0"],
    "DECIMAL(18,9)": ["999999999.999999999", "-999999999.999999999"],
    "DECIMAL(19,0)": ["9999999999999999999", "-9999999999999999999", "18446744073709551616", "0"],
    "DECIMAL(30,30)": ["0.123456789012345678901234567890", "-0.000000000000000000000000000001"],
    "DECIMAL(38,10)": ["9999999999999999999999999999.9999999999", "-1", "-9999999999999999999999999999.9999999999"],
    "DECIMAL(65,0)": ["9" * 65, "-" + "9" * 65, "0"],
    "DECIMAL(65,30)": ["9" * 35 + "." + "9" * 30, "-0.5", "-" + "1" * 35],
    "DATE": ["'1000-01-01'", "'9999-12-31'", "'2024-02-29'", "'0001-01-01'"],
    "DATETIME": ["'1000-01-01 00:00:00'", "'9999-12-31 23:59:59'"],
    "DATETIME(1)": ["'2024-02-29 23:59:59.9'"],
    "DATETIME(3)": ["'1969-12-31 23:59:59.999'"],
    "DATETIME(5)": ["'1969-12-31 23:59:59.99999'"],
    "DATETIME(6)": ["'1969-12-31 23:59:59.999999'", "'9999-12-31 23:59:59.999999'", "'2000-01-01 00:00:00.000001'"],
    "TIMESTAMP NULL": ["'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'"],
    "TIMESTAMP(2) NULL": ["'1970-01-01 00:00:01.99'"],
    "TIMESTAMP(6) NULL": ["'2038-01-19 03:14:07.999999'", "'2001-09-09 01:46:40.000001'"],
    "TIME": ["'-838:59:59'", "'838:59:59'", "'00:00:00'", "'-00:00:01'"],
    "TIME(1)": ["'-00:00:00.1'", "'12:34:56.7'"],
    "TIME(3)": ["'-01:02:03.004'", "'101:00:00.999'"],
    "TIME(6)": ["'-838:59:58.999999'", "'00:00:00.000001'", "'-00:00:00.000001'"],
    "YEAR": ["1901", "2155", "0"],
    "BIT(1)": ["b'1'", "b'0'"],
    "BIT(12)": ["b'100000000001'"],
    "BIT(64)": [f"b'{'1' * 64}'", "b'1'"],
    "CHAR(10)": ["'abc'", "''", "'é日本'", "'a  '"],
    "CHAR(255) CHARACTER SET utf8mb4": [f"'{'😀' * 255}'", "''"],
    "VARCHAR(20)": ["'héllo'", "''", "'a  '"],
    "VARCHAR(300)": [f"'{'x' * 300}'", "''"],
    "VARCHAR(20) CHARACTER SET latin1": ["'déjà'", "x'8100fe'", "'plain'", "''"],
    "VARCHAR(20) CHARACTER SET latin2": ["'Łódź'", "'abc'"],
    "VARCHAR(20) CHARACTER SET cp1251": ["'Привет'", "''"],
    "VARCHAR(20) CHARACTER SET koi8r": ["'Привет'"],
    "VARCHAR(20) CHARACTER SET greek": ["'αβγ'"],
    "VARCHAR(20) CHARACTER SET swe7": ["'åäö'"],
    "VARCHAR(20) CHARACTER SET ascii": ["'abc'"],
    "VARCHAR(20) CHARACTER SET utf8mb3": ["'日本語'"],
    "VARCHAR(20) CHARACTER SET gbk": ["'中文字'", "'a'"],
    "VARCHAR(20) CHARACTER SET big5": ["'中文'", "x'A15A'"],
    "VARCHAR(20) CHARACTER SET sjis": ["'日本語ｱ'", "x'815F5C'"],
    "VARCHAR(20) CHARACTER SET cp932": ["'①日本'"],
    "VARCHAR(20) CHARACTER SET ujis": ["'日本語'", "x'A1C05C'"],
    "VARCHAR(20) CHARACTER SET eucjpms": ["'日本～'", "x'8FA2B7'"],
    "VARCHAR(20) CHARACTER SET euckr": ["'한국어'"],
    "VARCHAR(20) CHARACTER SET utf16": ["'a😀'"],
    "VARCHAR(20) CHARACTER SET ucs2": ["'a日'"],
    "VARCHAR(20) CHARACTER SET utf32": ["'a😀'"],
    "TINYTEXT": ["'t'", "''"],
    "TEXT": ["'té'", f"'{'y' * 40000}'"],
    "MEDIUMTEXT CHARACTER SET latin1": ["'ü'"],
    "LONGTEXT": ["'long'"],
    "BINARY(6)": ["'abc'", "x'010200000000'", "''", "x'FFFFFFFFFFFF'"],
    "VARBINARY(300)": ["x'00ff00'", "''"],
    "TINYBLOB": ["x'00'"],
    "BLOB": ["x'deadbeef'", "''"],
    "MEDIUMBLOB": ["x'01'"],
    "LONGBLOB": ["x'02'"],
    "ENUM('a','b''c','é')": ["'a'", "'b''c'", "'é'", "''"],
    "ENUM('а','б') CHARACTER SET cp1251": ["'а'", "'б'"],
    "SET('x','y','z')": ["'x,z'", "''", "'x,y,z'"],
    "SET('','a','b')": ["''", "1", "2", "3", "6", "7"],  # no comma before a label as long as there is no text
    "SET('a','')": ["''", "1", "2", "3"],
    "SET('a1','a2','a3','a4','a5','a6','a7','a8','a9')": ["'a9'", "'a1,a8,a9'"],
    "POINT": ["ST_GeomFromText('POINT(1 2)')"],
    "GEOMETRY": ["ST_GeomFromText('LINESTRING(0 0,1 1)')"],
}
MYSQL_ONLY: Final = {
    "VARCHAR(20) CHARACTER SET gb18030": ["'中𠀀'"],
    "VECTOR(3)": ["TO_VECTOR('[1,2,3]')"],
    "JSON": [
        """'{"a": [1, -1, 2.5, null, true, false, "x\\\\"y\\\\n"], "b": {"ç": {}}, "e": []}'""",
        "'null'",
        "'\"text\"'",
        "'12345678901234567890'",
        "'-9223372036854775808'",
        "'[65535, 65536, -32768, -32769, 4294967295, 4294967296, -2147483649]'",
        "'[0.1, 1e15, 1e14, 1e16, 1.5e300, -1e-14, 1e-15, 1e-16, 123456789.125, 1e22, -0.0, 100.0]'",
        (
            "JSON_OBJECT('d', CAST('2024-02-29' AS DATE), 't', CAST('-12:34:56.5' AS TIME(6)),"
            " 'dt', CAST('2024-02-29 01:02:03.000004' AS DATETIME(6)), 'n', CAST('-12.50' AS DECIMAL(10,2)),"
            " 'm', CAST('0.000000001' AS DECIMAL(40,30)), 'b', x'00ff', '%s', '%')"
        ),
        "JSON_ARRAY(CAST('123456789012345678901234567890.5' AS DECIMAL(40,10)), b'101')",
        """CONCAT('{"long": "', REPEAT('z', 70000), '", "n": [', REPEAT('1,', 30000), '2]}')""",
        """CONCAT('[', REPEAT('{"k": "v"},', 300), '1]')""",
        "CONCAT(REPEAT('[', 60), REPEAT(']', 60))",
        "CONCAT('\"', REPEAT('é', 200), '\\\\u0001\\\\u007f\"')",
    ],
}


MARIADB_ONLY: Final = {
    "TIMESTAMP(3) NULL": ["'1970-01-01 00:00:00.5'", "'1970-01-01 00:00:00.001'"],  # its second 0 is 0000-00-00
    "UUID": [
        "'123e4567-e89b-12d3-a456-426655440000'",  # with a time in it
        "'01890a5d-ac96-774b-bcce-b302099a8057'",
        "'00000000-0000-0000-0000-000000000000'",
        "'ffffffff-ffff-ffff-ffff-ffffffffff00'",
        "'5f1f6f0d-5b1c-4f5e-9d5a-0a0b0c0d0e0f'",
    ],
    "INET6": ["'2001:db8::ff00:42:8329'", "'::'", "'::1'", "'::ffff:10.1.2.3'", "'fe80:0:1:0:1:0:1:0'", "'1:0:0:2::'"],
    "INET4": ["'10.1.2.3'", "'0.0.0.0'", "'255.255.255.0'"],
    "VARCHAR(500) COMPRESSED": ["'short'", "REPEAT('ab\u00e9', 160)", "''"],
    "VARCHAR(500) COMPRESSED CHARACTER SET latin1": ["'short'", "REPEAT('ab\u00e9', 160)"],
    "VARBINARY(500) COMPRESSED": ["x'00ff'", "REPEAT('q', 400)"],
    "TEXT COMPRESSED": ["REPEAT('xyz', 9000)", "'t'", "''"],
    "LONGBLOB COMPRESSED": ["REPEAT('q', 70000)", "x''"],
}


def types_of(server: MysqlServer) -> dict[str, list[str]]:
    found = {**COMMON, **(MYSQL_ONLY if server.flavour == "mysql" else MARIADB_ONLY)}
    return {kind: values for kind, values in found.items() if server.has_vectors or not kind.startswith("VECTOR")}


def columns(types: dict[str, list[str]], suffix: str = "") -> str:
    return ", ".join(f"c{i} {kind}{suffix}" for i, kind in enumerate(types))


def fill(server: MysqlServer, table: str, types: dict[str, list[str]], *, nulls: bool) -> None:
    """Every literal of every type at least once, one row of NULLs and rows with some."""
    dice = random.Random(3)
    rows = []
    for number in range(max(map(len, types.values())) * 2):
        values = [literals[number % len(literals)] for literals in types.values()]
        if nulls:
            values = ["NULL" if dice.random() < 0.2 else value for value in values]
        rows.append(f"({number}, {', '.join(values)})")
    if nulls:
        rows.append(f"({len(rows)}, {', '.join(['NULL'] * len(types))})")
    server.run("SET NAMES utf8mb4, time_zone = '+00:00'", f"INSERT INTO {table} VALUES {', '.join(rows)}")


def expression(kind: str, name: str) -> str:
    """SELECT it in the form in which the driver loses nothing."""
    if kind == "FLOAT":
        return f"CAST({name} AS DOUBLE)"
    if kind.startswith(("TIME(", "JSON", "UUID", "INET")) or kind == "TIME":
        return f"CAST({name} AS CHAR)"
    if kind.startswith("VECTOR"):
        return f"HEX({name})"
    return f"{name} + 0" if kind.startswith("BIT") else name


def expected(kind: str, value: Any) -> Any:
    if value is None:
        return None
    if kind.startswith("DECIMAL(65"):
        return f"{value:f}"
    if kind == "FLOAT":
        return float(np.float32(value))
    if kind.startswith("TIMESTAMP"):
        return value.replace(tzinfo=dt.UTC)
    if kind.startswith("VECTOR"):
        return bytes.fromhex(value)
    if kind.startswith("JSON"):
        return value if isinstance(value, str) else value.decode()
    return value


def select(server: MysqlServer, table: str, types: dict[str, list[str]]) -> dict[int, Row]:
    wanted = ", ".join(expression(kind, f"c{i}") for i, kind in enumerate(types))
    rows = server.run("SET NAMES utf8mb4, time_zone = '+00:00'", f"SELECT id, {wanted} FROM {table}")
    return {
        row[0]: {"id": row[0]} | {f"c{i}": expected(kind, row[i + 1]) for i, kind in enumerate(types)} for row in rows
    }


def assert_same(found: dict[int, Row], wanted: dict[int, Row], types: dict[str, list[str]]) -> None:
    assert found.keys() == wanted.keys()
    for number, row in wanted.items():
        for i, kind in enumerate(types):
            assert found[number][f"c{i}"] == row[f"c{i}"], (kind, number)


def read(server: MysqlServer, db: str, names: list[str], make: Callable[[], None], *, stored: bool) -> Reader:
    """What `make` writes into `<db>.t`, read from where the server stood before."""
    known = facts(server, [(db, "t")])
    told = stored or server.flavour == "mariadb"  # whose own types the binlog takes for bytes
    subscription = Subscription(columns=tuple(names), keys=("id",), schema=known.tables[0] if told else None)
    with reading(server, {(db, "t"): subscription}, known.start) as reader:
        make()
        reader.until(latest(server))
        return reader


@contextmanager
def metadata(server: MysqlServer, level: str) -> Iterator[None]:
    with server.global_variable("binlog_row_metadata", f"'{level}'"):
        yield


@pytest.mark.parametrize(
    ("any_server", "level", "suffix"),
    some_slow(
        itertools.product(SERVERS, ["FULL", "MINIMAL"], ["", " NOT NULL"]),
        always=[
            ("mysql", "FULL", ""),
            ("mysql", "MINIMAL", " NOT NULL"),
            ("mariadb", "FULL", " NOT NULL"),
            ("mariadb", "MINIMAL", ""),
        ],
    ),
    indirect=["any_server"],
)
def test_every_type_decodes_to_what_select_says(any_server: MysqlServer, level: str, suffix: str) -> None:
    """Inserts of every type, NULLs and extremes come out as SELECT tells them, with and without full metadata."""
    types = types_of(any_server)
    names = ["id", *(f"c{i}" for i in range(len(types)))]
    if suffix:
        types = {kind.replace(" NULL", ""): literals for kind, literals in types.items()}
    with database(any_server) as db, metadata(any_server, level):
        any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, {columns(types, suffix)})")
        make = lambda: fill(any_server, f"{db}.t", types, nulls=not suffix)  # noqa: E731
        reader = read(any_server, db, names, make, stored=level != "FULL")
        assert_same(reader.state((db, "t")), select(any_server, f"{db}.t", types), types)


def test_arrow_types_are_those_of_the_schema(any_server: MysqlServer) -> None:
    """Each column has exactly the type that schema.arrow_type gives for what CREATE SYNC found."""
    types = types_of(any_server)
    with database(any_server) as db:
        any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, {columns(types)})")
        known = facts(any_server, [(db, "t")]).tables[0]
        names = [column.name for column in known.columns]
        make = lambda: fill(any_server, f"{db}.t", types, nulls=True)  # noqa: E731
        reader = read(any_server, db, names, make, stored=True)
        decoded = next(batch for batch in reader.batches if batch.changes).changes[0].decode()
        assert decoded.column_names == [*names, OP]
        for column in known.columns:
            assert decoded.schema.field(column.name).type == arrow_type(column), column


def test_updates_and_deletes_of_every_type(any_server: MysqlServer) -> None:
    """Updates, key changes and deletes over rows of all types leave what SELECT leaves."""
    types = types_of(any_server)
    names = ["id", *(f"c{i}" for i in range(len(types)))]
    with database(any_server) as db:
        table = f"{db}.t"
        any_server.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, {columns(types)})")

        def make() -> None:
            fill(any_server, table, types, nulls=True)
            any_server.run(
                f"UPDATE {table} SET c0 = 5 WHERE id % 3 = 0",
                f"UPDATE {table} SET id = id + 1000 WHERE id % 5 = 1",
                f"UPDATE {table} SET c0 = NULL, c6 = 7",
                f"DELETE FROM {table} WHERE id % 4 = 2",
            )

        reader = read(any_server, db, names, make, stored=False)
        assert_same(reader.state((db, "t")), select(any_server, table, types), types)
        assert {row[OP] for row in reader.rows((db, "t"))} == {0, 1, 2}


@on_servers("mysql")
@pytest.mark.parametrize("years", [1, 3, 8])
def test_signs_behind_a_year_are_those_of_the_table(any_server: MysqlServer, years: int) -> None:
    """The binlog has one bit for each number, and a YEAR is one."""
    with database(any_server) as db:
        defined = ", ".join(f"y{i} YEAR" for i in range(years))
        numbers = "a INT, b TINYINT UNSIGNED, c BIT(3), d BIGINT UNSIGNED, e DECIMAL(5,2), f SMALLINT"
        any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, {defined}, {numbers})")
        make = lambda: any_server.run(  # noqa: E731
            f"INSERT INTO {db}.t (id, y0, a, b, c, d, e, f) VALUES (1, 2024, -1, 255, 5, 18446744073709551615, -1, -2)",
        )
        row = read(any_server, db, ["y0", "a", "b", "c", "d", "e", "f"], make, stored=True).rows((db, "t"))[0]
        assert [row[name] for name in "abcdef"] == [-1, 255, 5, 18446744073709551615, Decimal("-1.00"), -2]


IN_BETWEEN: Final = ["POINT", "BIT(3)", "ENUM('a')", "BINARY(3)", "BLOB", "GEOMETRY", "JSON", "SET('a')"]
CHARSETS: Final = {"latin1": "é", "cp1251": "ж", "greek": "β", "utf8mb4": "😀", "latin2": "ł", "gbk": "中"}


@pytest.mark.parametrize("level", ["FULL", "MINIMAL"])
@pytest.mark.parametrize("more", ["", ", " + ", ".join(f"m{i} VARCHAR(5) CHARACTER SET koi8r" for i in range(20))])
def test_charsets_are_those_of_their_columns(any_server: MysqlServer, level: str, more: str) -> None:
    """Whatever stands between two texts, and whether the binlog tells a default charset or that of each."""
    own = ["VECTOR(2)"] if any_server.has_vectors else []
    if any_server.flavour == "mariadb":
        own = ["UUID", "INET6", "TEXT COMPRESSED", "CHAR(3) COMPRESSED"]
    with database(any_server) as db, any_server.global_variable("binlog_row_metadata", level):
        kinds = [kind.replace("CHAR(3) C", "VARCHAR(3) C") for kind in IN_BETWEEN + own]
        pairs = [(f"x{i}", kind, *list(CHARSETS.items())[i % len(CHARSETS)]) for i, kind in enumerate(kinds)]
        defined = ", ".join(f"{x} {kind}, t{x} VARCHAR(5) CHARACTER SET {charset}" for x, kind, charset, _ in pairs)
        any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, {defined}{more})")
        names = [f"t{x}" for x, _, _, _ in pairs]
        values = ", ".join(f"'{text}'" for _, _, _, text in pairs)
        make = lambda: any_server.run(  # noqa: E731
            "SET NAMES utf8mb4", f"INSERT INTO {db}.t (id, {', '.join(names)}) VALUES (1, {values})"
        )
        row = read(any_server, db, ["id", *names], make, stored=level == "MINIMAL").rows((db, "t"))[0]
        assert [row[name] for name in names] == [text for _, _, _, text in pairs]


def test_only_wanted_columns_are_decoded(any_server: MysqlServer) -> None:
    """Columns come in the order asked for, and those that nobody wants may hold what cannot be told."""
    with database(any_server) as db:
        any_server.run(f"CREATE TABLE {db}.t (a DATE, id INT PRIMARY KEY, b VARCHAR(10), c DATETIME, d INT)")
        make = lambda: any_server.run(  # noqa: E731
            f"INSERT INTO {db}.t VALUES ('0000-00-00', 1, 'x', '2024-00-00 00:00:00', 4)",
        )
        reader = read(any_server, db, ["d", "b", "id"], make, stored=False)
        assert reader.rows((db, "t")) == [{"d": 4, "b": "x", "id": 1, OP: 0}]


@on_servers("mysql")
@pytest.mark.parametrize(
    ("kind", "literal", "shown"),
    [
        ("DATE", "'0000-00-00'", "0000-00-00"),
        ("DATE", "'2024-05-00'", "2024-05-00"),
        ("DATETIME(3)", "'0000-00-00'", "0000-00-00 00:00:00"),
        ("TIMESTAMP NULL", "'0000-00-00'", "0000-00-00 00:00:00"),
    ],
)
def test_a_value_that_arrow_cannot_hold_is_an_error(
    any_server: MysqlServer, kind: str, literal: str, shown: str
) -> None:
    """A zero or partial date names its column, table and value; nothing is guessed."""
    with database(any_server) as db:
        any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, v {kind})")

        def make() -> None:
            any_server.run(f"INSERT INTO {db}.t VALUES (1, {literal})")

        reader = read(any_server, db, ["id", "v"], make, stored=False)
        with pytest.raises(SyncError) as caught:
            reader.rows((db, "t"))
        assert caught.value.code is Code.SOURCE_VALUE
        assert caught.value.context["value"] == shown
        assert caught.value.context["column"] == "v"


def test_what_arrow_cannot_hold_is_told_with_its_place(any_server: MysqlServer) -> None:
    """To who asks for it: NULL stands for each value, in keys too, and each row says where in the binlog it stood."""
    with database(any_server) as db:
        any_server.run(f"CREATE TABLE {db}.t (day DATE, id INT, v DATETIME, PRIMARY KEY (day, id))")
        known = facts(any_server, [(db, "t")])
        wanted = Subscription(columns=("day", "id", "v"), keys=("day", "id"))
        with reading(any_server, {(db, "t"): wanted}, known.start) as reader:
            any_server.run(
                f"INSERT INTO {db}.t VALUES ('2024-01-01', 1, '2024-00-00'), (0, 2, 0), ('2024-01-02', 3, 0)"
            )
            any_server.run(f"UPDATE {db}.t SET day = 0 WHERE id = 3", f"UPDATE {db}.t SET v = NOW()")
            any_server.run(f"DELETE FROM {db}.t")
            end = latest(any_server)
            reader.until(end)
        rows: list[Row] = []
        told: list[tuple[str, str, Any]] = []
        for part in (part for batch in reader.batches for part in batch.changes):
            unheld = list[Unheld]()
            rows += (found := part.decode(unheld).to_pylist())
            told += [(one.column, one.shown, found[one.row]["id"]) for one in unheld]
        assert [(row["day"], row["id"], row["v"] is None, row[OP]) for row in rows] == [
            (dt.date(2024, 1, 1), 1, True, 0),
            (None, 2, True, 0),
            (dt.date(2024, 1, 2), 3, True, 0),
            (dt.date(2024, 1, 2), 3, True, 2),
            (None, 3, True, 0),
            *((None, number, False, 1) for number in (2, 3)),
            (dt.date(2024, 1, 1), 1, False, 1),
            *((None, number, False, 2) for number in (2, 3)),
            (dt.date(2024, 1, 1), 1, False, 2),
        ]
        assert ("day", "0000-00-00", 2) in told
        assert ("v", "2024-00-00 00:00:00", 1) in told
        assert {row[FILE] for row in rows} == {end.file}
        offsets = [row[OFFSET] for row in rows]
        assert offsets == sorted(offsets)
        tells_none = any_server.flavour == "mariadb" and any_server.version() >= (11, 8)  # within a transaction
        assert set(offsets) == {0} if tells_none else 0 < offsets[0] < offsets[-1] <= end.offset
        assert all(abs(row[WHEN] - time.time()) < 600 for row in rows)


def test_a_row_that_arrow_cannot_hold_may_be_deleted(any_server: MysqlServer) -> None:
    """What stands beside the key of a deleted row is looked at by nobody, so a zero date does not stop its delete."""
    with database(any_server) as db:
        any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, v DATE)", f"INSERT INTO {db}.t VALUES (1, 0)")
        make = lambda: any_server.run(f"DELETE FROM {db}.t")  # noqa: E731
        reader = read(any_server, db, ["id", "v"], make, stored=False)
        assert reader.rows((db, "t")) == [{"id": 1, "v": None, OP: 2}]


def test_compressed_transactions_decode_alike(mysql_server: MysqlServer) -> None:
    """binlog_transaction_compression changes nothing of what comes out."""
    types = types_of(mysql_server)
    names = ["id", *(f"c{i}" for i in range(len(types)))]
    with database(mysql_server) as db, mysql_server.global_variable("binlog_transaction_compression", "ON"):
        mysql_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, {columns(types)})")
        make = lambda: fill(mysql_server, f"{db}.t", types, nulls=True)  # noqa: E731
        reader = read(mysql_server, db, names, make, stored=False)
        assert_same(reader.state((db, "t")), select(mysql_server, f"{db}.t", types), types)


def test_a_year_of_two_digits_has_no_type(mariadb_server: MysqlServer) -> None:
    """A SELECT shows 99 of it and the binlog 1999: no target takes it, and the columns beside it are read."""
    with database(mariadb_server) as db:
        mariadb_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, y YEAR(2), v YEAR(4))")
        [known] = facts(mariadb_server, [(db, "t")]).tables
        column = known.column("y")
        assert column is not None
        reason = fits(column, TargetType(name="STRING"))
        assert reason is not None
        assert "MODIFY it to YEAR(4)" in reason
        wanted = {(db, "t"): Subscription(columns=("id", "v"), keys=("id",))}
        with reading(mariadb_server, wanted, latest(mariadb_server)) as reader:
            mariadb_server.run(f"INSERT INTO {db}.t VALUES (1, 99, 1999)")
            reader.until(latest(mariadb_server))
            assert reader.rows((db, "t")) == [{"id": 1, "v": 1999, OP: 0}]


def test_compressed_events_of_mariadb_decode_alike(mariadb_server: MysqlServer) -> None:
    """log_bin_compress changes nothing of what comes out, of inserts, updates and deletes."""
    types = types_of(mariadb_server)
    names = ["id", *(f"c{i}" for i in range(len(types)))]
    with database(mariadb_server) as db, mariadb_server.global_variable("log_bin_compress", "ON"):
        table = f"{db}.t"
        mariadb_server.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, {columns(types)})")

        def make() -> None:
            fill(mariadb_server, table, types, nulls=True)
            mariadb_server.run(f"UPDATE {table} SET id = id + 100 WHERE id < 3", f"DELETE FROM {table} WHERE id = 4")

        reader = read(mariadb_server, db, names, make, stored=False)
        assert_same(reader.state((db, "t")), select(mariadb_server, table, types), types)


def oracle_rows(server: MysqlServer, start: Position, db: str) -> list[Row]:
    """The inserts as python-mysql-replication decodes them."""
    stream = BinLogStreamReader(
        connection_settings={
            "host": "127.0.0.1",
            "port": server.port,
            "user": "repl",
            "password": PASSWORD,
            "ssl_disabled": True,
        },
        server_id=4712,
        only_events=[WriteRowsEvent],
        only_schemas=[db],
        log_file=start.file,
        log_pos=start.offset,
        resume_stream=True,
    )
    try:
        return [row["values"] for event in stream for row in event.rows]
    finally:
        stream.close()


def comparable(value: Any) -> Any:
    match value:
        case dt.timedelta():
            return value / dt.timedelta(microseconds=1)
        case dt.datetime():
            return value.replace(tzinfo=None)
        case bytes() | bytearray():
            return bytes(value) or ""  # python-mysql-replication takes an empty one for text
        case _:
            return value


SHARED_WITH_THE_ORACLE: Final = {
    kind: literals
    for kind, literals in COMMON.items()
    if kind.split("(")[0].split()[0]
    in {"TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "DATETIME", "TEXT", "BLOB"}
    or kind in {"DECIMAL(12,2)", "DECIMAL(19,0)", "DECIMAL(38,10)", "CHAR(10)", "VARCHAR(20)", "VARCHAR(300)"}
    or kind == "VARBINARY(300)"
}


@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")
def test_an_independent_decoder_reads_the_same(mysql_server: MysqlServer) -> None:
    """Value by value what python-mysql-replication makes of the same binlog, for the types that it gets right."""
    need_names(mysql_server)  # the other one takes the names, and the charsets, from the binlog
    types = SHARED_WITH_THE_ORACLE
    kinds = {"id": "INT"} | {f"c{i}": kind for i, kind in enumerate(types)}
    names = list(kinds)
    with database(mysql_server) as db:
        mysql_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, {columns(types)})")
        start = latest(mysql_server)
        make = lambda: fill(mysql_server, f"{db}.t", types, nulls=True)  # noqa: E731
        reader = read(mysql_server, db, names, make, stored=False)
        theirs = oracle_rows(mysql_server, start, db)
        ours = reader.rows((db, "t"))
        assert len(ours) == len(theirs) > 0
        for mine, other in zip(ours, theirs, strict=True):
            for name in names:
                assert comparable(mine[name]) == comparable(other[name]), (kinds[name], mine["id"])


def test_many_columns_and_rows(any_server: MysqlServer) -> None:
    """300 columns (their count needs three bytes) and rows of many sizes over many events survive."""
    with database(any_server) as db:
        names = [f"c{i}" for i in range(300)]
        defined = ", ".join(f"{n} {'INT' if i % 2 else 'VARCHAR(9)'}" for i, n in enumerate(names))
        any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, {defined})")
        rows = [
            [i, *((None if (i + k) % 7 == 0 else k * i if k % 2 else "v" * ((i * k) % 9)) for k in range(300))]
            for i in range(60)
        ]

        def make() -> None:
            connection = any_server.connect()
            with connection, connection.cursor() as cursor:
                cursor.executemany(f"INSERT INTO {db}.t VALUES ({', '.join(['%s'] * 301)})", rows)

        reader = read(any_server, db, ["id", *names], make, stored=False)
        found = reader.state((db, "t"))
        assert [list(found[i].values()) for i in range(60)] == rows


def test_an_event_beyond_16_mib(mysql_server: MysqlServer) -> None:
    """A row that needs several packets arrives whole."""
    with database(mysql_server) as db, mysql_server.global_variable("max_allowed_packet", str(1 << 27)):
        mysql_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, v LONGTEXT)")
        size = 40 * 1024 * 1024

        def make() -> None:
            mysql_server.run(f"INSERT INTO {db}.t VALUES (1, REPEAT('ab', {size // 2})), (2, 'small')")

        reader = read(mysql_server, db, ["id", "v"], make, stored=False)
        state = reader.state((db, "t"))
        assert len(state[1]["v"]) == size
        assert state[1]["v"] == "ab" * (size // 2)
        assert state[2]["v"] == "small"


WORDS: Final = ("a", "id", '"quoted"', "ключ", "%s", "x" * 70, "\u0001\n")


def random_json(dice: random.Random, depth: int = 0) -> Any:
    match dice.randrange(9 if depth < 5 else 6):
        case 0:
            return dice.choice([None, True, False])
        case 1:
            return dice.randrange(-(2 ** dice.randrange(1, 63)), 2 ** dice.randrange(1, 64))
        case 2:
            return dice.choice([dice.uniform(-1, 1), dice.uniform(-1, 1) * 10 ** dice.randrange(-20, 20), 2.5])
        case 3 | 4:
            return dice.choice(WORDS) * dice.randrange(4)
        case 5:
            return "lorem ipsum " * dice.randrange(30)
        case 6:
            return [random_json(dice, depth + 1) for _ in range(dice.randrange(5))]
        case _:
            return {dice.choice(WORDS): random_json(dice, depth + 1) for _ in range(dice.randrange(5))}


def test_many_documents_are_the_servers(mysql_server: MysqlServer) -> None:
    """Thousands of documents of every shape in one batch, with NULL among them: each the text of the server itself."""
    dice = random.Random(11)
    texts = [None if dice.random() < 0.1 else json.dumps(random_json(dice)) for _ in range(4000)]
    set_more = "JSON_SET(v, '$.t', CAST('2024-02-29 01:02:03.5' AS DATETIME(6)), '$.d', CAST(id / 7 AS DECIMAL(20,6)))"
    with database(mysql_server) as db:
        mysql_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, v JSON)")

        def make() -> None:
            with mysql_server.connect(autocommit=True) as connection, connection.cursor() as cursor:
                for start in range(0, len(texts), 1000):
                    part = list(enumerate(texts[start : start + 1000], start))
                    cursor.executemany(f"INSERT INTO {db}.t VALUES (%s, %s)", part)
                cursor.execute(f"UPDATE {db}.t SET v = {set_more} WHERE JSON_TYPE(v) = 'OBJECT'")

        reader = read(mysql_server, db, ["id", "v"], make, stored=False)
        told = dict(mysql_server.run("SET NAMES utf8mb4", f"SELECT id, CAST(v AS CHAR) FROM {db}.t"))
        assert {number: row["v"] for number, row in reader.state((db, "t")).items()} == told


def test_decimals_are_exact(any_server: MysqlServer) -> None:
    """Thousands of random decimals of every width come out exactly."""
    dice = random.Random(5)
    shapes = [(5, 2), (9, 9), (10, 0), (18, 4), (19, 9), (27, 18), (38, 0), (38, 30)]
    with database(any_server) as db:
        defined = ", ".join(f"c{i} DECIMAL({p},{s})" for i, (p, s) in enumerate(shapes))
        any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, {defined})")

        def number(precision: int, scale: int) -> Decimal:
            digits = dice.randint(1, precision)
            return Decimal(dice.randint(-(10**digits) + 1, 10**digits - 1)).scaleb(-scale)

        rows = [[i, *(number(p, s) for p, s in shapes)] for i in range(1000)]

        def make() -> None:
            connection = any_server.connect()
            with connection, connection.cursor() as cursor:
                cursor.executemany(f"INSERT INTO {db}.t VALUES ({', '.join(['%s'] * (len(shapes) + 1))})", rows)

        names = ["id", *(f"c{i}" for i in range(len(shapes)))]
        found = read(any_server, db, names, make, stored=False).state((db, "t"))
        assert [list(found[i].values()) for i in range(1000)] == rows


@pytest.mark.parametrize("tolerant", [False, True])
def test_what_an_ignored_update_holds_is_not_read(any_server: MysqlServer, *, tolerant: bool) -> None:
    """A target without a key whose "append_on_change" is ignore takes inserts alone: others may hold anything."""
    with database(any_server) as db:
        any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, d DATE)", f"INSERT INTO {db}.t VALUES (1, NULL)")
        with reading(any_server, {(db, "t"): Subscription(columns=("id", "d"))}) as reader:
            any_server.run(f"INSERT INTO {db}.t VALUES (2, NULL)", f"UPDATE {db}.t SET d = '0000-00-00' WHERE id = 1")
            batches = reader.until(latest(any_server))
    unheld = list[Unheld]() if tolerant else None
    rows = [row for batch in batches for part in batch.changes for row in part.decode(unheld, inserts=True).to_pylist()]
    assert [(row["id"], row["d"], row[OP]) for row in rows if row[OP] == 0] == [(2, None, 0)]
    assert not unheld
