"""The bytes of an answer, cut into rows.

Owns: the buffer, where the packets of rows begin and end, how large a row may be.
Must not know: sockets, what is in a row.
"""

import struct
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from syncmgr.job.types.cells import Ints
from syncmgr.sources.mysql.values.cells import PADDING
from syncmgr.sources.mysql.wire import MalformedEventError, OversizeError

BUFFER: Final = 2 << 20  # its rows are converted at once; what numpy makes of them should stay in a cache
HEADER: Final = 4  # bytes of every packet's header: length 3, number 1
MOST_IN_PACKET: Final = 0xFFFFFF  # a packet of so many goes on in the next one
END_BYTES: Final = 9  # less than that and END: the answer ends
ROW, ERROR, END = 0x00, 0xFF, 0xFE

_LENGTH: Final = struct.Struct("<I").unpack_from


@dataclass(frozen=True, slots=True)
class Rows:
    """Whole rows in `data`, padded by PADDING bytes: where each begins and ends. Valid until the buffer is read into
    again.
    """

    data: NDArray[np.uint8]
    begins: Ints
    ends: Ints


class RowBuffer:
    """Used by one thread: bytes go into `room`, `received` says how many, `take` gives the rows that are whole."""

    def __init__(self, most: int, size: int = BUFFER) -> None:
        """`most`: bytes of one row."""
        self._most, self._size = most, size
        self._buffer = bytearray(size + PADDING)
        self._filled, self._passed = 0, 0  # bytes; those of whole packets
        self._begins, self._ends = list[int](), list[int]()
        self.last: bytes | None = None  # the packet that ended the answer

    @property
    def room(self) -> memoryview:
        """Where the next bytes go; empty: take the rows first. Raises OversizeError."""
        if not self._begins:
            self._forget_taken()
            if self._filled == self._size:
                self._grow()
        return memoryview(self._buffer)[self._filled : self._size]

    def received(self, size: int) -> None:
        """Raises MalformedEventError."""
        self._filled += size
        buffer, at = self._buffer, self._passed
        while at + HEADER <= self._filled:
            size = _LENGTH(buffer, at)[0] & MOST_IN_PACKET
            begin = at + HEADER
            if begin + size > self._filled:
                break
            if size == 0 or buffer[begin] != ROW:
                self.last = _checked_last(bytes(buffer[begin : begin + size]))
                break
            if size == MOST_IN_PACKET:
                size = self._joined(begin)
                if not size:
                    break
            self._begins.append(begin)
            at = begin + size
            self._ends.append(at)
        self._passed = at

    def take(self) -> Rows:
        """Those since the last call."""
        begins, ends = (np.array(each, np.int64) for each in (self._begins, self._ends))
        self._begins, self._ends = [], []
        return Rows(np.frombuffer(self._buffer, np.uint8), begins, ends)

    def _joined(self, begin: int) -> int:
        """Takes the headers out of a row of several packets; its size, 0 if it is not whole."""
        cuts, end, size = list[int](), begin, MOST_IN_PACKET
        while size == MOST_IN_PACKET:
            end += size
            if end + HEADER > self._filled:
                return 0
            size = _LENGTH(self._buffer, end)[0] & MOST_IN_PACKET
            cuts.append(end)
            end += HEADER
        if end + size > self._filled:
            return 0
        view = memoryview(self._buffer)
        for cut in reversed(cuts):
            view[cut : self._filled - HEADER] = view[cut + HEADER : self._filled]
            self._filled -= HEADER
        return end + size - begin - HEADER * len(cuts)

    def _forget_taken(self) -> None:
        if self._passed:
            view, left = memoryview(self._buffer), self._filled - self._passed
            view[:left] = view[self._passed : self._filled]
            self._filled, self._passed = left, 0

    def _grow(self) -> None:
        """One row fills it."""
        if self._size >= self._most:
            raise OversizeError(f"a row of more than {self._most} bytes")
        self._size = min(self._size * 2, self._most)
        grown = bytearray(self._size + PADDING)
        grown[: self._filled] = memoryview(self._buffer)[: self._filled]
        self._buffer = grown


def _checked_last(packet: bytes) -> bytes:
    kind = packet[0] if packet else ROW
    if kind == ERROR or (kind == END and len(packet) < END_BYTES):
        return packet
    raise MalformedEventError("a packet that is neither a row nor the end of an answer")
