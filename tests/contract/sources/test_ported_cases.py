"""Cases of types and transport that other systems test, with their outcome here: the rows that SELECT shows."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest

from syncmgr.job.rows.batch import OP, ChangeKind
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from tests.contract.mysql_reader import database, facts, latest, reading
from tests.support.alike import ALIKE
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import some_slow

INTEGERS: Final = {"TINYINT": 8, "SMALLINT": 16, "MEDIUMINT": 24, "INT": 32, "BIGINT": 64}


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A table by its columns and key, and what is done to it; `{t}` is its name. `casts`: columns told as text."""

    columns: str
    statements: Sequence[str]
    key: Sequence[str] = ("id",)
    casts: Sequence[str] = ()


def _boundaries() -> Case:
    columns, low, high = [], [], []
    for word, bits in INTEGERS.items():
        columns += [f"s{bits} {word}", f"u{bits} {word} UNSIGNED"]
        low += [str(-(2 ** (bits - 1))), "0"]
        high += [str(2 ** (bits - 1) - 1), str(2**bits - 1)]
    rows = f"(1, {', '.join(low)}), (2, {', '.join(high)})"
    return Case(columns=f"id INT, {', '.join(columns)}", statements=[f"INSERT INTO {{t}} VALUES {rows}"])


CHANGES: Final = (
    "INSERT INTO {t} VALUES ({a}, 1), ({b}, 2), ({c}, 3)",
    "UPDATE {t} SET v = 9 WHERE v = 2",
    "DELETE FROM {t} WHERE v = 1",
    "UPDATE {t} SET k = {a} WHERE v = 3",
)


def _keyed(kind: str, a: str, b: str, c: str) -> Case:
    statements = [text.replace("{a}", a).replace("{b}", b).replace("{c}", c) for text in CHANGES]
    return Case(columns=f"k {kind}, v INT", key=("k",), statements=statements)


ENUM_600: Final = ",".join(f"'v{number}'" for number in range(600))
SET_64: Final = ",".join(f"'s{number}'" for number in range(64))
CASES: Final[Mapping[str, Case]] = {
    "integer boundaries": _boundaries(),
    "datetime and decimal extremes": Case(
        columns="id INT, a DATETIME(6), b TIMESTAMP(3) NULL, c DECIMAL(65,30), d DECIMAL(38,30), e DATETIME(3)",
        statements=[
            "INSERT INTO {t} (id, a, b) VALUES (1, '9999-12-31 23:59:59.999999', '2038-01-19 03:14:07.999')",
            "INSERT INTO {t} (id, a, b) VALUES (2, '1000-01-01', '1970-01-01 00:00:01')",
            "UPDATE {t} SET c = 9.5e34, d = 0.1, e = '2020-12-31 23:59:59.9995' WHERE id = 1",
            "UPDATE {t} SET c = -1e-30, d = -1e-30, e = '2020-01-01 01:02:03.4567' WHERE id = 2",
        ],
        casts=("c",),
    ),
    "time boundaries": Case(
        columns="id INT, a TIME, b TIME(6)",
        statements=["INSERT INTO {t} VALUES (1, '838:59:59', '-838:59:59'), (2, '-00:00:01', '00:00:00.000001')"],
        casts=("a", "b"),
    ),
    "dates of Date32": Case(
        columns="id INT, d DATE",
        statements=["INSERT INTO {t} VALUES (1, '1899-12-31'), (2, '1971-02-01'), (3, '2104-06-06')"],
    ),
    "text and blob charset": Case(
        columns="id INT, a TEXT CHARACTER SET gbk, b TEXT CHARACTER SET big5, c TEXT CHARACTER SET utf8mb3, d BLOB",
        statements=[
            "INSERT INTO {t} VALUES (1, '\u4e2d\u6587', '\u4e2d\u6587', '\u4e2d\u6587', x'89504e470d0a1a0a00')",
            "UPDATE {t} SET a = '\u5b57', d = x'00'",
        ],
    ),
    "utf8mb4": Case(
        columns="id INT, `\u540d\u5b57` VARCHAR(20)",
        statements=[
            "INSERT INTO {t} VALUES (1, '\U0001f984'), (2, '\u2601')",
            "UPDATE {t} SET `\u540d\u5b57` = '' WHERE id = 2",
        ],
    ),
    "binary trailing zeros": Case(
        columns="id INT, a BINARY(8), b VARBINARY(8)",
        statements=["INSERT INTO {t} VALUES (1, x'0100', x'0100'), (2, x'00', x'00'), (3, '', '')"],
    ),
    "enum of 600 and set of 64": Case(
        columns=f"id INT, e ENUM({ENUM_600}), s SET({SET_64})",
        statements=["INSERT INTO {t} VALUES (1, 'v0', 's0'), (2, 'v599', 's63,s0'), (3, 'v255', ''), (4, NULL, NULL)"],
    ),
    "bits": Case(
        columns="id INT, a BIT(1), b BIT(9), c BIT(64)",
        statements=["INSERT INTO {t} VALUES (1, b'1', b'100000001', b'1'), (2, 0, 511, 18446744073709551615)"],
        casts=("a", "b", "c"),
    ),
    "generated and invisible columns": Case(
        columns="id INT, a INT, g INT AS (a + 1) STORED, w VARCHAR(9) AS (CONCAT('v', a)) VIRTUAL, h INT INVISIBLE",
        statements=[
            "INSERT INTO {t} (id, a, h) VALUES (1, 2, 3), (2, NULL, NULL)",
            "UPDATE {t} SET a = 7 WHERE id = 2",
        ],
    ),
    "a table named table": Case(columns="id INT, `select` INT", statements=["INSERT INTO {t} VALUES (1, 2)"]),
    "date key": _keyed("DATE", "'2024-01-01'", "'2024-01-02'", "'0001-01-01'"),
    "datetime key": _keyed("DATETIME(6)", "'2024-01-01 00:00:00.000001'", "'2024-01-01'", "'9999-12-31'"),
    "timestamp key": _keyed("TIMESTAMP(3)", "'2024-01-01 00:00:00.001'", "'2024-01-01'", "'2037-12-31'"),
    "decimal key": _keyed("DECIMAL(30,10)", "1.5", "-99999999999999999999.9999999999", "0"),
    "text key": _keyed("VARCHAR(20)", "'a'", "'B'", "'\u00fc'"),
    "binary key": _keyed("BINARY(4)", "x'00'", "x'01000000'", "x'ffffffff'"),
    "unsigned key": _keyed("BIGINT UNSIGNED", "18446744073709551615", "9223372036854775808", "0"),
    "composite key in another order": Case(
        columns="a INT, b VARCHAR(9), v INT",
        key=("b", "a"),
        statements=[
            "INSERT INTO {t} VALUES (1, 'x', 1), (1, 'y', 2)",
            "UPDATE {t} SET b = 'z' WHERE v = 2",
            "DELETE FROM {t} WHERE b = 'x'",
        ],
    ),
    "default values": Case(
        columns="id INT, a INT DEFAULT 7, b VARCHAR(9) DEFAULT 'BEGIN', c DATE DEFAULT '2020-01-01', d INT DEFAULT 1",
        statements=["INSERT INTO {t} (id) VALUES (1)", "INSERT INTO {t} VALUES (2, DEFAULT, 'COMMIT', NULL, NULL)"],
    ),
    "defaults that are expressions": Case(
        columns="id INT, a VARCHAR(9) DEFAULT (CONCAT('a', 'b')), b INT DEFAULT (1 + 2), c DATE DEFAULT ('2020-01-01')",
        statements=["INSERT INTO {t} (id) VALUES (1)", "INSERT INTO {t} VALUES (2, DEFAULT, 7, NULL)"],
    ),
    "time zones of sessions": Case(
        columns="id INT, a TIMESTAMP NULL, b DATETIME",
        statements=[
            "SET time_zone = '+05:30'",
            "INSERT INTO {t} VALUES (1, '2024-03-31 02:30:00', '2024-03-31 02:30:00')",
            "SET time_zone = '-12:00'",
            "INSERT INTO {t} VALUES (2, '2024-03-31 02:30:00', '2024-03-31 02:30:00')",
        ],
    ),
    "years": Case(
        columns="id INT, y YEAR",
        statements=["INSERT INTO {t} VALUES (1, 1901), (2, 2155), (3, 0), (4, '70'), (5, NULL)"],
    ),
    "spaces": Case(
        columns="id INT, a CHAR(5), b VARCHAR(5), c TEXT",
        statements=["INSERT INTO {t} VALUES (1, 'a  ', 'a  ', 'a  '), (2, '   ', '   ', '   '), (3, '', '', '')"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    some_slow(
        CASES,
        always=[
            "integer boundaries",
            "datetime and decimal extremes",
            "text and blob charset",
            "binary trailing zeros",
            "enum of 600 and set of 64",
            "generated and invisible columns",
            "timestamp key",
            "text key",
            "composite key in another order",
            "time zones of sessions",
        ],
    ),
)
@ALIKE
def test_a_case_of_others(any_server: MysqlServer, name: str) -> None:
    """What was done to the table is what its changes do to a copy."""
    case = CASES[name]
    with database(any_server) as db:
        table = f"{db}.{'`table`' if name == 'a table named table' else 't'}"
        key = ", ".join(case.key)
        defined = f"{case.columns}, PRIMARY KEY ({key})"
        any_server.run("SET NAMES utf8mb4", f"CREATE TABLE {table} ({defined}) CHARACTER SET utf8mb4")
        known = facts(any_server, [(db, table.split(".")[1].strip("`"))])
        [schema] = known.tables
        names = tuple(column.name for column in schema.columns)
        wanted = {(db, schema.name): Subscription(columns=names, keys=tuple(case.key), schema=schema)}
        with reading(any_server, wanted, known.start) as reader:
            any_server.run(
                "SET NAMES utf8mb4",
                "SET time_zone = '+00:00', sql_mode = ''",
                *(statement.replace("{t}", table) for statement in case.statements),
            )
            reader.until(latest(any_server))
            copy = _copied(reader.rows((db, schema.name)), case.key)
        casts = [f"CAST(`{n}` AS CHAR)" if n in case.casts and not n.startswith("bit") else f"`{n}`" for n in names]
        if name == "bits":
            casts = [f"`{n}` + 0" for n in names]
        told = any_server.run("SET time_zone = '+00:00'", f"SELECT {', '.join(casts)} FROM {table}")
        rows = [dict(zip(names, row, strict=True)) for row in told]
        plain = [{column: _plain(value) for column, value in row.items()} for row in rows]
        assert copy == {tuple(row[part] for part in case.key): row for row in plain}


def _copied(rows: Sequence[Mapping[str, Any]], key: Sequence[str]) -> dict[tuple[Any, ...], dict[str, Any]]:
    copy: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        where = tuple(_plain(row[part]) for part in key)
        if row[OP] == ChangeKind.DELETE:
            del copy[where]
        else:
            copy[where] = {name: _plain(value) for name, value in row.items() if name != OP}
    return copy


def _plain(value: Any) -> Any:
    """Without the zone that only one of both tells."""
    return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value
