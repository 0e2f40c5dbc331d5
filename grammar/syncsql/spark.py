"""An expression in Spark's words.

Owns: what means the same in MySQL and in Spark, and what must be said differently.  Where nothing means the same, or
nobody has checked, it refuses: a wrong value must never pass silently.
Must not know: statements, sessions, the schema of any table.
"""

from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp
from sqlglot.errors import ErrorLevel, UnsupportedError


class NoEqualError(Exception):
    """Spark has nothing that is known to mean the same as the part of an expression that near shows."""

    def __init__(self, reason: str, part: exp.Expr) -> None:
        self.near = part.sql("mysql", comments=False)[:80]
        super().__init__(reason)


_MISSING: Final[Mapping[type[exp.Expr], str]] = {
    exp.Xor: "XOR has no equal in Spark; write (a AND NOT b) OR (b AND NOT a)",
    exp.JSONExtract: "-> and JSON_EXTRACT give quoted JSON, which Spark has not; use ->>",
    exp.Collate: "COLLATE has no equal in Spark",
    exp.Introducer: "a character set introducer has no equal in Spark",
    exp.CharacterSet: "a character set has no equal in Spark",
    exp.MatchAgainst: "MATCH AGAINST has no equal in Spark",
}

# Functions that sqlglot knows and that were compared; one it does not know goes on as typed, and Spark judges.
_SAME: Final = (
    *(exp.Cast, exp.And, exp.Or, exp.Anonymous, exp.JSONExtractScalar, exp.RegexpLike),
    *(exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least),
    *(exp.Lower, exp.Upper, exp.Length, exp.BitLength, exp.Concat, exp.ConcatWs, exp.Left, exp.Right, exp.Substring),
    *(exp.Trim, exp.Replace, exp.Repeat, exp.Reverse, exp.SubstringIndex, exp.StrPosition, exp.Pad, exp.Ascii),
    *(exp.MD5, exp.SHA, exp.SHA2, exp.Hex, exp.Unhex),
    *(exp.Abs, exp.Ceil, exp.Floor, exp.Round, exp.Sign, exp.Sqrt, exp.Pow, exp.Exp, exp.Ln),
    *(exp.Year, exp.Quarter, exp.Month, exp.Day, exp.DayOfMonth, exp.DayOfWeek, exp.DayOfYear),
    *(exp.Hour, exp.Minute, exp.Second, exp.LastDay, exp.DateDiff, exp.DateAdd, exp.DateSub),
    *(exp.TsOrDsToDate, exp.TsOrDsToTimestamp, exp.TimeToStr, exp.StrToDate),
)
_BITS: Final = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseLeftShift, exp.BitwiseRightShift)
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
    if isinstance(node, _BITS):
        _check_bits(node)
    if isinstance(node, exp.Func) and not isinstance(node, _SAME):
        raise NoEqualError(f"{node.sql_name()} has no known equal in Spark", node)


def _check_bits(node: exp.Expr) -> None:
    """MySQL, Spark and sqlglot rank | & ^ << differently: they agree where brackets stand."""
    inside = [part for part in (node.this, node.args["expression"]) if isinstance(part, exp.Binary)]
    if isinstance(node, exp.BitwiseXor):
        clear = not inside and not isinstance(node.parent, exp.Binary)
    else:
        clear = all(type(part) is type(node) or not isinstance(part, _BITS) for part in inside)
    if not clear:
        raise NoEqualError("the order of these bit operators needs brackets", node)


def _in_spark(tree: exp.Expr) -> exp.Expr:
    """The parts first: a changed part may stand in one that changes too."""
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


def _length(node: exp.Expr) -> exp.Expr:
    """LENGTH counts bytes in MySQL, characters in Spark."""
    return exp.Anonymous(this="OCTET_LENGTH", expressions=[node.this]) if node.args.get("binary") else node


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
    if lengths and _CASTS[name] == "STRING":
        return exp.Left(this=cast, expression=lengths[0].this.copy())
    return cast


_CHANGES: Final[Mapping[type[exp.Expr], Callable[[exp.Expr], exp.Expr]]] = {
    exp.Div: _safe_division,
    exp.IntDiv: _safe_division,
    exp.Mod: _safe_division,
    exp.Length: _length,
    exp.DateAdd: _interval,
    exp.DateSub: _interval,
    exp.Cast: _cast,
}
