"""Where rows and columns are in canal's RowChange messages: protobuf, all rows in lockstep.

Owns: the layout of RowChange and RowData messages on the wire, and how varints are read.
Must not know: which columns a table has, what is in a Column message.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from syncmgr.job.types.cells import Bools, Ints
from syncmgr.sources.canal.proto import entry_pb2

PADDING: Final = 16  # a tag and a varint may be read after the last message
NO_EVENT: Final = 1 << 31  # more than any EventType
FEW: Final = 8  # short messages; more are read in lockstep
SHORT: Final = 4096  # bytes of a message; a longer one has too many rows to be read in lockstep with others

# A tag is the field's number << 3 | its wire type: 0 a varint, 2 a length and that many bytes.
CHANGE_EVENT, CHANGE_ROW = 0x10, 0x62
ROW_BEFORE, ROW_AFTER = 0x0A, 0x12
VARINT, BYTES = 0, 2
APART: Final = "rows that do not follow each other"

INSERT, UPDATE, DELETE = entry_pb2.INSERT, entry_pb2.UPDATE, entry_pb2.DELETE
MASKS: Final = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)  # of a word's first bytes
EVENTS: Final = (INSERT, UPDATE, DELETE)


class MalformedEntryError(ValueError):
    """Bytes that are not an entry of canal's."""


@dataclass(frozen=True, slots=True)
class Rows:
    """RowData messages in `data`, which is padded by PADDING bytes: where each begins and ends, and its EventType."""

    data: NDArray[np.uint8]
    start: Ints
    end: Ints
    event: Ints

    def __len__(self) -> int:
        return len(self.start)

    def since(self, first: int) -> "Rows":
        return Rows(self.data, self.start[first:], self.end[first:], self.event[first:])

    def until(self, end: int) -> "Rows":
        return Rows(self.data, self.start[:end], self.end[:end], self.event[:end])

    @property
    def images(self) -> Ints:
        """How many row images each row has."""
        return np.where(self.event == UPDATE, 2, 1)


def words(data: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The eight bytes from each place on, as a number."""
    return np.ndarray((len(data) - 7,), np.dtype("<u8"), data.data, 0, (1,))


def equal(words: NDArray[np.uint64], start: Ints, expected: bytes) -> Bools:
    """At which of these places the expected bytes are."""
    same = np.ones(len(start), np.bool_)
    for at in range(0, len(expected), 8):
        piece = expected[at : at + 8]
        found = words[np.minimum(start + at, len(words) - 1)] & MASKS[len(piece)]
        same &= found == np.uint64(int.from_bytes(piece, "little"))
    return same


def rows_of(parts: Sequence[bytes]) -> Rows:
    """The rows of RowChange messages, in order. Raises MalformedEntryError."""
    data = np.frombuffer(b"".join(parts) + bytes(PADDING), np.uint8)
    sizes = np.array([len(part) for part in parts], np.int64)
    found = _Spans(data, np.cumsum(sizes), np.zeros(len(parts), np.int64))
    short = np.flatnonzero((sizes > 0) & (sizes <= SHORT))
    part = short if len(short) > FEW else short[:0]
    single = np.setdiff1d(np.flatnonzero(sizes), part).tolist()
    at = (found.ends - sizes)[part]
    while len(part):
        part, at = found.step(part, at)
    found.cut(single, parts)
    rows = found.rows()
    if not np.isin(rows.event, EVENTS).all():
        raise MalformedEntryError(f"rows of the event types {np.unique(rows.event).tolist()}")
    return rows


class _Spans:
    """Reads the fields of RowChange messages that follow each other in `data`. `events`: by message."""

    def __init__(self, data: NDArray[np.uint8], ends: Ints, events: Ints) -> None:
        self._data, self.ends, self._events = data, ends, events
        self._found: list[Ints] = []  # message, begin and end of rows

    def step(self, part: Ints, at: Ints) -> tuple[Ints, Ints]:
        """One field of each of these messages: which have more, and where."""
        tag = self._data[at]
        value, behind = varints(self._data, at + 1)
        sized = tag & 7 == BYTES
        unknown = np.flatnonzero(~(sized | (tag & 7 == VARINT)) | (tag >= 0x80))
        if len(unknown):
            raise MalformedEntryError(f"unknown field {tag[unknown[0]]}")
        begin, at = behind, behind + np.where(sized, value, 0)
        ends = self.ends[part]
        if ((at > ends) | (at < begin)).any():
            raise MalformedEntryError("a row reaches past its entry")
        row, kind = tag == CHANGE_ROW, tag == CHANGE_EVENT
        self._found.append(np.stack([part[row], begin[row], at[row]]))
        self._events[part[kind]] = value[kind]
        more = at < ends
        return part[more], at[more]

    def cut(self, chosen: Sequence[int], parts: Sequence[bytes]) -> None:
        """All fields of these messages: the lengths of rows determine their places, since canal writes them
        consecutively.
        """
        part_of: list[int] = []
        sizes: list[int] = []
        heads: list[int] = []
        for part in chosen:
            message, start = parts[part], int(self.ends[part]) - len(parts[part])
            change = entry_pb2.RawRowChange.FromString(message)
            self._events[part] = min(change.eventType, NO_EVENT)
            own = [len(row) for row in change.rowDatas]
            places = list(accumulate(map(_whole, own), initial=start + _skip(message, 0)))
            if _skip(message, places[-1] - start) != len(message):
                raise MalformedEntryError(APART)
            part_of += [part] * len(own)
            sizes += own
            heads += places[:-1]
        size = np.array(sizes, np.int64)
        stated, begin = varints(self._data, np.array(heads, np.int64) + 1)
        if (stated != size).any():
            raise MalformedEntryError(APART)
        self._found.append(np.stack([np.array(part_of, np.int64), begin, begin + size]))

    def rows(self) -> Rows:
        """What was found, in order."""
        found = np.concatenate(self._found, axis=1) if self._found else np.zeros((3, 0), np.int64)
        part, start, end = found[:, np.argsort(found[1])]
        return Rows(self._data, start, end, self._events[part])


def _skip(message: bytes, at: int) -> int:
    """The place of the first row from there on, or the end."""
    while at < len(message) and message[at] != CHANGE_ROW:
        tag = known(message[at])
        value, at = varint(message, at + 1)
        at += value if tag & 7 == BYTES else 0
    return at


def _whole(size: int) -> int:
    """Bytes of a row with its tag and its length."""
    return size + 1 + ((size | 1).bit_length() + 6) // 7


def known(tag: int) -> int:
    """The tag, if it is one that canal may write."""
    if tag & 7 not in {VARINT, BYTES} or tag >= 0x80:
        raise MalformedEntryError(f"unknown field {tag}")
    return tag


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Seven bits per byte, lowest first. The value and the rest."""
    value = 0
    for place in range(10):
        byte = data[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    raise MalformedEntryError("a number that does not end")


def columns(rows: Rows, count: int, places: Sequence[int]) -> tuple[Ints, Ints, Bools]:
    """Where the columns at `places` are, of rows whose images have `count` columns each.

    Begin and end of each Column message: an array of (place, image), the images in order, that of an update before
    and after. And which rows are of this form; of the others begin and end are the same.
    """
    images = rows.images
    first = np.cumsum(images) - images
    begins = np.zeros((len(places), int(images.sum())), np.int64)
    ends = np.zeros_like(begins)
    where: dict[int, list[int]] = {}
    for index, place in enumerate(places):
        where.setdefault(place, []).append(index)
    fits = np.zeros(len(rows), np.bool_)
    row, at = np.arange(len(rows)), rows.start
    tags = np.where(rows.event == INSERT, ROW_AFTER, ROW_BEFORE)
    for step in range(2 * count + 1):
        if step in {count, 2 * count}:
            over = (at == rows.end[row]) & (images[row] * count == step)
            fits[row[over]] = True
            more = images[row] * count > step
            row, at, tags = row[more], at[more], np.full(int(more.sum()), ROW_AFTER)
        if not len(row):
            break
        size, begin = varints(rows.data, at + 1)
        good = (rows.data[at] == tags) & (size >= 0) & (size <= rows.end[row] - begin)
        if not good.all():
            row, begin, size, tags = row[good], begin[good], size[good], tags[good]
        at = begin + size
        for index in where.get(step % count, ()):
            image = first[row] + (step >= count)
            begins[index, image], ends[index, image] = begin, at
    return begins, ends, fits


def varints(data: NDArray[np.uint8], at: Ints) -> tuple[Ints, Ints]:
    """As varint, one at each place."""
    value = data[at].astype(np.int64)
    after = at + 1
    more = np.flatnonzero(value >= 0x80)
    if not len(more):
        return value, after
    value[more] &= 0x7F
    for place in range(1, 10):
        byte = data[after[more]].astype(np.int64)
        value[more] |= (byte & 0x7F) << (7 * place)
        after[more] += 1
        more = more[byte >= 0x80]
        if not len(more):
            return value, after
    raise MalformedEntryError("a number that does not end")
