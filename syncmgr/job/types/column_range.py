"""Whether the whole range of a MySQL column fits a column of the lake.

Owns: one rule per MySQL type: nothing is truncated silently, so anything that may not fit is refused beforehand.
Must not know: single values, statements, expressions.
"""

from collections.abc import Callable, Mapping
from typing import Final

from syncmgr.job.types.column_type import YEAR_OF_TWO_DIGITS
from syncmgr.job.types.mysql_type import TYPES
from syncmgr.job.types.schema import (
    BYTES,
    GEOMETRY,
    IDENTIFIERS,
    INTEGER_BITS,
    MAX_DECIMAL_DIGITS,
    TEXT,
    SourceColumn,
    TargetType,
)
from syncmgr.job.types.target import CHARACTERS

BYTE_LABELS: Final = (
    "its labels have CHARACTER SET binary, so they are bytes and no text; MODIFY it to another charset at the source, "
    "or leave it out"
)
SECOND_DIGITS: Final = 6  # of DATETIME and TIMESTAMP without a number: the lake keeps microseconds
TARGET_BITS: Final = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
EXACT_BITS: Final = {"FLOAT": 24, "DOUBLE": 53}
_FLOAT_LENGTH: Final = 25
_DATE_LENGTH: Final = 10
_MOMENT_LENGTH: Final = 26


def fits(source: SourceColumn, target: TargetType) -> str | None:
    """Why the whole range of a MySQL column does not fit a target column; None if it does.

    Text takes anything that has an exact text form. A MySQL type without a rule never fits.
    """
    rule = _RULES.get(source.type)
    if source.type == YEAR_OF_TWO_DIGITS:
        return "a snapshot would read 99 where the binlog has 1999: MODIFY it to YEAR(4) at the source, or leave it out"
    if rule is None:
        return f"nothing is known of MySQL's type {source.type}"
    return rule(source, target)


def _integer_range(source: SourceColumn) -> tuple[int, int]:
    if source.type == "year":
        return 0, 2155
    if source.type == "bit":
        return 0, 2 ** (source.length or 64) - 1
    bits = INTEGER_BITS[source.type]
    return (0, 2**bits - 1) if source.unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _integer(source: SourceColumn, target: TargetType) -> str | None:
    low, high = _integer_range(source)
    if target.name == "BOOLEAN" and high == 1:
        return None
    digits = len(str(max(-low, high)))
    return _whole_number(low, high, digits, target)


def _decimal(source: SourceColumn, target: TargetType) -> str | None:
    precision, scale = source.precision, source.scale
    if precision > MAX_DECIMAL_DIGITS:  # it travels as text
        return _text(precision + 3, target)
    digits = precision - scale
    if not scale:
        highest = 10**digits - 1
        return _whole_number(-highest, highest, digits, target)
    if target.name == "DECIMAL":
        return _digits(digits, scale, target)
    if target.name in CHARACTERS:
        return _text(max(digits, 1) + scale + 2, target)
    return f"it has {scale} decimals; use DECIMAL({precision},{scale})"


def _whole_number(low: int, high: int, digits: int, target: TargetType) -> str | None:
    match target.name:
        case "TINYINT" | "SMALLINT" | "INT" | "BIGINT" as name:
            bound = 2 ** (TARGET_BITS[name] - 1)
            return None if -bound <= low and high < bound else f"it reaches from {low} to {high}"
        case "LARGEINT":
            return None
        case "DECIMAL":
            return _digits(digits, 0, target)
        case "FLOAT" | "DOUBLE" as name:
            return None if max(-low, high) <= 2 ** EXACT_BITS[name] else f"{name} does not hold all of its digits"
        case "CHAR" | "VARCHAR" | "STRING":
            return _text(digits + (low < 0), target)
        case name:
            return f"a number is no {name}"


def _digits(whole: int, scale: int, target: TargetType) -> str | None:
    precision, decimals = target.args
    if precision - decimals >= whole and decimals >= scale:
        return None
    return f"it needs {whole} digits before and {scale} after the point"


def _text(length: int, target: TargetType) -> str | None:
    """`length`: characters of the longest value."""
    if target.name == "STRING":
        return None
    if target.name in {"CHAR", "VARCHAR"}:
        room = target.args[0] if target.args else 1
        return None if room >= length else f"its text has up to {length} characters"
    return f"its text is no {target.name}; use STRING"


def _float(source: SourceColumn, target: TargetType) -> str | None:
    if target.name == "DOUBLE" or (target.name == "FLOAT" and source.type == "float"):
        return None
    if target.name in CHARACTERS:
        return _text(_FLOAT_LENGTH, target)
    return f"a {source.type} may have digits that {target.name} does not hold"


def _date(_source: SourceColumn, target: TargetType) -> str | None:
    if target.name in {"DATE", "DATETIME"}:
        return None
    return _text(_DATE_LENGTH, target) if target.name in CHARACTERS else f"a date is no {target.name}"


def _moment(source: SourceColumn, target: TargetType) -> str | None:
    """A timestamp is a point in time and reads as UTC if the target has no zone; a datetime is not a point in time."""
    if target.name == "DATETIME" or (target.name == "TIMESTAMP" and source.type == "timestamp"):
        room = target.args[0] if target.args else SECOND_DIGITS
        return None if room >= source.precision else f"it has {source.precision} digits of a second"
    if target.name == "TIMESTAMP":
        return "a datetime has no time zone; use DATETIME"
    return _text(_MOMENT_LENGTH, target) if target.name in CHARACTERS else f"a {source.type} is no {target.name}"


def _time(source: SourceColumn, target: TargetType) -> str | None:
    length = 10 + (source.precision + 1 if source.precision else 0)
    if target.name in CHARACTERS:
        return _text(length, target)
    return f"a time reaches from -838:59:59 to 838:59:59; use STRING or VARCHAR({length})"


def _characters(source: SourceColumn, target: TargetType) -> str | None:
    length = TYPES[source.type].size or source.length
    if not length and target.name in {"CHAR", "VARCHAR"}:
        return "its length is not known; use STRING"
    return _text(length, target)


def _labels(source: SourceColumn, target: TargetType) -> str | None:
    if source.charset == "binary":
        return BYTE_LABELS
    lengths = [len(member) for member in source.members]
    if not lengths and target.name in {"CHAR", "VARCHAR"}:
        return "its labels are not known; use STRING"
    return _text(max(lengths, default=0) if source.type == "enum" else sum(lengths) + len(lengths) - 1, target)


def _identifier(source: SourceColumn, target: TargetType) -> str | None:
    return _text(TYPES[source.type].longest, target)


def _json(_source: SourceColumn, target: TargetType) -> str | None:
    return None if target.name in {"JSON", "STRING"} else "JSON fits only JSON and STRING"


def _bytes(source: SourceColumn, target: TargetType) -> str | None:
    if target.name != "BINARY":
        return "bytes are no text and no number; use BINARY"
    known = source.length if source.type in {"binary", "varbinary"} else 0
    if target.args and not known:
        return "its length is not known; use BINARY without a length"
    return f"it holds up to {known} bytes" if target.args and target.args[0] < known else None


_RULES: Final[Mapping[str, Callable[[SourceColumn, TargetType], str | None]]] = {
    **dict.fromkeys((*INTEGER_BITS, "year", "bit"), _integer),
    **dict.fromkeys(("float", "double"), _float),
    **dict.fromkeys(("datetime", "timestamp"), _moment),
    **dict.fromkeys(("enum", "set"), _labels),
    **dict.fromkeys(TEXT, _characters),
    **dict.fromkeys(BYTES | GEOMETRY, _bytes),
    **dict.fromkeys(IDENTIFIERS, _identifier),
    "decimal": _decimal,
    "date": _date,
    "time": _time,
    "json": _json,
}
