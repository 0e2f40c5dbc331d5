"""Aggregate functions, and those of windows.

Owns: their table.
Must not know: other functions, GROUP BY.
"""

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from mysqlselect import conversions
from mysqlselect.functions.call import ANY, Call, Function, function
from mysqlselect.types import DOUBLE, INT, TEXT, Kind, NotSupportedRefusal, Value, decimal

MOST_OF_GROUP_CONCAT: Final = 1024  # bytes: group_concat_max_len
_DIGITS_OF_AVERAGE: Final = 27


def _distinct(call: Call) -> str:
    return "DISTINCT " if call.distinct else ""


def _count(call: Call) -> Value:
    if isinstance(call.nodes[0], exp.Star):
        return Value("count(*)", INT)
    if len(call) > 1 and not call.distinct:
        raise NotSupportedRefusal("COUNT of several expressions without DISTINCT")
    return Value(f"count({_distinct(call)}{', '.join(each.shown().sql for each in call.args)})", INT)


def _sum(call: Call) -> Value:
    found = conversions.number(call.arg(0))
    if found.kind in {Kind.DOUBLE, Kind.UNKNOWN, Kind.NULL}:
        return Value(f"sum({_distinct(call)}{found.sql})", found.type)
    if found.has_more_digits:
        return Value(f"sum({_distinct(call)}{found.sql})", found.type, has_more_digits=True)
    whole = conversions.exact(found)
    return Value(f"sum({_distinct(call)}{whole.sql})", decimal(whole.type.scale))


def _average(call: Call) -> Value:
    """With four digits more, and computed with more of them than are shown."""
    found = conversions.number(call.arg(0))
    if found.kind in {Kind.DOUBLE, Kind.UNKNOWN, Kind.NULL}:
        return Value(f"avg({_distinct(call)}{found.sql})", DOUBLE)
    own = conversions.exact(found)
    spare = max(0, min(8, _DIGITS_OF_AVERAGE - own.type.precision))
    whole = conversions.exact(found, scale=own.type.scale + spare)
    return Value(f"avg({_distinct(call)}{whole.sql})", decimal(own.type.scale + 4), None, True, is_average=True)


def _extreme(name: str) -> Function:
    def build(call: Call) -> Value:
        found = call.arg(0)
        found = conversions.number(found) if found.kind is Kind.BOOL else found
        return Value(f"{name}({found.sql})", found.type, has_more_digits=found.has_more_digits)

    return function(build, 1)


def _any_value(call: Call) -> Value:
    found = call.arg(0)
    return Value(f"any_value({found.sql})", found.type, has_more_digits=found.has_more_digits)


def joined(parts: list[Value], *, distinct: bool, order: str, separator: str) -> Value:
    """GROUP_CONCAT: cut after so many bytes."""
    if distinct and len(parts) == 1 and parts[0].kind is not Kind.TEXT and order:
        return _joined_set(parts[0], order, separator)
    texts = [conversions.text(each).sql for each in parts]
    one = texts[0] if len(texts) == 1 else f"concat({', '.join(texts)})"
    within = f" WITHIN GROUP ({order})" if order else ""
    return _cut(f"listagg({'DISTINCT ' if distinct else ''}{one}, {separator}){within}")


def _joined_set(part: Value, order: str, separator: str) -> Value:
    """Of values that are sorted as what they are, not as texts. Raises NotSupportedRefusal."""
    descending = order == f"ORDER BY {part.sql} DESC"
    if not descending and order != f"ORDER BY {part.sql}":
        raise NotSupportedRefusal("GROUP_CONCAT(DISTINCT ...) in the order of something else")
    values = f"sort_array(collect_set({part.sql}), {'false' if descending else 'true'})"
    one = conversions.text(Value("each", part.type)).sql
    texts = f"array_join(transform({values}, each -> {one}), {separator})"
    return _cut(f"IF(count({part.sql}) = 0, NULL, {texts})")


def _cut(whole: str) -> Value:
    cut = f"CAST(substring(CAST({whole} AS BINARY), 1, {MOST_OF_GROUP_CONCAT}) AS STRING)"
    short = f"trim(TRAILING '\ufffd' FROM make_valid_utf8({cut}))"
    return Value(f"IF(octet_length({whole}) <= {MOST_OF_GROUP_CONCAT}, {whole}, {short})", TEXT)


def _number_of_row(name: str) -> Function:
    return function(lambda _: Value(f"{name}()", INT), 0)


def _double_of_row(name: str) -> Function:
    return function(lambda _: Value(f"{name}()", DOUBLE), 0)


def _other_row(name: str) -> Function:
    def build(call: Call) -> Value:
        found = call.arg(0)
        count = f", {call.whole(1)}" if len(call) > 1 else ""
        if len(call) < 3:
            return Value(f"{name}({found.sql}{count})", found.type, has_more_digits=found.has_more_digits)
        default = call.arg(2)
        type_ = conversions.common_type([found.type, default.type])
        both = [conversions.as_type(each, type_).sql for each in (found, default)]
        return Value(f"{name}({both[0]}{count}, {both[1]})", type_)

    return function(build, 1, 3)


def _row_of_frame(name: str, count: int) -> Function:
    def build(call: Call) -> Value:
        found = call.arg(0)
        rest = "".join(f", {call.whole(place)}" for place in range(1, count))
        return Value(f"{name}({found.sql}{rest})", found.type, has_more_digits=found.has_more_digits)

    return function(build, count)


AGGREGATES: Final[Mapping[str, Function]] = {
    "COUNT": function(_count, 1, ANY),
    "SUM": function(_sum, 1),
    "AVG": function(_average, 1),
    "MIN": _extreme("min"),
    "MAX": _extreme("max"),
    "ANY_VALUE": function(_any_value, 1),
}
OF_WINDOWS: Final[Mapping[str, Function]] = {
    "ROW_NUMBER": _number_of_row("row_number"),
    "RANK": _number_of_row("rank"),
    "DENSE_RANK": _number_of_row("dense_rank"),
    "PERCENT_RANK": _double_of_row("percent_rank"),
    "CUME_DIST": _double_of_row("cume_dist"),
    "NTILE": function(lambda call: Value(f"ntile({call.whole(0)})", INT), 1),
    "LAG": _other_row("lag"),
    "LEAD": _other_row("lead"),
    "FIRST_VALUE": _row_of_frame("first_value", 1),
    "LAST_VALUE": _row_of_frame("last_value", 1),
    "NTH_VALUE": _row_of_frame("nth_value", 2),
}
TABLE: Final[Mapping[str, Function]] = {**AGGREGATES, **OF_WINDOWS}
GROUPING: Final = function(lambda call: Value(f"grouping({call.arg(0).sql})", INT), 1)
