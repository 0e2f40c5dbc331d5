"""MySQL's binary JSON -> the text that MySQL prints for it.

Owns: the binary format, and MySQL's way to print strings, decimals and dates in JSON.
Must not know: columns, Arrow.
"""

import json
import math
import struct
from base64 import b64encode
from collections.abc import Callable
from typing import Final

from syncmgr.job.types.number_text import double_text
from syncmgr.sources.mysql.wire import MalformedEventError

SMALL_OBJECT, LARGE_OBJECT, SMALL_ARRAY, LARGE_ARRAY, LITERAL, INT16, UINT16, INT32, UINT32, INT64, UINT64, DOUBLE = (
    range(12)
)
STRING: Final = 12
OPAQUE: Final = 15
DECIMAL, DATE, TIME, DATETIME, TIMESTAMP = 246, 10, 11, 12, 7
LITERALS: Final = ("null", "true", "false")
MAX_SHAPES: Final = 4096
MAX_SHAPE_BYTES: Final = 4096  # of the keys of one; they are kept
MAX_DIGITS, MAX_SCALE = 65, 38  # of a decimal
MAX_SHAPED: Final = 200  # entries of a container worth a shape of its own
MAX_DEPTH: Final = 100  # MySQL's own limit
GROWTH: Final = 8  # a key grows sixfold at most when it is quoted

quote: Final[Callable[[str], str]] = json.encoder.encode_basestring
_u16 = struct.Struct("<H").unpack_from
_u32 = struct.Struct("<I").unpack_from
_NUMBERS: Final = {
    INT16: struct.Struct("<h").unpack_from,
    UINT16: _u16,
    INT32: struct.Struct("<i").unpack_from,
    UINT32: _u32,
    INT64: struct.Struct("<q").unpack_from,
    UINT64: struct.Struct("<Q").unpack_from,
}
_double = struct.Struct("<d").unpack_from
_two_u16 = struct.Struct("<HH").unpack_from

Reader = Callable[[bytes, int, "_Left", int], int | str] | None
Shape = tuple[str, Callable[..., tuple[int, ...]], tuple[Reader, ...]]
_SHAPES: dict[tuple[bytes, bytes], Shape] = {}


class _Left:
    """How much a document may still hold; one whose parts point at each other would never end."""

    __slots__ = ("left",)

    def __init__(self, size: int) -> None:
        self.left = GROWTH * size + 64

    def spend(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise MalformedEventError("a JSON value that is larger than its bytes")


def text(value: bytes) -> str:
    """One document. Raises MalformedEventError. An empty one is what MySQL stores for the JSON literal null."""
    return part(value[0], value, 1, 0)[0] if value else "null"


def part(kind: int, document: bytes, at: int, depth: int) -> tuple[str, int]:
    """A value within a document, and how many of its bytes it holds. Raises MalformedEventError."""
    left = _Left(len(document))
    before = left.left
    try:
        word = _value(kind, document, at, left, depth)
    except (IndexError, struct.error, UnicodeDecodeError, ValueError, OverflowError) as error:
        raise MalformedEventError("a JSON value that cannot be read") from error
    return word, -((left.left - before) // GROWTH)


def _value(kind: int, data: bytes, at: int, left: _Left, depth: int) -> str:
    if kind == STRING:
        return _string(data, at, left)
    if kind in _NUMBERS:
        return str(_NUMBERS[kind](data, at)[0])
    if kind <= LARGE_ARRAY:
        if depth > MAX_DEPTH:
            raise MalformedEventError("JSON nested too deeply")
        if kind in {SMALL_OBJECT, SMALL_ARRAY}:
            return _small(kind, data, at, left, depth + 1)
        return _large(kind, data, at, left, depth + 1)
    if kind == LITERAL:
        return _literal(data, at, left, depth)
    if kind == DOUBLE:
        return _double_word(data, at)
    if kind == OPAQUE:
        return _opaque(data, at)
    raise MalformedEventError(f"unknown JSON type {kind}")


def _double_word(data: bytes, at: int) -> str:
    value = _double(data, at)[0]
    if not math.isfinite(value):
        raise MalformedEventError("a JSON number that is none")
    return double_text(value)


def _literal(data: bytes, at: int, _left: _Left, _depth: int) -> str:
    return LITERALS[data[at]]


def _string(data: bytes, at: int, left: _Left, _depth: int = 0) -> str:
    size = data[at]
    at += 1
    if size > 127:
        size, at = _length(data, at - 1)
    if at + size > len(data):
        raise MalformedEventError("a JSON string reaches past its end")
    left.spend(size)
    return quote(data[at : at + size].decode())


def _length(data: bytes, at: int) -> tuple[int, int]:
    """Seven bits per byte, lowest first; five bytes at most."""
    size = 0
    for place in range(5):
        byte = data[at + place]
        size |= (byte & 0x7F) << (7 * place)
        if byte < 128:
            return size, at + place + 1
    raise MalformedEventError("a JSON length that does not end")


def _small(kind: int, data: bytes, at: int, left: _Left, depth: int) -> str:
    """Documents of a table look alike: keys and types of a container are worked out once per shape."""
    count, size = _two_u16(data, at)
    if size > len(data) - at:
        raise MalformedEventError("a JSON container reaches past its end")
    if count > MAX_SHAPED:
        return _large(kind, data, at, left, depth)
    if kind == SMALL_OBJECT:
        first = at + 4 + 4 * count
        last = first + 3 * count
        ends = sum(_two_u16(data, first - 4)) if count else 0
        shape_of = data[at + 4 : first] + data[last : at + ends], data[first:last:3]
    else:
        first = at + 4
        shape_of = b"[", data[first : first + 3 * count : 3]
    shape = _SHAPES.get(shape_of)
    if shape is None:
        shape = _add_shape(shape_of, kind, data, at)
    template, unpack, readers = shape
    left.spend(count + len(template))
    words = [
        slot if read is None else read(data, at + slot, left, depth) if read is not _literal else LITERALS[slot & 0xFF]
        for read, slot in zip(readers, unpack(data, first), strict=True)
    ]
    return template % tuple(words)


def _add_shape(shape_of: tuple[bytes, bytes], kind: int, data: bytes, at: int) -> Shape:
    kinds = tuple(shape_of[1])
    unpack = struct.Struct("<" + "".join("xh" if k == INT16 else "xH" for k in kinds)).unpack_from
    words = ["%d" if k in _NUMBERS else "%s" for k in kinds]
    if kind == SMALL_OBJECT:
        keys = [quote(_key(data, at, at + 4 + 4 * i, 2)).replace("%", "%%") for i in range(len(kinds))]
        template = "{" + ", ".join(f"{key}: {word}" for key, word in zip(keys, words, strict=True)) + "}"
    else:
        template = "[" + ", ".join(words) + "]"
    shape = template, unpack, tuple(map(_reader, kinds))
    if len(shape_of[0]) <= MAX_SHAPE_BYTES:
        if len(_SHAPES) >= MAX_SHAPES:
            _SHAPES.clear()
        _SHAPES[shape_of] = shape
    return shape


def _reader(kind: int) -> Reader:
    """The function that makes text of a value whose place is known; None: it is in its slot, like a literal."""
    if kind in {INT16, UINT16}:
        return None
    if kind == LITERAL:
        return _literal
    if kind == STRING:
        return _string
    if kind in _NUMBERS:
        unpack = _NUMBERS[kind]
        return lambda data, at, _left, _depth: unpack(data, at)[0]
    return lambda data, at, left, depth: _value(kind, data, at, left, depth)


def _key(data: bytes, base: int, entry: int, width: int) -> str:
    start = base + int.from_bytes(data[entry : entry + width], "little")
    size = _u16(data, entry + width)[0]
    if start + size > len(data):
        raise MalformedEventError("a JSON key reaches past its end")
    return data[start : start + size].decode()


def _large(kind: int, data: bytes, at: int, left: _Left, depth: int) -> str:
    width = 2 if kind in {SMALL_OBJECT, SMALL_ARRAY} else 4
    count = int.from_bytes(data[at : at + width], "little")
    is_object = kind in {SMALL_OBJECT, LARGE_OBJECT}
    keys = at + 2 * width
    entries = keys + (count * (width + 2) if is_object else 0)
    if entries + count * (width + 1) > len(data):
        raise MalformedEventError("a JSON container reaches past its end")
    left.spend(count)
    words = [_entry(data, at, entries + i * (width + 1), width, left, depth) for i in range(count)]
    if not is_object:
        return "[" + ", ".join(words) + "]"
    names = [quote(_key(data, at, keys + i * (width + 2), width)) for i in range(count)]
    left.spend(sum(map(len, names)))
    return "{" + ", ".join(f"{name}: {word}" for name, word in zip(names, words, strict=True)) + "}"


def _entry(data: bytes, base: int, entry: int, width: int, left: _Left, depth: int) -> str:
    kind = data[entry]
    inline = kind in {LITERAL, INT16, UINT16} or (width == 4 and kind in {INT32, UINT32})
    if inline:
        return _value(kind, data, entry + 1, left, depth)
    return _value(kind, data, base + int.from_bytes(data[entry + 1 : entry + 1 + width], "little"), left, depth)


def _opaque(data: bytes, at: int) -> str:
    kind = data[at]
    size, at = _length(data, at + 1)
    body = data[at : at + size]
    if len(body) != size:
        raise MalformedEventError("a JSON value reaches past its end")
    if kind == DECIMAL:
        return decimal_text(body[2:], body[0], body[1])
    if kind in {DATE, DATETIME, TIMESTAMP, TIME}:
        return f'"{_time_text(kind, int.from_bytes(body, "little", signed=True))}"'
    return f'"base64:type{kind}:{b64encode(body).decode()}"'


def _time_text(kind: int, packed: int) -> str:
    """MySQL's packed temporal: 24 bits of microseconds below the rest."""
    sign = "-" if packed < 0 else ""
    seconds, micro = abs(packed) >> 24, abs(packed) & 0xFFFFFF
    hour, minute, second = seconds >> 12 & 0x1F, seconds >> 6 & 0x3F, seconds & 0x3F
    if kind == TIME:
        return f"{sign}{seconds >> 12 & 0x3FF:02d}:{minute:02d}:{second:02d}.{micro:06d}"
    months, day = seconds >> 22, seconds >> 17 & 0x1F
    date = f"{months // 13:04d}-{months % 13:02d}-{day:02d}"
    return date if kind == DATE else f"{date} {hour:02d}:{minute:02d}:{second:02d}.{micro:06d}"


DIGIT_BYTES: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)


def decimal_text(data: bytes, precision: int, scale: int) -> str:
    """MySQL's binary decimal as it prints it. Raises MalformedEventError if bytes are missing, or for more digits than
    MySQL has.
    """
    if not 0 < precision <= MAX_DIGITS or scale > min(precision, MAX_SCALE):
        raise MalformedEventError("a decimal that MySQL does not have")
    sizes = [(DIGIT_BYTES[(precision - scale) % 9], (precision - scale) % 9), *[(4, 9)] * ((precision - scale) // 9)]
    fraction = [*[(4, 9)] * (scale // 9), (DIGIT_BYTES[scale % 9], scale % 9)]
    negative = not data[0] & 0x80
    plain = bytes([data[0] ^ 0x80]) + data[1:]
    if negative:
        plain = bytes(byte ^ 0xFF for byte in plain)
    words, at = [], 0
    for size, digits in sizes + fraction:
        if digits:
            words.append(str(int.from_bytes(plain[at : at + size], "big")).zfill(digits))
            at += size
    if at > len(data):
        raise MalformedEventError("a decimal is cut short")
    digits_text = "".join(words)
    whole = digits_text[: precision - scale].lstrip("0") or "0"
    sign = "-" if negative else ""
    return f"{sign}{whole}.{digits_text[precision - scale :]}" if scale else sign + whole
