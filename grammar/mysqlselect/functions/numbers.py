"""Functions of numbers.

Owns: their table, and division with MySQL's digits.
Must not know: texts and times.
"""

from collections.abc import Mapping
from typing import Final

from mysqlselect import conversions
from mysqlselect.functions.call import ANY, Call, Function, function, of_numbers
from mysqlselect.types import DOUBLE, INT, Kind, NotSupportedRefusal, Type, Value, decimal

MORE_DIGITS: Final = 4  # of a quotient: div_precision_increment


def divided(left: Value, right: Value) -> Value:
    """/: a DECIMAL with four digits more than the dividend, unless one of them is a DOUBLE; by zero: NULL."""
    left, right = conversions.number(left), conversions.number(right)
    if Kind.UNKNOWN in {left.kind, right.kind}:
        return Value(f"({left.sql} / {right.sql})", left.type)
    if Kind.DOUBLE in {left.kind, right.kind}:
        return Value(f"try_divide({conversions.double(left).sql}, {conversions.double(right).sql})", DOUBLE)
    one, other = conversions.exact(left), conversions.exact(right)
    scale = one.type.scale + MORE_DIGITS
    whole = one.type.precision - one.type.scale + other.type.scale
    type_ = decimal(scale, whole + scale)
    quotient = f"try_divide({one.sql}, {other.sql})"
    return Value(f"CAST({quotient} AS DECIMAL({type_.precision},{type_.scale}))", type_)


def whole_quotient(left: Value, right: Value) -> Value:
    """DIV."""
    one, other = (_exact_or_int(conversions.number(each)) for each in (left, right))
    return Value(f"({one} DIV nullif({other}, 0))", INT)


def _exact_or_int(value: Value) -> str:
    return f"CAST({value.sql} AS DECIMAL(38,10))" if value.kind is Kind.DOUBLE else value.sql


def remainder(left: Value, right: Value) -> Value:
    """%, MOD."""
    one, other = conversions.number(left), conversions.number(right)
    type_ = conversions.common_type([one.type, other.type])
    sql = f"({one.sql} % nullif({other.sql}, 0))"
    return Value(sql, type_, has_more_digits=type_.kind is Kind.DECIMAL)


def _round(call: Call) -> Value:
    """A DOUBLE as C rounds it: the half to the even neighbour, after a multiplication."""
    digits, found = call.constant_number(1, 0), conversions.number(call.arg(0))
    if found.kind is Kind.DOUBLE:
        return Value(_by_power("rint({})", found.sql, digits), DOUBLE)
    if found.kind is Kind.DECIMAL:
        return _with_scale(Value(f"round({found.sql}, {digits})", found.type), max(min(digits, found.type.scale), 0))
    return Value(f"round({found.sql}, {digits})", found.type)


def _by_power(rounding: str, sql: str, digits: int) -> str:
    if digits == 0:
        return rounding.format(sql)
    power = f"CAST('1e{abs(digits)}' AS DOUBLE)"
    there, back = ("*", "/") if digits > 0 else ("/", "*")
    return f"({rounding.format(f'{sql} {there} {power}')} {back} {power})"


def _with_scale(value: Value, scale: int) -> Value:
    """Shown with that many digits."""
    return Value(value.sql, decimal(scale), has_more_digits=True)


def _truncate(call: Call) -> Value:
    digits, found = call.constant_number(1, 0), conversions.number(call.arg(0))
    sql = found.sql
    if found.kind is Kind.DOUBLE:
        down, up = _by_power("floor({})", sql, digits), _by_power("ceil({})", sql, digits)
        return Value(f"CAST(IF({sql} < 0, {up}, {down}) AS DOUBLE)", DOUBLE)
    cut = Value(f"IF({sql} < 0, ceil({sql}, {digits}), floor({sql}, {digits}))", found.type)
    if found.kind is not Kind.DECIMAL:
        return Value(f"CAST({cut.sql} AS BIGINT)", INT)
    return _with_scale(cut, max(min(digits, found.type.scale), 0))


def _of_double(template: str) -> Function:
    return function(lambda call: Value(template.format(conversions.double(call.arg(0)).sql), DOUBLE), 1)


def _same_type(name: str) -> Function:
    def build(call: Call) -> Value:
        found = conversions.number(call.arg(0))
        return Value(f"{name}({found.sql})", found.type, has_more_digits=found.has_more_digits)

    return function(build, 1)


def _power(call: Call) -> Value:
    base, exponent = (conversions.double(call.arg(place)).sql for place in (0, 1))
    return Value(f"power({base}, {exponent})", DOUBLE)


def _log(call: Call) -> Value:
    found = [conversions.double(each).sql for each in call.args]
    if len(found) == 1:
        return Value(f"IF({found[0]} > 0, ln({found[0]}), NULL)", DOUBLE)
    base, of = found
    return Value(f"IF({base} > 0 AND {base} <> 1 AND {of} > 0, ln({of}) / ln({base}), NULL)", DOUBLE)


def _extreme(name: str) -> Function:
    """One NULL makes it NULL in MySQL; Spark ignores it."""

    def build(call: Call) -> Value:
        found = call.args
        type_ = conversions.common_type([each.type for each in found])
        same = [conversions.as_type(each, type_).sql for each in found]
        tests = " OR ".join(f"{sql} IS NULL" for sql in same)
        return Value(f"IF({tests}, NULL, {name}({', '.join(same)}))", type_)

    return function(build, 2, ANY)


def _mod(call: Call) -> Value:
    return remainder(call.arg(0), call.arg(1))


def _no_seed(call: Call) -> Value:
    if len(call):
        raise NotSupportedRefusal("RAND with a seed")
    return Value("rand()", DOUBLE)


TABLE: Final[Mapping[str, Function]] = {
    "ABS": _same_type("abs"),
    "CEIL": of_numbers("ceil({0})", INT, 1),
    "CEILING": of_numbers("ceil({0})", INT, 1),
    "FLOOR": of_numbers("floor({0})", INT, 1),
    "ROUND": function(_round, 1, 2),
    "TRUNCATE": function(_truncate, 2),
    "SIGN": of_numbers("CAST(sign({0}) AS INT)", INT, 1),
    "MOD": function(_mod, 2),
    "SQRT": _of_double("IF({0} < 0, NULL, sqrt({0}))"),
    "POW": function(_power, 2),
    "POWER": function(_power, 2),
    "EXP": _of_double("exp({0})"),
    "LN": _of_double("IF({0} > 0, ln({0}), NULL)"),
    "LOG": function(_log, 1, 2),
    "LOG2": _of_double("IF({0} > 0, log2({0}), NULL)"),
    "LOG10": _of_double("IF({0} > 0, log10({0}), NULL)"),
    "PI": function(lambda _: Value("pi()", Type(Kind.DOUBLE, scale=6), has_more_digits=True), 0),
    "RADIANS": _of_double("radians({0})"),
    "DEGREES": _of_double("degrees({0})"),
    "GREATEST": _extreme("greatest"),
    "LEAST": _extreme("least"),
    "RAND": function(_no_seed, 0, 1),
}
