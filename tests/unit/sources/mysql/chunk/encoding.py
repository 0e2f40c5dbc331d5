"""Rows of MySQL's binary protocol, encoded the plain way."""

import struct
from collections.abc import Iterable, Sequence
from typing import Final

from syncmgr.sources.mysql import wire

END: Final = b"\xfe\0\0\2\0"
MOST: Final = 0xFFFFFF
FORMATS: Final = {wire.TINY: "<b", wire.SHORT: "<h", wire.LONG: "<i", wire.LONGLONG: "<q", wire.DOUBLE: "<d"}
Value = int | float | bytes | None


def sized(value: bytes) -> bytes:
    size = len(value)
    if size < 251:
        return bytes([size]) + value
    if size < 1 << 16:
        return b"\xfc" + struct.pack("<H", size) + value
    return (b"\xfd" + struct.pack("<I", size)[:3] if size < 1 << 24 else b"\xfe" + struct.pack("<Q", size)) + value


def moment(value: bytes) -> bytes:
    return bytes([len(value)]) + value


def row(codes: Sequence[int], values: Sequence[Value]) -> bytes:
    bitmap = bytearray((len(codes) + 9) // 8)
    parts = list[bytes]()
    for place, (code, value) in enumerate(zip(codes, values, strict=True)):
        if value is None:
            bitmap[(place + 2) // 8] |= 1 << (place + 2) % 8
        elif isinstance(value, bytes):
            parts.append(moment(value) if code in {wire.DATE, wire.DATETIME, wire.TIMESTAMP} else sized(value))
        else:
            parts.append(struct.pack(FORMATS[code], value))
    return b"\0" + bytes(bitmap) + b"".join(parts)


def packets(payloads: Iterable[bytes]) -> bytes:
    """With their headers; what is too large for a packet goes on in the next one."""
    stream, number = bytearray(), 0
    for payload in payloads:
        left, size = payload, MOST
        while size == MOST:
            part, left = left[:MOST], left[MOST:]
            size = len(part)
            stream += size.to_bytes(3, "little") + bytes([number % 256]) + part
            number += 1
    return bytes(stream)
