"""An expression in Spark SQL.

Owns: what means the same in MySQL and in Spark, and what must be written differently. If nothing means the same, or it
was not verified, it refuses: a wrong value must never pass silently.
Must not know: statements, sessions, the schema of any table.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp
from sqlglot.errors import ErrorLevel, UnsupportedError


class NoEqualError(Exception):
    """Spark has no known equivalent of the part of an expression that near shows."""

    def __init__(self, reason: str, part: exp.Expr) -> None:
        self.near = part.sql("mysql", comments=False)[:80]
        super().__init__(reason)


_BITS: Final = "bit operators give unsigned numbers in MySQL alone; only & with a number has an equal in Spark"
_MISSING: Final[Mapping[type[exp.Expr], str]] = {
    exp.Xor: "XOR has no equal in Spark; write (a AND NOT b) OR (b AND NOT a)",
    exp.JSONExtract: "-> and JSON_EXTRACT give quoted JSON, which Spark has not; use ->>",
    exp.Collate: "COLLATE has no equal in Spark",
    exp.Introducer: "a character set introducer has no equal in Spark",
    exp.CharacterSet: "a character set has no equal in Spark",
    exp.BitwiseOr: _BITS,
    exp.BitwiseXor: _BITS,
    exp.BitwiseNot: _BITS,
    exp.BitwiseLeftShift: _BITS,
    exp.BitwiseRightShift: _BITS,
    exp.BitString: "a bit literal is bytes in MySQL and a number in Spark; write the number",
    exp.MatchAgainst: "MATCH AGAINST has no equal in Spark",
}

# Functions that sqlglot knows and that were compared; an unknown one is passed on as typed, and Spark decides.
_SAME: Final = (
    *(exp.Cast, exp.And, exp.Or, exp.Anonymous, exp.JSONExtractScalar, exp.RegexpLike),
    *(exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least),
    *(exp.Lower, exp.Upper, exp.Length, exp.BitLength, exp.Concat, exp.ConcatWs, exp.Left, exp.Right, exp.Substring),
    *(exp.Trim, exp.Replace, exp.Repeat, exp.Reverse, exp.SubstringIndex, exp.StrPosition, exp.Pad),
    *(exp.MD5, exp.SHA, exp.SHA2, exp.Hex, exp.Unhex),
    *(exp.Abs, exp.Ceil, exp.Floor, exp.Round, exp.Sign, exp.Sqrt, exp.Pow, exp.Exp, exp.Ln),
    *(exp.Year, exp.Quarter, exp.Month, exp.Day, exp.DayOfMonth, exp.DayOfWeek, exp.DayOfYear),
    *(exp.Hour, exp.Minute, exp.Second, exp.LastDay, exp.DateDiff, exp.DateAdd, exp.DateSub),
    *(exp.TsOrDsToDate, exp.TsOrDsToTimestamp, exp.TimeToStr, exp.StrToDate),
)
_CASTS: Final[Mapping[str, str]] = {
    "BIGINT": "BIGINT",
    "DATE": "DATE",
    "DATETIME": "TIMESTAMP_NTZ",
    "TIMESTAMP": "TIMESTAMP_NTZ",
    "DECIMAL": "DECIMAL",
    "DOUBLE": "DOUBLE",
    "FLOAT": "FLOAT",
    "BINARY": "BINARY",
    "CHAR": "STRING",
    "NCHAR": "STRING",
    "VARCHAR": "STRING",
    "TEXT": "STRING",
}
_OTHERWISE: Final = frozenset({"UNIX_TIMESTAMP", "ORD"})
_PLAIN_FORMAT: Final = re.compile(r"(?:%[YymcdeHis]|[-/.:, ])*")
_UNITS: Final = frozenset({"SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR"})


def translate(tree: exp.Expr) -> str:
    """Spark SQL that means the same as this MySQL expression; raises NoEqualError."""
    for node in tree.walk():
        _check(node)
    try:
        return _in_spark(tree).sql("spark", identify=True, comments=False, unsupported_level=ErrorLevel.RAISE)
    except UnsupportedError:
        raise NoEqualError("this expression has no equal in Spark", tree) from None


def _check(node: exp.Expr) -> None:
    for kind, reason in _MISSING.items():
        if isinstance(node, kind):
            raise NoEqualError(reason, node)
    problem = _problem(node)
    if problem is not None:
        raise NoEqualError(problem, node)


def _problem(node: exp.Expr) -> str | None:
    """What is wrong with this node in particular."""
    match node:
        case exp.BitwiseAnd() if not _has_number(node):
            return _BITS
        case exp.Substring() if not _is_number(node.args["start"]) or not node.args["start"].name.strip("0"):
            return (
                "SUBSTRING needs a number above 0 as its position in Spark; LEFT, RIGHT and SUBSTRING_INDEX have none"
            )
        case exp.TimeToStr() | exp.StrToDate() if not _is_plain_format(node.args["format"]):
            return "only the formats %Y %y %m %c %d %e %H %i %s and signs between them are known in Spark"
        case exp.DateDiff() if any(part.name.startswith("0") for part in node.find_all(exp.Literal)):
            return "the years before 1000 are counted differently in Spark"
        case exp.Anonymous() if node.name.upper() in _OTHERWISE:
            return f"{node.name.upper()} means something else in Spark"
        case exp.Func() if not isinstance(node, _SAME):
            return f"{node.sql_name()} has no known equal in Spark"
        case _:
            return None


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit()


def _has_number(node: exp.Expr) -> bool:
    return _is_number(node.this) or _is_number(node.args["expression"])


def _is_plain_format(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and _PLAIN_FORMAT.fullmatch(node.name) is not None


def _in_spark(tree: exp.Expr) -> exp.Expr:
    """The parts first: a changed part may be inside one that changes, too."""
    root = tree.copy()
    for node in reversed(list(root.walk())):
        change = _CHANGES.get(type(node))
        if change is None:
            continue
        changed = change(node)
        if node is root:
            root = changed
        elif changed is not node:
            node.replace(changed)
    return root


def _safe_division(node: exp.Expr) -> exp.Expr:
    """Division by zero is NULL in MySQL and an error in Spark."""
    divisor = node.args["expression"]
    if not isinstance(divisor, exp.Nullif) and not (divisor.is_number and float(divisor.name or 0)):
        node.set("expression", exp.Nullif(this=divisor.copy(), expression=exp.Literal.number(0)))
    return node


def _root(node: exp.Expr) -> exp.Expr:
    """The root of a negative number is NULL in MySQL and NaN in Spark."""
    negative = exp.LT(this=node.this.copy(), expression=exp.Literal.number(0))
    return exp.If(this=negative, true=exp.Null(), false=node.copy())


def _extreme(node: exp.Expr) -> exp.Expr:
    """One NULL makes GREATEST and LEAST NULL in MySQL; Spark ignores it."""
    tests = [exp.Is(this=part.copy(), expression=exp.Null()) for part in (node.this, *node.expressions)]
    return exp.If(this=exp.or_(*tests, copy=False), true=exp.Null(), false=node.copy())


def _round(node: exp.Expr) -> exp.Expr:
    """MySQL rounds the half of a DOUBLE to the even neighbour, of a DECIMAL away from zero; Spark always the latter."""
    parts = [part.copy() for part in (node.this, node.args.get("decimals")) if part is not None]
    return exp.If(this=_is_double(node.this), true=_call("BROUND", *parts), false=node.copy())


def _is_double(node: exp.Expr) -> exp.Expr:
    return exp.In(this=_call("TYPEOF", node.copy()), expressions=[exp.Literal.string(n) for n in ("double", "float")])


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _length(node: exp.Expr) -> exp.Expr:
    """LENGTH counts bytes in MySQL, characters in Spark."""
    return _call("OCTET_LENGTH", node.this) if node.args.get("binary") else node


def _interval(node: exp.Expr) -> exp.Expr:
    """Spark's DATE_ADD counts days whatever the unit."""
    unit, amount = node.text("unit").upper() or "DAY", node.args["expression"]
    if unit not in _UNITS or not isinstance(amount, exp.Literal):
        raise NoEqualError(f"only INTERVAL n of {', '.join(sorted(_UNITS))} is known in Spark", node)
    interval = exp.Interval(this=exp.Literal.string(amount.name), unit=exp.var(unit))
    kind = exp.Sub if isinstance(node, exp.DateSub) else exp.Add
    return exp.Paren(this=kind(this=node.this, expression=interval))


def _cast(node: exp.Expr) -> exp.Expr:
    kind = node.args["to"]
    name = kind.this.name if isinstance(kind, exp.DataType) else ""
    if name not in _CASTS:
        raise NoEqualError("a CAST to this type has no equal in Spark", node)
    lengths = kind.expressions
    if lengths and name == "BINARY":
        raise NoEqualError("CAST AS BINARY(n) has no equal in Spark", node)
    target = exp.DataType.build(_CASTS[name], dialect="spark")
    if lengths and name == "DECIMAL":
        target.set("expressions", [each.copy() for each in lengths])
    cast = exp.Cast(this=node.this, to=target)
    if name == "BIGINT":
        return _whole(cast)
    if lengths and _CASTS[name] == "STRING":
        return exp.Left(this=cast, expression=lengths[0].this.copy())
    return cast


def _whole(cast: exp.Expr) -> exp.Expr:
    """CAST AS SIGNED rounds a fraction, like ROUND; Spark truncates it."""
    number, target = cast.this, cast.args["to"]
    decimal = exp.Like(this=_call("TYPEOF", number.copy()), expression=exp.Literal.string("decimal%"))
    fraction = exp.or_(_is_double(number), decimal, copy=False)
    rounded = exp.Cast(this=_round(exp.Round(this=number.copy())), to=target.copy())
    return exp.If(this=fraction, true=rounded, false=cast.copy())


_CHANGES: Final[Mapping[type[exp.Expr], Callable[[exp.Expr], exp.Expr]]] = {
    exp.Div: _safe_division,
    exp.IntDiv: _safe_division,
    exp.Mod: _safe_division,
    exp.Sqrt: _root,
    exp.Greatest: _extreme,
    exp.Least: _extreme,
    exp.Round: _round,
    exp.Length: _length,
    exp.DateAdd: _interval,
    exp.DateSub: _interval,
    exp.Cast: _cast,
}
