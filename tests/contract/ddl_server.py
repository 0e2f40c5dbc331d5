"""The statements of the DDL corpus on a real server.

Owns: a database for each case, the rows that are written between its statements, what the server says of its tables
after each of them.
Must not know: the product's reading of a statement.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pymysql

from mysqlddl.nodes import CreateTable
from mysqlddl.reading import Modes, read
from syncmgr.job.types.schema import BYTES, GEOMETRY, TEXT, SourceColumn, SourceTable
from syncmgr.sources.mysql.address import Connection, query
from syncmgr.sources.mysql.server.tables import schema_of
from tests.support.ddl_corpus import Case, Statement, is_for
from tests.support.servers.mysql import MysqlServer

NO_SUCH_TABLE: Final = 1146
SECOND: Final = 1_700_000_000  # of the first statement; each has one of its own, by which its event is known
MODE: Final = "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
_FULL: Final = {  # one that every column of a type takes, and most other types, too
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double", "bit"), "1"),
    **dict.fromkeys(("enum", "set"), "1"),
    **dict.fromkeys((*TEXT, *BYTES, "json"), "'1'"),
    **dict.fromkeys(GEOMETRY, "ST_GeomFromText('POINT(1 2)')"),
    **dict.fromkeys(("date", "datetime", "timestamp"), "'2024-01-02 03:04:05'"),
    "time": "'03:04:05'",
    "year": "2024",
    "uuid": "'00000000-0000-4000-8000-000000000001'",
    "inet6": "'::1'",
    "inet4": "'192.0.2.1'",
}


@dataclass(frozen=True, slots=True)
class Done:
    """A statement, and the tables of its database as the server has them after it. `cut`: those that it logs in part,
    since they have generated columns.
    """

    statement: Statement
    tables: Mapping[str, SourceTable]
    cut: frozenset[str]


@dataclass(frozen=True, slots=True)
class Run:
    """A case in its database. `statements`: by the second that is said for their time."""

    case: Case
    db: str
    subject: str
    done: dict[int, Done]


@contextmanager
def prepared(server: MysqlServer, cases: Sequence[Case]) -> Iterator[list[Run]]:
    """Each with its database, in which a table of the subject's name stands that is to be dropped."""
    known = [case for case in cases if is_for(case.on, server.flavour, server.version())]
    runs = [Run(case, f"corpus_{number}", subject(server, case), {}) for number, case in enumerate(known)]
    with ExitStack() as stack:
        for run in runs:
            server.run(f"CREATE DATABASE {run.db} CHARACTER SET utf8mb4", f"CREATE TABLE {_table(run)} (stub INT)")
            stack.callback(server.run, "SET foreign_key_checks = 0", f"DROP DATABASE IF EXISTS {run.db}")
        yield runs


def subject(server: MysqlServer, case: Case) -> str:
    """The table that it creates first."""
    modes = Modes(
        ansi_quotes=re.search("ANSI|ORACLE", case.statements[0].text) is not None, mariadb=server.flavour == "mariadb"
    )
    for statement in case.statements:
        parsed = read(statement.text.replace("{db}", "x"), "", modes) if statement.is_ddl else None
        if isinstance(parsed, CreateTable):
            return parsed.table[1]
    raise AssertionError(f"{case.place} creates no table")


def _table(run: Run) -> str:
    return f"{run.db}.`{run.subject}`"


def execute(server: MysqlServer, runs: Sequence[Run]) -> Iterator[str]:
    """All statements that the server knows; what it refuses, with its place."""
    second, version = SECOND, server.version()
    writer = server.connect()
    with closing(writer), writer.cursor() as cursor:
        cursor.execute("SET sql_mode = '', foreign_key_checks = 0, lock_wait_timeout = 9")
        for run in runs:
            drop = Statement(f"DROP TABLE {_table(run)}")
            told = [each for each in run.case.statements if is_for(each.on, server.flavour, version)]
            with closing(server.connect(database=run.db)) as session:
                query(session, f"SET sql_mode = '{MODE}'")
                for statement in (drop, *told):
                    try:
                        query(session, f"SET timestamp = {second}")
                        query(session, statement.text.replace("{db}", run.db))
                        if statement.is_ddl:
                            cut = [] if server.logs_generated else _generated(cursor, run.db)
                            run.done[second] = Done(statement, _tables(writer, run.db), frozenset(cut))
                            _fill(cursor, run, run.done[second])
                    except pymysql.err.MySQLError as error:
                        yield f"{run.case.place}: {error}: {statement.line}"
                    second += statement.is_ddl


def _tables(connection: Connection, db: str) -> dict[str, SourceTable]:
    plain = "TABLE_SCHEMA = %s AND TABLE_TYPE = 'BASE TABLE'"  # one with system versions stops and has rows of the past
    rows = query(connection, f"SELECT TABLE_NAME t FROM information_schema.TABLES WHERE {plain}", db)
    found = {row["t"]: schema_of(connection, (db, row["t"])) for row in rows}
    return {name: table for name, table in found.items() if table is not None}


def _fill(cursor: Any, run: Run, done: Done) -> None:
    """One row in each table in place of the one that it had: the old one is logged as the statement has left it."""
    for name, table in done.tables.items():
        try:
            cursor.execute(f"DELETE FROM {run.db}.`{name}`")
            cursor.execute(done.statement.row.replace("{t}", f"{run.db}.`{name}`") or _insert(cursor, run.db, table))
        except pymysql.err.ProgrammingError as error:
            if error.args[0] != NO_SUCH_TABLE:
                raise
            # a table that was set aside has the triggers yet that wrote its copy


def _insert(cursor: Any, db: str, table: SourceTable) -> str:
    """With a value for each column that takes one."""
    left = _generated(cursor, db).get(table.name, set())
    given = [column for column in table.columns if column.name not in left]
    names = ", ".join("`" + column.name.replace("`", "``") + "`" for column in given)
    return f"INSERT INTO {db}.`{table.name}` ({names}) VALUES ({', '.join(map(_value, given))})"


def _generated(cursor: Any, db: str) -> dict[str, set[str]]:
    """The columns of each table that has such."""
    generated = "EXTRA LIKE '%%VIRTUAL%%' OR EXTRA LIKE '%%STORED%%' OR EXTRA LIKE '%%PERSISTENT%%'"
    columns = f"information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND ({generated})"
    cursor.execute(f"SELECT TABLE_NAME, COLUMN_NAME FROM {columns}", (db,))
    found: dict[str, set[str]] = {}
    for table, column in cursor.fetchall():
        found.setdefault(table, set()).add(column)
    return found


def _value(column: SourceColumn) -> str:
    return _FULL[column.type]
