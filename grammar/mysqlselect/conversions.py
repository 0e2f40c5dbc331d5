"""Values as other types, as MySQL converts them.

Owns: numbers, texts, conditions, dates and times of any value; the one type of several values.
Must not know: functions and operators, sqlglot.
"""

import datetime as dt
import re
from collections.abc import Sequence
from typing import Final

from mysqlselect.types import (
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    DIGITS_OF_FLOAT,
    DIGITS_OF_INTEGER,
    DOUBLE,
    INT,
    MOMENTS,
    NULL,
    NUMBERS,
    TEXT,
    TIMES,
    UNKNOWN,
    Kind,
    NotSupportedRefusal,
    Type,
    Value,
    WrongValueRefusal,
    decimal,
    quoted,
)

_BEGINNING: Final = r"^\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
_WHOLE: Final = r"^\s*([+-]?[0-9]+)"
_NUMBER: Final = re.compile(_BEGINNING, re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")
_MOMENT: Final = re.compile(
    r"\s*(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ]\s*(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,6}))?)?Z?)?\s*",
    re.ASCII,
)
_DIGITS: Final = re.compile(r"(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)())?", re.ASCII)
# What a text that is no literal may be, and is then read by Spark as by MySQL.
_PLAIN_MOMENT: Final = (
    r"^\s*[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([T ][0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}(\.[0-9]{1,6})?)?)?\s*$"
)


def number(value: Value) -> Value:
    """As an operand of arithmetic. Raises NotSupportedRefusal."""
    match value.kind:
        case Kind.BOOL:
            return Value(f"CAST({value.sql} AS INT)", INT)
        case Kind.TEXT:
            return double(value)
        case Kind.BYTES:
            raise NotSupportedRefusal("bytes as a number")
        case Kind.DECIMAL if value.is_average:
            sql = value.sql
            return Value(f"IF({sql} < 0, ceil({sql}, 9), floor({sql}, 9))", value.type, None, True)
        case Kind.DATE:
            return Value(f"CAST(date_format({value.sql}, 'yyyyMMdd') AS BIGINT)", INT)
        case Kind.DATETIME | Kind.TIMESTAMP:
            return Value(f"CAST(date_format({value.sql}, 'yyyyMMddHHmmss') AS BIGINT)", INT)
        case Kind.DOUBLE if _is_float(value):
            return Value(f"CAST({value.sql} AS DOUBLE)", DOUBLE)
        case Kind.JSON:
            raise NotSupportedRefusal("JSON as a number; use ->>")
        case _:
            return value


def _is_float(value: Value) -> bool:
    return value.kind is Kind.DOUBLE and value.type.precision == DIGITS_OF_FLOAT


def double(value: Value) -> Value:
    if (value.kind is Kind.DOUBLE and not _is_float(value)) or value.kind in {Kind.UNKNOWN, Kind.NULL}:
        return value
    if value.kind not in {Kind.TEXT, Kind.BYTES}:
        return Value(f"CAST({number(value).sql} AS DOUBLE)", DOUBLE)
    if isinstance(value.constant, str):
        found = _NUMBER.match(value.constant)
        return Value(f"CAST('{found[1] if found else 0}' AS DOUBLE)", DOUBLE)
    beginning = f"nullif(regexp_extract({text(value).sql}, {quoted(_BEGINNING)}, 1), '')"
    found_number = f"coalesce(try_cast({beginning} AS DOUBLE), CAST(0 AS DOUBLE))"
    return Value(f"IF({value.sql} IS NULL, NULL, {found_number})", DOUBLE)


def integer(value: Value) -> Value:
    """As CAST AS SIGNED makes it: rounded, or what a text begins with."""
    match value.kind:
        case Kind.TEXT | Kind.BYTES:
            beginning = f"nullif(regexp_extract({text(value).sql}, {quoted(_WHOLE)}, 1), '')"
            return Value(f"IF({value.sql} IS NULL, NULL, coalesce(CAST({beginning} AS BIGINT), 0L))", INT)
        case Kind.DECIMAL:
            return Value(f"CAST(round({value.sql}, 0) AS BIGINT)", INT)
        case Kind.DOUBLE:
            return Value(f"CAST(rint({value.sql}) AS BIGINT)", INT)
        case Kind.NULL:
            return Value("CAST(NULL AS BIGINT)", INT)
        case Kind.INT:
            return value
        case _:
            found = number(value)
            return Value(f"CAST({found.sql} AS BIGINT)", INT)


def exact(value: Value, *, scale: int | None = None) -> Value:
    """A number as a DECIMAL; `scale`: more digits than it has."""
    own = value.type.scale if value.kind is Kind.DECIMAL else 0
    digits = (value.type.precision or DIGITS_OF_INTEGER) - own
    wanted = max(own, scale or 0)
    precision = min(max(digits, 1) + wanted, 38)
    return Value(f"CAST({value.sql} AS DECIMAL({precision},{wanted}))", decimal(wanted, precision))


def condition(value: Value) -> Value:
    """As what WHERE and AND need."""
    match value.kind:
        case Kind.BOOL | Kind.UNKNOWN:
            return value
        case Kind.NULL:
            return Value("CAST(NULL AS BOOLEAN)", BOOL)
        case _:
            return Value(f"({number(value).sql} <> 0)", BOOL)


def text(value: Value) -> Value:
    """As CONCAT joins it. Raises NotSupportedRefusal."""
    match value.kind:
        case Kind.TEXT | Kind.UNKNOWN | Kind.JSON:
            return value if value.kind is not Kind.JSON else Value(value.sql, TEXT)
        case Kind.BOOL:
            return Value(f"CAST({number(value).sql} AS STRING)", TEXT)
        case Kind.DOUBLE:
            return Value(_printed(_shortest(value)), TEXT)
        case Kind.NULL:
            return Value("CAST(NULL AS STRING)", TEXT)
        case _:
            return Value(f"CAST({value.shown().sql} AS STRING)", TEXT)


def _shortest(value: Value) -> str:
    """A FLOAT as the DOUBLE that is printed alike."""
    return f"CAST(CAST({value.sql} AS STRING) AS DOUBLE)" if _is_float(value) else value.sql


def _printed(sql: str) -> str:
    """A DOUBLE with its shortest digits: with an exponent from 1e15 on, and below 1e-15."""
    size = f"abs({sql})"

    def plain(scale: int) -> str:
        return rf"regexp_replace(CAST(CAST({sql} AS DECIMAL(38,{scale})) AS STRING), '\\.?0+$', '')"

    exponent = f"replace(replace(CAST({sql} AS STRING), '.0E', 'E'), 'E', 'e')"
    return (
        f"CASE WHEN {sql} = 0 THEN '0' WHEN {size} >= 1e15 OR {size} < 1e-15 THEN {exponent}"
        f" WHEN {size} < 1 THEN {plain(34)} WHEN {sql} = floor({sql}) THEN CAST(CAST({sql} AS BIGINT) AS STRING)"
        f" ELSE {plain(22)} END"
    )


def moment_of(constant: str) -> tuple[str, bool] | None:
    """A literal in the form that Spark has, and whether it has a time. None: it is no date."""
    found = _MOMENT.fullmatch(constant) or _DIGITS.fullmatch(constant)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction = found.groups()
    try:
        moment = dt.datetime(  # noqa: DTZ001 - it has no zone
            int(year),
            int(month),
            int(day),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            int((fraction or "0").ljust(6, "0")),
        )
    except ValueError:
        return None
    return (moment.isoformat(" "), True) if hour is not None else (str(moment.date()), False)


def time(value: Value, *, strict: bool = False) -> Value:
    """As a DATE or a moment, whatever it is. `strict`: a literal that is none is an error, as in comparisons; elsewhere
    it is NULL.
    """
    if value.kind in TIMES or value.kind in {Kind.UNKNOWN, Kind.NULL}:
        return value
    if value.constant is not None:
        return _literal_time(str(value.constant), strict=strict)
    if value.kind is not Kind.TEXT:
        raise NotSupportedRefusal("a number as a date; write it as a text 'YYYY-MM-DD'")
    sql = value.sql
    plain = f"{sql} RLIKE {quoted(_PLAIN_MOMENT)}"
    refused = "raise_error(concat('not supported as a date: ', " + sql + "))"
    none = f"NOT {sql} RLIKE '^\\\\s*[0-9]'"
    cases = f"CASE WHEN {sql} IS NULL OR {none} THEN NULL WHEN {plain} THEN try_cast({sql} AS TIMESTAMP_NTZ)"
    return Value(f"{cases} ELSE {refused} END", DATETIME)


def _literal_time(constant: str, *, strict: bool) -> Value:
    found = moment_of(constant)
    if found is None:
        if strict or not (_MOMENT.fullmatch(constant) or re.match(r"\s*[^\d\s]", constant)):
            raise WrongValueRefusal(constant)
        return Value("CAST(NULL AS TIMESTAMP_NTZ)", DATETIME)
    sql, has_time = found
    return Value(f"TIMESTAMP_NTZ'{sql}'" if has_time else f"DATE'{sql}'", DATETIME if has_time else DATE)


def moment(value: Value) -> Value:
    """With a time of day."""
    found = time(value)
    return found if found.kind is not Kind.DATE else Value(f"CAST({found.sql} AS TIMESTAMP_NTZ)", DATETIME)


def day(value: Value) -> Value:
    """Without a time of day."""
    found = time(value)
    return found if found.kind in {Kind.DATE, Kind.UNKNOWN} else Value(f"CAST({found.sql} AS DATE)", DATE)


def whole_constant(value: Value) -> int | None:
    """A literal that is an integer, also in quotes."""
    if isinstance(value.constant, int):
        return value.constant
    is_whole = isinstance(value.constant, str) and _INTEGER.fullmatch(value.constant)
    return int(str(value.constant)) if is_whole else None


def common_type(types: Sequence[Type]) -> Type:
    """Of what IF, CASE, COALESCE and UNION give. Raises NotSupportedRefusal."""
    given = [each for each in types if each.kind is not Kind.NULL]
    kinds = {each.kind for each in given}
    if not kinds:
        return NULL
    if Kind.UNKNOWN in kinds:
        return UNKNOWN
    if len(kinds) == 1 and Kind.DECIMAL not in kinds:
        return given[0]
    if kinds <= NUMBERS:
        return _common_number(given)
    if kinds <= TIMES:
        return Type(Kind.TIMESTAMP) if kinds == {Kind.TIMESTAMP} else DATETIME
    if Kind.BYTES in kinds:
        return BYTES
    if Kind.JSON in kinds:
        raise NotSupportedRefusal("JSON together with another type; use ->>")
    return TEXT


def _common_number(types: Sequence[Type]) -> Type:
    kinds = {each.kind for each in types}
    if Kind.DOUBLE in kinds:
        return DOUBLE
    if Kind.DECIMAL not in kinds:
        return INT
    scale = max(each.scale for each in types)
    return decimal(scale, max((each.precision or DIGITS_OF_INTEGER) - each.scale for each in types) + scale)


def as_type(value: Value, wanted: Type) -> Value:
    """What `common_type` has found."""
    kind = value.kind
    if kind is Kind.NULL or Kind.UNKNOWN in {wanted.kind, kind}:
        return Value(value.sql, wanted)
    match wanted.kind:
        case Kind.TEXT:
            return text(value)
        case Kind.BYTES:
            return value if kind is Kind.BYTES else Value(f"CAST({text(value).sql} AS BINARY)", BYTES)
        case Kind.DATETIME if kind is not Kind.DATETIME:
            return Value(f"CAST({value.sql} AS TIMESTAMP_NTZ)", DATETIME)
        case Kind.INT if kind is Kind.BOOL:
            return number(value)
        case Kind.DOUBLE:
            return double(value)
        case Kind.DECIMAL:
            found = number(value)
            cast = f"CAST({found.sql} AS DECIMAL({max(wanted.precision, wanted.scale + 1)},{wanted.scale}))"
            return Value(cast, wanted)
        case _:
            return value


def is_moment(value: Value) -> bool:
    return value.kind in MOMENTS
