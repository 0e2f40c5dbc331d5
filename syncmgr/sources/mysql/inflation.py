"""What MariaDB compresses: events, and the values of COMPRESSED columns.

Owns: the layout of both, and how large the plain form may be.
Must not know: what is in them.
"""

import zlib
from typing import Final

from syncmgr.sources.mysql.wire import Cursor, MalformedEventError, OversizeError

MAX_INFLATED: Final = 1 << 30  # bytes; no packet is larger
ZLIB: Final = 8  # the method of a column, in the upper half of a value's first byte
RAW: Final = 8  # in its lower half: without zlib's own header


def inflate(cursor: Cursor, most: int = MAX_INFLATED) -> bytes:
    """MariaDB's compressed buffer: algorithm and size of the length, length big-endian, zlib stream.

    Raises OversizeError if the plain form would have more than `most` bytes, MalformedEventError.
    """
    first = cursor.uint(1)
    if first & 0xF0 != 0x80:
        raise MalformedEventError("an event compressed in an unknown way")
    size = cursor.big(first & 7)
    if most < size <= MAX_INFLATED:
        raise OversizeError(f"an event of {size} bytes; max_source_event_bytes is {most}")
    return _plain(cursor.take(cursor.left), size, zlib.MAX_WBITS)


def inflated_size(value: bytes) -> int:
    """What a value says of its plain form."""
    return 0 if value[0] == 0 else int.from_bytes(value[1 : 1 + (value[0] & 7)], "big")


def inflated_column(value: bytes) -> bytes:
    """A value: one byte that says how, the plain size in some more, the stream; or 0 and the plain bytes."""
    cursor = Cursor(value)
    first = cursor.uint(1)
    if first == 0:
        return cursor.take(cursor.left)
    if first >> 4 != ZLIB:
        raise MalformedEventError("a column compressed in an unknown way")
    size = cursor.big(first & 7)
    return _plain(cursor.take(cursor.left), size, -zlib.MAX_WBITS if first & RAW else zlib.MAX_WBITS)


def _plain(stream: bytes, size: int, window: int) -> bytes:
    if size > MAX_INFLATED:
        raise MalformedEventError("compressed bytes of a size that nothing has")
    try:
        plain = zlib.decompressobj(window).decompress(stream, size + 1)
    except zlib.error as error:
        raise MalformedEventError("compressed bytes that cannot be read") from error
    if len(plain) != size:
        raise MalformedEventError("compressed bytes of another size than they say")
    return plain
