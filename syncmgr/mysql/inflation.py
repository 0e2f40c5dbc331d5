"""What MariaDB compresses: events, and the values of COMPRESSED columns.

Owns: both layouts, and how large the plain form may be.
Must not know: events, columns.
"""

import zlib
from typing import Final

from syncmgr.mysql.wire import Cursor, MalformedEventError

MAX_INFLATED: Final = 1 << 30  # bytes; no packet is larger
ZLIB: Final = 8  # the method of a column, in the upper half of a value's first byte
RAW: Final = 8  # in its lower half: without zlib's own header


def inflate(cursor: Cursor) -> bytes:
    """MariaDB's compressed buffer: algorithm and size of the length, length big-endian, zlib stream."""
    first = cursor.uint(1)
    if first & 0xF0 != 0x80:
        raise MalformedEventError("an event compressed in an unknown way")
    size = cursor.big(first & 7)
    return _plain(cursor.take(cursor.left), size, zlib.MAX_WBITS)


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
