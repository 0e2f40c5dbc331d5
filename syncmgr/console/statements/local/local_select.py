"""SELECTs that need no lake.

Owns: which SELECT can be answered from memory (no table, or only information_schema), and its form for SQLite.
Must not know: what information_schema holds, threads. Everything uncertain is left to the lake, unchanged.
"""

import datetime as dt
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Final

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import ParseError, TokenError

from syncmgr.accounts.user import Account
from syncmgr.console.limits import KiB
from syncmgr.console.statements.local.comparisons import compare_as_mysql
from syncmgr.console.statements.local.mysql_words import as_sqlite
from syncmgr.console.statements.local.replacing import replace as replace_node
from syncmgr.console.statements.local.replacing import replace_all
from syncmgr.console.statements.local.wanted_rows import UNBOUNDED, RowBounds, bounds
from syncmgr.console.wire.protocol import VERSION
from syncmgr.errors import Code, SyncError
from syncsql import BoundedParser

INFORMATION_SCHEMA: Final = "information_schema"
_CLAUSES: Final[dict[type[exp.Expr], str]] = {
    exp.Where: "where clause",
    exp.Group: "group statement",
    exp.Having: "having clause",
    exp.Order: "order clause",
    exp.Join: "on clause",
}
FIELDS: Final = "field list"
LONGEST: Final = 20_000  # characters; longer ones are not the small queries of drivers
LONGEST_OF_SCHEMA: Final = 100_000  # and queries of tools to information_schema are no longer than this
LONGEST_VALUES: Final = 64 * KiB  # characters of all variables, each as often as it is named
MOST_DIGITS: Final = 17  # sums of such integers stay exact in SQLite

Value = int | str | None

_FROM: Final = re.compile(r"\bfrom\b(?!\s+dual\b)", re.IGNORECASE)
# what means the same in SQLite as in MySQL, whatever the values
_SAFE: Final = (
    *(exp.Select, exp.Alias, exp.Identifier, exp.Paren, exp.Limit, exp.Offset),
    *(exp.Literal, exp.Null, exp.Boolean, exp.Neg, exp.Add, exp.Sub),
    *(exp.Concat, exp.Coalesce, exp.Where),
)
_NUMBERS: Final = (exp.Literal, exp.Null, exp.Boolean, exp.Neg, exp.Add, exp.Sub)
_OF_TIMES: Final = {"CONVERT_TZ", "TIMEDIFF", "TIME_FORMAT"}  # by which tools query the zone of the server
_CLOCKS: Final = {"NOW", "SYSDATE"}
_WITHOUT_BRACKETS: Final = {"CURRENT_CATALOG", "CURRENT_DATABASE", "CURRENT_SCHEMA", "USER"}  # Spark's functions
_ENDS_OF_ITEMS: Final = {
    TokenType.FROM,
    TokenType.LIMIT,
    TokenType.WHERE,
    TokenType.ORDER_BY,
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.UNION,
    TokenType.SEMICOLON,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionFacts:
    """The caller: what DATABASE(), USER(), @@name and @name stand for. `now` in the session's time zone."""

    connection_id: int
    user: str
    account: Account
    host: str
    db: str | None
    now: dt.datetime
    variable: Callable[[str], int | str]
    user_variable: Callable[[str], Value]


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalSelect:
    """A SELECT for SQLite. `tables`: those of information_schema that it reads, in lower case.

    `names`: the columns of its result as MySQL names them, if they are known before it runs. `columns`: those it reads,
    as typed, and where; SQLite treats an unknown quoted name as a text. `db`: the only database whose tables can be in
    the answer, if the query says so. `bounds`: which rows of a table.
    """

    sql: str
    tables: frozenset[str]
    names: tuple[str, ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    db: str | None = None
    bounds: RowBounds = UNBOUNDED


def question(text: str, asker: SessionFacts) -> LocalSelect | None:
    """The SELECT as a query for SQLite; None: it is the lake's. Raises UNKNOWN_COLUMN, UNKNOWN_VARIABLE."""
    in_schema = (asker.db or "").lower() == INFORMATION_SCHEMA
    if len(text) > LONGEST_OF_SCHEMA:
        return None
    if not in_schema and INFORMATION_SCHEMA not in text.lower() and (len(text) > LONGEST or _FROM.search(text)):
        return None
    try:
        tree = BoundedParser().query(sqlglot.tokenize(text, read="mysql"), text)
    except (ParseError, TokenError, RecursionError, AttributeError, LookupError):  # the last two: sqlglot's own
        return None
    if not isinstance(tree, exp.Query):
        return None
    for select in tree.find_all(exp.Select):
        select.set("hint", None)
    _forget_dual(tree)
    aliases = _with_names(tree)
    tables = [table for table in tree.find_all(exp.Table) if table.name not in aliases]
    if not tables:
        return _plain(tree, text, asker)
    if all(table.db.lower() == INFORMATION_SCHEMA or (in_schema and not table.db) for table in tables):
        return _of_schema(tree, text, tables, asker)
    return None


def _with_names(tree: exp.Query) -> set[str]:
    return {table.alias for table in tree.find_all(exp.CTE)}


def _forget_dual(tree: exp.Query) -> None:
    for select in tree.find_all(exp.Select):
        source = select.args.get("from_")
        if source is not None and source.this.name.lower() == "dual" and not select.args.get("joins"):
            select.set("from_", None)


def _plain(tree: exp.Query, text: str, asker: SessionFacts) -> LocalSelect | None:
    if not isinstance(tree, exp.Select):
        return None
    for item in tree.expressions:
        if isinstance(item, exp.Column) and item.name.upper() not in _WITHOUT_BRACKETS:
            raise SyncError(Code.UNKNOWN_COLUMN, column=item.name, where=FIELDS)
    names = _names(tree, text)
    literals = _with_literals(tree, asker)
    if not all(_is_safe(node) for node in literals.walk()):
        return None
    return LocalSelect(sql=literals.sql("sqlite", comments=False), tables=frozenset(), names=names)


def _is_safe(node: exp.Expr) -> bool:
    if isinstance(node, exp.Literal) and not node.is_string:
        return node.name.isascii() and node.name.isdigit() and len(node.name) <= MOST_DIGITS
    if isinstance(node, exp.Anonymous):
        return node.name.upper() in _OF_TIMES
    if isinstance(node, exp.Add | exp.Sub | exp.Neg):  # a text, or a time, counts differently in SQLite
        sides = [side.unnest() for side in node.iter_expressions()]
        return all(isinstance(side, _NUMBERS) and not side.is_string for side in sides)
    if isinstance(node, exp.EQ):  # texts compare differently in SQLite
        return all(isinstance(side, exp.Literal) and not side.is_string for side in (node.left, node.right))
    return isinstance(node, _SAFE)


def _of_schema(tree: exp.Query, text: str, tables: list[exp.Table], asker: SessionFacts) -> LocalSelect:
    names = _names(tree, text) if isinstance(tree, exp.Select) else ()
    for table in tables:
        table.set("db", exp.to_identifier(INFORMATION_SCHEMA))
        table.set("this", exp.to_identifier(table.name.lower()))
    literals = _with_literals(tree, replace(asker, now=asker.now.astimezone(dt.UTC)))  # as all times there are
    as_sqlite(literals)
    compare_as_mysql(literals)
    within = bounds(literals)
    return LocalSelect(
        sql=_having_without_group(literals).sql("sqlite", identify=True, comments=False),
        tables=frozenset(table.name.lower() for table in tables),
        names=names,
        columns=_columns(literals),
        db=_only_database(literals),
        bounds=within,
    )


def _columns(tree: exp.Query) -> tuple[tuple[str, str], ...]:
    """Each with its clause, in MySQL's terms."""
    aliases = {alias.alias.casefold() for alias in tree.find_all(exp.Alias)}
    found: list[tuple[str, str]] = []
    level: list[tuple[exp.Expr, str]] = [(tree, FIELDS)]
    while level:  # downwards: the way up from each column is as long as the chain of conditions that it is in
        found += [(node.name, clause) for node, clause in level if _is_named(node, aliases)]
        level = [(inner, _clause(inner, clause)) for node, clause in level for inner in node.iter_expressions()]
    return tuple(found)


def _is_named(node: exp.Expr, aliases: Collection[str]) -> bool:
    return isinstance(node, exp.Column) and not isinstance(node.this, exp.Star) and node.name.casefold() not in aliases


def _clause(node: exp.Expr, around: str) -> str:
    return FIELDS if isinstance(node, exp.Select) else _CLAUSES.get(type(node), around)


def _having_without_group(tree: exp.Query) -> exp.Query:
    """MySQL lets HAVING name aliases without a GROUP BY, and Connector/J does so."""
    having = tree.args.get("having")
    if not isinstance(tree, exp.Select) or having is None or tree.args.get("group") is not None:
        return tree
    tree.set("having", None)
    for column in having.this.find_all(exp.Column):
        column.set("table", None)
    return exp.select("*").from_(tree.subquery("asked")).where(having.this)


def _only_database(tree: exp.Query) -> str | None:
    """The literal that TABLE_SCHEMA must be equal to, at the top of WHERE."""
    where = tree.args.get("where")
    if where is None or tree.args.get("joins"):
        return None
    conditions = where.this.flatten() if isinstance(where.this, exp.And) else [where.this]
    for condition in conditions:
        each = condition.unnest()
        if isinstance(each, exp.EQ) and isinstance(each.left, exp.Column) and each.left.name.upper() == "TABLE_SCHEMA":
            return each.right.name if isinstance(each.right, exp.Literal) and each.right.is_string else None
    return None


def _with_literals(tree: exp.Query, asker: SessionFacts) -> exp.Query:
    """The tree with everything about the caller as literals."""
    _refuse_long_values(tree, asker)
    copy = tree.copy()
    for each in list(copy.find_all(exp.ConvertTimezone)):
        parts = [each.args[name] for name in ("timestamp", "source_tz", "target_tz")]
        replace_node(each, exp.Anonymous(this="CONVERT_TZ", expressions=parts))
    replace_all(copy, lambda node: _literal(node, asker))
    return copy


def _refuse_long_values(tree: exp.Query, asker: SessionFacts) -> None:
    size = sum(len(str(asker.user_variable(each.name.lower()))) for each in tree.find_all(exp.Parameter))
    if size > LONGEST_VALUES:
        reason = (
            f"its user variables add {size} characters, more than the limit of {LONGEST_VALUES}; use them less often"
        )
        raise SyncError(Code.QUERY_FAILED, reason=reason)


def _literal(node: exp.Expr, asker: SessionFacts) -> exp.Expr:
    match node:
        case exp.SessionParameter():
            return _of_value(_switch(asker.variable(node.name)))
        case exp.Parameter():
            return _of_value(asker.user_variable(node.name.lower()))
        case exp.CurrentSchema():
            return _of_value(asker.db)
        case exp.CurrentUser():
            return _of_value(f"{asker.account.name}@{asker.account.host}")
        case exp.SessionUser():
            return _of_value(f"{asker.user}@{asker.host}")
        case exp.CurrentVersion():
            return _of_value(VERSION)
        case exp.Anonymous() if not node.expressions or node.name.upper() in _CLOCKS:
            return _function(node, asker)
        case _:
            return _of_clock(node, asker.now) or node


def _of_clock(node: exp.Expr, now: dt.datetime) -> exp.Expr | None:
    """In whole seconds, whatever fraction was requested; `now`: of the session."""
    utc = now.astimezone(dt.UTC)
    match node:
        case exp.CurrentTimestamp() | exp.Localtimestamp() | exp.Localtime():
            return _of_value(_second(now))
        case exp.UtcTimestamp():
            return _of_value(_second(utc))
        case exp.CurrentTime() | exp.UtcTime():
            return _of_value((utc if isinstance(node, exp.UtcTime) else now).strftime("%H:%M:%S"))
        case exp.CurrentDate() | exp.UtcDate():
            return _of_value(str((utc if isinstance(node, exp.UtcDate) else now).date()))
        case _:
            return None


def _function(node: exp.Anonymous, asker: SessionFacts) -> exp.Expr:
    match node.name.upper():
        case "CONNECTION_ID":
            return _of_value(asker.connection_id)
        case "USER" | "SYSTEM_USER" | "SESSION_USER":
            return _of_value(f"{asker.user}@{asker.host}")
        case "DATABASE" | "SCHEMA":
            return _of_value(asker.db)
        case "VERSION":
            return _of_value(VERSION)
        case "LAST_INSERT_ID" | "ROW_COUNT" | "FOUND_ROWS":
            return _of_value(0)
        case "NOW" | "SYSDATE":
            return _of_value(_second(asker.now))
        case "UNIX_TIMESTAMP":
            return _of_value(int(asker.now.timestamp()))
        case _:
            return node


def _second(at: dt.datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S")


def _switch(value: int | str) -> int | str:
    if isinstance(value, int) and value >= 2**63:
        return str(value)  # SQLite would make it a fraction
    return {"ON": 1, "OFF": 0}.get(value, value) if isinstance(value, str) else value


def _of_value(value: Value) -> exp.Expr:
    match value:
        case None:
            return exp.null()
        case int():
            return exp.Literal.number(value) if value >= 0 else exp.Neg(this=exp.Literal.number(-value))
        case str():
            return exp.Literal.string(value)


def _names(tree: exp.Select, text: str) -> tuple[str, ...]:
    """MySQL names a column by its alias, otherwise by the text of its expression. Empty where * hides the columns."""
    items = tree.expressions
    if any(item.is_star for item in items):
        return ()
    spans = _spans(text)
    if len(spans) != len(items):
        return ()
    return tuple(_name(item, span) for item, span in zip(items, spans, strict=True))


def _name(item: exp.Expr, span: str) -> str:
    if isinstance(item, exp.Alias):
        return str(item.alias)
    if isinstance(item, exp.Column) or (isinstance(item, exp.Literal) and item.is_string):
        return str(item.name)
    return span


def _spans(text: str) -> list[str]:
    """The text of each item between SELECT and what follows the items."""
    tokens = sqlglot.tokenize(text, read="mysql")
    spans: list[str] = []
    depth = 0
    start: int | None = None
    end = 0
    for token in tokens[1:]:
        if depth == 0 and token.token_type in _ENDS_OF_ITEMS:
            break
        if depth == 0 and token.token_type is TokenType.COMMA and start is not None:
            spans.append(text[start:end])
            start = None
            continue
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        if start is None and token.token_type in {TokenType.ALL, TokenType.DISTINCT} and not spans:
            continue
        start = token.start if start is None else start
        end = token.end + 1
    return spans if start is None else [*spans, text[start:end]]
