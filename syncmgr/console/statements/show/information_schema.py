"""information_schema.

Owns: its tables, their columns, and their rows for databases, tables and connections.
Must not know: how it is queried; the query says which part a client wants.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from syncmgr.accounts.user import Account, Level, Privilege, Rights, Scope
from syncmgr.console.ports import Catalog, History
from syncmgr.console.statements.local.collation import COLLATION as COLLATED
from syncmgr.console.statements.local.collation import compared
from syncmgr.console.statements.local.local_select import INFORMATION_SCHEMA, LocalSelect
from syncmgr.console.statements.local.sqlite_engine import SqliteEngine, quoted
from syncmgr.console.statements.local.wanted_rows import RowBounds
from syncmgr.console.statements.show.show import COLLATION, COLLATIONS, ENGINE, ENGINE_COMMENT, sizes, type_of
from syncmgr.console.table_columns import FRACTIONS, NUMBERS, TABLES
from syncmgr.console.wire.charset import CHARSETS
from syncmgr.console.wire.results import Row
from syncmgr.errors import Code, SyncError
from syncmgr.job.show_sync import WantedRows
from syncmgr.job.types.schema import TargetColumn, TargetTable, TargetType
from syncmgr.lake.registry import FORMAT

# the words that MySQL's drivers know for types that only Doris has
_DATA_TYPES: Final = {
    "BOOLEAN": "tinyint",
    "LARGEINT": "decimal",
    "STRING": "longtext",
    "BINARY": "varbinary",
}
_PRECISIONS: Final = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19, "LARGEINT": 39, "FLOAT": 12, "DOUBLE": 22}
_TEXT: Final = f"TEXT COLLATE {COLLATED}"
_TEXTS: Final = frozenset({"CHAR", "VARCHAR", "STRING"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Present:
    """What is already known on the event loop: connections and variables. `alerts`: see ALERT_COLUMNS; none for those
    who may not see them.
    """

    processlist: Sequence[Row]
    variables: Sequence[Row]
    account: Account
    rights: Rights
    alerts: Callable[[], Sequence[Row]] = tuple


@dataclass(frozen=True, kw_only=True, slots=True)
class Schema:
    """What a query sees. `tables` are those of the requested databases."""

    databases: Sequence[str]
    tables: Sequence[TargetTable]
    present: Present


def described(name: str) -> TargetTable:
    """A table of information_schema, described like one of the lake. Raises UNKNOWN_SCHEMA_TABLE."""
    if name.lower() not in TABLES:
        raise SyncError(Code.UNKNOWN_SCHEMA_TABLE, table=name.upper())
    columns = (TargetColumn(name=column, type=_type(column)) for column in TABLES[name.lower()])
    return TargetTable(db=INFORMATION_SCHEMA, name=name.upper(), columns=tuple(columns), reserved_columns=frozenset())


_NUMBER: Final = TargetType(name="BIGINT")
_FRACTION: Final = TargetType(name="DOUBLE")
_WORD: Final = TargetType(name="VARCHAR", args=(512,))


def _type(column: str) -> TargetType:
    return _NUMBER if column in NUMBERS else _FRACTION if column in FRACTIONS else _WORD


def _sqlite_type(column: str) -> str:
    return "INTEGER" if column in NUMBERS else "REAL" if column in FRACTIONS else _TEXT


def answer(
    question: LocalSelect, catalog: Catalog, history: History, present: Present, *, spill: int
) -> tuple[list[str], list[Row]]:
    """Names and rows. Blocks: it queries the catalog and the history of the jobs. `spill`: bytes that all such queries
    may use on the disk.

    Raises UNKNOWN_SCHEMA_TABLE, UNKNOWN_COLUMN, QUERY_FAILED, TIMED_OUT.
    """
    for name in question.tables:
        if name not in TABLES:
            raise SyncError(Code.UNKNOWN_SCHEMA_TABLE, table=name.upper())
    known = {column for name in question.tables for column in TABLES[name]}
    for column, where in question.columns:
        if column.upper() not in known:
            raise SyncError(Code.UNKNOWN_COLUMN, column=column, where=where)
    schema, wanted = _gather(question, catalog, present), _wanted(question.bounds)
    with SqliteEngine(spill=spill) as lite:
        lite.attach(INFORMATION_SCHEMA)
        for name in question.tables:
            kinds = [(column, _sqlite_type(column)) for column in TABLES[name]]
            made = _ROWS[name](schema) if name in _ROWS else history.rows(name, wanted) if name in OF_HISTORY else ()
            lite.add(f"{INFORMATION_SCHEMA}.{quoted(name)}", kinds, made)
        names, rows = lite.ask(question.sql)
    return list(question.names) if len(question.names) == len(names) else names, rows


def _wanted(bounds: RowBounds) -> WantedRows:
    def job(job_id: int, db: str, name: str) -> bool:
        values: dict[str, int | str] = {"JOB_ID": job_id, "JOB_SCHEMA": db, "JOB_NAME": name}
        return all(_same(values[column], value) for column, value in bounds.job)

    return WantedRows(
        job=job, epoch=bounds.epoch, since=_unix_second(bounds.since), newest=bounds.newest, check=bounds.check
    )


def _same(one: int | str, other: int | str) -> bool:
    return one == other if isinstance(one, int) or isinstance(other, int) else compared(one, other) == 0


def _unix_second(expression: str) -> float | None:
    """Of a time in SQLite's words, a second earlier, since times are shown without their last digits."""
    if not expression:
        return None
    with SqliteEngine() as lite:
        _, ((moment,),) = lite.ask(f"SELECT {expression}")
    return None if moment is None else datetime.fromisoformat(str(moment)).replace(tzinfo=UTC).timestamp() - 1


def _gather(question: LocalSelect, catalog: Catalog, present: Present) -> Schema:
    if not question.tables & _OF_CATALOG:
        return Schema(databases=(), tables=(), present=present)
    databases = catalog.databases()
    tables: list[TargetTable] = []
    if question.tables & _OF_TABLES:
        wanted = databases if question.db is None else [name for name in databases if name == question.db]
        tables = [table for db in wanted for table in tables_of(catalog, db)]
    return Schema(databases=databases, tables=tables, present=present)


def tables_of(catalog: Catalog, db: str) -> Iterator[TargetTable]:
    """The tables of a database; one that is dropped meanwhile is left out."""
    for name in catalog.tables(db):
        try:
            yield catalog.table(db, name)
        except SyncError as error:
            if error.code not in {Code.NO_SUCH_TABLE, Code.UNKNOWN_TABLE}:
                raise


def _schemata(schema: Schema) -> Iterator[Row]:
    for name in (INFORMATION_SCHEMA, *schema.databases):
        yield "def", name, "utf8mb4", COLLATION, None, "NO"


def _tables(schema: Schema) -> Iterator[Row]:
    nothing = (None,) * 10
    for name in TABLES:
        yield "def", INFORMATION_SCHEMA, name.upper(), "SYSTEM VIEW", None, 10, None, *nothing, None, None, "", ""
    for table in schema.tables:
        yield (
            *("def", table.db, table.name, "BASE TABLE", ENGINE, 10, FORMAT.files, *sizes(table), *nothing[4:]),
            *(COLLATION, None, "", table.comment),
        )


def _columns(schema: Schema) -> Iterator[Row]:
    for table in (*map(described, TABLES), *schema.tables):
        for place, each in enumerate(table.columns, 1):
            yield _column(table, each, place)


def _column(table: TargetTable, column: TargetColumn, place: int) -> Row:
    kind = column.type.name
    is_text = kind in _TEXTS
    length = (column.type.args or (65535,))[0] if is_text else None
    precision, scale = (*column.type.args, 0, 0)[:2] if kind == "DECIMAL" else (_PRECISIONS.get(kind), None)
    digits = (column.type.args or (6,))[0] if kind in {"DATETIME", "TIMESTAMP"} else None
    head = ("def", table.db, table.name, column.name, place, None, "YES" if column.nullable else "NO")
    sizes = (_DATA_TYPES.get(kind, kind.lower()), length, None if length is None else length * 4, precision, scale)
    text = (digits, "utf8mb4" if is_text else None, COLLATION if is_text else None, type_of(column))
    key = "PRI" if column.name in table.keys else ""
    return *head, *sizes, *text, key, "", "select", column.comment, "", None


def _statistics(schema: Schema) -> Iterator[Row]:
    for table in schema.tables:
        for place, key in enumerate(table.keys, 1):
            head = ("def", table.db, table.name, 0, table.db, "PRIMARY", place, key)
            yield *head, "A", None, None, None, "", "KEY", "", "", "YES", None


def _key_column_usage(schema: Schema) -> Iterator[Row]:
    for table in schema.tables:
        for place, key in enumerate(table.keys, 1):
            yield "def", table.db, "PRIMARY", "def", table.db, table.name, key, place, None, None, None, None


def _table_constraints(schema: Schema) -> Iterator[Row]:
    for table in schema.tables:
        if table.keys:
            yield "def", table.db, "PRIMARY", table.db, table.name, "PRIMARY KEY", "YES"


def _engines(_schema: Schema) -> Iterator[Row]:
    yield ENGINE, "DEFAULT", ENGINE_COMMENT, "NO", "NO", "NO"


def _character_sets(_schema: Schema) -> Iterator[Row]:
    for row in CHARSETS.values():
        if row.name != "utf8":
            yield row.name, row.collation_name, row.name, row.width


def _collations(_schema: Schema) -> Iterator[Row]:
    for each in COLLATIONS:
        yield *each, "Yes", 0, "NO PAD"
    for row in CHARSETS.values():
        if row.name != "utf8":
            is_default = "" if row.name == "utf8mb4" else "Yes"
            yield row.collation_name, row.name, row.collation, is_default, "Yes", 1, "PAD SPACE"


def _privileges(schema: Schema, level: Level) -> Iterator[tuple[str, Scope, Privilege]]:
    present = schema.present
    for scope, privileges in sorted(present.rights.grants.items()):
        if scope.level is level:
            yield from ((str(present.account), scope, each) for each in sorted(privileges))


def _user_privileges(schema: Schema) -> Iterator[Row]:
    for grantee, _, privilege in _privileges(schema, Level.GLOBAL):
        yield grantee, "def", privilege.value, "NO"


def _schema_privileges(schema: Schema) -> Iterator[Row]:
    for grantee, scope, privilege in _privileges(schema, Level.DATABASE):
        yield grantee, "def", scope.db, privilege.value, "NO"


def _table_privileges(schema: Schema) -> Iterator[Row]:
    for grantee, scope, privilege in _privileges(schema, Level.TABLE):
        yield grantee, "def", scope.db, scope.name, privilege.value, "NO"


_ROWS: Final[Mapping[str, Callable[[Schema], Iterator[Row]]]] = {
    "schemata": _schemata,
    "tables": _tables,
    "columns": _columns,
    "statistics": _statistics,
    "key_column_usage": _key_column_usage,
    "table_constraints": _table_constraints,
    "engines": _engines,
    "character_sets": _character_sets,
    "collations": _collations,
    "user_privileges": _user_privileges,
    "schema_privileges": _schema_privileges,
    "table_privileges": _table_privileges,
    "sync_alerts": lambda schema: iter(schema.present.alerts()),
    "processlist": lambda schema: iter(schema.present.processlist),
    "session_variables": lambda schema: iter(schema.present.variables),
    "global_variables": lambda schema: iter(schema.present.variables),
}
OF_HISTORY: Final = frozenset(name for name in TABLES if name.startswith("sync_"))
_OF_TABLES: Final = frozenset({"tables", "columns", "statistics", "key_column_usage", "table_constraints"})
_OF_CATALOG: Final = _OF_TABLES | {"schemata"}
