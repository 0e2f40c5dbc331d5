"""Reads what begins with SHOW.

Owns: which statements exist and which clauses each takes.
Must not know: the answers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from syncsql.names import Name
from syncsql.reading.cursor import Cursor
from syncsql.reading.lists import take_if_not_exists
from syncsql.reading.read_expression import read_expression
from syncsql.reading.read_sync import job_name
from syncsql.reading.read_user import show_grants
from syncsql.statements.filter import EVERY_ROW, Filter, Limit, OrderItem
from syncsql.statements.session import MetaKind, Scope, ShowFrontendConfig, ShowMeta, ShowProcesslist
from syncsql.statements.sync import ShowCreateSync, ShowSync, ShowSyncStatus, ShowSyncTables
from syncsql.statements.table import ShowColumns, ShowCreateDatabase, ShowCreateTable, ShowDatabases, ShowTables
from syncsql.statements.user import ShowGrants

Shown: TypeAlias = (
    ShowSync
    | ShowSyncStatus
    | ShowSyncTables
    | ShowCreateSync
    | ShowDatabases
    | ShowCreateDatabase
    | ShowTables
    | ShowCreateTable
    | ShowColumns
    | ShowProcesslist
    | ShowFrontendConfig
    | ShowMeta
    | ShowGrants
)

_AFTER_WHERE: Final = frozenset({"ORDER", "LIMIT"})


@dataclass(frozen=True, kw_only=True, slots=True)
class _MetaRule:
    kind: MetaKind
    filter: bool = False
    db: bool = False
    limit: bool = False


_META: Final[Mapping[tuple[str, ...], _MetaRule]] = {
    ("WARNINGS",): _MetaRule(kind=MetaKind.WARNINGS, limit=True),
    ("ERRORS",): _MetaRule(kind=MetaKind.ERRORS, limit=True),
    ("ENGINES",): _MetaRule(kind=MetaKind.ENGINES),
    ("STORAGE", "ENGINES"): _MetaRule(kind=MetaKind.ENGINES),
    ("PLUGINS",): _MetaRule(kind=MetaKind.PLUGINS),
    ("FRONTENDS",): _MetaRule(kind=MetaKind.FRONTENDS),
    ("ALERTS",): _MetaRule(kind=MetaKind.ALERTS, filter=True),
    ("PRIVILEGES",): _MetaRule(kind=MetaKind.PRIVILEGES),
    ("COLLATION",): _MetaRule(kind=MetaKind.COLLATION, filter=True),
    ("CHARACTER", "SET"): _MetaRule(kind=MetaKind.CHARACTER_SET, filter=True),
    ("CHARSET",): _MetaRule(kind=MetaKind.CHARACTER_SET, filter=True),
    ("TABLE", "STATUS"): _MetaRule(kind=MetaKind.TABLE_STATUS, filter=True, db=True),
    ("OPEN", "TABLES"): _MetaRule(kind=MetaKind.OPEN_TABLES, filter=True, db=True),
    ("TRIGGERS",): _MetaRule(kind=MetaKind.TRIGGERS, filter=True, db=True),
    ("EVENTS",): _MetaRule(kind=MetaKind.EVENTS, filter=True, db=True),
    ("PROCEDURE", "STATUS"): _MetaRule(kind=MetaKind.PROCEDURE_STATUS, filter=True),
    ("FUNCTION", "STATUS"): _MetaRule(kind=MetaKind.FUNCTION_STATUS, filter=True),
    ("VARIABLES",): _MetaRule(kind=MetaKind.VARIABLES, filter=True),
    ("STATUS",): _MetaRule(kind=MetaKind.STATUS, filter=True),
}
_SCOPES: Final = {"GLOBAL": Scope.GLOBAL, "SESSION": Scope.SESSION, "LOCAL": Scope.SESSION}


def show(at: Cursor) -> Shown:
    """After SHOW."""
    word = at.word() or ""
    if word in _READERS:
        at.take(word)
        return at.end(_READERS[word](at))
    if word in _SCOPES and at.word(1) in {"VARIABLES", "STATUS"}:
        at.take(word)
        return at.end(_meta(at, _SCOPES[word]))
    return at.end(_meta(at, None))


def _meta(at: Cursor, scope: Scope | None) -> ShowMeta:
    for words, rule in _META.items():
        if at.take(*words):
            db = database(at) if rule.db else None
            where = row_filter(at) if rule.filter else EVERY_ROW
            rows = _limit(at) if rule.limit else None
            return ShowMeta(kind=rule.kind, scope=scope, db=db, filter=where, limit=rows)
    raise at.error("unknown statement")


def row_filter(at: Cursor, until: frozenset[str] = frozenset()) -> Filter:
    """LIKE or WHERE or neither."""
    if at.take("LIKE"):
        return Filter(like=at.string("a pattern"))
    if at.take("WHERE"):
        return Filter(where=read_expression(at, "condition", until=until, comma_ends=False, long_lists=False))
    return EVERY_ROW


def database(at: Cursor) -> str | None:
    return at.identifier("a database name") if at.take_any("FROM", "IN") else None


def _sync(at: Cursor) -> ShowSync | ShowSyncStatus | ShowSyncTables:
    if not at.take_any("JOB", "JOBS"):
        raise at.error("expected JOB")
    if at.take("TABLES"):
        at.expect("FOR")
        return ShowSyncTables(job=job_name(at), filter=row_filter(at))
    node = ShowSyncStatus if at.take("STATUS") else ShowSync
    db = database(at)
    like = at.string("a pattern") if at.take("LIKE") else None
    where = row_filter(at, _AFTER_WHERE).where
    return node(db=db, filter=Filter(like=like, where=where), order_by=_order_by(at), limit=_limit(at))


def _order_by(at: Cursor) -> tuple[OrderItem, ...]:
    if not at.take("ORDER"):
        return ()
    at.expect("BY")
    items = [_order_item(at)]
    while at.take_sign(","):
        items.append(_order_item(at))
    return tuple(items)


def _order_item(at: Cursor) -> OrderItem:
    column = at.identifier("a column name")
    return OrderItem(column=column, descending=at.take_any("ASC", "DESC") == "DESC")


def _limit(at: Cursor) -> Limit | None:
    if not at.take("LIMIT"):
        return None
    first = at.number("a number of rows")
    if at.take_sign(","):
        return Limit(offset=first, rows=at.number("a number of rows"))
    return Limit(rows=first, offset=at.number("a number of rows") if at.take("OFFSET") else 0)


def _create(at: Cursor) -> ShowCreateSync | ShowCreateDatabase | ShowCreateTable:
    match at.take_any("SYNC", "DATABASE", "SCHEMA", "TABLE"):
        case "SYNC":
            return ShowCreateSync(job=job_name(at))
        case "TABLE":
            return ShowCreateTable(table=at.name("a table name"))
        case None:
            raise at.error("expected TABLE, DATABASE or SYNC JOB")
        case _:
            if_not_exists = take_if_not_exists(at)
            return ShowCreateDatabase(name=at.identifier("a database name"), if_not_exists=if_not_exists)


def _databases(at: Cursor) -> ShowDatabases:
    return ShowDatabases(filter=row_filter(at))


def _full(at: Cursor) -> ShowTables | ShowColumns | ShowProcesslist:
    match at.take_any("TABLES", "COLUMNS", "FIELDS", "PROCESSLIST"):
        case "TABLES":
            return _tables(at, full=True)
        case "PROCESSLIST":
            return ShowProcesslist(full=True)
        case None:
            raise at.error("expected TABLES, COLUMNS or PROCESSLIST")
        case _:
            return _columns(at, full=True)


def _tables(at: Cursor, *, full: bool = False) -> ShowTables:
    return ShowTables(full=full, db=database(at), filter=row_filter(at))


def _columns(at: Cursor, *, full: bool = False) -> ShowColumns:
    return ShowColumns(full=full, table=_table_of(at), filter=row_filter(at))


def _table_of(at: Cursor) -> Name:
    """FROM table [FROM db]."""
    if not at.take_any("FROM", "IN"):
        raise at.error("expected FROM")
    table = at.name("a table name")
    if not (at.sees("FROM") or at.sees("IN")):
        return table
    if table.db is not None:
        raise at.error("the database is given twice")
    return Name(name=table.name, db=database(at))


def _index(at: Cursor) -> ShowMeta:
    table = _table_of(at)
    where = row_filter(at)
    return ShowMeta(kind=MetaKind.INDEX, table=table.name, db=table.db, filter=where)


def _all(at: Cursor) -> ShowGrants:
    at.expect("GRANTS")
    return show_grants(at, everybody=True)


def _count(at: Cursor) -> ShowMeta:
    for sign in "(*)":
        at.expect_sign(sign, "after COUNT")
    match at.take_any("WARNINGS", "ERRORS"):
        case "WARNINGS":
            return ShowMeta(kind=MetaKind.COUNT_WARNINGS)
        case "ERRORS":
            return ShowMeta(kind=MetaKind.COUNT_ERRORS)
        case _:
            raise at.error("expected WARNINGS or ERRORS")


def frontend_config(at: Cursor) -> ShowFrontendConfig:
    """After FRONTEND."""
    at.expect("CONFIG")
    return ShowFrontendConfig(filter=row_filter(at))


def _processlist(_at: Cursor) -> ShowProcesslist:
    return ShowProcesslist()


_READERS: Final[Mapping[str, Callable[[Cursor], Shown]]] = {
    "SYNC": _sync,
    "CREATE": _create,
    "DATABASES": _databases,
    "SCHEMAS": _databases,
    "FULL": _full,
    "TABLES": _tables,
    "COLUMNS": _columns,
    "FIELDS": _columns,
    "PROCESSLIST": _processlist,
    "FRONTEND": frontend_config,
    "INDEX": _index,
    "INDEXES": _index,
    "KEYS": _index,
    "GRANTS": show_grants,
    "ALL": _all,
    "COUNT": _count,
}
