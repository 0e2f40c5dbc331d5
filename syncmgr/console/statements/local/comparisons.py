"""What is compared in a query of metadata, so that SQLite answers as MySQL does.

Owns: which sides are texts and which are numbers, as far as the query shows it, and how their comparison is rewritten.
Must not know: the caller, how two texts are compared.
"""

from enum import Enum
from typing import Final

from sqlglot import exp

from syncmgr.console.statements.local.collation import COLLATION
from syncmgr.console.statements.local.mysql_words import is_json, refused
from syncmgr.console.statements.local.replacing import replace
from syncmgr.console.statements.local.sqlite_texts import NUMBER_OF
from syncmgr.console.statements.local.sqlite_times import MOMENT_OF, moment_of
from syncmgr.console.table_columns import NUMBERS, TABLES, TIMES

_COLUMNS: Final = frozenset(name for names in TABLES.values() for name in names)
_COMPARED: Final = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_OF_NUMBERS: Final = (exp.Boolean, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Count, exp.Sum, exp.Avg, exp.Length)
_OF_TEXTS: Final = (exp.Concat, exp.ConcatWs, exp.Lower, exp.Upper, exp.Substring, exp.Trim, exp.GroupConcat)


class ComparedKind(Enum):
    """UNKNOWN: only its values show it."""

    NUMBER = "number"
    TEXT = "text"
    TIME = "time"
    UNKNOWN = "unknown"


def compare_as_mysql(tree: exp.Query) -> None:
    """Changes the tree, whose JSON values are compared separately."""
    aliases = frozenset(alias.alias.upper() for alias in tree.find_all(exp.Alias))
    for collate in list(tree.find_all(exp.Collate)):
        name = collate.expression.name.lower()
        collate.set("expression", exp.var("BINARY" if name.endswith("_bin") or name == "binary" else COLLATION))
    for node in list(tree.walk(bfs=False))[::-1]:
        if isinstance(node, _COMPARED):
            _compare(node, aliases)
        elif isinstance(node, exp.In) and node.expressions:
            _among(node, aliases)
        elif isinstance(node, exp.Between):
            _between(node, aliases)
        elif isinstance(node, exp.Ordered):
            node.set("this", _collated(node.this, aliases))


def _kind(node: exp.Expr, aliases: frozenset[str]) -> ComparedKind:
    inner = node.unnest()
    if isinstance(inner, exp.Literal):
        return ComparedKind.TEXT if inner.is_string else ComparedKind.NUMBER
    if isinstance(inner, exp.Column) and inner.name.upper() in _COLUMNS - aliases:
        name = inner.name.upper()
        return ComparedKind.NUMBER if name in NUMBERS else ComparedKind.TIME if name in TIMES else ComparedKind.TEXT
    if isinstance(inner, _OF_NUMBERS):
        return ComparedKind.NUMBER
    return ComparedKind.TEXT if isinstance(inner, _OF_TEXTS) else ComparedKind.UNKNOWN


def _compare(node: exp.Expr, aliases: frozenset[str]) -> None:
    left, right = node.this, node.expression
    if is_json(left) or is_json(right):
        return
    match _kind(left, aliases), _kind(right, aliases):
        case (ComparedKind.TIME, _) | (_, ComparedKind.TIME):
            node.set("this", _moment(left))
            node.set("expression", _moment(right))
        case ComparedKind.TEXT, ComparedKind.NUMBER:
            node.set("this", _number(left))
        case ComparedKind.NUMBER, ComparedKind.TEXT:
            node.set("expression", _number(right))
        case ComparedKind.TEXT, ComparedKind.TEXT if not isinstance(right.unnest(), exp.Column):
            node.set("this", _collated(left, aliases))
        case _:
            return


def _among(node: exp.In, aliases: frozenset[str]) -> None:
    """A text is compared with the numbers among them as a number, and with the others as a text."""
    if is_json(node.this):
        return
    match _kind(node.this, aliases):
        case ComparedKind.TIME:
            node.set("this", _moment(node.this))
            node.set("expressions", [_moment(each) for each in node.expressions])
        case ComparedKind.NUMBER:
            texts = (each for each in node.expressions if _kind(each, aliases) is ComparedKind.TEXT)
            for each in list(texts):
                replace(each, _number(each))
        case ComparedKind.TEXT:
            replace(node, _text_among(node, aliases))
        case ComparedKind.UNKNOWN:
            return


def _text_among(node: exp.In, aliases: frozenset[str]) -> exp.Expr:
    numbers = [each for each in node.expressions if _kind(each, aliases) is ComparedKind.NUMBER]
    others = [each for each in node.expressions if _kind(each, aliases) is not ComparedKind.NUMBER]
    among_numbers = exp.In(this=_number(node.this), expressions=numbers)
    among_others = exp.In(this=_collated(node.this, aliases), expressions=others)
    return exp.paren(exp.or_(*(each for each in (among_numbers, among_others) if each.expressions)))


def _between(node: exp.Between, aliases: frozenset[str]) -> None:
    low, high = node.args["low"], node.args["high"]
    if is_json(node.this):
        return
    if _kind(node.this, aliases) is ComparedKind.TIME:
        for name in ("this", "low", "high"):
            node.set(name, _moment(node.args[name]))
    elif {_kind(each, aliases) for each in (node.this, low, high)} == {ComparedKind.NUMBER, ComparedKind.TEXT}:
        for name in ("this", "low", "high"):
            node.set(name, _number(node.args[name]))
    else:
        node.set("this", _collated(node.this, aliases))


def _number(node: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=NUMBER_OF, expressions=[node.copy()])


def _moment(node: exp.Expr) -> exp.Expr:
    """Raises QUERY_FAILED for a literal that is not a time, like MySQL."""
    inner = node.unnest()
    if isinstance(inner, exp.Cast) and isinstance(inner.this, exp.Literal):  # TIMESTAMP '2026-01-01 00:00:00'
        inner = node = inner.this
    if isinstance(inner, exp.Literal) and moment_of(inner.name) is None:
        raise refused(f"'{inner.name}' is compared with a time, and is none")
    return exp.Anonymous(this=MOMENT_OF, expressions=[node.copy()])


def _collated(node: exp.Expr, aliases: frozenset[str]) -> exp.Expr:
    """A column has it already."""
    if isinstance(node.unnest(), exp.Column) or _kind(node, aliases) is not ComparedKind.TEXT:
        return node
    return exp.Collate(this=node.copy(), expression=exp.var(COLLATION))
