"""Which of canal's entries are consecutive rows of one table: nearly all are, and are sorted at once.

Owns: the layout of Entry and Header messages on the wire, as canal writes them.
Must not know: transactions, what was taken, what happens to rows. An entry with another layout is a run of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from syncmgr.job.types.cells import Bools, Ints
from syncmgr.sources.canal.proto import entry_pb2
from syncmgr.sources.canal.values import fields
from syncmgr.sources.canal.values.fields import BYTES, PADDING, VARINT, MalformedEntryError

HEADER, ENTRY_TYPE, VALUE = 0x0A, 0x10, 0x1A
FILE, SCHEMA, TABLE, PROPERTY = 0x12, 0x42, 0x4A, 0x62
OFFSET, EVENT = 0x18, 0x58
COUNTED: Final = b"\x0a\x09rowsCount"  # how the last property begins if canal says how many rows there are
MAX_HEADER_FIELDS: Final = 20  # canal writes 13 at most, and a few properties
FEWEST: Final = 8  # entries: fewer are not worth checking
LONGEST: Final = 4096  # bytes of an entry, on average: longer ones have many rows each
MAX_NAME: Final = 1024  # bytes of a file's or a table's name


@dataclass(frozen=True, slots=True)
class Run:
    """Entries, serialised. If there are several: consecutive rows of one table in one file.

    `values`: their storeValue, empty if there is only one entry.
    """

    entries: Sequence[bytes]
    values: Sequence[bytes]


def runs(entries: Sequence[bytes]) -> Iterator[Run]:
    """All entries of a delivery, in order."""
    seen = _seen(entries)
    if seen is None:
        yield from (Run((entry,), ()) for entry in entries)
        return
    first = np.flatnonzero(~seen.follows).tolist()
    for begin, end in zip(first, [*first[1:], len(entries)], strict=True):
        yield Run(entries[begin:end], seen.values(begin, end) if end - begin > 1 else ())


def _seen(entries: Sequence[bytes]) -> "_Seen | None":
    """None if it is not worth it, or if there is something else where canal writes a number; a parser will report
    it.
    """
    if len(entries) < FEWEST or sum(map(len, entries)) > LONGEST * len(entries):
        return None
    try:
        return _Seen.of(entries)
    except MalformedEntryError:
        return None


@dataclass(frozen=True, slots=True)
class _Seen:
    """`start`, `end`: of each entry's storeValue in `data`. `follows`: it belongs to the same run as the entry before
    it.
    """

    data: bytes
    start: Ints
    end: Ints
    follows: Bools

    @classmethod
    def of(cls, entries: Sequence[bytes]) -> "_Seen":
        whole = b"".join(entries)
        data = np.frombuffer(whole + bytes(PADDING), np.uint8)
        size = np.array([len(entry) for entry in entries], np.int64)
        end = np.cumsum(size)
        header_size, header = fields.varints(data, np.minimum(end - size + 1, end))
        behind = np.clip(header + header_size, 0, end)
        value_size, value = fields.varints(data, np.minimum(behind + 3, end))
        plain = (data[end - size] == HEADER) & (header_size > 0) & (header + header_size == behind)
        plain &= (data[behind] == ENTRY_TYPE) & (data[behind + 1] == entry_pb2.ROWDATA)
        plain &= (data[behind + 2] == VALUE) & (value_size > 0) & (value + value_size == end)
        rows = np.flatnonzero(plain)
        headers = _Headers(data, header[rows], behind[rows])
        follows = np.zeros(len(entries), np.bool_)
        follows[rows[1:]] = (np.diff(rows) == 1) & headers.follow()
        return cls(whole, value, end, follows)

    def values(self, begin: int, end: int) -> list[bytes]:
        data, spans = self.data, zip(self.start[begin:end].tolist(), self.end[begin:end].tolist(), strict=True)
        return [data[start:stop] for start, stop in spans]


class _Headers:
    """The fields of Header messages, all read in lockstep."""

    def __init__(self, data: NDArray[np.uint8], start: Ints, end: Ints) -> None:
        self._data = data
        self._words = fields.words(data)
        self._start = {tag: np.zeros(len(start), np.int64) for tag in (FILE, SCHEMA, TABLE, PROPERTY)}
        self._size = {tag: np.full(len(start), -1, np.int64) for tag in self._start}
        self._number = {tag: np.full(len(start), -1, np.int64) for tag in (OFFSET, EVENT)}
        self._whole = np.zeros(len(start), np.bool_)
        header, at = np.arange(len(start)), start
        for _ in range(MAX_HEADER_FIELDS):
            header, at = self._step(header, at, end)
            if not len(header):
                return

    def _step(self, header: Ints, at: Ints, end: Ints) -> tuple[Ints, Ints]:
        """One field of each of these headers: which have more, and where. One with another layout has no more."""
        tag = self._data[at]
        value, at = fields.varints(self._data, at + 1)
        for known in np.flatnonzero(np.bincount(tag)).tolist():
            self._note(known, header, at, value, tag == known)
        sized = tag & 7 == BYTES
        left = end[header] - at
        good = (tag < 0x80) & (sized | (tag & 7 == VARINT)) & (value >= 0) & (~sized | (value <= left)) & (left >= 0)
        at = at + np.where(sized & good, value, 0)
        self._whole[header] = good & (at == end[header])
        more = np.flatnonzero(good & (at < end[header]))
        return header[more], at[more]

    def _note(self, tag: int, header: Ints, at: Ints, value: Ints, chosen: Bools) -> None:
        if tag in self._start:
            self._start[tag][header[chosen]] = at[chosen]
            self._size[tag][header[chosen]] = value[chosen]
        elif tag in self._number:
            self._number[tag][header[chosen]] = value[chosen]

    def follow(self) -> Bools:
        """For each but the first: whether it is a row of the same table and file as the one before it, after it."""
        offset = self._number[OFFSET]
        rows = self._whole & np.isin(self._number[EVENT], fields.EVENTS) & self._counted()
        follow: Bools = rows[1:] & rows[:-1] & (offset[1:] > offset[:-1]) & (offset[:-1] >= 0)
        for tag in (FILE, SCHEMA, TABLE):
            follow &= self._same(tag)
        return follow

    def _counted(self) -> Bools:
        start, size = self._start[PROPERTY], self._size[PROPERTY]
        return (size >= len(COUNTED)) & fields.equal(self._words, start, COUNTED)

    def _same(self, tag: int) -> Bools:
        """Whether a name is that of the entry before."""
        start, size = self._start[tag], self._size[tag]
        same: Bools = (size[1:] == size[:-1]) & (size[1:] > 0) & (size[1:] <= MAX_NAME)
        longest = int(np.max(size[1:][same], initial=0))
        for at in range(0, longest, 8):
            left = np.clip(size - at, 0, 8)
            found = self._words[np.minimum(start + at, len(self._words) - 1)] & fields.MASKS[left]
            same &= found[1:] == found[:-1]
        return same
