"""The undecoded rows of one table in one batch of canal's entries.

Owns: the way from RowChange messages to change rows; an entry is read by its own column headers, never by position.
Must not know: transactions, positions, sockets.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.rows.batch import OP
from syncmgr.job.rows.routing import ColumnPlan, Image, change_table
from syncmgr.job.types.cells import Bools, Ints, UnholdableError, slices
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import MAX_COLUMNS, SourceTable, arrow_type
from syncmgr.sources.canal.proto import entry_pb2
from syncmgr.sources.canal.values import fields
from syncmgr.sources.canal.values.columns import Cells, Expected, cells_of
from syncmgr.sources.canal.values.fields import MalformedEntryError, Rows
from syncmgr.sources.canal.values.schema import ColumnHeader, Found, contradiction, found
from syncmgr.sources.canal.values.values import Texts, convert


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryTable:
    """What is wanted of one source table: columns to decode, and those that make the target's key.

    `schema`: the table as CREATE SYNC found it. `time_zone`: of canal's server, needed if a timestamp is wanted.
    `address`: of canal's server, for messages. `inserts`: only the values of inserted rows count.
    """

    schema: SourceTable
    columns: tuple[str, ...]
    keys: tuple[str, ...] = ()
    time_zone: str | None = None
    address: str = ""
    inserts: bool = False

    @property
    def wanted(self) -> tuple[ColumnPlan, ...]:
        keys = {folded_name(name) for name in self.keys}
        names = dict.fromkeys((*self.columns, *self.keys))
        return tuple(ColumnPlan(name=name, key=folded_name(name) in keys) for name in names)


class EntryRows:
    """TableChanges of a canal source. `changes`: the RowChange messages of one table in one batch, in order."""

    def __init__(self, table: EntryTable, changes: Sequence[bytes]) -> None:
        self._of = table
        self._changes = tuple(changes)

    @property
    def table(self) -> Table:
        return self._of.schema.db, self._of.schema.name

    def decode(self) -> pa.Table:
        """As TableChanges.decode. Raises SyncError: SOURCE_VALUE, SOURCE_SCHEMA, CANAL_PROTOCOL."""
        try:
            return self._decode(fields.rows_of(self._changes))
        except (IndexError, ValueError, DecodeError) as error:
            reason = f"an entry of {self._of.schema.label}: {error}"
            raise SyncError(Code.CANAL_PROTOCOL, address=self._of.address, reason=reason) from error

    def _decode(self, rows: Rows) -> pa.Table:
        """Rows of one layout at once: nearly always all of them, since a DDL ends a batch."""
        if not len(rows):
            return _empty(self._of)
        tables = []
        while len(rows):
            run = _run(self._of, rows)
            tables.append(run.decode())
            rows = rows.since(len(run.rows))
        return tables[0] if len(tables) == 1 else pa.concat_tables(tables)


def column_headers(change: bytes) -> tuple[ColumnHeader, ...]:
    """The columns of a RowChange message with rows, by its first image. Raises MalformedEntryError, DecodeError."""
    rows = fields.rows_of([change])
    if not len(rows):
        raise MalformedEntryError("an entry without rows")
    return _headers(rows)


def _headers(rows: Rows) -> tuple[ColumnHeader, ...]:
    first = entry_pb2.RowData.FromString(rows.data[rows.start[0] : rows.end[0]].tobytes())
    columns = first.afterColumns if rows.event[0] == fields.INSERT else first.beforeColumns
    if len(columns) > MAX_COLUMNS:
        raise MalformedEntryError(f"a row of {len(columns)} columns")
    return tuple(ColumnHeader(name=c.name, type=c.mysqlType, sql_type=c.sqlType, key=c.isKey) for c in columns)


def _run(table: EntryTable, rows: Rows) -> "_Run":
    """The first rows whose entries have one layout, that of the first one. Raises SOURCE_SCHEMA."""
    headers = _headers(rows)
    columns = [found(table.schema, plan.name, headers) for plan in table.wanted]
    begins, ends, fits = fields.columns(rows, len(headers), [column.place for column in columns])
    expected = [Expected(h.name.encode(), h.type.encode(), h.key) for h in (column.header for column in columns)]
    cells = cells_of(rows.data, begins, ends, expected)
    alike = np.repeat(fits, rows.images)
    for each in cells:
        alike &= each.fits
    other = np.flatnonzero(~alike)
    if not len(other):
        return _Run(table, rows, columns, cells)
    ends_with = int(np.searchsorted(np.cumsum(rows.images), other[0], side="right"))
    if not ends_with:
        raise contradiction(
            table.schema, "an update shows other columns before than after; binlog_row_image is not FULL"
        )
    return _Run(table, rows.until(ends_with), columns, cells)


@dataclass(frozen=True, slots=True)
class _Run:
    """Rows of one layout. `cells`: for each column the cells of all images, and maybe of further ones."""

    table: EntryTable
    rows: Rows
    columns: list[Found]
    cells: list[Cells]

    def decode(self) -> pa.Table:
        return change_table(_images(self.rows), self.table.wanted, self._column, inserts=self.table.inserts)

    def _column(self, place: int, kept: Ints | None, idle: Bools | None) -> pa.Array:
        cells, column = self.cells[place], self.columns[place]
        chosen = slice(0, int(self.rows.images.sum())) if kept is None else kept
        start, size, null = cells.start[chosen], cells.size[chosen], cells.null[chosen]
        if (~null & (size < 0)).any():
            raise MalformedEntryError(f"column '{column.header.name}' is neither NULL nor has it a value")
        array = slices(self.rows.data, start, size, ~null).cast(pa.string())
        try:
            return convert(column.column, Texts(array=array, idle=idle, raw=column.raw), self.table.time_zone)
        except UnholdableError as error:
            raise SyncError(
                Code.SOURCE_VALUE,
                column=column.column.name,
                table=self.table.schema.label,
                value=error.shown,
                reason=error.reason,
            ) from error


def _images(rows: Rows) -> NDArray[np.int8]:
    """What each image shows."""
    images = np.full(int(rows.images.sum()), Image.INSERTED, np.int8)
    first = np.cumsum(rows.images) - rows.images
    images[first[rows.event == fields.DELETE]] = Image.DELETED
    updates = first[rows.event == fields.UPDATE]
    images[updates], images[updates + 1] = Image.BEFORE, Image.AFTER
    return images


def _empty(table: EntryTable) -> pa.Table:
    """Still returns columns; an entry may have no rows."""
    columns = [(plan.name, table.schema.column(plan.name)) for plan in table.wanted]
    made = {name: pa.array([], arrow_type(column)) for name, column in columns if column is not None}
    return pa.table({**made, OP: pa.array([], pa.int8())})
