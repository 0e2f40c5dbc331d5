"""Rows events of one table -> Arrow, all events of a batch in lockstep.

Owns: the layout of rows events; one cursor per event, and each step finds the next row of all of them at once.
Must not know: connections, positions, how a cell becomes a value.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from syncmgr.errors import Code, SyncError
from syncmgr.job.rows.batch import FILE, OFFSET, WHEN
from syncmgr.job.rows.routing import ColumnPlan, Image, change_table
from syncmgr.job.types.cells import Ints, Unheld, UnholdableError
from syncmgr.job.types.schema import SourceColumn
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.values.cells import Cells
from syncmgr.sources.mysql.values.row_walk import Found, Layout, Slot, Walk
from syncmgr.sources.mysql.values.table_map import TableMap
from syncmgr.sources.mysql.values.values import convert
from syncmgr.sources.mysql.wire import MalformedEventError, OversizeError

IMAGE: Final = "_image"  # the number of a row's image among all
IMAGE_OF: Final = {
    wire.WRITE_V1: Image.INSERTED,
    wire.WRITE_V2: Image.INSERTED,
    wire.DELETE_V1: Image.DELETED,
    wire.DELETE_V2: Image.DELETED,
}
# Of one event: each is a step of Python and takes a few hundred bytes, since only events are walked in parallel.
MOST_CELLS: Final = 4_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class WantedCells:
    """A column to decode: its place in the table map and its type."""

    place: int
    column: SourceColumn
    name: str
    key: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class RowEvents:
    """Consecutive events in `data`, in plain form, padded by PADDING bytes; `ends`: where each ends, without
    checksum.

    `file`: that of the binlog in which all of them are.
    """

    data: bytearray
    ends: Sequence[int]
    file: str = ""


@dataclass(frozen=True, slots=True)
class _Present:
    """Which columns are in which images: MariaDB leaves generated ones out of some. `columns`: one row for each layout.

    `pairs`: of an event, the layouts of its images before and after a change; None: all have the only one.
    """

    columns: NDArray[np.bool_]
    pairs: NDArray[np.int64] | None


class RowsDecoder:
    """Decodes the rows of one table map. Raises SyncError and MalformedEventError."""

    def __init__(
        self, table: TableMap, wanted: Sequence[WantedCells], address: str, *, most_cells: int = MOST_CELLS
    ) -> None:
        """`most_cells`: of one event."""
        self._table = table
        self._most_cells = most_cells
        self._wanted = tuple(wanted)
        self._address = address

    def decode(self, events: RowEvents, unheld: list[Unheld] | None = None, *, inserts: bool = False) -> pa.Table:
        """The wanted columns and `_op`, as TableChanges.decode promises. Raises OversizeError, too."""
        data = np.frombuffer(events.data, np.uint8)
        ends = np.array(events.ends, np.int64)
        begins = np.concatenate([[0], ends[:-1]])
        try:
            tolerance = None if unheld is None else _Tolerance(events.file, unheld)
            return self._decode(data, begins, ends, tolerance, inserts=inserts)
        except MalformedEventError:
            raise
        except (IndexError, ValueError) as error:  # a cursor left the buffer, or found something that no row contains
            raise MalformedEventError(f"a rows event of {self._table.label} cannot be read") from error

    def _decode(
        self, data: NDArray[np.uint8], begins: Ints, ends: Ints, tolerance: "_Tolerance | None", *, inserts: bool
    ) -> pa.Table:
        kinds = data[begins + 4]
        rows, present = self._pass_headers(data, begins, ends, kinds)
        found = self._find(data, rows, ends, present)
        images = _images(kinds, found.event)
        if tolerance is None:
            return self._convert(data, found, images, present, inserts=inserts)
        rows = self._convert(data, found, images, present, tolerance, inserts=inserts)
        return tolerance.settled(rows, data, begins[found.event])

    def _pass_headers(
        self, data: NDArray[np.uint8], at: Ints, ends: Ints, kinds: NDArray[np.uint8]
    ) -> tuple[Ints, _Present]:
        """Where each event's rows begin, and which columns are in them."""
        at = at + wire.ROWS_HEADER
        extra = data[at].astype(np.int64) | data[at + 1].astype(np.int64) << 8
        at = at + np.where(kinds >= wire.WRITE_V2, extra, 0)
        count = len(self._table.fields)
        short = count < 251
        stated = (
            data[at].astype(np.int64) if short else data[at + 1].astype(np.int64) | data[at + 2].astype(np.int64) << 8
        )
        if (stated != count).any() or not (short or (data[at] == 252).all()):
            raise MalformedEventError(f"a rows event of {self._table.label} has another column count than its table")
        at = at + (1 if short else 3)
        size = (count + 7) // 8
        updates = np.isin(kinds, wire.UPDATES)
        after = at + np.where(updates, size, 0)
        if (after + size > ends).any():
            raise MalformedEventError(f"a rows event of {self._table.label} ends in its header")
        return after + size, self._present(data, at, after)

    def _present(self, data: NDArray[np.uint8], before: Ints, after: Ints) -> _Present:
        """Raises SOURCE_ROW_IMAGE where a wanted column is missing."""
        count = len(self._table.fields)
        steps = np.arange((count + 7) // 8)
        bitmaps, pairs = np.concatenate([data[before[:, None] + steps], data[after[:, None] + steps]]), None
        if (bitmaps == bitmaps[0]).all():
            bitmaps = bitmaps[:1]
        else:
            bitmaps, found = np.unique(bitmaps, axis=0, return_inverse=True)
            pairs = found.reshape(2, -1).T
        columns = np.unpackbits(bitmaps, axis=1, count=count, bitorder="little").astype(np.bool_)
        lacking = [w.name for w in self._wanted if not columns[:, w.place].all()]
        if lacking:
            value = f"not FULL in a session that changed {self._table.label}: rows lack {', '.join(lacking)}"
            raise SyncError(Code.SOURCE_ROW_IMAGE, value=value, address=self._address, table=self._table.label)
        return _Present(columns, pairs)

    def _layout(self, number: int, present: NDArray[np.bool_]) -> Layout:
        slots, size = self._slots(present), (int(present.sum()) + 7) // 8
        nullable = any(slot.null_bit >= 0 for slot in slots)
        return Layout(number=number, slots=slots, bitmap_size=size, nulls=np.arange(size if nullable else 0))

    def _slots(self, present: NDArray[np.bool_]) -> list[Slot]:
        wanted = {w.place for w in self._wanted}
        slots: list[Slot] = []
        for bit, place in enumerate(np.flatnonzero(present).tolist()):
            made = self._table.fields[place]
            taken = ((place, 0),) if place in wanted else ()
            slot = Slot(width=made.width, prefix=made.prefix, null_bit=bit if made.nullable else -1, columns=taken)
            last = slots[-1] if slots else None
            if last is not None and last.width and slot.width and last.null_bit < 0 and slot.null_bit < 0:
                moved = tuple((place, last.width) for place, _ in slot.columns)
                slots[-1] = replace(last, width=last.width + slot.width, columns=last.columns + moved)
            else:
                slots.append(slot)
        return slots

    def _find(self, data: NDArray[np.uint8], begins: Ints, ends: Ints, present: _Present) -> Found:
        """Walk all events of the same layouts at once."""
        layouts = [self._layout(number, columns) for number, columns in enumerate(present.columns)]
        walk = Walk(data, [wanted.place for wanted in self._wanted], many=present.pairs is not None)
        active = np.flatnonzero(begins < ends)
        if present.pairs is None:
            self._pass_rows(walk, active, begins, ends, layouts)
            return walk.found()
        pairs, pair_of = np.unique(present.pairs[active], axis=0, return_inverse=True)
        for number, pair in enumerate(pairs.tolist()):
            these = active[pair_of.reshape(-1) == number]
            self._pass_rows(walk, these, begins, ends, [layouts[place] for place in pair])
        return walk.found()

    def _pass_rows(self, walk: Walk, active: Ints, begins: Ints, ends: Ints, layouts: Sequence[Layout]) -> None:
        """Records offsets only; a cursor must end exactly where its event does. Images have these layouts in turn."""
        at, stop, cells = begins[active], ends[active], 0
        for layout in cycle(layouts):
            if not len(at):
                return
            cells += len(layout.slots)
            if cells > self._most_cells:
                reason = f"an event with more cells of {self._table.label} than max_source_event_cells"
                raise OversizeError(f"{reason}, which is {self._most_cells}")
            walk.begin(active, at, layout)
            at = at + layout.bitmap_size
            for slot in layout.slots:
                at = walk.fixed(slot, at) if slot.width else walk.variable(slot, at)
            if (at > stop).any():
                raise MalformedEventError(f"a row of {self._table.label} reaches past its event")
            left = at < stop
            if not left.all():
                active, at, stop = active[left], at[left], stop[left]

    def _convert(
        self,
        data: NDArray[np.uint8],
        found: Found,
        images: NDArray[np.int8],
        present: _Present,
        tolerance: "_Tolerance | None" = None,
        *,
        inserts: bool,
    ) -> pa.Table:
        bits = np.cumsum(present.columns, axis=1) - 1

        def column(place: int, kept: Ints | None, idle: NDArray[np.bool_] | None) -> pa.Array:
            if place == len(self._wanted):
                return pa.array(np.arange(len(images)) if kept is None else kept)
            wanted = self._wanted[place]
            unheld = None if tolerance is None else tolerance.of(wanted.name, kept)
            return self._column(wanted, data, found, kept, idle, bits, unheld)

        plans = [ColumnPlan(name=w.name, key=w.key) for w in self._wanted]
        if tolerance is not None:
            plans.append(ColumnPlan(name=IMAGE, key=False))
        return change_table(images, plans, column, inserts=inserts)

    def _column(
        self,
        wanted: WantedCells,
        data: NDArray[np.uint8],
        found: Found,
        kept: Ints | None,
        idle: NDArray[np.bool_] | None,
        bits: Ints,
        unheld: list[tuple[int, str, str]] | None,
    ) -> pa.Array:
        made = self._table.fields[wanted.place]
        start, size, bitmap = found.start[wanted.place], found.size.get(wanted.place), found.bitmap
        bit: int | Ints = int(bits[0, wanted.place])
        if found.layout is not None:
            bit = bits[found.layout if kept is None else found.layout[kept], wanted.place]
        if kept is not None:
            start, size, bitmap = start[kept], None if size is None else size[kept], bitmap[kept]
        valid = None
        if made.nullable:
            valid = data[bitmap + (bit >> 3)] >> (bit & 7) & 1 == 0
        cells = Cells(data=data, start=start, size=size, valid=valid, idle=idle, exact=wanted.key, unheld=unheld)
        try:
            return convert(wanted.column, made, cells)
        except UnholdableError as error:
            raise SyncError(
                Code.SOURCE_VALUE,
                column=wanted.name,
                table=self._table.label,
                value=error.shown,
                reason=error.reason,
            ) from error


class _Tolerance:
    """Receives what cannot be held, image by image, and finds its row."""

    def __init__(self, file: str, unheld: list[Unheld]) -> None:
        self._file = file
        self._unheld = unheld
        self._found: list[tuple[str, Ints | None, list[tuple[int, str, str]]]] = []

    def of(self, column: str, kept: Ints | None) -> list[tuple[int, str, str]]:
        """The target of a column's cells for the images `kept`, for all if None."""
        taken: list[tuple[int, str, str]] = []
        self._found.append((column, kept, taken))
        return taken

    def settled(self, rows: pa.Table, data: NDArray[np.uint8], begins: Ints) -> pa.Table:
        """The rows with the columns of PLACE. `begins`: of each image, where its event begins in `data`."""
        image = rows[IMAGE].to_numpy()
        row_of = {number: row for row, number in enumerate(image.tolist())} if any(f[2] for f in self._found) else {}
        for column, kept, taken in self._found:
            for cell, shown, reason in taken:
                row = row_of.get(cell if kept is None else int(kept[cell]))
                if row is not None:  # otherwise that image was not requested
                    self._unheld.append(Unheld(row=row, column=column, shown=shown, reason=reason))
        at = begins[image]
        when, offset = (_u32(data, at + place) for place in (0, 13))
        rows = rows.drop_columns([IMAGE]).append_column(WHEN, pa.array(when)).append_column(OFFSET, pa.array(offset))
        return rows.append_column(FILE, pa.array([self._file] * len(rows), pa.string()))


def _u32(data: NDArray[np.uint8], at: Ints) -> Ints:
    return sum(data[at + place].astype(np.int64) << (8 * place) for place in range(4))  # type: ignore[return-value]


def _images(kinds: NDArray[np.uint8], event: Ints) -> NDArray[np.int8]:
    """What each row image shows; those of an update event alternate."""
    table = np.full(256, Image.BEFORE, np.int8)
    for kind, image in IMAGE_OF.items():
        table[kind] = image
    images = table[kinds[event]]
    updates = np.flatnonzero(images == Image.BEFORE)
    if len(updates):
        first = np.searchsorted(event, event[updates])
        images[updates[(updates - first) & 1 == 1]] = Image.AFTER
        last = np.append(np.flatnonzero(np.diff(event)), len(event) - 1)
        if (images[last] == Image.BEFORE).any():
            raise MalformedEventError("an update event with half a row")
    return images
