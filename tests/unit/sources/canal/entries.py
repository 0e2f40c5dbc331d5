"""Entries as a canal server writes them, for tests.

Owns: RowChange messages from Python values that are spelled as canal spells them.
Must not know: what is asserted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from syncmgr.job.types.schema import SourceTable
from syncmgr.sources.canal.proto import entry_pb2
from syncmgr.sources.canal.values.entry import EntryRows, EntryTable, column_headers
from syncmgr.sources.canal.values.schema import source_table_of

INSERT, UPDATE, DELETE = entry_pb2.INSERT, entry_pb2.UPDATE, entry_pb2.DELETE
Cell = str | None


@dataclass(frozen=True, slots=True)
class Made:
    """A column of a made table: name, MySQL's type text, whether it is in the primary key, java.sql.Types."""

    name: str
    type: str
    key: bool = False
    sql_type: int = 12


ID = Made("id", "bigint", key=True, sql_type=-5)


def change(columns: Sequence[Made], event: int, *rows: Sequence[Any]) -> bytes:
    """One entry. A row is a list of cells, that of an update a pair of them: before and after."""
    made = field(1, 203) + field(2, event) + field(10, 0)
    for row in rows:
        images = row if event == UPDATE else [row]
        sides = [2] if event == INSERT else [1, 2]
        made += field(12, b"".join(image(columns, cells, side) for cells, side in zip(images, sides, strict=False)))
    return made


def image(columns: Sequence[Made], cells: Sequence[Cell], side: int) -> bytes:
    """The columns of one row image; `side` 1 is before, 2 after."""
    return b"".join(
        field(side, _column(place, column, cell))
        for place, (column, cell) in enumerate(zip(columns, cells, strict=True))
    )


def _column(place: int, column: Made, cell: Cell) -> bytes:
    """In canal's own order; proto3's encoder would leave out what is 0 or empty."""
    made = field(1, place) + field(2, column.sql_type) + field(3, column.name.encode()) + field(4, column.key)
    made += field(5, 0) + field(6, cell is None)
    return made + (b"" if cell is None else field(8, cell.encode())) + field(10, column.type.encode())


def field(number: int, content: int | bytes) -> bytes:
    """A varint, or bytes with their length."""
    if isinstance(content, bytes):
        return _varint(number << 3 | 2) + _varint(len(content)) + content
    return _varint(number << 3) + _varint(content)


def _varint(content: int) -> bytes:
    content %= 1 << 64
    made = bytearray()
    while content >= 0x80:
        made.append(content & 0x7F | 0x80)
        content >>= 7
    return bytes([*made, content])


def schema_of(columns: Sequence[Made]) -> SourceTable:
    return source_table_of(("d", "t"), column_headers(change(columns, INSERT, ["1"] * len(columns))))


def table_of(columns: Sequence[Made], *wanted: str, keys: Sequence[str] = ("id",), **facts: Any) -> EntryTable:
    names = wanted or tuple(column.name for column in columns)
    given: dict[str, Any] = {"schema": schema_of(columns), "time_zone": "UTC", "address": "canal:11111", **facts}
    return EntryTable(columns=names, keys=tuple(keys), **given)


def decoded(table: EntryTable, *changes: bytes) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = EntryRows(table, changes).decode().to_pylist()
    return rows
