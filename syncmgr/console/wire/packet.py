"""The smallest parts of a packet: integers, strings, frames.

Owns: bytes <-> values, bounds-checked: no length that a client sends is trusted before it is checked.
Must not know: sockets, what a packet is for.
"""

from typing import Final

MAX_PAYLOAD: Final = 0xFFFFFF
HEADER_SIZE: Final = 4
NULL: Final = b"\xfb"
ONE_BYTE_LENGTH: Final = 0xFB  # a shorter text's length is one byte
_BYTES: Final = tuple(bytes((number,)) for number in range(256))  # a result has one for each of its values


class ProtocolError(Exception):
    """The client sent what the protocol does not allow; the connection cannot go on."""


class Reader:
    """A cursor over one packet. Every method raises ProtocolError instead of reading past the end."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise ProtocolError("truncated packet")
        part = self._data[self._at : end]
        self._at = end
        return part

    def uint(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def until_nul(self) -> bytes:
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise ProtocolError("a string without its NUL")
        part = self._data[self._at : end]
        self._at = end + 1
        return part

    def lenenc(self) -> int:
        first = self.uint(1)
        if first < 0xFB:
            return first
        size = {0xFC: 2, 0xFD: 3, 0xFE: 8}.get(first)
        if size is None:
            raise ProtocolError("a bad length")
        return self.uint(size)

    def lenenc_bytes(self) -> bytes:
        return self.take(self.lenenc())

    def rest(self) -> bytes:
        return self.take(self.left)


def lenenc(number: int) -> bytes:
    if number < ONE_BYTE_LENGTH:
        return _BYTES[number]
    if number < 1 << 16:
        return b"\xfc" + number.to_bytes(2, "little")
    if number < 1 << 24:
        return b"\xfd" + number.to_bytes(3, "little")
    return b"\xfe" + number.to_bytes(8, "little")


def lenenc_bytes(data: bytes) -> bytes:
    return lenenc(len(data)) + data


def header(size: int, sequence: int) -> bytes:
    return size.to_bytes(3, "little") + _BYTES[sequence & 0xFF]


def frame(payload: bytes, sequence: int) -> tuple[bytes, int]:
    """A payload as it travels, and the next sequence number.

    A payload of 16 MiB or more is split; one that fills its last frame is followed by an empty one.
    """
    if len(payload) < MAX_PAYLOAD:
        return header(len(payload), sequence) + payload, sequence + 1
    parts = []
    for start in range(0, len(payload) + 1, MAX_PAYLOAD):
        part = payload[start : start + MAX_PAYLOAD]
        parts.append(header(len(part), sequence) + part)
        sequence += 1
    return b"".join(parts), sequence
