"""Where the values are in canal's Column messages, and whether a message belongs to the expected column.

Owns: the layout of a Column message on the wire.
Must not know: rows, which columns a table has, how a cell's text becomes a value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from syncmgr.job.types.cells import Bools, Ints
from syncmgr.sources.canal.values import fields
from syncmgr.sources.canal.values.fields import BYTES, MalformedEntryError

NAME, KEY, NULL, VALUE, TYPE = 0x1A, 0x20, 0x30, 0x42, 0x52
LIKES: Final = 3  # inserted or changed, not changed, NULL
MAX_FIELDS: Final = 64  # of one Column; canal writes eight
Data = NDArray[np.uint8]
BEYOND: Final = "a column reaches past its row"
MANY: Final = "a column of too many fields"
NOTHING: Final = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class Expected:
    """What accompanies each value of a column: its name, MySQL's type text, whether it is in the primary key."""

    name: bytes
    type: bytes
    key: bool


@dataclass(frozen=True, slots=True)
class Cells:
    """n Column messages: where the value is; `size` -1: there is none. `fits`: it belongs to the expected column.

    `start` still grows from cell to cell, as `slices` requires.
    """

    start: Ints
    size: Ints
    null: Bools
    fits: Bools


def cells_of(data: Data, begins: Ints, ends: Ints, expected: Sequence[Expected]) -> list[Cells]:
    """The Column messages by position, as fields.columns returns them. Raises MalformedEntryError."""
    return [_cells(data, *column) for column in zip(begins, ends, expected, strict=True)]


def _cells(data: Data, start: Ints, end: Ints, expected: Expected) -> Cells:
    """Nearly all are like the first one except for the value."""
    count = len(start)
    found = Cells(start.copy(), np.full(count, -1, np.int64), np.zeros(count, np.bool_), np.zeros(count, np.bool_))
    cell = np.flatnonzero(start < end)
    for _ in range(LIKES):
        if len(cell):
            like = _Like.of(data[start[cell[0]] : end[cell[0]]].tobytes(), expected)
            cell = like.note(found, data, cell, start[cell], end[cell])
    _read(found, data, cell, start[cell], end[cell], expected)
    return found


@dataclass(frozen=True, slots=True)
class _Like:
    """A Column message: what is before the value and after it; all of it, if there is none."""

    before: bytes
    behind: bytes
    valued: bool
    null: bool
    fits: bool

    @classmethod
    def of(cls, message: bytes, expected: Expected) -> "_Like":
        fields = _fields(message)
        names = [message[at : at + size] for _, at, size in (fields.get(tag, NOTHING) for tag in (NAME, TYPE))]
        key, null = (bool(fields.get(tag, NOTHING)[2]) for tag in (KEY, NULL))
        tag_at, at, size = fields.get(VALUE, (len(message), len(message), 0))
        return cls(
            before=message[: tag_at + 1],
            behind=message[at + size :],
            valued=VALUE in fields,
            null=null,
            fits=names == [expected.name, expected.type] and key == expected.key,
        )

    def note(self, found: Cells, data: Data, cell: Ints, start: Ints, end: Ints) -> Ints:
        """Reads the cells that are like this one; returns those that are not."""
        words = fields.words(data)
        same = np.flatnonzero(fields.equal(words, start, self.before))
        if not self.valued:
            same = same[end[same] - start[same] == len(self.before)]
        else:
            size, begin = fields.varints(data, start[same] + len(self.before))
            near = (size >= 0) & (size == end[same] - begin - len(self.behind))
            same, size, begin = same[near], size[near], begin[near]
            near = fields.equal(words, begin + size, self.behind)
            same, size, begin = same[near], size[near], begin[near]
            found.start[cell[same]], found.size[cell[same]] = begin, size
        found.null[cell[same]], found.fits[cell[same]] = self.null, self.fits
        return np.delete(cell, same)


def _fields(message: bytes) -> dict[int, tuple[int, int, int]]:
    """The last field of each tag: the place of the tag, of what follows it, and a number or how many bytes."""
    found = {}
    here = 0
    for _ in range(MAX_FIELDS):
        if here >= len(message):
            break
        tag = fields.known(message[here])
        value, at = fields.varint(message, here + 1)
        found[tag] = here, at, value
        here = at + (value if tag & 7 == BYTES else 0)
    if here != len(message):
        raise MalformedEntryError(BEYOND if here > len(message) else MANY)
    return found


def _read(found: Cells, data: Data, cell: Ints, start: Ints, end: Ints, expected: Expected) -> None:
    """Any messages: field by field, in lockstep."""
    texts = {NAME: expected.name, TYPE: expected.type}
    right = {tag: np.full(len(found.size), not text) for tag, text in texts.items()}
    key = np.zeros(len(found.size), np.bool_)
    all_of_them, words = cell, fields.words(data)
    for _ in range(MAX_FIELDS):
        if not len(cell):
            break
        tags = data[start]
        value, at = fields.varints(data, start + 1)
        size = np.where(tags & 7 == BYTES, value, 0)
        if ((size < 0) | (size > end - at)).any():
            raise MalformedEntryError(BEYOND)
        for tag in np.flatnonzero(np.bincount(tags)).tolist():
            chosen = tags == tag
            here, number = cell[chosen], value[chosen]
            if fields.known(tag) == VALUE:
                found.start[here], found.size[here] = at[chosen], number
            elif tag in texts:
                right[tag][here] = fields.equal(words, at[chosen], texts[tag]) & (number == len(texts[tag]))
            elif tag in {NULL, KEY}:
                (found.null if tag == NULL else key)[here] = number != 0
        left = at + size < end
        cell, start, end = cell[left], (at + size)[left], end[left]
    else:
        if len(cell):
            raise MalformedEntryError(MANY)
    fits = right[NAME] & right[TYPE] & (key == expected.key)
    found.fits[all_of_them] = fits[all_of_them]
