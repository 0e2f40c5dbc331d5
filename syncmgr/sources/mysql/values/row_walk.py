"""Where the cells of many row images are, found step by step for all events at once.

Owns: how a cursor passes a column, NULL or not.
Must not know: which columns are wanted, what a cell means.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncmgr.job.types.cells import Ints


@dataclass(frozen=True, kw_only=True, slots=True)
class Slot:
    """What a cursor passes at once: columns of one kind. `nullable` and `columns` hold places in the table map."""

    width: int  # of all columns together; 0: one column that contains its own length
    prefix: int  # bytes of that length
    null_bit: int  # which bit of the row's null bitmap, -1: never NULL
    columns: tuple[tuple[int, int], ...]  # (place, offset in the slot), only the wanted ones


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """What an image with some of the columns is made of. `nulls`: places of the bytes of its null bitmap, none if
    nothing can be NULL.
    """

    number: int
    slots: list[Slot]
    bitmap_size: int
    nulls: Ints


@dataclass(slots=True)
class Found:
    """Where the rows are: for each image its event, its layout and its null bitmap, and for each wanted column its
    cells. `layout` None: there is only one.
    """

    event: Ints
    layout: Ints | None
    bitmap: Ints
    start: dict[int, Ints]
    size: dict[int, Ints]


class Walk:
    """Collects, step by step, where cells begin."""

    def __init__(self, data: NDArray[np.uint8], places: list[int], *, many: bool) -> None:
        """`many`: layouts."""
        self._data = data
        self._many = many
        self._nulls = np.zeros((0, 0), np.bool_)  # by bit, then by event
        self._null_bits: set[int] = set()  # the bits that some event has
        self._events: list[Ints] = []
        self._layouts: list[Ints] = []
        self._bitmaps: list[Ints] = []
        self._starts: dict[int, list[Ints]] = {place: [] for place in places}
        self._sizes: dict[int, list[Ints]] = {place: [] for place in places}

    def begin(self, events: Ints, bitmap: Ints, layout: Layout) -> None:
        """The next image of these events."""
        self._events.append(events)
        if self._many:
            self._layouts.append(np.full(len(events), layout.number))
        self._bitmaps.append(bitmap)
        self._null_bits = set()
        if len(layout.nulls):
            by_event = np.unpackbits(self._data[bitmap[:, None] + layout.nulls], axis=1, bitorder="little")
            self._nulls = np.ascontiguousarray(by_event.T).view(np.bool_)
            self._null_bits = set(np.flatnonzero(self._nulls.any(axis=1)).tolist())

    def _null(self, bit: int) -> NDArray[np.bool_] | None:
        return self._nulls[bit] if bit in self._null_bits else None

    def fixed(self, slot: Slot, at: Ints) -> Ints:
        for place, offset in slot.columns:
            self._starts[place].append(at + offset if offset else at)
        null = self._null(slot.null_bit)
        return at + slot.width if null is None else at + np.where(null, 0, slot.width)

    def variable(self, slot: Slot, at: Ints) -> Ints:
        size = self._data[at].astype(np.int64)
        for place in range(1, slot.prefix):
            size |= self._data[at + place].astype(np.int64) << (8 * place)
        null = self._null(slot.null_bit)
        begin = at + slot.prefix
        if null is not None:
            size = np.where(null, 0, size)
            begin = np.where(null, at, begin)
        for place, _ in slot.columns:
            self._starts[place].append(begin)
            self._sizes[place].append(size)
        return begin + size

    def found(self) -> Found:
        """In stream order: by event, then by step."""
        if not self._events:
            none = np.zeros(0, np.int64)
            return Found(none, None, none, dict.fromkeys(self._starts, none), dict.fromkeys(self._sizes, none))
        events = np.concatenate(self._events)
        order = None if len(self._events) == 1 else np.argsort(events, kind="stable")

        def ordered(parts: list[Ints]) -> Ints:
            whole = np.concatenate(parts) if len(parts) > 1 else parts[0]
            return whole if order is None else whole[order]

        return Found(
            ordered(self._events),
            ordered(self._layouts) if self._many else None,
            ordered(self._bitmaps),
            {place: ordered(parts) for place, parts in self._starts.items()},
            {place: ordered(parts) for place, parts in self._sizes.items() if parts},
        )
