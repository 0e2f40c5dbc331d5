"""Rows events of one table -> Arrow, all events of a batch in lockstep.

Owns: the layout of rows events; one cursor per event, and each step finds the next row of all of them at once.
Must not know: connections, positions, how a cell becomes a value.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from syncmgr.errors import Code, SyncError
from syncmgr.job.batch import FILE, OFFSET, WHEN
from syncmgr.job.cells import Ints, Unheld, UnholdableError
from syncmgr.job.routing import ColumnPlan, Image, change_table
from syncmgr.job.schema import SourceColumn
from syncmgr.mysql import wire
from syncmgr.mysql.inflation import inflate
from syncmgr.mysql.table_map import TableMap
from syncmgr.mysql.values import PADDING, Cells, convert
from syncmgr.mysql.wire import Cursor, MalformedEventError

IMAGE: Final = "_image"  # the number of a row's image among all
POST_HEADER_V1: Final = wire.HEADER + 8  # table id 6, flags 2
IMAGE_OF: Final = {
    wire.WRITE_V1: Image.INSERTED,
    wire.WRITE_V2: Image.INSERTED,
    wire.DELETE_V1: Image.DELETED,
    wire.DELETE_V2: Image.DELETED,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """A column to decode: its place in the table map and its type."""

    place: int
    column: SourceColumn
    name: str
    key: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class RowEvents:
    """Events one behind the other in `data`, padded by PADDING bytes; `ends`: where each ends, without checksum.

    `file`: that of the binlog in which all of them are.
    """

    data: bytearray
    ends: Sequence[int]
    file: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Slot:
    """What a cursor passes at once: columns of one kind. `nullable` and `columns` hold places in the table map."""

    width: int  # of all columns together; 0: one column that tells its own length
    prefix: int  # bytes of that length
    null_bit: int  # which bit of the row's null bitmap, -1: never NULL
    columns: tuple[tuple[int, int], ...]  # (place, offset in the slot), the wanted ones alone


@dataclass(slots=True)
class _Found:
    """Where the rows are: for each image its event and its null bitmap, and for each wanted column its cells."""

    event: Ints
    bitmap: Ints
    start: dict[int, Ints]
    size: dict[int, Ints]


class RowsDecoder:
    """Decodes the rows of one table map. Raises SyncError and MalformedEventError."""

    def __init__(self, table: TableMap, wanted: Sequence[Wanted], address: str) -> None:
        self._table = table
        self._wanted = tuple(wanted)
        self._address = address

    def decode(self, events: RowEvents, unheld: list[Unheld] | None = None) -> pa.Table:
        """The wanted columns and `_op`, as TableChanges.decode promises."""
        events = _inflated(events)
        data = np.frombuffer(events.data, np.uint8)
        ends = np.array(events.ends, np.int64)
        begins = np.concatenate([[0], ends[:-1]])
        try:
            return self._decode(data, begins, ends, None if unheld is None else _Tolerance(events.file, unheld))
        except MalformedEventError:
            raise
        except (IndexError, ValueError) as error:  # a cursor left the buffer, or found what no row holds
            raise MalformedEventError(f"a rows event of {self._table.label} cannot be read") from error

    def _decode(self, data: NDArray[np.uint8], begins: Ints, ends: Ints, tolerance: "_Tolerance | None") -> pa.Table:
        kinds = data[begins + 4]
        rows, present = self._pass_headers(data, begins, ends, kinds)
        found = self._find(data, rows, ends, present)
        images = _images(kinds, found.event)
        if tolerance is None:
            return self._convert(data, found, images, present)
        rows = self._convert(data, found, images, present, tolerance)
        return tolerance.settled(rows, data, begins[found.event])

    def _pass_headers(
        self, data: NDArray[np.uint8], at: Ints, ends: Ints, kinds: NDArray[np.uint8]
    ) -> tuple[Ints, NDArray[np.bool_]]:
        """Where each event's rows begin, and which columns are in them."""
        at = at + POST_HEADER_V1
        extra = data[at].astype(np.int64) | data[at + 1].astype(np.int64) << 8
        at = at + np.where(kinds >= wire.WRITE_V2, extra, 0)
        count = len(self._table.fields)
        short = count < 251
        told = (
            data[at].astype(np.int64) if short else data[at + 1].astype(np.int64) | data[at + 2].astype(np.int64) << 8
        )
        if (told != count).any() or not (short or (data[at] == 252).all()):
            raise MalformedEventError(f"a rows event of {self._table.label} has another column count than its table")
        at = at + (1 if short else 3)
        size = (count + 7) // 8
        updates = np.isin(kinds, wire.UPDATES)
        after = at + np.where(updates, size, 0)
        if (after + size > ends).any():
            raise MalformedEventError(f"a rows event of {self._table.label} ends in its header")
        return after + size, self._present(data, at, after)

    def _present(self, data: NDArray[np.uint8], before: Ints, after: Ints) -> NDArray[np.bool_]:
        count = len(self._table.fields)
        steps = np.arange((count + 7) // 8)
        bitmaps = np.concatenate([data[before[:, None] + steps], data[after[:, None] + steps]])
        present = np.unpackbits(bitmaps, axis=1, count=count, bitorder="little").astype(np.bool_)
        if (present != present[0]).any() or not present[0][[w.place for w in self._wanted]].all():
            value = f"not FULL in a session that changed {self._table.label}"
            raise SyncError(Code.SOURCE_ROW_IMAGE, value=value, address=self._address, table=self._table.label)
        return present[0]  # type: ignore[no-any-return]

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

    def _find(self, data: NDArray[np.uint8], begins: Ints, ends: Ints, present: NDArray[np.bool_]) -> _Found:
        """Walk all events at once, recording offsets only; a cursor must end exactly where its event does."""
        slots, bitmap_size = self._slots(present), (int(present.sum()) + 7) // 8
        nullable = any(slot.null_bit >= 0 for slot in slots)
        walk = _Walk(data, [place for slot in slots for place, _ in slot.columns], bitmap_size if nullable else 0)
        active = np.flatnonzero(begins < ends)
        at, stop = begins[active], ends[active]
        while len(at):
            walk.begin(active, at)
            at = at + bitmap_size
            for slot in slots:
                at = walk.fixed(slot, at) if slot.width else walk.variable(slot, at)
            if (at > stop).any():
                raise MalformedEventError(f"a row of {self._table.label} reaches past its event")
            left = at < stop
            if not left.all():
                active, at, stop = active[left], at[left], stop[left]
        return walk.found()

    def _convert(
        self,
        data: NDArray[np.uint8],
        found: _Found,
        images: NDArray[np.int8],
        present: NDArray[np.bool_],
        tolerance: "_Tolerance | None" = None,
    ) -> pa.Table:
        bits = np.cumsum(present) - 1

        def column(place: int, kept: Ints | None, idle: NDArray[np.bool_] | None) -> pa.Array:
            if place == len(self._wanted):
                return pa.array(np.arange(len(images)) if kept is None else kept)
            wanted = self._wanted[place]
            unheld = None if tolerance is None else tolerance.of(wanted.name, kept)
            return self._column(wanted, data, found, kept, idle, bits, unheld)

        plans = [ColumnPlan(name=w.name, key=w.key) for w in self._wanted]
        if tolerance is not None:
            plans.append(ColumnPlan(name=IMAGE, key=False))
        return change_table(images, plans, column)

    def _column(
        self,
        wanted: Wanted,
        data: NDArray[np.uint8],
        found: _Found,
        kept: Ints | None,
        idle: NDArray[np.bool_] | None,
        bits: Ints,
        unheld: list[tuple[int, str, str]] | None,
    ) -> pa.Array:
        made = self._table.fields[wanted.place]
        start, size, bitmap = found.start[wanted.place], found.size.get(wanted.place), found.bitmap
        if kept is not None:
            start, size, bitmap = start[kept], None if size is None else size[kept], bitmap[kept]
        valid = None
        if made.nullable:
            bit = int(bits[wanted.place])
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
    """Takes what cannot be held, image by image, and says of which row it is."""

    def __init__(self, file: str, unheld: list[Unheld]) -> None:
        self._file = file
        self._unheld = unheld
        self._found: list[tuple[str, Ints | None, list[tuple[int, str, str]]]] = []

    def of(self, column: str, kept: Ints | None) -> list[tuple[int, str, str]]:
        """Where the cells of a column go that are those of the images `kept`, of all for None."""
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
                if row is not None:  # else nobody has asked for that image
                    self._unheld.append(Unheld(row=row, column=column, shown=shown, reason=reason))
        at = begins[image]
        when, offset = (_u32(data, at + place) for place in (0, 13))
        rows = rows.drop_columns([IMAGE]).append_column(WHEN, pa.array(when)).append_column(OFFSET, pa.array(offset))
        return rows.append_column(FILE, pa.array([self._file] * len(rows), pa.string()))


def _u32(data: NDArray[np.uint8], at: Ints) -> Ints:
    return sum(data[at + place].astype(np.int64) << (8 * place) for place in range(4))  # type: ignore[return-value]


class _Walk:
    """Collects, step by step, where cells begin."""

    def __init__(self, data: NDArray[np.uint8], places: list[int], bitmap_size: int) -> None:
        """`bitmap_size`: of NULLs in front of each row, in bytes; 0 where nothing can be NULL."""
        self._data = data
        self._bytes = np.arange(bitmap_size)
        self._nulls = np.zeros((0, 0), np.bool_)  # by bit, then by event
        self._told_null: set[int] = set()  # the bits that some event has
        self._events: list[Ints] = []
        self._bitmaps: list[Ints] = []
        self._starts: dict[int, list[Ints]] = {place: [] for place in places}
        self._sizes: dict[int, list[Ints]] = {place: [] for place in places}

    def begin(self, events: Ints, bitmap: Ints) -> None:
        self._events.append(events)
        self._bitmaps.append(bitmap)
        if len(self._bytes):
            by_event = np.unpackbits(self._data[bitmap[:, None] + self._bytes], axis=1, bitorder="little")
            self._nulls = np.ascontiguousarray(by_event.T).view(np.bool_)
            self._told_null = set(np.flatnonzero(self._nulls.any(axis=1)).tolist())

    def _null(self, bit: int) -> NDArray[np.bool_] | None:
        return self._nulls[bit] if bit in self._told_null else None

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

    def found(self) -> _Found:
        """In stream order: by event, then by step."""
        if not self._events:
            none = np.zeros(0, np.int64)
            return _Found(none, none, dict.fromkeys(self._starts, none), dict.fromkeys(self._sizes, none))
        events = np.concatenate(self._events)
        order = None if len(self._events) == 1 else np.argsort(events, kind="stable")

        def ordered(parts: list[Ints]) -> Ints:
            whole = np.concatenate(parts) if len(parts) > 1 else parts[0]
            return whole if order is None else whole[order]

        return _Found(
            ordered(self._events),
            ordered(self._bitmaps),
            {place: ordered(parts) for place, parts in self._starts.items()},
            {place: ordered(parts) for place, parts in self._sizes.items() if parts},
        )


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


def _inflated(events: RowEvents) -> RowEvents:
    """MariaDB's compressed rows events in their plain form; most batches have none and stay as they are."""
    begins = [0, *events.ends[:-1]]
    if not any(events.data[begin + 4] in wire.PLAIN_OF for begin in begins):
        return events
    data, ends = bytearray(), []
    for begin, end in zip(begins, events.ends, strict=True):
        data += _inflated_event(bytes(events.data[begin:end]))
        ends.append(len(data))
    return RowEvents(data=data + bytes(PADDING), ends=ends, file=events.file)


def _inflated_event(event: bytes) -> bytes:
    plain = wire.PLAIN_OF.get(event[4])
    if plain is None:
        return event
    cursor = Cursor(event, POST_HEADER_V1)
    if plain >= wire.WRITE_V2:
        cursor.take(cursor.uint(2) - 2)
    bitmaps = 2 if plain in wire.UPDATES else 1
    cursor.take((cursor.lenenc() + 7) // 8 * bitmaps)
    head = event[: cursor.at]
    return head[:4] + bytes([plain]) + head[5:] + inflate(cursor)
