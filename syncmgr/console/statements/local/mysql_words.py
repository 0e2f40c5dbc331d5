"""MySQL's functions and operators in SQLite's form, in a query of metadata.

Owns: which one becomes which function, and how a value of JSON is compared.
Must not know: the caller, what the functions do.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from syncmgr.console.statements.local.replacing import replace
from syncmgr.console.statements.local.sqlite_texts import BYTES_OF, CONCAT_BY, FORMAT, LEFT_OF, RIGHT_OF
from syncmgr.console.statements.local.sqlite_times import ADD_INTERVAL, APART, DATE_FORMAT, PART_OF, PARTS, UNITS
from syncmgr.console.table_columns import TIMES
from syncmgr.errors import Code, SyncError

TRUTH: Final = {"true": "1", "false": "0"}
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d")
_DIRECTIVE: Final = re.compile(r"%-?.", re.DOTALL)
_DIRECTIVES: Final = frozenset({*(f"%{each}" for each in "YymdHIMSfpjabABw%"), "%-d", "%-m", "%-H", "%-I"})
_ADDED: Final = (exp.TsOrDsToDate, exp.TsOrDsToTimestamp)  # what sqlglot puts around an argument by itself


def as_sqlite(tree: exp.Query) -> None:
    """Changes the tree. Raises QUERY_FAILED for anything that SQLite would answer with another value."""
    if tree.find(exp.JSONPathWildcard):
        raise refused("wildcards in a JSON path are not supported; name each key")
    _order_concats(tree)
    for node in list(tree.walk(bfs=False))[::-1]:  # what is inside first
        change = _WORDS.get(type(node))
        if change is not None:
            replace(node, change(node))


def _order_concats(tree: exp.Query) -> None:
    """GROUP_CONCAT(a ORDER BY b DESC SEPARATOR s), by which tools query the columns of a key."""
    for node in list(tree.find_all(exp.GroupConcat)):
        order = node.this
        if not isinstance(order, exp.Order) or len(order.expressions) != 1 or isinstance(order.this, exp.Distinct):
            continue
        [by] = order.expressions
        separator = node.args.get("separator") or exp.Literal.string(",")
        parts = [order.this, by.this, exp.Literal.number(int(bool(by.args.get("desc")))), separator]
        replace(node, exp.Anonymous(this=CONCAT_BY, expressions=parts))


def refused(why: str) -> SyncError:
    return SyncError(Code.QUERY_FAILED, reason=f"metadata query: {why}")


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _unit(node: exp.Expr | None, known: frozenset[str]) -> exp.Expr:
    name = "" if node is None else node.name.upper()
    if name not in known:
        raise refused(f"unknown unit of time {name or '?'}; supported are {', '.join(sorted(known))}")
    return exp.Literal.string(name)


def _bare(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, _ADDED) else node


def _moved(moment: exp.Expr, amount: exp.Expr, unit: exp.Expr | None, *, back: bool) -> exp.Expr:
    by = exp.Neg(this=exp.Paren(this=amount)) if back else amount
    return _call(ADD_INTERVAL, _bare(moment), by, _unit(unit, UNITS))


def _sum(node: exp.Expr) -> exp.Expr:
    left, right = node.this, node.expression
    if isinstance(left, exp.Interval) and isinstance(node, exp.Add):
        left, right = right, left
    if not isinstance(right, exp.Interval):
        if _is_moment(left) or _is_moment(right):
            raise refused("a number cannot be added to a time; write INTERVAL 300 SECOND")
        return node
    return _moved(left, right.this, right.args.get("unit"), back=isinstance(node, exp.Sub))


def _is_moment(node: exp.Expr) -> bool:
    """NOW() and the like are already texts here. As a number MySQL would concatenate their digits."""
    inner = node.unnest()
    if isinstance(inner, exp.Column):
        return inner.name.upper() in TIMES
    return isinstance(inner, exp.Literal) and inner.is_string and _MOMENT.match(inner.name) is not None


def _in_zone(node: exp.Expr) -> exp.Expr:
    return _call("CONVERT_TZ", _bare(node.args["timestamp"]), node.args["source_tz"], node.args["target_tz"])


def _truncate(_node: exp.Expr) -> exp.Expr:
    raise refused("TRUNCATE is not supported; use ROUND or FLOOR")


def _date_add(node: exp.Expr) -> exp.Expr:
    return _moved(node.this, node.expression, node.args.get("unit"), back=isinstance(node, exp.DateSub))


def _part_of(name: str) -> Callable[[exp.Expr], exp.Expr]:
    return lambda node: _call(PART_OF, _bare(node.this), exp.Literal.string(name))


def _extract(node: exp.Expr) -> exp.Expr:
    return _call(PART_OF, _bare(node.expression), _unit(node.this, PARTS))


def _apart(node: exp.Expr) -> exp.Expr:
    return _call(APART, _bare(node.this), _bare(node.expression), _unit(node.args.get("unit"), UNITS))


def _days_apart(node: exp.Expr) -> exp.Expr:
    """DATEDIFF looks at the dates alone."""
    dates = [_call("DATE", _bare(each)) for each in (node.this, node.expression)]
    return _call(APART, *dates, exp.Literal.string("DAY"))


def _from_unixtime(node: exp.Expr) -> exp.Expr:
    return _call("FROM_UNIXTIME", *filter(None, (node.this, node.args.get("format"))))


def _format(node: exp.Expr) -> exp.Expr:
    """It has Python's directives instead of MySQL's, except those that sqlglot does not know."""
    unknown = set(_DIRECTIVE.findall(node.args["format"].name)) - _DIRECTIVES
    if unknown:
        raise refused(f"{min(unknown)} is not supported in DATE_FORMAT")
    return _call(DATE_FORMAT, _bare(node.this), node.args["format"])


def _json(node: exp.Expr) -> exp.Expr:
    return exp.JSONExtractScalar(this=node.this, expression=node.expression)


def _arrow(node: exp.Expr) -> exp.Expr:
    """`a -> b` in the brackets of a function is parsed as a lambda, which MySQL does not have."""
    match node.expressions, node.this:
        case [exp.Identifier() as column], exp.Literal() as path:
            return exp.JSONExtractScalar(this=exp.Column(this=column), expression=path)
        case _:
            return node


def _json_value(node: exp.Expr) -> exp.Expr:
    return exp.JSONExtractScalar(this=node.this, expression=node.args["path"])


def _json_keys(node: exp.Expr) -> exp.Expr:
    path = node.args.get("expression")
    return _call("JSON_KEYS", exp.JSONExtractScalar(this=node.this, expression=path) if path else node.this)


def is_json(node: exp.Expr) -> bool:
    inner = node.unnest()
    return isinstance(inner, exp.JSONExtract | exp.JSONExtractScalar | exp.JSONValue) or (
        isinstance(inner, exp.Anonymous) and inner.name.upper() == "JSON_UNQUOTE"
    )


def _meant(text: exp.Expr) -> exp.Expr:
    """The value that a text may stand for if MySQL compares it with a JSON value."""
    if not isinstance(text, exp.Literal) or not text.is_string:
        return text
    number = TRUTH.get(text.name.lower(), text.name)
    try:
        float(number)
    except ValueError:
        return text
    return exp.Literal.number(number)


def _equal(node: exp.Expr) -> exp.Expr:
    """Either may be meant: the text, or its value."""
    left, right = node.this, node.expression
    if not is_json(left):
        left, right = right, left
    meant = _meant(right)
    if not is_json(left) or meant is right:
        return node
    either = exp.In(this=left, expressions=[right, meant])
    return either if isinstance(node, exp.EQ) else exp.Not(this=either)


def _in(node: exp.Expr) -> exp.Expr:
    if is_json(node.this):
        texts = node.expressions
        node.set("expressions", [*texts, *(meant for text in texts if (meant := _meant(text)) is not text)])
    return node


def _compared(node: exp.Expr) -> exp.Expr:
    left, right = node.this, node.expression
    if is_json(left):
        node.set("expression", _meant(right))
    if is_json(right):
        node.set("this", _meant(left))
    return node


def _anonymous(node: exp.Expr) -> exp.Expr:
    name, given = node.name.upper(), node.expressions
    match name, given:
        case (("ADDDATE" | "SUBDATE"), [moment, exp.Interval() as by]):
            return _moved(moment, by.this, by.args.get("unit"), back=name == "SUBDATE")
        case (("ADDDATE" | "SUBDATE"), [moment, days]):
            return _moved(moment, days, exp.var("DAY"), back=name == "SUBDATE")
        case (("WEEKDAY" | "MICROSECOND"), [moment]):
            return _call(PART_OF, moment, exp.Literal.string(name))
        case (("JSON_LENGTH" | "JSON_KEYS"), [document, path]):
            return _call(name, exp.JSONExtractScalar(this=document, expression=path))
        case "MID", [_, _, _]:
            return _call("SUBSTR", *given)
        case _:
            return node


def _length(node: exp.Expr) -> exp.Expr:
    """LENGTH counts bytes, CHAR_LENGTH characters."""
    return _call(BYTES_OF, node.this) if node.args.get("binary") else node


def _cast(node: exp.Expr) -> exp.Expr:
    """CONVERT(... USING utf8mb4): every text is. BINARY: each byte counts."""
    if node.args["to"].is_type(exp.DType.BINARY):
        return exp.Collate(this=node.this, expression=exp.var("BINARY"))
    return node.this if node.args["to"].is_type(exp.DType.CHARACTER_SET) else node


def _number(node: exp.Expr) -> exp.Expr:
    return _call(FORMAT, node.this, node.args["format"])


def _side(name: str) -> Callable[[exp.Expr], exp.Expr]:
    """LEFT and RIGHT are words of a join in SQLite."""
    return lambda node: _call(name, node.this, node.expression)


_WORDS: Final[Mapping[type[exp.Expr], Callable[[exp.Expr], exp.Expr]]] = {
    exp.Add: _sum,
    exp.Sub: _sum,
    exp.DateAdd: _date_add,
    exp.DateSub: _date_add,
    exp.TimestampAdd: _date_add,
    exp.TimestampDiff: _apart,
    exp.DateDiff: _days_apart,
    exp.UnixToTime: _from_unixtime,
    exp.TimeToStr: _format,
    exp.ConvertTimezone: _in_zone,
    exp.Trunc: _truncate,
    exp.Extract: _extract,
    exp.Year: _part_of("YEAR"),
    exp.Quarter: _part_of("QUARTER"),
    exp.Month: _part_of("MONTH"),
    exp.Day: _part_of("DAY"),
    exp.DayOfMonth: _part_of("DAY"),
    exp.DayOfWeek: _part_of("DAYOFWEEK"),
    exp.DayOfYear: _part_of("DAYOFYEAR"),
    exp.Hour: _part_of("HOUR"),
    exp.Minute: _part_of("MINUTE"),
    exp.Second: _part_of("SECOND"),
    exp.JSONExtract: _json,
    exp.Lambda: _arrow,
    exp.JSONValue: _json_value,
    exp.JSONKeys: _json_keys,
    exp.EQ: _equal,
    exp.NEQ: _equal,
    exp.In: _in,
    exp.GT: _compared,
    exp.GTE: _compared,
    exp.LT: _compared,
    exp.LTE: _compared,
    exp.Length: _length,
    exp.Left: _side(LEFT_OF),
    exp.Right: _side(RIGHT_OF),
    exp.Cast: _cast,
    exp.NumberToStr: _number,
    exp.Anonymous: _anonymous,
}
