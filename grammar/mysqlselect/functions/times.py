"""Functions of dates and times.

Owns: their table, and INTERVAL.
Must not know: texts and numbers; which directive of a format is which.
"""

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from mysqlselect import conversions, formats, literals
from mysqlselect.functions.call import Call, Function, function, of_day, of_moment
from mysqlselect.types import DATE, DATETIME, INT, TEXT, Kind, NotSupportedRefusal, Type, Value, quoted

UNITS: Final[Mapping[str, tuple[str, int]]] = {  # months, or seconds
    "SECOND": ("s", 1),
    "MINUTE": ("s", 60),
    "HOUR": ("s", 3600),
    "DAY": ("d", 1),
    "WEEK": ("d", 7),
    "MONTH": ("m", 1),
    "QUARTER": ("m", 3),
    "YEAR": ("m", 12),
    "MICROSECOND": ("u", 1),
}
EXTRACTED: Final[Mapping[str, str]] = {
    "YEAR": "year({0})",
    "QUARTER": "quarter({0})",
    "MONTH": "month({0})",
    "DAY": "day({0})",
    "HOUR": "hour({0})",
    "MINUTE": "minute({0})",
    "SECOND": "second({0})",
    "YEAR_MONTH": "(year({0}) * 100 + month({0}))",
    "DAY_HOUR": "(day({0}) * 100 + hour({0}))",
    "HOUR_MINUTE": "(hour({0}) * 100 + minute({0}))",
    "MICROSECOND": "CAST(date_format({0}, 'SSSSSS') AS INT)",
}
_YEAR_AND_WEEK: Final = r"(?i)^([0-9]{4})([0-9]{2}) (sunday|monday|tuesday|wednesday|thursday|friday|saturday)$"


def moved(at: Value, amount: Value, unit: str, *, back: bool = False) -> Value:
    """`at` + INTERVAL amount unit. Raises NotSupportedRefusal."""
    if unit not in UNITS:
        raise NotSupportedRefusal(f"INTERVAL with {unit}")
    kind, factor = UNITS[unit]
    at = conversions.time(at)
    count = _count(amount, factor, fraction=kind == "s" and unit == "SECOND", back=back)
    if at.kind is Kind.DATE and kind in "dm":
        return Value(f"{'date_add' if kind == 'd' else 'add_months'}({at.sql}, {count})", DATE)
    at = conversions.moment(at)
    match kind:
        case "m":
            interval = f"make_ym_interval(0, {count})"
        case "d":
            interval = f"make_dt_interval({count})"
        case "u":
            interval = f"make_dt_interval(0, 0, 0, CAST({count} / 1000000 AS DECIMAL(18,6)))"
        case _:
            interval = f"make_dt_interval(0, 0, 0, CAST({count} AS DECIMAL(18,6)))"
    digits = 6 if kind == "u" else min(_digits(amount), 6) if unit == "SECOND" else at.type.scale
    if digits and at.kind is Kind.DATETIME:
        return Value(f"({at.sql} + {interval})", Type(Kind.DATETIME, scale=digits), has_more_digits=True)
    return Value(f"({at.sql} + {interval})", at.type, None, at.has_more_digits)


def _digits(amount: Value) -> int:
    """Of the fraction of a number of seconds."""
    return amount.type.scale if amount.kind is Kind.DECIMAL else 0


def _count(amount: Value, factor: int, *, fraction: bool, back: bool) -> str:
    whole = conversions.whole_constant(amount)
    if whole is not None:
        return str(-whole * factor if back else whole * factor)
    found = conversions.number(amount).sql if fraction else f"CAST({conversions.integer(amount).sql} AS INT)"
    return f"({'-' if back else ''}({found}) * {factor})"


def _interval(call: Call, place: int) -> tuple[Value, str]:
    """INTERVAL n unit, or a number of days."""
    node = call.nodes[place]
    if not isinstance(node, exp.Interval):
        return call.arg(place), "DAY"
    return amount_of(node, call.value(node.this)), unit_of(node)


def unit_of(node: exp.Interval) -> str:
    return str(node.args["unit"].name).upper() if node.args.get("unit") is not None else ""


def amount_of(node: exp.Interval, amount: Value) -> Value:
    """A number in INTERVAL arrives as a text."""
    is_text = isinstance(node.this, exp.Literal) and conversions.whole_constant(amount) is None
    return literals.number(node.this.name) if is_text else amount


def _add(*, back: bool) -> Function:
    def build(call: Call) -> Value:
        amount, unit = _interval(call, 1)
        return moved(call.arg(0), amount, unit, back=back)

    return function(build, 2)


def _unit(call: Call) -> str:
    found = call.nodes[0].name.upper()
    return found.removeprefix("SQL_TSI_")


def _timestampadd(call: Call) -> Value:
    return moved(call.arg(2), call.arg(1), _unit(call))


def _timestampdiff(call: Call) -> Value:
    unit = _unit(call)
    if unit not in UNITS:
        raise NotSupportedRefusal(f"TIMESTAMPDIFF of {unit}")
    since, until = call.moment(1), call.moment(2)
    return Value(f"timestampdiff({unit}, {since}, {until})", INT)


def _date_format(call: Call) -> Value:
    at = conversions.moment(call.arg(0)).sql
    return Value(formats.formatted(at, call.constant(1, "a format")), TEXT)


def _day_of_week(text: str) -> str:
    """%X%V %W, as in '202407 Sunday': a day of a week, of those that begin on Sunday."""
    year = f"CAST(regexp_extract({text}, {quoted(_YEAR_AND_WEEK)}, 1) AS INT)"
    week = f"CAST(regexp_extract({text}, {quoted(_YEAR_AND_WEEK)}, 2) AS INT)"
    day = f"regexp_extract({text}, {quoted(_YEAR_AND_WEEK)}, 3)"
    place = f"((locate(lower(left({day}, 3)), 'sunmontuewedthufrisat') - 1) DIV 3)"
    first = f"make_date({year}, 1, 1)"
    found = f"date_add({first}, CAST((8 - dayofweek({first})) % 7 + ({week} - 1) * 7 + {place} AS INT))"
    return f"IF({text} RLIKE {quoted(_YEAR_AND_WEEK)}, {found}, NULL)"


def _str_to_date(call: Call) -> Value:
    text = call.text(0)
    if call.constant(1, "a format") == "%X%V %W":
        return Value(_day_of_week(text), DATE)
    read, has_time, digits = formats.parsed(text, call.constant(1, "a format"))
    if not has_time:
        return Value(f"CAST({read} AS DATE)", DATE)
    return Value(read, Type(Kind.DATETIME, scale=digits), has_more_digits=digits > 0)


def _unix_timestamp(call: Call) -> Value:
    if not len(call):
        return Value("unix_timestamp()", INT)
    return Value(f"unix_timestamp(CAST({call.moment(0)} AS TIMESTAMP))", INT)


def _from_unixtime(call: Call) -> Value:
    found = conversions.number(call.arg(0))
    at = f"CAST(timestamp_seconds({found.sql}) AS TIMESTAMP_NTZ)"
    if len(call) == 1:
        digits = min(found.type.scale, 6) if found.kind is Kind.DECIMAL else 0
        return Value(at, Type(Kind.DATETIME, scale=digits), has_more_digits=digits > 0)
    return Value(formats.formatted(at, call.constant(1, "a format")), TEXT)


def _week(call: Call) -> Value:
    return Value(formats.week(call.day(0), call.constant_number(1, 0)), INT)


def _yearweek(call: Call) -> Value:
    return Value(formats.year_of_week(call.day(0), call.constant_number(1, 0)), INT)


def _now(call: Call) -> Value:
    if len(call) and call.constant_number(0, 0):
        return Value("CAST(current_timestamp() AS TIMESTAMP_NTZ)", DATETIME)
    return Value(NOW, DATETIME)


def _timestamp(call: Call) -> Value:
    return conversions.moment(call.arg(0))


def _makedate(call: Call) -> Value:
    year, day = call.whole(0), call.whole(1)
    return Value(f"IF({day} < 1, NULL, date_add(make_date({year}, 1, 1), {day} - 1))", DATE)


def _convert_tz(call: Call) -> Value:
    """From a zone to another; the clock of a DATETIME."""
    zones = [_zone(call.constant(place, "a time zone")) for place in (1, 2)]
    return Value(f"convert_timezone({quoted(zones[0])}, {quoted(zones[1])}, {call.moment(0)})", DATETIME)


def _zone(name: str) -> str:
    if name.upper() == "SYSTEM":
        raise NotSupportedRefusal("CONVERT_TZ with SYSTEM")
    return name


def _sec_to_time(call: Call) -> Value:
    whole = conversions.integer(call.arg(0)).sql
    size = f"abs({whole})"
    parts = [f"{size} DIV 3600", f"{size} DIV 60 % 60", f"{size} % 60"]
    hours = f"lpad({parts[0]}, greatest(2, char_length({parts[0]})), '0')"
    rest = [f"lpad({part}, 2, '0')" for part in parts[1:]]
    return Value(f"concat(IF({whole} < 0, '-', ''), {hours}, ':', {rest[0]}, ':', {rest[1]})", TEXT)


NOW: Final = "CAST(date_trunc('SECOND', current_timestamp()) AS TIMESTAMP_NTZ)"
_UTC: Final = "convert_timezone('UTC', CAST(date_trunc('SECOND', current_timestamp()) AS TIMESTAMP_NTZ))"

TABLE: Final[Mapping[str, Function]] = {
    "DATE_FORMAT": function(_date_format, 2),
    "STR_TO_DATE": function(_str_to_date, 2),
    "DATE_ADD": _add(back=False),
    "ADDDATE": _add(back=False),
    "DATE_SUB": _add(back=True),
    "SUBDATE": _add(back=True),
    "TIMESTAMPADD": function(_timestampadd, 3),
    "TIMESTAMPDIFF": function(_timestampdiff, 3),
    "DATEDIFF": function(lambda call: Value(f"datediff({call.day(0)}, {call.day(1)})", INT), 2),
    "DATE": function(lambda call: conversions.day(call.arg(0)), 1),
    "TIMESTAMP": function(_timestamp, 1),
    "TIME": of_moment("date_format({0}, 'HH:mm:ss')", TEXT),
    "YEAR": of_day("year({0})", INT),
    "QUARTER": of_day("quarter({0})", INT),
    "MONTH": of_day("month({0})", INT),
    "DAY": of_day("day({0})", INT),
    "DAYOFMONTH": of_day("day({0})", INT),
    "DAYOFWEEK": of_day("dayofweek({0})", INT),
    "DAYOFYEAR": of_day("dayofyear({0})", INT),
    "WEEKDAY": of_day("weekday({0})", INT),
    "WEEKOFYEAR": of_day("weekofyear({0})", INT),
    "WEEK": function(_week, 1, 2),
    "YEARWEEK": function(_yearweek, 1, 2),
    "DAYNAME": of_day("date_format({0}, 'EEEE')", TEXT),
    "MONTHNAME": of_day("date_format({0}, 'MMMM')", TEXT),
    "HOUR": of_moment("hour({0})", INT),
    "MINUTE": of_moment("minute({0})", INT),
    "SECOND": of_moment("second({0})", INT),
    "MICROSECOND": of_moment("CAST(date_format({0}, 'SSSSSS') AS INT)", INT),
    "LAST_DAY": of_day("last_day({0})", DATE),
    "TO_DAYS": of_day("(datediff({0}, DATE'1970-01-01') + 719528)", INT),
    "FROM_DAYS": function(lambda call: Value(f"date_add(DATE'1970-01-01', {call.whole(0)} - 719528)", DATE), 1),
    "MAKEDATE": function(_makedate, 2),
    "UNIX_TIMESTAMP": function(_unix_timestamp, 0, 1),
    "FROM_UNIXTIME": function(_from_unixtime, 1, 2),
    "SEC_TO_TIME": function(_sec_to_time, 1),
    "CONVERT_TZ": function(_convert_tz, 3),
    "NOW": function(_now, 0, 1),
    "SYSDATE": function(_now, 0, 1),
    "CURRENT_TIMESTAMP": function(_now, 0, 1),
    "LOCALTIME": function(_now, 0, 1),
    "LOCALTIMESTAMP": function(_now, 0, 1),
    "CURDATE": function(lambda _: Value("current_date()", DATE), 0),
    "CURRENT_DATE": function(lambda _: Value("current_date()", DATE), 0),
    "CURTIME": function(lambda _: Value(f"date_format({NOW}, 'HH:mm:ss')", TEXT), 0, 1),
    "CURRENT_TIME": function(lambda _: Value(f"date_format({NOW}, 'HH:mm:ss')", TEXT), 0, 1),
    "UTC_TIMESTAMP": function(lambda _: Value(_UTC, DATETIME), 0, 1),
    "UTC_DATE": function(lambda _: Value(f"CAST({_UTC} AS DATE)", DATE), 0),
}
