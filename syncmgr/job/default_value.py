"""What MySQL shows in rows that were there before their column was added.

Owns: DEFAULT, or what stands for it, as a value of the column's type, in Iceberg's own JSON for single values.
Must not know: statements, tables, where the value is written.
"""

import json
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Final

from syncmgr.job.schema import BYTES, INTEGER_BITS, MAX_DECIMAL_DIGITS, TEXT, SourceColumn
from syncmgr.job.statement.nodes import ColumnDefinition, Default, DefaultKind

_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?")
_TIME: Final = re.compile(r"(-?)(\d{2,3}):([0-5]\d):([0-5]\d)(?:\.(\d{1,6}))?")


class UnknowableError(ValueError):
    """Why nobody can tell the value, for the operator."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """When a statement began. `at`: unix seconds; `micros` None: not told. `utc`: that is its session's zone."""

    at: int
    micros: int | None = None
    utc: bool = False


def initial(definition: ColumnDefinition, moment: Moment | None) -> str | None:
    """JSON of the one value that all old rows have, None for NULL. `moment` None: each was copied at its own time.

    Raises UnknowableError where the value differs by row, or is not in the binlog.
    """
    if definition.computed:
        raise UnknowableError("its values are computed")
    if definition.numbered:
        raise UnknowableError("MySQL numbers the rows")
    column, default = definition.column, definition.default
    if default is None:
        return None if column.nullable else _json(column, _implied(column))
    match default.kind:
        case DefaultKind.NULL:
            return None
        case DefaultKind.EXPRESSION:
            raise UnknowableError(f"its default {default.text} may differ by row")
        case DefaultKind.NOW:
            return json.dumps(_now(column, moment))
        case _:
            return _json(column, default)


def _implied(column: SourceColumn) -> Default:
    """What MySQL takes for a column that is NOT NULL and has no default."""
    if column.type == "enum":
        return Default(kind=DefaultKind.STRING, text=column.members[0])
    if column.type in {*INTEGER_BITS, "decimal", "float", "double", "bit", "year"}:
        return Default(kind=DefaultKind.NUMBER, text="0")
    if column.type == "time":
        return Default(kind=DefaultKind.STRING, text="00:00:00")
    if column.type in TEXT or column.type in BYTES or column.type == "set":
        return Default(kind=DefaultKind.STRING)
    raise UnknowableError(f"MySQL's own default of a {column.type} that is NOT NULL is no value of the lake")


def _now(column: SourceColumn, moment: Moment | None) -> str:
    if moment is None:
        raise UnknowableError("its default is the time at which each row was copied")
    if column.type not in {"timestamp", "datetime"}:
        raise UnknowableError(f"the time of the statement as a {column.type} is not in the binlog")
    if column.type == "datetime" and not moment.utc:
        raise UnknowableError("the time of the statement in its session's time zone is not in the binlog")
    if column.precision and moment.micros is None:
        raise UnknowableError("the fraction of the statement's second is not in the binlog")
    unit = 10 ** (6 - column.precision)
    micros = (moment.micros or 0) // unit * unit
    text = datetime.fromtimestamp(moment.at, UTC).replace(microsecond=micros).strftime("%Y-%m-%dT%H:%M:%S.%f")
    return text + ("+00:00" if column.type == "timestamp" else "")


def _json(column: SourceColumn, default: Default) -> str:
    rule = _RULES.get(column.type)
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
        return str(int.from_bytes(default.text.encode(), "big"))
    return str(int(_decimal(default).quantize(Decimal(1), ROUND_HALF_UP)))


def _year(_column: SourceColumn, default: Default) -> str:
    value = int(_decimal(default))
    if value and not 1901 <= value <= 2155:
        raise ValueError
    return str(value)


def _exact(column: SourceColumn, default: Default) -> str:
    value = _decimal(default).quantize(Decimal(1).scaleb(-column.scale), ROUND_HALF_UP)
    return json.dumps(f"{value:f}")


def _approximate(column: SourceColumn, default: Default) -> str:
    value = float(_decimal(default))
    if column.type == "float":
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    return json.dumps(value)


def _text(column: SourceColumn, default: Default) -> str:
    text = default.text
    if default.kind is DefaultKind.BITS:
        text = _bits_value(text).decode("utf-8")
    elif default.kind is DefaultKind.NUMBER and not re.fullmatch(r"-?[1-9]\d*(\.\d+)?|0(\.\d+)?", text):
        raise ValueError
    return json.dumps(text.rstrip(" ") if column.type == "char" else text)


def _octets(column: SourceColumn, default: Default) -> str:
    match default.kind:
        case DefaultKind.BITS:
            value = _bits_value(default.text)
        case DefaultKind.STRING if default.text.isascii():
            value = default.text.encode()
        case _:
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
    return json.dumps(",".join(found))


def _date(_column: SourceColumn, default: Default) -> str:
    return json.dumps(date.fromisoformat(default.text).isoformat())


def _datetime(column: SourceColumn, default: Default) -> str:
    found = _MOMENT.fullmatch(default.text)
    if found is None or len(found[3] or "") > column.precision:
        raise ValueError
    value = datetime.fromisoformat(f"{found[1]}T{found[2]}")
    return json.dumps(value.strftime("%Y-%m-%dT%H:%M:%S.") + (found[3] or "").ljust(6, "0"))


def _timestamp(_column: SourceColumn, _default: Default) -> str:
    raise UnknowableError("the session's time zone, which its default is in, is not in the binlog")


def _time(column: SourceColumn, default: Default) -> str:
    found = _TIME.fullmatch(default.text)
    if found is None or len(found[5] or "") > column.precision:
        raise ValueError
    fraction = "." + (found[5] or "").ljust(column.precision, "0") if column.precision else ""
    return json.dumps(f"{found[1]}{found[2]}:{found[3]}:{found[4]}{fraction}")


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
    "timestamp": _timestamp,
    "time": _time,
}


def _unknown_text(column: SourceColumn) -> str:
    raise UnknowableError(f"the default of a {column.text} is not known")
