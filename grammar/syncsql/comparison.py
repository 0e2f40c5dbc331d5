"""A condition as comparisons of columns with constants.

Owns: which conditions are nothing but that, and their form: no NOT above a comparison, no brackets.
Must not know: statements, the schema of any table, who compares.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from sqlglot import exp


class Sign(StrEnum):
    """EQUAL to one of the values, DIFFERENT from all of them; the others have one value, or none."""

    EQUAL = "="
    DIFFERENT = "<>"
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    NULL = "IS NULL"
    NOT_NULL = "IS NOT NULL"


class ConstantKind(StrEnum):
    """How it was written."""

    NUMBER = "NUMBER"
    TEXT = "TEXT"
    BYTES = "BYTES"  # X'4d', 0x4d; its text is the digits
    MOMENT = "MOMENT"  # DATE '...', TIMESTAMP '...'


@dataclass(frozen=True, kw_only=True, slots=True)
class Constant:
    """`text`: without quotes; a number as it was written."""

    kind: ConstantKind
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Of one column."""

    column: str
    sign: Sign
    values: tuple[Constant, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Every:
    """AND."""

    parts: tuple["Test", ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Some:
    """OR."""

    parts: tuple["Test", ...]


Test: TypeAlias = Comparison | Every | Some


class NoComparisonError(Exception):
    """A part of a condition, which `near` shows, that is not a comparison of a column with constants."""

    def __init__(self, part: exp.Expr) -> None:
        self.near = part.sql("mysql", comments=False)[:80]
        super().__init__(
            "only comparisons of a column with constants (=, <>, <, <=, >, >=, BETWEEN, IN, IS NULL)"
            " and AND, OR and NOT of them can stand here"
        )


_SIGNS: Final[Mapping[type[exp.Expr], Sign]] = {
    exp.EQ: Sign.EQUAL,
    exp.NEQ: Sign.DIFFERENT,
    exp.LT: Sign.LESS,
    exp.LTE: Sign.AT_MOST,
    exp.GT: Sign.MORE,
    exp.GTE: Sign.AT_LEAST,
}
_PAIRS: Final = (
    (Sign.EQUAL, Sign.DIFFERENT),
    (Sign.LESS, Sign.AT_LEAST),
    (Sign.MORE, Sign.AT_MOST),
    (Sign.NULL, Sign.NOT_NULL),
)
_NEGATED: Final = dict(_PAIRS) | {other: one for one, other in _PAIRS}
_TURNED: Final = {
    Sign.LESS: Sign.MORE,
    Sign.MORE: Sign.LESS,
    Sign.AT_MOST: Sign.AT_LEAST,
    Sign.AT_LEAST: Sign.AT_MOST,
}
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def compared(tree: exp.Expr, *, negated: bool = False) -> Test:
    """The comparisons of a condition, or of its negation: NOT is pushed down to them. Raises NoComparisonError."""
    match tree:
        case exp.Paren():
            return compared(tree.this, negated=negated)
        case exp.Not():
            return compared(tree.this, negated=not negated)
        case exp.And() | exp.Or():
            parts = tuple(compared(part, negated=negated) for part in tree.flatten())
            return Every(parts=parts) if isinstance(tree, exp.And) is not negated else Some(parts=parts)
        case exp.Between() if not tree.args.get("symmetric"):
            low = _one(tree.this, Sign.AT_LEAST, [tree.args["low"]], negated=negated)
            high = _one(tree.this, Sign.AT_MOST, [tree.args["high"]], negated=negated)
            return Some(parts=(low, high)) if negated else Every(parts=(low, high))
        case exp.In() if tree.expressions:
            return _one(tree.this, Sign.EQUAL, tree.expressions, negated=negated)
        case exp.Is() if isinstance(tree.expression, exp.Null):
            return _one(tree.this, Sign.NULL, [], negated=negated)
        case _ if type(tree) in _SIGNS:
            return _sided(tree, _SIGNS[type(tree)], negated=negated)
        case _:
            raise NoComparisonError(tree)


def _sided(tree: exp.Expr, sign: Sign, *, negated: bool) -> Comparison:
    """The column may be on either side."""
    if isinstance(tree.expression, exp.Column):
        return _one(tree.expression, _TURNED.get(sign, sign), [tree.this], negated=negated)
    return _one(tree.this, sign, [tree.expression], negated=negated)


def _one(column: exp.Expr, sign: Sign, values: list[exp.Expr], *, negated: bool) -> Comparison:
    if not isinstance(column, exp.Column):
        raise NoComparisonError(column)
    sign = _NEGATED[sign] if negated else sign
    return Comparison(column=column.name, sign=sign, values=tuple(map(_constant, values)))


def _constant(node: exp.Expr) -> Constant:
    match node:
        case exp.Literal():
            return Constant(kind=ConstantKind.TEXT if node.is_string else ConstantKind.NUMBER, text=node.name)
        case exp.Neg(this=exp.Literal() as literal) if not literal.is_string:
            return Constant(kind=ConstantKind.NUMBER, text=f"-{literal.name}")
        case exp.HexString():
            return Constant(kind=ConstantKind.BYTES, text=node.name)
        case exp.Timestamp(this=exp.Literal() as literal) if literal.is_string and not node.args.get("zone"):
            return Constant(kind=ConstantKind.MOMENT, text=literal.name)
        case exp.Cast(this=exp.Literal() as literal) if node.to.this is exp.DType.DATE and _DATE.fullmatch(
            literal.name
        ):
            return Constant(kind=ConstantKind.MOMENT, text=literal.name)
        case _:
            raise NoComparisonError(node)
