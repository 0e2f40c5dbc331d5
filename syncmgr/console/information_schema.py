"""information_schema.

Owns: its tables, their columns, and the rows that databases, tables and connections make in them.
Must not know: how a question is asked; which of it a client wants is told by the question.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from syncmgr.console.charset import CHARSETS
from syncmgr.console.frontend import Catalog, History
from syncmgr.console.lite import Lite, quoted
from syncmgr.console.question import INFORMATION_SCHEMA, Question
from syncmgr.console.results import Row
from syncmgr.console.show import COLLATION, ENGINE, type_of
from syncmgr.errors import Code, SyncError
from syncmgr.job.schema import TargetColumn, TargetTable, TargetType
from syncmgr.job.user import Account, Level, Privilege, Rights, Scope

_COLUMNS: Final[Mapping[str, str]] = {
    "schemata": """CATALOG_NAME SCHEMA_NAME DEFAULT_CHARACTER_SET_NAME DEFAULT_COLLATION_NAME SQL_PATH
        DEFAULT_ENCRYPTION""",
    "tables": """TABLE_CATALOG TABLE_SCHEMA TABLE_NAME TABLE_TYPE ENGINE VERSION ROW_FORMAT TABLE_ROWS AVG_ROW_LENGTH
        DATA_LENGTH MAX_DATA_LENGTH INDEX_LENGTH DATA_FREE AUTO_INCREMENT CREATE_TIME UPDATE_TIME CHECK_TIME
        TABLE_COLLATION CHECKSUM CREATE_OPTIONS TABLE_COMMENT""",
    "columns": """TABLE_CATALOG TABLE_SCHEMA TABLE_NAME COLUMN_NAME ORDINAL_POSITION COLUMN_DEFAULT IS_NULLABLE
        DATA_TYPE CHARACTER_MAXIMUM_LENGTH CHARACTER_OCTET_LENGTH NUMERIC_PRECISION NUMERIC_SCALE DATETIME_PRECISION
        CHARACTER_SET_NAME COLLATION_NAME COLUMN_TYPE COLUMN_KEY EXTRA PRIVILEGES COLUMN_COMMENT
        GENERATION_EXPRESSION SRS_ID""",
    "statistics": """TABLE_CATALOG TABLE_SCHEMA TABLE_NAME NON_UNIQUE INDEX_SCHEMA INDEX_NAME SEQ_IN_INDEX COLUMN_NAME
        COLLATION CARDINALITY SUB_PART PACKED NULLABLE INDEX_TYPE COMMENT INDEX_COMMENT IS_VISIBLE EXPRESSION""",
    "key_column_usage": """CONSTRAINT_CATALOG CONSTRAINT_SCHEMA CONSTRAINT_NAME TABLE_CATALOG TABLE_SCHEMA TABLE_NAME
        COLUMN_NAME ORDINAL_POSITION POSITION_IN_UNIQUE_CONSTRAINT REFERENCED_TABLE_SCHEMA REFERENCED_TABLE_NAME
        REFERENCED_COLUMN_NAME""",
    "table_constraints": """CONSTRAINT_CATALOG CONSTRAINT_SCHEMA CONSTRAINT_NAME TABLE_SCHEMA TABLE_NAME
        CONSTRAINT_TYPE ENFORCED""",
    "referential_constraints": """CONSTRAINT_CATALOG CONSTRAINT_SCHEMA CONSTRAINT_NAME UNIQUE_CONSTRAINT_CATALOG
        UNIQUE_CONSTRAINT_SCHEMA UNIQUE_CONSTRAINT_NAME MATCH_OPTION UPDATE_RULE DELETE_RULE TABLE_NAME
        REFERENCED_TABLE_NAME""",
    "check_constraints": "CONSTRAINT_CATALOG CONSTRAINT_SCHEMA CONSTRAINT_NAME CHECK_CLAUSE",
    "views": """TABLE_CATALOG TABLE_SCHEMA TABLE_NAME VIEW_DEFINITION CHECK_OPTION IS_UPDATABLE DEFINER SECURITY_TYPE
        CHARACTER_SET_CLIENT COLLATION_CONNECTION""",
    "routines": """SPECIFIC_NAME ROUTINE_CATALOG ROUTINE_SCHEMA ROUTINE_NAME ROUTINE_TYPE DATA_TYPE
        CHARACTER_MAXIMUM_LENGTH CHARACTER_OCTET_LENGTH NUMERIC_PRECISION NUMERIC_SCALE DATETIME_PRECISION
        CHARACTER_SET_NAME COLLATION_NAME DTD_IDENTIFIER ROUTINE_BODY ROUTINE_DEFINITION EXTERNAL_NAME
        EXTERNAL_LANGUAGE PARAMETER_STYLE IS_DETERMINISTIC SQL_DATA_ACCESS SQL_PATH SECURITY_TYPE CREATED LAST_ALTERED
        SQL_MODE ROUTINE_COMMENT DEFINER CHARACTER_SET_CLIENT COLLATION_CONNECTION DATABASE_COLLATION""",
    "parameters": """SPECIFIC_CATALOG SPECIFIC_SCHEMA SPECIFIC_NAME ORDINAL_POSITION PARAMETER_MODE PARAMETER_NAME
        DATA_TYPE CHARACTER_MAXIMUM_LENGTH CHARACTER_OCTET_LENGTH NUMERIC_PRECISION NUMERIC_SCALE DATETIME_PRECISION
        CHARACTER_SET_NAME COLLATION_NAME DTD_IDENTIFIER ROUTINE_TYPE""",
    "triggers": """TRIGGER_CATALOG TRIGGER_SCHEMA TRIGGER_NAME EVENT_MANIPULATION EVENT_OBJECT_CATALOG
        EVENT_OBJECT_SCHEMA EVENT_OBJECT_TABLE ACTION_ORDER ACTION_CONDITION ACTION_STATEMENT
        ACTION_ORIENTATION ACTION_TIMING ACTION_REFERENCE_OLD_TABLE ACTION_REFERENCE_NEW_TABLE
        ACTION_REFERENCE_OLD_ROW ACTION_REFERENCE_NEW_ROW CREATED SQL_MODE DEFINER CHARACTER_SET_CLIENT
        COLLATION_CONNECTION DATABASE_COLLATION""",
    "events": """EVENT_CATALOG EVENT_SCHEMA EVENT_NAME DEFINER TIME_ZONE EVENT_BODY EVENT_DEFINITION EVENT_TYPE
        EXECUTE_AT INTERVAL_VALUE INTERVAL_FIELD SQL_MODE STARTS ENDS STATUS ON_COMPLETION CREATED LAST_ALTERED
        LAST_EXECUTED EVENT_COMMENT ORIGINATOR CHARACTER_SET_CLIENT COLLATION_CONNECTION DATABASE_COLLATION""",
    "partitions": """TABLE_CATALOG TABLE_SCHEMA TABLE_NAME PARTITION_NAME SUBPARTITION_NAME PARTITION_ORDINAL_POSITION
        SUBPARTITION_ORDINAL_POSITION PARTITION_METHOD SUBPARTITION_METHOD PARTITION_EXPRESSION
        SUBPARTITION_EXPRESSION PARTITION_DESCRIPTION TABLE_ROWS AVG_ROW_LENGTH DATA_LENGTH MAX_DATA_LENGTH
        INDEX_LENGTH DATA_FREE CREATE_TIME UPDATE_TIME CHECK_TIME CHECKSUM PARTITION_COMMENT NODEGROUP
        TABLESPACE_NAME""",
    "engines": "ENGINE SUPPORT COMMENT TRANSACTIONS XA SAVEPOINTS",
    "plugins": """PLUGIN_NAME PLUGIN_VERSION PLUGIN_STATUS PLUGIN_TYPE PLUGIN_TYPE_VERSION PLUGIN_LIBRARY
        PLUGIN_LIBRARY_VERSION PLUGIN_AUTHOR PLUGIN_DESCRIPTION PLUGIN_LICENSE LOAD_OPTION""",
    "character_sets": "CHARACTER_SET_NAME DEFAULT_COLLATE_NAME DESCRIPTION MAXLEN",
    "collations": "COLLATION_NAME CHARACTER_SET_NAME ID IS_DEFAULT IS_COMPILED SORTLEN PAD_ATTRIBUTE",
    "processlist": "ID USER HOST DB COMMAND TIME STATE INFO",
    "user_privileges": "GRANTEE TABLE_CATALOG PRIVILEGE_TYPE IS_GRANTABLE",
    "schema_privileges": "GRANTEE TABLE_CATALOG TABLE_SCHEMA PRIVILEGE_TYPE IS_GRANTABLE",
    "table_privileges": "GRANTEE TABLE_CATALOG TABLE_SCHEMA TABLE_NAME PRIVILEGE_TYPE IS_GRANTABLE",
    "column_privileges": "GRANTEE TABLE_CATALOG TABLE_SCHEMA TABLE_NAME COLUMN_NAME PRIVILEGE_TYPE IS_GRANTABLE",
    "keywords": "WORD RESERVED",
    "sync_jobs": """JOB_ID JOB_SCHEMA JOB_NAME JOB_TYPE STATE CHANNEL STATUS JOB_CONFIG CREATE_TIME LAST_START_TIME
        LAST_STOP_TIME FINISH_TIME MSG""",
    "sync_channels": """JOB_ID JOB_SCHEMA JOB_NAME SOURCE_SCHEMA SOURCE_TABLE TARGET_SCHEMA TARGET_TABLE COLUMN_LIST
        WHERE_CONDITION LAST_EPOCH LAST_SNAPSHOT_ID STATE SINCE ERROR REASON ADVICE""",
    "sync_epochs": """JOB_ID JOB_SCHEMA JOB_NAME EPOCH STATE CHANGE_ROWS STAGED_BYTES SOURCE_TIME COMMIT_TIME
        GTIDS BINLOG_FILE BINLOG_POSITION""",
    "sync_dead_letters": """JOB_ID JOB_SCHEMA JOB_NAME EPOCH SOURCE_SCHEMA SOURCE_TABLE TARGET_SCHEMA TARGET_TABLE
        CHANGE_TYPE COLUMN_NAME COLUMN_VALUE REASON SOURCE_ROW SOURCE_TIME BINLOG_FILE BINLOG_POSITION""",
    "sync_points": "JOB_ID JOB_SCHEMA JOB_NAME EPOCH COMMIT_TIME TARGET_SCHEMA TARGET_TABLE SNAPSHOT_ID",
    "sync_snapshots": """JOB_ID JOB_SCHEMA JOB_NAME SOURCE_SCHEMA SOURCE_TABLE TARGET_SCHEMA TARGET_TABLE PHASE
        ROWS_DONE ROWS_ESTIMATED CHUNKS CHUNKS_DONE ROWS_PER_SECOND LEFT_SECOND REASON WHERE_CONDITION""",
    "sync_ddl": "JOB_ID JOB_SCHEMA JOB_NAME TABLE_NAME DDL_TIME POSITION STATE OUTCOME STATEMENT",
    "session_variables": "VARIABLE_NAME VARIABLE_VALUE",
    "global_variables": "VARIABLE_NAME VARIABLE_VALUE",
}
_NUMBERS: Final = frozenset(
    {
        "ORDINAL_POSITION",
        "TABLE_ROWS",
        "AVG_ROW_LENGTH",
        "DATA_LENGTH",
        "INDEX_LENGTH",
        "NON_UNIQUE",
        "SEQ_IN_INDEX",
        "CARDINALITY",
        "ID",
        "TIME",
        "MAXLEN",
        "SORTLEN",
        "RESERVED",
        "NUMERIC_PRECISION",
        "NUMERIC_SCALE",
        "CHARACTER_MAXIMUM_LENGTH",
        "CHARACTER_OCTET_LENGTH",
        "VERSION",
        "POSITION_IN_UNIQUE_CONSTRAINT",
        "DATETIME_PRECISION",
        "JOB_ID",
        "EPOCH",
        "CHANGE_ROWS",
        "STAGED_BYTES",
        "BINLOG_POSITION",
        "LAST_EPOCH",
        "LAST_SNAPSHOT_ID",
        "SNAPSHOT_ID",
        "ROWS_DONE",
        "ROWS_ESTIMATED",
        "CHUNKS",
        "CHUNKS_DONE",
        "ROWS_PER_SECOND",
        "LEFT_SECOND",
        "ERROR",
    }
)
TABLES: Final[Mapping[str, tuple[str, ...]]] = {name: tuple(text.split()) for name, text in _COLUMNS.items()}

# the words that MySQL's drivers know for types that only Doris has
_DATA_TYPES: Final = {
    "BOOLEAN": "tinyint",
    "LARGEINT": "decimal",
    "STRING": "longtext",
    "BINARY": "varbinary",
}
_PRECISIONS: Final = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19, "LARGEINT": 39, "FLOAT": 12, "DOUBLE": 22}
_TEXTS: Final = frozenset({"CHAR", "VARCHAR", "STRING"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Present:
    """What is known on the event loop already: connections and variables."""

    processlist: Sequence[Row]
    variables: Sequence[Row]
    account: Account
    rights: Rights


@dataclass(frozen=True, kw_only=True, slots=True)
class Schema:
    """What a question sees. `tables` are those of the databases asked for."""

    databases: Sequence[str]
    tables: Sequence[TargetTable]
    present: Present


def described(name: str) -> TargetTable:
    """A table of information_schema, described like one of the lake. Raises UNKNOWN_SCHEMA_TABLE."""
    if name.lower() not in TABLES:
        raise SyncError(Code.UNKNOWN_SCHEMA_TABLE, table=name.upper())
    columns = (
        TargetColumn(name=column, type=_NUMBER if column in _NUMBERS else _WORD) for column in TABLES[name.lower()]
    )
    return TargetTable(db=INFORMATION_SCHEMA, name=name.upper(), columns=tuple(columns))


_NUMBER: Final = TargetType(name="BIGINT")
_WORD: Final = TargetType(name="VARCHAR", args=(512,))


def answer(question: Question, catalog: Catalog, history: History, present: Present) -> tuple[list[str], list[Row]]:
    """Names and rows. Blocks: it asks the catalog and the history of the jobs.

    Raises UNKNOWN_SCHEMA_TABLE, UNKNOWN_COLUMN, QUERY_FAILED, TIMED_OUT.
    """
    for name in question.tables:
        if name not in TABLES:
            raise SyncError(Code.UNKNOWN_SCHEMA_TABLE, table=name.upper())
    known = {column for name in question.tables for column in TABLES[name]}
    for column in question.columns:
        if column.upper() not in known:
            raise SyncError(Code.UNKNOWN_COLUMN, column=column, where="field list")
    schema = _gather(question, catalog, present)
    with Lite() as lite:
        lite.attach(INFORMATION_SCHEMA)
        for name in question.tables:
            kinds = [(column, "INTEGER" if column in _NUMBERS else "TEXT COLLATE NOCASE") for column in TABLES[name]]
            made = _ROWS[name](schema) if name in _ROWS else history.rows(name) if name in OF_HISTORY else ()
            lite.add(f"{INFORMATION_SCHEMA}.{quoted(name)}", kinds, made)
        names, rows = lite.ask(question.sql)
    return list(question.names) if len(question.names) == len(names) else names, rows


def _gather(question: Question, catalog: Catalog, present: Present) -> Schema:
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
            *("def", table.db, table.name, "BASE TABLE", ENGINE, 10, "Parquet", *nothing),
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
    yield ENGINE, "DEFAULT", "Iceberg tables, written and read by Spark", "NO", "NO", "NO"


def _character_sets(_schema: Schema) -> Iterator[Row]:
    for row in CHARSETS.values():
        if row.name != "utf8":
            yield row.name, row.collation_name, row.name, row.width


def _collations(_schema: Schema) -> Iterator[Row]:
    yield COLLATION, "utf8mb4", 255, "Yes", "Yes", 0, "NO PAD"
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
    "processlist": lambda schema: iter(schema.present.processlist),
    "session_variables": lambda schema: iter(schema.present.variables),
    "global_variables": lambda schema: iter(schema.present.variables),
}
OF_HISTORY: Final = frozenset(name for name in TABLES if name.startswith("sync_"))
_OF_TABLES: Final = frozenset({"tables", "columns", "statistics", "key_column_usage", "table_constraints"})
_OF_CATALOG: Final = _OF_TABLES | {"schemata"}
