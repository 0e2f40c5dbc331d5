"""What a statement returns, and how its rows are sent.

Owns: columns and results as values; column definitions, text rows and binary rows as bytes.
Must not know: which statement made a result, sockets.
"""

import datetime as dt
import math
import struct
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Final

from syncmgr.console.wire.charset import BINARY_COLLATION, Charset
from syncmgr.console.wire.packet import NULL, ONE_BYTE_LENGTH, lenenc, lenenc_bytes
from syncmgr.console.wire.protocol import FieldFlag, FieldType

Row = Sequence[object]
Pack = Callable[[object], bytes]
FIXED_DIGITS: Final = 15  # of a DOUBLE: larger and smaller ones have an exponent
NOT_FIXED: Final = 31  # decimals of a number whose scale is not fixed

_WIDTHS: Final = {
    FieldType.TINY: 4,
    FieldType.SHORT: 6,
    FieldType.LONG: 11,
    FieldType.LONGLONG: 20,
    FieldType.FLOAT: 12,
    FieldType.DOUBLE: 22,
    FieldType.NEWDECIMAL: 67,
    FieldType.DATE: 10,
    FieldType.TIME: 17,
    FieldType.DATETIME: 26,
    FieldType.TIMESTAMP: 26,
}
_DECIMALS: Final = {FieldType.FLOAT: NOT_FIXED, FieldType.DOUBLE: NOT_FIXED}
_TEXT_WIDTH: Final = 65535
_BYTES: Final = (bytes, bytearray)  # made once: each isinstance() would build the union of types again
_INTEGERS: Final = {FieldType.TINY: "b", FieldType.SHORT: "h", FieldType.LONG: "i", FieldType.LONGLONG: "q"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """One column of a result. `decimals` None: the usual ones of its type."""

    name: str
    type: FieldType = FieldType.VAR_STRING
    nullable: bool = True
    unsigned: bool = False
    decimals: int | None = None
    table: str = ""
    db: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """A statement without rows."""

    affected: int = 0
    warnings: int = 0
    info: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """A statement with rows, in batches; the next batch is requested when the client has taken the last."""

    columns: tuple[Column, ...]
    batches: AsyncGenerator[Iterable[Row], None]
    warnings: int = 0


Result = Done | Rows


def named(rows: Rows, names: Sequence[str]) -> Rows:
    """With these names of its columns; no names: with its own."""
    if len(names) != len(rows.columns):
        return rows
    columns = tuple(replace(column, name=name) for column, name in zip(rows.columns, names, strict=True))
    return replace(rows, columns=columns)


@lru_cache(1024)  # a short answer is mostly these
def column_definition(column: Column, charset: Charset) -> bytes:
    is_number = column.type in _WIDTHS
    is_bytes = column.type is FieldType.BLOB
    flags = FieldFlag.NONE if column.nullable else FieldFlag.NOT_NULL
    if is_number or is_bytes:
        flags |= FieldFlag.BINARY
    if is_bytes:
        flags |= FieldFlag.BLOB
    if column.unsigned:
        flags |= FieldFlag.UNSIGNED
    collation = BINARY_COLLATION if is_number or is_bytes else charset.collation
    width = _WIDTHS.get(column.type, _TEXT_WIDTH * charset.width)
    decimals = _DECIMALS.get(column.type, 0) if column.decimals is None else column.decimals
    names = (column.db, column.table, column.table, column.name, column.name)
    return (
        lenenc_bytes(b"def")
        + b"".join(lenenc_bytes(charset.encode(name)) for name in names)
        + struct.pack("<BHIBHBH", 0x0C, collation, width, column.type, flags, decimals, 0)
    )


def text_of(value: object) -> str:
    """A value as MySQL prints it. `bytes` are not text: see text_row."""
    match value:
        case str():
            return value
        case bool():
            return "1" if value else "0"
        case int():
            return str(value)
        case Decimal():
            return format(value, "f")
        case float():
            return _double(value)
        case dt.datetime():
            return value.replace(tzinfo=None).isoformat(" ")
        case dt.timedelta():
            return _duration(value)
        case _:
            return str(value)


def _double(value: float) -> str:
    """With its shortest digits; with an exponent from 1e15 on, and below 1e-15."""
    shortest = repr(value)
    if not math.isfinite(value) or value == 0:
        return shortest.removesuffix(".0")
    number = Decimal(shortest).normalize()
    if -FIXED_DIGITS < number.adjusted() < FIXED_DIGITS:
        return format(number, "f")
    digits, _, exponent = f"{number:e}".partition("e")
    return f"{digits}e{int(exponent)}"


def _duration(value: dt.timedelta) -> str:
    seconds, micros = divmod(abs(value) // dt.timedelta(microseconds=1), 1_000_000)
    sign = "-" if value < dt.timedelta() else ""
    fraction = f".{micros:06}" if micros else ""
    return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}"


def text_row(row: Row, charset: Charset) -> bytes:
    out = bytearray()
    for value in row:
        if value is None:
            out += NULL
            continue
        kind = type(value)  # what most values of a long result are comes first
        if kind is str:
            data = charset.encode(value)  # type: ignore[arg-type]  # it is one
        elif kind is int:
            data = b"%d" % value  # type: ignore[str-format]  # the same
        else:
            data = bytes(value) if isinstance(value, _BYTES) else charset.encode(text_of(value))
        size = len(data)
        if size < ONE_BYTE_LENGTH:
            out.append(size)
        else:
            out += lenenc(size)
        out += data
    return bytes(out)


def _packed(row: Row, packers: Sequence[Pack]) -> bytes:
    nulls = bytearray((len(row) + 9) // 8)
    out = bytearray()
    for place, (value, pack) in enumerate(zip(row, packers, strict=True), 2):  # two bits are not used
        if value is None:
            nulls[place // 8] |= 1 << place % 8
        else:
            out += pack(value)
    return b"\0" + bytes(nulls) + bytes(out)


def _packer(column: Column, charset: Charset) -> Pack:
    """How a column's values that are not NULL are sent."""

    def text(value: object) -> bytes:
        return lenenc_bytes(bytes(value) if isinstance(value, _BYTES) else charset.encode(text_of(value)))

    match column.type:
        case FieldType.TINY | FieldType.SHORT | FieldType.LONG | FieldType.LONGLONG as kind:
            code = _INTEGERS[kind]
            pack = struct.Struct("<" + (code.upper() if column.unsigned else code)).pack
            return lambda value: pack(value if type(value) is int else int(text_of(value)))
        case FieldType.FLOAT | FieldType.DOUBLE as kind:
            pack = struct.Struct("<f" if kind is FieldType.FLOAT else "<d").pack
            return lambda value: pack(value if type(value) is float else float(text_of(value)))
        case FieldType.DATE | FieldType.DATETIME | FieldType.TIMESTAMP:
            return _binary_date
        case FieldType.TIME:
            return lambda value: _binary_duration(value) if isinstance(value, dt.timedelta) else text(value)
        case _:
            return text


def _binary_date(value: object) -> bytes:
    if isinstance(value, str):
        value = dt.datetime.fromisoformat(value)
    match value:
        case dt.datetime():
            data = struct.pack("<HBBBBB", value.year, value.month, value.day, value.hour, value.minute, value.second)
            if value.microsecond:
                data += struct.pack("<I", value.microsecond)
        case dt.date():
            data = struct.pack("<HBB", value.year, value.month, value.day)
        case _:
            raise TypeError(f"{type(value).__name__} is no date")
    return bytes((len(data),)) + data


def _binary_duration(value: dt.timedelta) -> bytes:
    seconds, micros = divmod(abs(value) // dt.timedelta(microseconds=1), 1_000_000)
    clock = seconds // 3600 % 24, seconds // 60 % 60, seconds % 60
    return b"\x0c" + struct.pack("<BIBBBI", value < dt.timedelta(), seconds // 86400, *clock, micros)


def row_encoder(columns: Sequence[Column], charset: Charset, *, binary: bool) -> Callable[[Row], bytes]:
    if binary:
        packers = [_packer(column, charset) for column in columns]
        return lambda row: _packed(row, packers)
    return lambda row: text_row(row, charset)


async def at_once(rows: Iterable[Row]) -> AsyncGenerator[Iterable[Row], None]:
    """Rows that are already in memory, as one batch."""
    yield rows
