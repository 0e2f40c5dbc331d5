"""Literals, names, and operators that compute.

Owns: their table.
Must not know: comparisons, functions.
"""

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from mysqlselect import conversions, literals
from mysqlselect.functions import numbers, times
from mysqlselect.nodes.compiler import Compiler, Node, node
from mysqlselect.types import (
    BOOL,
    BYTES,
    INT,
    NULL,
    UNKNOWN,
    ForSparkError,
    Kind,
    NotSupportedRefusal,
    Value,
    decimal,
    named,
)

_SIGNS: Final[Mapping[type[exp.Expr], str]] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}
_BITS: Final[Mapping[type[exp.Expr], str]] = {exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^"}
_WITHOUT_BRACKETS: Final = frozenset({"UTC_TIMESTAMP", "UTC_DATE"})


def constant(found: str | int | None) -> Value:
    match found:
        case None:
            return Value("NULL", NULL)
        case int():
            return Value(str(found), INT, found)
        case _:
            return literals.text(found)


def _literal(_by: Compiler, of: exp.Expr) -> Value:
    return literals.text(of.name) if of.is_string else literals.number(of.name)


def _boolean(_by: Compiler, of: exp.Expr) -> Value:
    return Value("1" if of.this else "0", INT, int(bool(of.this)))


def _column(by: Compiler, of: exp.Expr) -> Value:
    if isinstance(of.this, exp.Star) or (not of.this.quoted and of.name.upper() == "ALL"):
        raise ForSparkError
    if not of.args.get("table") and not of.this.quoted and of.name.upper() in _WITHOUT_BRACKETS:
        return by.call(of.name.upper())
    parts = [of.text(part) for part in ("catalog", "db", "table") if of.args.get(part)]
    type_ = by.scope.type_of(of.name, of.text("table"))
    if type_ == UNKNOWN and not parts:
        type_ = by.scope.aliases.get(of.name.lower(), UNKNOWN)
    return Value(named(*parts, of.name), type_)


def _session(by: Compiler, of: exp.Expr) -> Value:
    return constant(by.asked(of))


def _connected(by: Compiler, of: exp.Expr) -> Value:
    word = " AND " if isinstance(of, exp.And) else " OR "
    return Value(f"({word.join(by.condition(part) for part in of.flatten())})", BOOL)


def _xor(by: Compiler, of: exp.Expr) -> Value:
    return Value(f"({by.condition(of.this)} <> {by.condition(of.expression)})", BOOL)


def _negated(by: Compiler, of: exp.Expr) -> Value:
    return Value(f"(NOT {by.condition(of.this)})", BOOL)


def _in_brackets(by: Compiler, of: exp.Expr) -> Value:
    found = by.value(of.this)
    return Value(f"({found.sql})", found.type, found.constant, found.has_more_digits)


def _minus(by: Compiler, of: exp.Expr) -> Value:
    found = by.value(of.this)
    if isinstance(found.constant, int):
        return Value(f"-{found.constant}" if found.constant > 0 else "0", INT, -found.constant)
    found = conversions.number(found)
    return Value(f"(-{found.sql})", found.type, None, found.has_more_digits)


def _divided(by: Compiler, of: exp.Expr) -> Value:
    return numbers.divided(by.value(of.this), by.value(of.expression))


def _whole_quotient(by: Compiler, of: exp.Expr) -> Value:
    return numbers.whole_quotient(by.value(of.this), by.value(of.expression))


def _remainder(by: Compiler, of: exp.Expr) -> Value:
    return numbers.remainder(by.value(of.this), by.value(of.expression))


def _added(by: Compiler, of: exp.Expr) -> Value:
    for at, interval in ((of.this, of.expression), (of.expression, of.this)):
        if isinstance(interval, exp.Interval):
            amount = times.amount_of(interval, by.value(interval.this))
            return times.moved(by.value(at), amount, times.unit_of(interval), back=isinstance(of, exp.Sub))
    return computed(_SIGNS[type(of)], by.value(of.this), by.value(of.expression))


def computed(sign: str, left: Value, right: Value) -> Value:
    """+, - and *."""
    one, other = conversions.number(left), conversions.number(right)
    type_ = conversions.common_type([one.type, other.type])
    more = one.has_more_digits or other.has_more_digits
    if type_.kind is Kind.DECIMAL and sign == "*":
        scales = [each.type.scale if each.kind is Kind.DECIMAL else 0 for each in (one, other)]
        type_ = decimal(sum(scales), one.type.precision + other.type.precision)
    if type_.kind is Kind.INT:
        one = Value(f"CAST({one.sql} AS BIGINT)", INT)
    return Value(f"({one.sql} {sign} {other.sql})", type_, None, more)


def _bits(by: Compiler, of: exp.Expr) -> Value:
    """Equal to MySQL's unsigned ones where no operand is negative, or & takes the sign away."""
    left, right = by.value(of.this), by.value(of.expression)
    known = [isinstance(each.constant, int) and each.constant >= 0 for each in (left, right)]
    if not (all(known) or (isinstance(of, exp.BitwiseAnd) and any(known))):
        raise NotSupportedRefusal("bit operators, which give unsigned numbers; only & with a number is known")
    both = [conversions.integer(each).sql for each in (left, right)]
    return Value(f"(CAST({both[0]} AS BIGINT) {_BITS[type(of)]} {both[1]})", INT)


def _collated(by: Compiler, of: exp.Expr) -> Value:
    if of.expression.name.lower() not in _SAME_COLLATIONS:
        raise NotSupportedRefusal(f"COLLATE {of.expression.name}; texts are compared as utf8mb4_0900_bin does")
    return by.value(of.this)


_SAME_COLLATIONS: Final = frozenset({"utf8mb4_bin", "utf8mb4_0900_bin", "binary"})
_PAIR: Final = ("this", "expression")
TABLE: Final[Mapping[type[exp.Expr], Node]] = {
    exp.Literal: node(_literal, "this", "is_string"),
    exp.National: node(lambda _by, of: literals.text(of.name), "this"),
    exp.Concat: node(
        lambda _by, of: literals.text("".join(each.name for each in of.expressions)), "expressions", "safe"
    ),
    exp.Null: node(lambda _by, _: Value("NULL", NULL)),
    exp.Boolean: node(_boolean, "this"),
    exp.Introducer: node(lambda by, of: by.value(of.expression), *_PAIR),
    exp.HexString: node(lambda _by, of: Value(f"X'{of.name}'", BYTES), "this"),
    exp.Column: node(_column, "this", "table", "db", "catalog"),
    exp.Parameter: node(_session, "this"),
    exp.SessionParameter: node(_session, "this", "kind"),
    exp.CurrentSchema: node(_session),
    exp.And: node(_connected, *_PAIR),
    exp.Or: node(_connected, *_PAIR),
    exp.Xor: node(_xor, *_PAIR),
    exp.Not: node(_negated, "this"),
    exp.Paren: node(_in_brackets, "this"),
    exp.Neg: node(_minus, "this"),
    exp.Add: node(_added, *_PAIR),
    exp.Sub: node(_added, *_PAIR),
    exp.Mul: node(_added, *_PAIR),
    exp.Div: node(_divided, *_PAIR, "typed", "safe"),
    exp.IntDiv: node(_whole_quotient, *_PAIR),
    exp.Mod: node(_remainder, *_PAIR),
    exp.BitwiseAnd: node(_bits, *_PAIR),
    exp.BitwiseOr: node(_bits, *_PAIR),
    exp.BitwiseXor: node(_bits, *_PAIR),
    exp.Collate: node(_collated, *_PAIR),
}
