"""What DDL makes of the values that are there: the job's own reading of a statement, against the real server."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from itertools import zip_longest
from typing import Any, Final

import pytest

from mysqlddl.nodes import AlterTable
from mysqlddl.reading import read
from syncmgr.errors import SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.channel.channel_plan import plan_channel
from syncmgr.job.ddl.alteration import altered, has_charset
from syncmgr.job.ddl.ddl_plan import DdlStatement, Rules, plan_ddl
from syncmgr.job.ddl.ddl_step import DdlStep
from syncmgr.job.ddl.lake_change import AddField, LakeChange
from syncmgr.job.ddl_policy import OnDdl
from syncmgr.job.job_properties import AppendOnChange
from syncmgr.job.types.derived_type import derived
from syncmgr.job.types.schema import GEOMETRY, SourceColumn, SourceTable, TargetColumn, TargetTable
from syncmgr.pipeline.messages import WorkerChannel
from syncmgr.sources.mysql.binlog.subscriptions import subscriptions
from syncmgr.sources.mysql.source import SourceOptions
from tests.contract.mysql_reader import Row, database, facts, latest, reading
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import crossed, on_servers
from tests.support.until import until

pytestmark = pytest.mark.mysql
QUICK: Final = SourceOptions(position_interval=0.05, retry=Retry(first=0.02))
STRICT, LOOSE = "STRICT_ALL_TABLES", ""
PADDED: Final = "STRICT_ALL_TABLES,PAD_CHAR_TO_FULL_LENGTH"
BOTH: Final = frozenset({"mysql", "mariadb"})
MYSQL, MARIADB = frozenset({"mysql"}), frozenset({"mariadb"})
TO_UTF8: Final = "CONVERT TO CHARACTER SET utf8mb4"
AT: Final = "SET timestamp = 1700000000.123456"


@dataclass(frozen=True, slots=True)
class Case:
    """A column `v` as `kind` with one value, and clauses of an ALTER. `why`: of the pause, "" where it is followed.

    `session`: what else is set, after a comma.
    """

    kind: str
    value: str
    clauses: str
    why: str = ""
    mode: str = STRICT
    zone: str = "+00:00"
    on: frozenset[str] = BOTH
    table: str = "CHARACTER SET utf8mb4"
    session: str = ""


def adds(definition: str, why: str = "", **facts: Any) -> Case:
    return Case("INT", "1", f"ADD c {definition}", why, **facts)


def modifies(kind: str, value: str, now: str, why: str = "", **facts: Any) -> Case:
    return Case(kind, value, f"MODIFY v {now}", why, **facts)


CHANGES: Final = "which may change its values"
UNKNOWN: Final = '"on_old_values" = "null"'
NUMBERED: Final = "becomes AUTO_INCREMENT"
LABELS: Final = "has labels that are alike in some collations"
IMPLICIT: Final = ", explicit_defaults_for_timestamp = OFF"
CASES: Final = (
    # digits of floats
    modifies("DOUBLE", "1.23456789", "DOUBLE(20,3), ALGORITHM=COPY", CHANGES),
    modifies("FLOAT", "1.23456789", "FLOAT(20,3), ALGORITHM=COPY", CHANGES),
    modifies("FLOAT(7,2)", "1.24", "FLOAT(9,4), ALGORITHM=COPY"),
    modifies("DOUBLE(7,2)", "-12345.67", "DOUBLE(12,5), ALGORITHM=COPY"),
    modifies("DOUBLE(7,2)", "1.24", "DOUBLE, ALGORITHM=COPY"),
    modifies("FLOAT(7,2)", "1.24", "DOUBLE, ALGORITHM=COPY"),
    modifies("FLOAT(7,2)", "1.24", "DOUBLE(9,2), ALGORITHM=COPY", CHANGES),
    modifies("FLOAT(9,3)", "1.239", "FLOAT(9,2), ALGORITHM=COPY", CHANGES),
    *(
        adds(f"{kind}({digits}) DEFAULT {value}")
        for kind in ("DOUBLE", "FLOAT")
        for digits, value in (
            ("10,2", "1.239"),
            ("10,2", "-1.005"),
            ("10,2", "2.675"),
            ("10,2", "0.125"),
            ("10,2", "0.375"),
            ("10,2", "-0.125"),
            ("10,0", "2.5"),
            ("10,0", "3.5"),
            ("10,1", "'0.25'"),
            ("20,5", "123456.789015"),
            ("6,3", "999.9994"),
        )
    ),
    adds("FLOAT DEFAULT 1.1"),
    # rows that get a number
    modifies("INT NOT NULL, KEY (v)", "0", "INT NOT NULL AUTO_INCREMENT", NUMBERED),
    modifies("INT, KEY (v)", "NULL", "INT NOT NULL AUTO_INCREMENT", NUMBERED),
    Case("INT NOT NULL, KEY (v)", "0", "CHANGE v v INT NOT NULL AUTO_INCREMENT, ADD c INT", NUMBERED),
    modifies("INT NOT NULL, KEY (v)", "0", "INT NOT NULL AUTO_INCREMENT", mode=f"{STRICT},NO_AUTO_VALUE_ON_ZERO"),
    modifies("INT NOT NULL AUTO_INCREMENT, KEY (v)", "5", "BIGINT NOT NULL AUTO_INCREMENT"),
    # defaults beyond their column, and doubles whose half goes to the even one
    adds("INT DEFAULT 2.5e0", UNKNOWN),
    adds("INT DEFAULT 25e-1", UNKNOWN),
    adds("DECIMAL(5,1) DEFAULT 1.25e0", UNKNOWN),
    adds("INT DEFAULT 3e0"),
    adds("VARCHAR(3) DEFAULT 'abc  '", UNKNOWN, on=MYSQL),
    adds("TINYINT DEFAULT (200)", UNKNOWN, mode=LOOSE, on=MYSQL),
    adds("INT UNSIGNED DEFAULT (-5)", UNKNOWN, mode=LOOSE, on=MYSQL),
    adds("VARCHAR(3) DEFAULT ('abcdef')", UNKNOWN, mode=LOOSE, on=MYSQL),
    adds("BINARY(2) DEFAULT ('abc')", UNKNOWN, mode=LOOSE, on=MYSQL),
    adds("DECIMAL(3,1) DEFAULT (12345)", UNKNOWN, mode=LOOSE, on=MYSQL),
    adds("DOUBLE UNSIGNED DEFAULT (-1.5)", UNKNOWN, mode=LOOSE, on=MYSQL),
    adds("TINYINT DEFAULT (-128), ADD d BIGINT UNSIGNED DEFAULT 18446744073709551615"),
    # timestamps
    modifies("TIMESTAMP NULL", "NULL", "TIMESTAMP NOT NULL", "becomes NOT NULL", on=MARIADB),
    adds("TIMESTAMP", session=IMPLICIT),
    Case("TIMESTAMP NULL", "NULL", "ADD c TIMESTAMP FIRST", session=IMPLICIT),
    # texts that the connection's charset lacks
    adds(
        "VARCHAR(9) DEFAULT '中'",
        UNKNOWN,
        session=", character_set_client = utf8mb4, collation_connection = latin1_bin",
    ),
    adds("VARCHAR(9) DEFAULT '中'"),
    adds("VARCHAR(9) DEFAULT '['", UNKNOWN, session=", collation_connection = swe7_bin"),
    adds("VARCHAR(9) DEFAULT 'ab'", session=", collation_connection = swe7_bin"),
    # bytes of texts in the connection's charset, into which all strings but the first are converted twice
    *(
        adds(f"{kind} DEFAULT {text}", why, session=f", collation_connection = {connection}_bin", on=on)
        for connection in ("utf16", "ucs2")
        for kind, text, why, on in (
            ("VARBINARY(20)", "'ab'", UNKNOWN, BOTH),
            ("BINARY(20)", "'ab'", UNKNOWN, BOTH),
            ("BLOB", "('ab')", UNKNOWN, BOTH),
            ("BIT(40)", "'a'", UNKNOWN, BOTH),
            ("VARBINARY(20)", "_latin1'ab'", "", BOTH),
            ("VARBINARY(20)", "N'ab'", "", BOTH),
            ("VARBINARY(20)", "x'6162'", "", BOTH),
            ("VARBINARY(20)", "'a' 'b'", UNKNOWN, BOTH),
            ("VARCHAR(20)", "'a' 'b'", UNKNOWN, BOTH),
            ("VARCHAR(20)", "_latin1'a' 'b'", UNKNOWN, BOTH),
            ("VARCHAR(20)", "'é['", "", BOTH),
            ("ENUM('a','é')", "'é'", "", BOTH),
            ("DATETIME", "'2024-01-02'", "", BOTH),
            ("INT", "'12'", "", BOTH),
            ("TEXT", "(JSON_OBJECT())", "", BOTH),
        )
    ),
    adds(
        "VARBINARY(20) DEFAULT 'a' 'b['", session=", collation_connection = latin1_bin, character_set_client = latin1"
    ),
    adds("VARBINARY(20) DEFAULT 'a' 'b['", UNKNOWN, session=", collation_connection = latin1_bin"),
    adds("VARBINARY(20) DEFAULT 'a' 'b'", session=", collation_connection = latin1_bin"),
    adds("VARCHAR(20) DEFAULT 'é'", session=", collation_connection = binary"),
    adds("VARCHAR(20) CHARACTER SET latin1 DEFAULT 'é'", UNKNOWN, session=", collation_connection = binary"),
    adds("VARCHAR(20) CHARACTER SET ucs2 DEFAULT 'ab'", UNKNOWN, session=", collation_connection = binary"),
    adds("VARCHAR(20) CHARACTER SET ucs2 DEFAULT _binary'ab'", UNKNOWN),
    adds("VARCHAR(20) CHARACTER SET latin1 DEFAULT _binary'ab'"),
    adds("VARCHAR(20) DEFAULT _utf8mb4'é'"),
    adds("VARCHAR(20) DEFAULT _utf8mb4'é'", UNKNOWN, session=", character_set_client = latin1"),
    # bytes in the column's charset
    *(
        adds(f"VARCHAR(9) CHARACTER SET {charset} DEFAULT {bits}", why)
        for charset, bits, why in (
            ("utf16", "0x0041", UNKNOWN),
            ("utf16", "0x41", UNKNOWN),
            ("utf16le", "0x4100", UNKNOWN),
            ("ucs2", "x'4e2d'", UNKNOWN),
            ("utf32", "b'01000001'", UNKNOWN),
            ("swe7", "0x5B", UNKNOWN),
            ("latin1", "0x5B", ""),
            ("utf8mb3", "x'c3a9'", ""),
            ("utf8mb4", "x'c3a9'", ""),
        )
    ),
    # empty texts that are NULL
    *(
        adds(definition, why, mode=f"{STRICT},EMPTY_STRING_IS_NULL", on=MARIADB)
        for definition, why in (
            ("VARCHAR(9) DEFAULT ''", ""),
            ("VARCHAR(9) DEFAULT ('')", ""),
            ("VARCHAR(9) DEFAULT N''", ""),
            ("VARCHAR(9) DEFAULT _utf8mb4''", ""),
            ("VARCHAR(9) DEFAULT '' ''", ""),
            ("VARCHAR(9) DEFAULT '' 'a'", ""),
            ("VARCHAR(9) DEFAULT x''", ""),
            ("VARCHAR(9) DEFAULT ' '", ""),
            ("TEXT DEFAULT ''", ""),
            ("VARBINARY(9) DEFAULT ''", ""),
            ("ENUM('','x') DEFAULT ''", ""),
            ("ENUM('','x') NOT NULL", ""),
            ("SET('x') DEFAULT ''", ""),
            ("SET('x') NOT NULL", ""),
            ("INT DEFAULT ''", ""),
            ("CHAR(3) NOT NULL", ""),
        )
    ),
    Case("ENUM('','x')", "''", "MODIFY v ENUM('','x','y')", mode=f"{STRICT},EMPTY_STRING_IS_NULL", on=MARIADB),
    Case("VARCHAR(9)", "''", "MODIFY v TEXT", mode=f"{STRICT},EMPTY_STRING_IS_NULL", on=MARIADB),
    adds("VARCHAR(9) DEFAULT ''"),
    # TIMESTAMP that means DATETIME
    *(
        adds(definition, why, mode=f"{STRICT},MAXDB", on=MARIADB, session=session)
        for session in ("", IMPLICIT)
        for definition, why in (
            ("TIMESTAMP", ""),
            ("TIMESTAMP(3) DEFAULT '2024-01-02 03:04:05.5'", ""),
            ("TIMESTAMP DEFAULT CURRENT_TIMESTAMP", ""),
        )
    ),
    # what is generated from a default
    Case("INT DEFAULT 1, g INT AS (DEFAULT(v)) VIRTUAL", "1", "ALTER v SET DEFAULT 9", "is generated from", on=MARIADB),
    Case(
        "INT DEFAULT 1, g INT AS (DEFAULT(v)) VIRTUAL", "1", "MODIFY v INT DEFAULT 9", "is generated from", on=MARIADB
    ),
    Case("INT DEFAULT 1, g INT AS (v + 1) VIRTUAL", "1", "ALTER v SET DEFAULT 9"),
    # charsets of labels, and labels
    *(
        modifies(
            f"{kind}('a','A') COLLATE utf8mb4_bin",
            "'A'",
            f"{kind}('a','A') COLLATE utf8mb4_general_ci",
            LABELS,
            mode=LOOSE,
        )
        for kind in ("ENUM", "SET")
    ),
    Case("ENUM('x','y')", "'y'", "CONVERT TO CHARACTER SET utf8mb4", table="CHARSET latin1"),
    Case("SET('x','y')", "'x,y'", "CONVERT TO CHARACTER SET utf8mb4", table="CHARSET latin1"),
    Case("ENUM('x','y')", "'y'", "CONVERT TO CHARACTER SET utf8mb4", mode=LOOSE, table="CHARSET latin1"),
    Case("ENUM('x','é')", "'é'", "CONVERT TO CHARACTER SET utf8mb4", table="CHARSET utf8mb3"),
    Case("ENUM('x','y')", "'y'", "CONVERT TO CHARACTER SET latin1"),
    Case("ENUM('x','y')", "'y'", "CONVERT TO CHARACTER SET latin1", mode=LOOSE),
    modifies("ENUM('x','é')", "'é'", "ENUM('x','é') CHARACTER SET latin1", "in utf8mb4 and becomes"),
    modifies("SET('x','é')", "'é,x'", "SET('x','é') CHARACTER SET utf16"),
    modifies("ENUM('x','y')", "'y'", "ENUM('z','y','x')"),
    modifies("ENUM('x','y')", "'y'", "ENUM('x','y','z')", mode=LOOSE),
    modifies("ENUM('x','y')", "'y'", "ENUM('z','y','x')", CHANGES, mode=LOOSE),
    modifies("SET('x','y')", "'x,y'", "SET('x','z','y')"),
    modifies("SET('x','y')", "'x,y'", "SET('y','x')", CHANGES),
    modifies("ENUM('x','y')", "'y'", "VARCHAR(5)"),
    modifies("ENUM('x','long')", "'x'", "VARCHAR(3)", CHANGES),
    modifies("SET('x','y')", "'x,y'", "TEXT"),
    modifies("ENUM('x','y')", "'y'", "CHAR(2)"),
    # bytes
    modifies("VARBINARY(9)", "x'6100'", "BLOB"),
    modifies("BLOB", "x'6100'", "LONGBLOB"),
    modifies("TINYBLOB", "x'6100'", "VARBINARY(255)"),
    modifies("BINARY(3)", "x'61'", "VARBINARY(3)"),
    modifies("BINARY(3)", "x'61'", "BINARY(5)", CHANGES),
    modifies("VARBINARY(3)", "x'61'", "BINARY(3)", CHANGES),
    # texts
    modifies("CHAR(5)", "'a'", "VARCHAR(9)"),
    modifies("CHAR(5)", "'a'", "VARCHAR(9)", "under PAD_CHAR_TO_FULL_LENGTH", mode=PADDED),
    modifies("CHAR(5)", "'a'", "TEXT", "under PAD_CHAR_TO_FULL_LENGTH", mode=PADDED),
    modifies("VARCHAR(5)", "'a  '", "CHAR(5)", CHANGES, mode=LOOSE),
    modifies("TEXT", "'abcdef'", "VARCHAR(3)", CHANGES, mode=LOOSE),
    modifies("MEDIUMTEXT", "RPAD('a', 70000, ' ')", "TEXT", CHANGES, on=MARIADB),
    modifies("MEDIUMTEXT", "RPAD('a', 70000, 'b')", "TEXT", CHANGES, mode=LOOSE),
    modifies("VARCHAR(9)", "'é'", "TEXT(20000)"),
    modifies("VARCHAR(9)", "'é'", "TEXT(70000)"),
    modifies("VARCHAR(9)", "'é'", "TEXT(50)"),
    modifies("VARCHAR(9) CHARACTER SET latin1", "'é'", "TEXT(20000) CHARACTER SET latin1", table="CHARSET utf8mb4"),
    modifies("VARCHAR(9)", "'é'", "VARCHAR(20000)", mode=LOOSE),
    *(
        Case(kind, "'é'", f"CONVERT TO CHARACTER SET {now}", table=f"CHARACTER SET {before}")
        for kind in ("TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "VARCHAR(20)", "CHAR(20)")
        for before, now in (("latin1", "utf8mb4"), ("utf8mb3", "utf8mb4"), ("utf8mb4", "latin1"))
    ),
    Case("VARCHAR(20000)", "'é'", "CONVERT TO CHARACTER SET utf8mb4", mode=LOOSE, table="CHARACTER SET latin1"),
    *(
        Case(kind, "REPEAT('é', 200)", f"{clauses}, {TO_UTF8}", why, LOOSE, on=on, table="CHARACTER SET latin1")
        for kind, clauses, why, on in (
            ("TEXT", "MODIFY v TEXT COMMENT 'x'", "", MYSQL),
            ("TEXT", "MODIFY v TEXT COMMENT 'x'", CHANGES, MARIADB),
            ("TINYTEXT", "MODIFY v TINYTEXT COMMENT 'x'", "", MYSQL),
            ("TINYTEXT", "MODIFY v TINYTEXT COMMENT 'x'", CHANGES, MARIADB),
            ("TINYTEXT", "MODIFY v TEXT", "", BOTH),
            ("TEXT", "MODIFY v TEXT(300)", CHANGES, BOTH),
            ("TEXT", "MODIFY v TEXT(20000)", "", BOTH),
            ("VARCHAR(250)", "MODIFY v TEXT", "", BOTH),
            ("MEDIUMTEXT", "MODIFY v TINYTEXT", "", MYSQL),
            ("MEDIUMTEXT", "MODIFY v TEXT", CHANGES, MARIADB),
        )
    ),
    *(
        Case("TEXT", "'é'", f"ADD c {kind}, {TO_UTF8}", table="CHARACTER SET latin1")
        for kind in ("TINYTEXT", "TEXT", "MEDIUMTEXT", "TEXT(300)", "TEXT(30000)", "TEXT CHARACTER SET latin1")
    ),
    *(
        Case(kind, value, "CONVERT TO CHARACTER SET binary", CHANGES)
        for kind, value in (
            ("CHAR(20)", "'é'"),
            ("VARCHAR(20)", "'é'"),
            ("TINYTEXT", "'é'"),
            ("TEXT", "'é'"),
            ("MEDIUMTEXT", "'é'"),
            ("LONGTEXT", "'é'"),
        )
    ),
    # collations beside types that have none
    modifies("DATE", "'2024-01-02'", "DATE COLLATE utf8mb4_bin"),
    modifies("BIGINT", "5", "BIGINT COLLATE utf8mb4_bin"),
    adds(
        "BIGINT COLLATE latin1_bin DEFAULT 5, ADD d TIMESTAMP NULL COLLATE utf8mb4_bin, ADD e BIT(3) COLLATE latin1_bin"
    ),
    adds("VARCHAR(5) COLLATE binary DEFAULT 'ab'"),
    adds("BINARY(3) COLLATE utf8mb4_bin DEFAULT 'ab'", on=MARIADB),
    adds("VARBINARY(3) COLLATE latin1_bin DEFAULT 'ab', ADD d VARBINARY(3) COLLATE uca1400_ai_ci", on=MARIADB),
    adds(
        "BLOB COLLATE utf8mb4_bin, ADD d BLOB(20000) COLLATE utf8mb4_bin, ADD e TINYBLOB COLLATE ascii_bin", on=MARIADB
    ),
    adds("VARBINARY(20000) COLLATE utf8mb4_bin, ADD d VARBINARY(66000) COLLATE latin1_bin", mode=LOOSE, on=MARIADB),
    adds("JSON COLLATE latin1_bin, ADD d JSON", on=MARIADB),
    modifies("BINARY(3)", "x'616263'", "BINARY(3) COLLATE utf8mb4_bin", CHANGES, on=MARIADB),
    # characters that the servers exchange without an error
    *(
        Case(before, value, clauses, why)
        for before, value, clauses, why in (
            ("VARCHAR(9)", "'\u6661'", "MODIFY v VARCHAR(9) CHARACTER SET cp932", CHANGES),
            ("TEXT", "'\u6661'", "CONVERT TO CHARACTER SET cp932", CHANGES),
            ("VARCHAR(9) CHARACTER SET gbk", "'\u6661'", "MODIFY v VARCHAR(9) CHARACTER SET cp932", CHANGES),
            ("VARCHAR(9) CHARACTER SET sjis", "'\u6659'", "MODIFY v VARCHAR(9) CHARACTER SET cp932", ""),
            ("VARCHAR(9)", "'\U00020001'", "MODIFY v VARCHAR(9) CHARACTER SET tis620", CHANGES),
            ("VARCHAR(9) CHARACTER SET utf8mb3", "'a'", "MODIFY v VARCHAR(9) CHARACTER SET tis620", ""),
            ("ENUM('\u6661')", "'\u6661'", "MODIFY v VARCHAR(9) CHARACTER SET cp932", CHANGES),
            ("INT", "1", "ADD c VARCHAR(9) CHARACTER SET cp932 DEFAULT '\u6661'", UNKNOWN),
            ("INT", "1", "ADD c VARCHAR(9) CHARACTER SET cp932 DEFAULT '\u6659'", ""),
        )
    ),
    # the time of the statement, and texts of times in the session's zone
    *(
        adds(definition, zone=zone)
        for zone in ("SYSTEM", "+00:00", "+05:30", "-11:00")
        for definition in (
            "DATETIME DEFAULT CURRENT_TIMESTAMP",
            "DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3)",
            "TIMESTAMP(6) NULL DEFAULT CURRENT_TIMESTAMP(6)",
            "TIMESTAMP NULL DEFAULT '2024-01-02 03:04:05'",
        )
    ),
    adds("DATETIME(6) DEFAULT NOW()", on=MARIADB),
    adds("DATETIME(6) DEFAULT NOW(3)", on=MARIADB),
    adds("DATETIME DEFAULT (NOW())"),
    adds("DATETIME(6) DEFAULT (NOW())"),
    adds("DATETIME(6) DEFAULT (NOW(3))"),
    adds("DATETIME(3) DEFAULT (NOW(6))", UNKNOWN),
    # defaults
    adds("JSON DEFAULT ('{}')"),
    adds("JSON DEFAULT ('[1, 2]')"),
    adds("""JSON DEFAULT ('{"bb": 1, "a": [true, null, "x"]}')""", on=MYSQL),
    adds("JSON DEFAULT (JSON_OBJECT())"),
    adds("JSON DEFAULT (JSON_ARRAY())"),
    adds("TEXT DEFAULT ('abc')"),
    adds("TEXT DEFAULT (JSON_ARRAY())"),
    adds("BLOB DEFAULT ('abc')"),
    adds("VARCHAR(9) DEFAULT (7)"),
    adds("INT DEFAULT (7)"),
    adds("INT DEFAULT ((7))"),
    adds("INT DEFAULT (-7)"),
    adds("INT DEFAULT (1 + 2)"),
    adds("INT DEFAULT (1 - 2 * 3 + 60 * 60)"),
    adds("TEXT DEFAULT (1 + 2)"),
    adds("INT DEFAULT (TRUE)"),
    adds("INT DEFAULT (NULL)"),
    adds("INT DEFAULT (7 / 2)", UNKNOWN),
    adds("VARCHAR(36) DEFAULT (UUID())", UNKNOWN, on=MARIADB),
    adds("DECIMAL(5,1) DEFAULT (1.25)"),
    adds("DATETIME DEFAULT '2024-01-02'"),
    adds("DATETIME DEFAULT '2024-1-2 3:4'"),
    adds("DATETIME(3) DEFAULT '2024-01-02 03:04:05.5'"),
    adds("DATETIME DEFAULT ('2024-01-02')"),
    adds("DATE DEFAULT '2024-1-2'"),
    adds("DATE DEFAULT ('2024-01-02')"),
    adds("TIME DEFAULT '1:02:03'"),
    adds("TIME DEFAULT '11:12'"),
    adds("TIME DEFAULT '-1:2:3'"),
    adds("TIME(2) DEFAULT '838:59:58.5'"),
    *(
        adds(f"YEAR DEFAULT {year}")
        for year in ("24", "'24'", "'70'", "70", "69", "0", "'0'", "'0000'", "2024", "99", "1")
    ),
    adds("VARCHAR(9) DEFAULT _latin1'abc'"),
    adds("VARCHAR(9) DEFAULT N'abc'"),
    adds("VARCHAR(9) CHARACTER SET latin1 DEFAULT X'e9'", UNKNOWN),
    adds("TEXT(20000)"),
    adds("TEXT(70000)"),
    adds("TEXT(63)"),
    adds("BLOB(70000)"),
    adds("FLOAT(7,3), ADD d DOUBLE(5,0), ADD e REAL(5,2), ADD f FLOAT(30)"),
)
SHOWN: Final = {date: date.isoformat, Decimal: "{:f}".format, bytes: lambda value: value.hex().upper()}


@dataclass(frozen=True, slots=True)
class Seen:
    """Of one case: the table behind the statement, by the job and by the server, the job's step, and the row."""

    derived: SourceTable
    after: SourceTable
    outcome: DdlStep | str
    old: Row
    new: Row


def target_of(source: SourceTable) -> TargetTable:
    columns = tuple(TargetColumn(name=c.name, type=derived(c), nullable=c.nullable) for c in source.columns)  # type: ignore[arg-type]
    return TargetTable(db="demo", name=source.name, columns=columns, keys=("id",), reserved_columns=frozenset())


def outcome(said: DdlStatement, before: SourceTable) -> DdlStep | str:
    """The step, or why the job pauses."""
    target = target_of(before)
    channel = plan_channel(token="x", source=before, unique_keys=[("id",)], target=target, items=(), where=None)
    rules = Rules(policy=OnDdl.EVOLVE, append_on_change=AppendOnChange.ERROR, describe=lambda _: target)
    try:
        return plan_ddl(said, [channel], rules)
    except SyncError as error:
        return str(error.context["reason"])


def read_as(table: SourceTable) -> WorkerChannel:
    return WorkerChannel(
        token=table.name,
        source=table,
        reads=tuple(column.name for column in table.columns),
        source_keys=("id",),
        append_on_change=AppendOnChange.ERROR,
    )


def seen(server: MysqlServer, db: str, cases: Mapping[str, Case]) -> Iterator[tuple[str, Seen]]:
    """Each case in a table of its own; all of them through one reader."""
    server.run(
        *(f"CREATE TABLE {db}.{n} (id INT PRIMARY KEY, n INT, v {each.kind}) {each.table}" for n, each in cases.items())
    )
    names = [(db, name) for name in cases]
    known = facts(server, names)
    tables = {table.name: table for table in known.tables}
    channels = {name: read_as(table) for name, table in tables.items()}
    outcomes: dict[str, DdlStep | str] = {}
    server.run(*(statement for name, case in cases.items() for statement in statements(f"{db}.{name}", case)))
    with reading(server, subscriptions(channels.values(), known.start), known.start, options=QUICK) as reader:
        while len(outcomes) < len(cases):
            until(lambda: reader.get() and reader.batches[-1].ddl)
            ddl = reader.batches[-1].ddl
            assert ddl is not None
            assert ddl.followable is not None
            name = ddl.table[1]
            outcomes[name] = outcome(ddl.followable, tables[name])
            channels[name] = read_as(made(ddl.followable, tables[name]))
            reader.source.follow(list(channels.values()))
        reader.until(latest(server))
        for after in facts(server, names).tables:
            name = after.name
            old, new = reader.rows((db, name))
            yield name, Seen(channels[name].source, after, outcomes[name], old, new)


def made(said: DdlStatement, before: SourceTable) -> SourceTable:
    """The table behind the statement, as the job derives it."""
    statement = read(said.text, said.db, said.modes)
    assert isinstance(statement, AlterTable)
    return altered(before, statement.clauses).table


def statements(name: str, case: Case) -> tuple[str, ...]:
    """A row, the statement, and the row again, with a new value in a column of no matter."""
    session = f"SET sql_mode = '{case.mode}', time_zone = '{case.zone}'{case.session}"
    inserted = f"INSERT INTO {name} (id, n, v) VALUES (1, 1, {case.value})"
    begin = "SET NAMES utf8mb4, explicit_defaults_for_timestamp = ON, sql_mode = ''"
    return begin, inserted, session, AT, f"ALTER TABLE {name} {case.clauses}", f"UPDATE {name} SET n = 2"


def wrong(case: Case, found: Seen) -> Iterator[str]:
    """What is not as the server has it."""
    yield from unlike(found.derived, found.after)
    match found.outcome:
        case str(reason):
            if not case.why or case.why not in reason:
                yield f"paused: {reason}"
        case step:
            if case.why:
                yield f"followed: {step.done}"
            yield from differing(found, step)


def unlike(made: SourceTable, found: SourceTable) -> Iterator[str]:
    """What of the columns that were derived is not as the server has it."""
    if made.charset not in {None, found.charset}:
        yield f"the charset {made.charset} and not {found.charset}"
    for mine, column in zip_longest(made.columns, found.columns):
        if mine is None or column is None or with_told(mine, column) != column:
            yield f"{mine} and not {column}"


def with_told(mine: SourceColumn, column: SourceColumn) -> SourceColumn:
    """With what rows tell where a statement does not; they tell neither kinds of geometry nor a MariaDB vector."""
    if (mine.type, column.type) == ("varbinary", "vector"):
        mine = replace(mine, type="vector", length=0)
    unsaid = has_charset(mine) and mine.charset is None
    geometry = {mine.type, column.type} <= GEOMETRY
    return replace(
        mine, charset=column.charset if unsaid else mine.charset, type=column.type if geometry else mine.type
    )


def differing(found: Seen, step: DdlStep) -> Iterator[str]:
    """Between the values of the row that is in the lake and those at the source."""
    for column in ("id", "v"):
        if found.old[column] != found.new[column]:
            yield f"{column} was {found.old[column]!r} and is {found.new[column]!r}"
    yield from new_values(step.changes.get("x", ()), found.new)


def new_values(changes: Sequence[LakeChange], row: Row) -> Iterator[str]:
    """What of the columns that came is not in a row from before as the source has it."""
    for change in changes:
        if isinstance(change, AddField):
            lake = None if change.initial is None else json.loads(change.initial)
            there = shown(row[change.name])
            if lake != (str(there) if change.type.name == "LARGEINT" and there is not None else there):
                yield f"{change.name} is {lake!r} and not {row[change.name]!r}"


def shown(value: object) -> object:
    """As Iceberg's JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    return SHOWN.get(type(value), lambda same: same)(value)  # type: ignore[operator]


@crossed("metadata", ["FULL", "MINIMAL"], always=[("mysql", "FULL")])
def test_columns_and_values_are_those_of_the_server(any_server: MysqlServer, metadata: str) -> None:
    """Each statement is followed to the columns and old values that the server has, or pauses with its reason."""
    cases = {
        f"t{number}": case
        for number, case in enumerate(CASES)
        if any_server.flavour in case.on and (any_server.logs_generated or " AS (" not in case.kind)
    }
    failed: list[str] = []
    with any_server.global_variable("binlog_row_metadata", f"'{metadata}'"), database(any_server) as db:
        for name, found in seen(any_server, db, cases):
            failed += [f"{cases[name]}: {each}" for each in wrong(cases[name], found)]
    assert failed == []


@on_servers("mysql")
@pytest.mark.parametrize(("before", "now"), [("latin1", "utf8mb4"), ("utf8mb4", "latin1"), ("utf8mb4", "utf16")])
def test_labels_that_keep_their_bytes_pause(any_server: MysqlServer, before: str, now: str) -> None:
    """CONVERT TO CHARACTER SET does not convert labels: what they are behind it only their bytes would tell."""
    case = Case("ENUM('x','\u00e9')", "'x'", f"CONVERT TO CHARACTER SET {now}", table=f"CHARSET {before}", mode=LOOSE)
    with database(any_server) as db:
        any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, n INT, v {case.kind}) {case.table}")
        known = facts(any_server, [(db, "t")])
        wanted = subscriptions([read_as(known.tables[0])], known.start)
        with reading(any_server, wanted, known.start, options=QUICK) as reader:
            any_server.run(*statements(f"{db}.t", case))
            until(lambda: reader.get() and reader.batches[-1].ddl)
            [said] = [batch.ddl.followable for batch in reader.batches if batch.ddl]
            reason = outcome(said, known.tables[0])
            assert f"becomes enum with the bytes of its labels in {now}, which may change its values" in str(reason)


@on_servers("mysql")
def test_the_size_of_a_text_is_what_its_rows_say(any_server: MysqlServer) -> None:
    """CONVERT TO CHARACTER SET DEFAULT makes it as large as a charset wants that the statement does not name."""
    with any_server.global_variable("binlog_row_metadata", "'MINIMAL'"), database(any_server) as db:
        any_server.run(f"ALTER DATABASE {db} CHARACTER SET latin1")
        case = Case("TEXT", "'\u00e9'", "CONVERT TO CHARACTER SET DEFAULT", table="CHARACTER SET latin1")
        [(_, found)] = seen(any_server, db, {"t": case})
    now, derived_now = found.after.column("v"), found.derived.column("v")
    assert now is not None
    assert derived_now is not None
    of_database = "text" if any_server.flavour == "mariadb" else "mediumtext"  # MySQL takes that of the session
    assert (now.type, derived_now.type) == (of_database, "mediumtext")
    assert found.new["v"] == found.old["v"] == "\u00e9"
