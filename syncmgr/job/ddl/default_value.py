"""What MySQL shows in rows that are older than their column.

Owns: DEFAULT, or what replaces it, as a value of the column's type, in JSON: a number, a text, ISO 8601 for dates and
times, hex for bytes.
Must not know: statements, tables, where the value is written.
"""

import json
import math
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from typing import Final
from uuid import UUID

from mysqlddl.nodes import ColumnDefinition, Default, DefaultKind
from syncmgr.job.ddl.session_zone import SessionZone, ZoneError
from syncmgr.job.types import identifier
from syncmgr.job.types.charset import LIKE_ASCII, WIDE, WIDEST, is_exchanged
from syncmgr.job.types.column_type import room, set_of
from syncmgr.job.types.schema import BYTES, INTEGER_BITS, MAX_DECIMAL_DIGITS, TEXT, SourceColumn

_DATE: Final = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_DATETIME: Final = re.compile(_DATE.pattern + r"(?:[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?)?)?")
_TIME: Final = re.compile(r"(-?)(\d{1,3}):([0-5]?\d)(?::([0-5]?\d)(?:\.(\d{1,6}))?)?")
_LAST_TIME: Final = (838, 59, 59, 0)
_TIMESTAMPS: Final = (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), datetime(2038, 1, 19, 3, 14, 7, 999999, tzinfo=UTC))
_YEARS: Final = range(1901, 2156)
_CENTURY: Final = 70  # from here on a two-digit year belongs to the last century


class UnknowableError(ValueError):
    """Why the value cannot be known, for the operator."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """When a statement began. `at`: unix seconds; `micros` None: not logged. `zone`: of its session."""

    at: int
    micros: int | None = None
    zone: SessionZone = field(default_factory=SessionZone)


def initial(definition: ColumnDefinition, moment: Moment | None) -> str | None:
    """JSON of the one value that all old rows have, None for NULL. `moment` None: each was copied at its own time.

    Raises UnknowableError if the value differs by row, or is not in the binlog.
    """
    if definition.computed:
        raise UnknowableError("its values are computed")
    if definition.numbered:
        raise UnknowableError("MySQL numbers the rows")
    column, default = definition.column, definition.default
    if default is None:
        return None if column.nullable else _json(column, _implied(column), moment)
    match default.kind:
        case DefaultKind.NULL if column.nullable:
            return None
        case DefaultKind.NULL:
            return _json(column, _implied(column), moment)
        case DefaultKind.EXPRESSION:
            raise UnknowableError(f"its default {default.text} may differ by row, or cannot be computed here")
        case DefaultKind.NOW:
            return json.dumps(_now(column, default, moment))
        case _:
            return _json(column, default, moment)


def _implied(column: SourceColumn) -> Default:
    """What MySQL uses for a column that is NOT NULL and has no default."""
    if column.type == "enum":
        return Default(kind=DefaultKind.STRING, text=column.members[0])
    if column.type in {*INTEGER_BITS, "decimal", "float", "double", "bit", "year"}:
        return Default(kind=DefaultKind.NUMBER, text="0")
    if column.type == "time":
        return Default(kind=DefaultKind.STRING, text="00:00:00")
    if column.type in TEXT or column.type in BYTES or column.type == "set":
        return Default(kind=DefaultKind.STRING)
    raise UnknowableError(f"MySQL's own default of a {column.type} that is NOT NULL is no value of the lake")


def _now(column: SourceColumn, default: Default, moment: Moment | None) -> str:
    """NOW without a precision has that of the column."""
    if moment is None:
        raise UnknowableError("its default is the time at which each row was copied")
    if column.type not in {"timestamp", "datetime"}:
        raise UnknowableError(f"the time of the statement as a {column.type} is not followed")
    digits = int(default.text or column.precision)
    if digits > column.precision:
        raise UnknowableError(f"one server rounds the time of {digits} digits in its default, another cuts it")
    if digits and moment.micros is None:
        raise UnknowableError("the fraction of the statement's second is not in the binlog")
    unit = 10 ** (6 - digits)
    at = datetime.fromtimestamp(moment.at, UTC).replace(microsecond=(moment.micros or 0) // unit * unit)
    return _spelled(at if column.type == "timestamp" else _in_zone(moment.zone.local, at))


def _in_zone(change: Callable[[datetime], datetime], time: datetime) -> datetime:
    try:
        return change(time)
    except ZoneError as error:
        raise UnknowableError(str(error)) from None


def _spelled(time: datetime) -> str:
    """With its zone if it has one."""
    return time.isoformat(timespec="microseconds")


def _json(column: SourceColumn, default: Default, moment: Moment | None) -> str:
    rule = partial(_timestamp, moment) if column.type == "timestamp" else _RULES.get(column.type)
    if rule is None:
        raise UnknowableError(f"the default of a {column.type} is not known")
    try:
        return rule(column, default)
    except (ValueError, ArithmeticError) as error:
        if isinstance(error, UnknowableError):
            raise
        raise UnknowableError(f"its default {default.text!r} is no plain {column.type}") from None


def _bits_value(text: str) -> bytes:
    """Of X'4d', 0x4d, b'01' and 0b01."""
    digits = text[1:].strip("'") if text[0] != "0" else text[2:]
    if text[0] in "bB" or text[:2].lower() == "0b":
        return int(digits or "0", 2).to_bytes((len(digits) + 7) // 8, "big")
    return bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits)


def _decimal(default: Default) -> Decimal:
    if default.kind is DefaultKind.BITS:
        return Decimal(int.from_bytes(_bits_value(default.text), "big"))
    try:
        value = Decimal(default.text.strip())
    except InvalidOperation:
        raise ValueError from None
    if not value.is_finite():
        raise ValueError
    return value


def _whole(column: SourceColumn, default: Default) -> str:
    """Also of a bit column, whose value travels as a number."""
    if column.type == "bit" and default.kind is DefaultKind.STRING and default.text:
        if not default.text.isascii() or default.charset in WIDE:
            raise ValueError
        return str(int.from_bytes(default.text.encode(), "big"))
    value = int(_quantized(default, Decimal(1)))
    low, high = _range(column)
    if not low <= value <= high:
        raise ValueError
    return str(value)


def _range(column: SourceColumn) -> tuple[int, int]:
    bits = column.length if column.type == "bit" else INTEGER_BITS[column.type]
    half = 1 << (bits - 1)
    return (0, 2 * half - 1) if column.unsigned or column.type == "bit" else (-half, half - 1)


def _quantized(default: Default, unit: Decimal) -> Decimal:
    """With an exponent it is a double for the server, whose half goes to the even one."""
    value = _decimal(default)
    found = value.quantize(unit, ROUND_HALF_UP)
    if found != value and default.kind is not DefaultKind.BITS and "e" in default.text.lower():
        raise ValueError
    return found


def _year(_column: SourceColumn, default: Default) -> str:
    """With two digits it is one from 1970 to 2069; the number 0, and the text '0000', are the year 0000."""
    if not default.text.isdecimal():
        raise ValueError
    value = int(default.text)
    if value < 100 and (value or (default.kind is DefaultKind.STRING and len(default.text) < 4)):
        value += 2000 if value < _CENTURY else 1900
    if value and value not in _YEARS:
        raise ValueError
    return str(value)


def _exact(column: SourceColumn, default: Default) -> str:
    value = _quantized(default, Decimal(1).scaleb(-column.scale))
    if abs(value) >= Decimal(1).scaleb(column.precision - column.scale) or (column.unsigned and value < 0):
        raise ValueError
    return json.dumps(f"{value:f}")


def _approximate(column: SourceColumn, default: Default) -> str:
    value = float(_decimal(default)) + 0.0  # the servers know no negative zero there
    if column.unsigned and value < 0:
        raise ValueError
    if column.precision:
        value = _rounded(value, column)
    if column.type == "float":
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    return json.dumps(value)


def _rounded(value: float, column: SourceColumn) -> float:
    """As the server does it, in binary: a decimal half is rarely exact there, and an exact half rounds to even."""
    whole, unit = math.floor(value), 10.0**column.scale
    value = whole + round((value - whole) * unit) / unit
    if abs(value) >= 10.0 ** (column.precision - column.scale):
        raise ValueError
    return value


def _text(column: SourceColumn, default: Default) -> str:
    text = default.text
    if default.kind is DefaultKind.BITS or default.charset == "binary":
        text = _characters(text.encode() if default.kind is not DefaultKind.BITS else _bits_value(text), column.charset)
    elif default.kind is DefaultKind.NUMBER and not re.fullmatch(r"-?[1-9]\d*(\.\d+)?|0(\.\d+)?", text):
        raise ValueError
    text = text.rstrip(" ") if column.type == "char" else text
    most = column.length if column.type in {"char", "varchar"} else room(column.type) // WIDEST
    if len(text) > most or is_exchanged(text, column.charset):
        raise ValueError
    return json.dumps(text)


def _characters(raw: bytes, charset: str | None) -> str:
    """Of the bytes of a text in a charset."""
    if charset is not None and charset.startswith("utf8"):
        return raw.decode()
    if raw and charset not in LIKE_ASCII:
        raise UnknowableError("its default is given as bytes, which are not read in its charset")
    return raw.decode("ascii")


def _octets(column: SourceColumn, default: Default) -> str:
    match default.kind:
        case DefaultKind.BITS:
            value = _bits_value(default.text)
        case DefaultKind.STRING if default.text.isascii() and default.charset not in WIDE:
            value = default.text.encode()
        case _:
            raise ValueError
    if len(value) > (column.length if column.type in {"binary", "varbinary"} else room(column.type)):
        raise ValueError
    if column.type == "binary":
        value = value.ljust(column.length, b"\0")
    return json.dumps(value.hex().upper())


def _label(column: SourceColumn, default: Default) -> str:
    if default.kind is not DefaultKind.STRING:
        raise ValueError
    wanted = default.text.rstrip(" ").casefold()
    found = [member for member in column.members if member.casefold() == wanted]
    return json.dumps(found[0] if len(found) == 1 else _no_label())


def _no_label() -> str:
    raise ValueError


def _labels(column: SourceColumn, default: Default) -> str:
    """In the order of the column's own labels."""
    if default.kind is not DefaultKind.STRING:
        raise ValueError
    wanted = {label.casefold() for label in default.text.split(",")} if default.text else set()
    found = [member for member in column.members if member.casefold() in wanted]
    if len(found) != len(wanted):
        raise ValueError
    return json.dumps(set_of(found))


def _date(_column: SourceColumn, default: Default) -> str:
    return json.dumps(date(*_numbers(_DATE, default)).isoformat())


def _numbers(pattern: re.Pattern[str], default: Default) -> list[int]:
    """From the pattern's groups; a missing one is 0."""
    found = pattern.fullmatch(default.text)
    if found is None or default.kind is not DefaultKind.STRING:
        raise ValueError
    return [int(group or "0") for group in found.groups()]


def _local(column: SourceColumn, default: Default) -> datetime:
    """A date alone is its midnight."""
    year, month, day, hour, minute, second, _ = _numbers(_DATETIME, default)
    return datetime(year, month, day, hour, minute, second, _micros(column, default))  # noqa: DTZ001 - it has no zone


def _micros(column: SourceColumn, default: Default) -> int:
    """If the column has fewer digits, the server rounds or truncates, as its sql_mode says."""
    fraction = default.text.partition(".")[2]
    if len(fraction) > column.precision:
        raise ValueError
    return int(fraction.ljust(6, "0"))


def _datetime(column: SourceColumn, default: Default) -> str:
    return json.dumps(_spelled(_local(column, default)))


def _timestamp(moment: Moment | None, column: SourceColumn, default: Default) -> str:
    if moment is None:
        raise UnknowableError("the time zone that its default is in is not known")
    value = _in_zone(moment.zone.moment, _local(column, default))
    if not _TIMESTAMPS[0] <= value <= _TIMESTAMPS[1]:
        raise ValueError
    return json.dumps(_spelled(value))


def _time(column: SourceColumn, default: Default) -> str:
    found = _TIME.fullmatch(default.text)
    if found is None or default.kind is not DefaultKind.STRING:
        raise ValueError
    hour, minute, second, micros = (*(int(found[group] or "0") for group in (2, 3, 4)), _micros(column, default))
    if (hour, minute, second, micros) > _LAST_TIME:
        raise ValueError
    sign = found[1] if any((hour, minute, second, micros)) else ""
    fraction = f".{micros:06}"[: column.precision + 1] if column.precision else ""
    return json.dumps(f"{sign}{hour:02}:{minute:02}:{second:02}{fraction}")


def _document(_column: SourceColumn, default: Default) -> str:
    """JSON as MySQL prints it, for values that have only one spelling."""
    if default.kind is not DefaultKind.STRING:
        raise ValueError
    return json.dumps(json.dumps(_ordered(json.loads(default.text)), ensure_ascii=False))


def _ordered(value: object) -> object:
    """The members of objects in MySQL's order. It may respell numbers with a fraction, and texts with escapes."""
    match value:
        case dict():
            keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
            return {_ordered(key): _ordered(value[key]) for key in keys}
        case list():
            return [_ordered(each) for each in value]
        case str() if value.isprintable() and not {'"', "\\"} & set(value):
            return value
        case None | bool():
            return value
        case int() if -(2**63) <= value < 2**63:
            return value
        case _:
            raise ValueError


def _uuid(_column: SourceColumn, default: Default) -> str:
    if default.kind is not DefaultKind.STRING:
        raise ValueError
    return json.dumps(str(UUID(default.text)))


def _address(column: SourceColumn, default: Default) -> str:
    if default.kind is not DefaultKind.STRING:
        raise ValueError
    found = IPv4Address(default.text) if column.type == "inet4" else IPv6Address(default.text)
    return json.dumps(identifier.text(column.type, found.packed))


_RULES: Final[Mapping[str, Callable[[SourceColumn, Default], str]]] = {
    **dict.fromkeys((*INTEGER_BITS, "bit"), _whole),
    **dict.fromkeys(("float", "double"), _approximate),
    **dict.fromkeys(TEXT, _text),
    **dict.fromkeys(BYTES - {"vector"}, _octets),
    "decimal": lambda column, default: (
        _exact(column, default) if column.precision <= MAX_DECIMAL_DIGITS else _unknown_text(column)
    ),
    "year": _year,
    "enum": _label,
    "set": _labels,
    "date": _date,
    "datetime": _datetime,
    "json": _document,
    "time": _time,
    "uuid": _uuid,
    **dict.fromkeys(("inet4", "inet6"), _address),
}


def _unknown_text(column: SourceColumn) -> str:
    raise UnknowableError(f"the default of a {column.text} is not known")
