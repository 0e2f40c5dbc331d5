"""MySQL's compressed protocol.

Owns: the frames around packets that a client asked to be compressed, in both of MySQL's algorithms.
Must not know: sockets, what a packet says. No length that a client sends is trusted before it is checked.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import zstandard

from syncmgr.console.wire.packet import MAX_PAYLOAD, ProtocolError
from syncmgr.console.wire.protocol import Capability

FRAME_HEADER_SIZE: Final = 7
SMALLEST: Final = 50  # bytes; less is sent as it is, as MySQL does
LEVEL: Final = 3  # of zstd's 22 and zlib's 9: the console's own choice, whatever level a client names


@dataclass(frozen=True, kw_only=True, slots=True)
class Algorithm:
    """`unpack` returns exactly as many bytes as its second argument says, or raises ProtocolError."""

    name: str
    pack: Callable[[bytes], bytes]
    unpack: Callable[[bytes, int], bytes]


def _unzlib(data: bytes, size: int) -> bytes:
    inflater = zlib.decompressobj()
    try:
        plain = inflater.decompress(data, size)
    except zlib.error as error:
        raise ProtocolError(f"a compressed packet: {error}") from None
    return _whole(plain, size)


def _unzstd(data: bytes, size: int) -> bytes:
    try:
        announced = zstandard.frame_content_size(data)  # a decompressor would trust this
        if announced not in {-1, size}:
            raise ProtocolError("a compressed packet of another size than it declares")
        plain = zstandard.ZstdDecompressor().decompress(data, max_output_size=size)
    except zstandard.ZstdError as error:
        raise ProtocolError(f"a compressed packet: {error}") from None
    return _whole(plain, size)


def _whole(plain: bytes, size: int) -> bytes:
    if len(plain) != size:
        raise ProtocolError("a compressed packet of another size than it declares")
    return plain


ZLIB: Final = Algorithm(name="zlib", pack=lambda data: zlib.compress(data, LEVEL), unpack=_unzlib)
ZSTD: Final = Algorithm(
    name="zstd", pack=lambda data: zstandard.ZstdCompressor(level=LEVEL).compress(data), unpack=_unzstd
)


def agreed(capabilities: int) -> Algorithm | None:
    """What both sides use after the login; a client that offers both gets zlib, as from MySQL."""
    if capabilities & Capability.COMPRESS:
        return ZLIB
    return ZSTD if capabilities & Capability.ZSTD else None


def frames(data: bytes, sequence: int, algorithm: Algorithm) -> tuple[bytes, int]:
    """Packets as they travel compressed, and the next sequence number of frames."""
    out = []
    for start in range(0, len(data), MAX_PAYLOAD):
        plain = data[start : start + MAX_PAYLOAD]
        packed = algorithm.pack(plain) if len(plain) >= SMALLEST else plain
        gains = len(packed) < len(plain)
        body = packed if gains else plain
        out.append(len(body).to_bytes(3, "little") + bytes((sequence & 0xFF,)))
        out.append((len(plain) if gains else 0).to_bytes(3, "little") + body)
        sequence += 1
    return b"".join(out), sequence
