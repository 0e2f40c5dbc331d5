"""The bytes of a dump, cut into events.

Owns: the buffer, where packets and events begin and end, checksums.
Must not know: sockets, what an event means besides its size and checksum.
"""

import struct
import zlib
from dataclasses import dataclass
from typing import Final

from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.binlog.events import has_checksum
from syncmgr.sources.mysql.wire import MalformedEventError

BUFFER: Final = 1 << 20
SPARE: Final = 16 * 1024  # bytes left in a buffer below which a new one is worth its cost
MAX_PACKET: Final = 0xFFFFFF

_PACKET: Final = struct.Struct("<I").unpack_from


class TooLargeError(Exception):
    """An event with more bytes than are accepted."""


class NoEventError(Exception):
    """The server sent something else: `packet` is an error, or the end."""

    def __init__(self, packet: bytes) -> None:
        super().__init__(f"a packet of kind {packet[0]}")
        self.packet = packet


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some events: each span is where one begins and ends in `data`, without its checksum."""

    data: memoryview
    spans: list[tuple[int, int]]


class Packets:
    """Used by one thread. `checksums`: whether events have one, until a format description says otherwise; `verify`:
    whether they are compared; `event_bytes`: how large an event may be.
    """

    def __init__(self, *, checksums: bool, verify: bool, event_bytes: int) -> None:
        self._buffer = bytearray(BUFFER)
        self._filled = self._cut = 0
        self._checksums = checksums
        self._verify = verify
        self._event_bytes = event_bytes

    def room(self) -> memoryview:
        """Where the next bytes go. A full buffer stays with its events; the begun packet moves to a new one that is big
        enough for its stated size.
        """
        if len(self._buffer) - self._filled < SPARE:
            size = self._filled - self._cut
            fresh = bytearray(max(BUFFER, 2 * size))
            fresh[:size] = memoryview(self._buffer)[self._cut : self._filled]
            self._buffer, self._cut, self._filled = fresh, 0, size
        return memoryview(self._buffer)[self._filled :]

    def came(self, size: int) -> None:
        """That many bytes were written into `room`."""
        self._filled += size

    def cut(self) -> Chunk:
        """The events that are whole. Raises MalformedEventError, TooLargeError, NoEventError."""
        data, at, filled, check = self._buffer, self._cut, self._filled, self._checked
        view = memoryview(data)
        spans: list[tuple[int, int]] = []
        while filled - at >= 5:
            size = _PACKET(data, at)[0] & 0xFFFFFF
            end = at + 4 + size
            if end > filled:
                break
            if size == MAX_PACKET:
                joined = self._join(at)
                if joined is None:
                    break
                start, stop, at = joined
                spans.append(check(view, start, stop))
                continue
            if data[at + 4] != 0:
                if spans:
                    break  # what arrived before it is whole
                raise NoEventError(bytes(data[at + 4 : end]))
            spans.append(check(view, at + 5, end))
            at = end
        self._cut = at
        return Chunk(view, spans)

    def _join(self, at: int) -> tuple[int, int, int] | None:
        """An event of 16 MiB or more arrives in several packets; they are joined in place."""
        data, parts, size = self._buffer, [], MAX_PACKET
        start = at
        while size == MAX_PACKET:
            if self._filled - at < 4:
                return None
            size = _PACKET(data, at)[0] & 0xFFFFFF
            if at + 4 + size - start > self._event_bytes:
                raise TooLargeError
            if at + 4 + size > self._filled:
                return None
            parts.append((at + 4, at + 4 + size))
            at += 4 + size
        write = start + 4
        for begin, end in parts:
            data[write : write + end - begin] = data[begin:end]
            write += end - begin
        return start + 5, write, at

    def _checked(self, view: memoryview, start: int, end: int) -> tuple[int, int]:
        """The event without its checksum, which covers every byte of it, including its size."""
        if end - start < wire.HEADER + (wire.CHECKSUM if self._checksums else 0):
            raise MalformedEventError("an event without a header")
        if view[start + 4] == wire.FORMAT_DESCRIPTION:
            self._checksums = has_checksum(bytes(view[start:end]))
        stop = end - wire.CHECKSUM if self._checksums else end
        if not self._checksums or not self._verify:
            wrong = _PACKET(view, start + 9)[0] != end - start
        else:
            wrong = zlib.crc32(view[start:stop]) != _PACKET(view, stop)[0]
        if wrong:
            raise MalformedEventError("an event is not as the server wrote it: its checksum or size is wrong")
        return start, stop
