"""Rows whose columns go into a table unchanged, as its data files have them.

Owns: how the columns of a file are made of source columns, where its files are cut.
Must not know: Spark, tokens, which rows are plain. It also runs in the processes that read chunks.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import MappedColumn

ZSTD_LEVEL: Final = 1  # small files that compaction rewrites
GROUP_BYTES: Final = 64 * 2**20  # in memory, before compression
FILE_BYTES: Final = 512 * 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class PlainColumns:
    """Of a file. `fills`: what fills each column of the table; None: NULL. `table`: its name, for messages."""

    schema: pa.Schema
    fills: tuple[MappedColumn | None, ...]
    table: str

    @property
    def sources(self) -> frozenset[str]:
        """The source columns that they need."""
        return frozenset(name for name in map(source_of, self.fills) if name is not None)

    def of(self, rows: pa.Table) -> pa.Table:
        """Raises SOURCE_VALUE."""
        columns = [_column(field, fill, rows) for field, fill in zip(self.schema, self.fills, strict=True)]
        for field, column in zip(self.schema, columns, strict=True):
            if not field.nullable and column.null_count:
                facts = {"column": field.name, "table": self.table, "value": "NULL", "reason": "it is NOT NULL"}
                raise SyncError(Code.SOURCE_VALUE, **facts)
        return pa.Table.from_arrays(columns, schema=self.schema)


def source_of(fill: MappedColumn | None) -> str | None:
    """The source column that fills it, if there is one."""
    return None if fill is None or fill.constant is not None else fill.expression[1:-1].replace("``", "`")


def _column(field: pa.Field, fill: MappedColumn | None, rows: pa.Table) -> pa.ChunkedArray | pa.Array:
    if fill is None:
        return pa.nulls(len(rows), field.type)
    if fill.constant is not None:
        return pa.repeat(pa.scalar(fill.constant, field.type), len(rows))
    return rows[source_of(fill)].cast(field.type)


def writer(path: Path, schema: pa.Schema, codec: str) -> pq.ParquetWriter:
    """`codec`: Iceberg's word."""
    return pq.ParquetWriter(
        path,
        schema,
        compression=codec if codec != "uncompressed" else "none",
        compression_level=ZSTD_LEVEL if codec == "zstd" else None,
        store_schema=False,
        store_decimal_as_integer=True,
    )


class PlainFiles:
    """A RowSink that writes data files into a folder, which it makes. One thread."""

    def __init__(self, columns: PlainColumns, folder: Path, codec: str) -> None:
        self._columns, self._folder, self._codec = columns, folder, codec
        self._waiting: list[pa.Table] = []
        self._waiting_bytes = self._file_bytes = 0
        self._writer: pq.ParquetWriter | None = None
        self._files: list[str] = []

    def append(self, rows: pa.Table) -> None:
        """Raises SOURCE_VALUE, OSError."""
        made = self._columns.of(rows)
        self._waiting.append(made)
        self._waiting_bytes += made.nbytes
        if self._waiting_bytes >= GROUP_BYTES:
            self._write()
        if self._file_bytes >= FILE_BYTES:
            self._close_file()

    def close(self) -> tuple[str, ...]:
        self._write()
        self._close_file()
        return tuple(self._files)

    def _write(self) -> None:
        rows = _joined(self._waiting)
        if rows is None:
            return
        if self._writer is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / f"{uuid.uuid4()}.parquet"
            self._writer = writer(path, self._columns.schema, self._codec)
            self._files.append(str(path))
        self._writer.write_table(rows, row_group_size=len(rows))
        self._file_bytes += self._waiting_bytes
        self._waiting.clear()
        self._waiting_bytes = 0

    def _close_file(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer, self._file_bytes = None, 0


def _joined(tables: Sequence[pa.Table]) -> pa.Table | None:
    """None: they have no rows."""
    rows = pa.concat_tables(tables) if tables else None
    return rows if rows is not None and len(rows) else None
