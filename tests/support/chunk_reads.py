"""Chunks that are read in the process of a test."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from syncmgr.job.snapshot.chunk_rows import ChunkRead, ChunkRows, RowSink, SourceReader
from syncmgr.job.snapshot.chunk_values import ChunkRules
from syncmgr.job.types.schema import SourceColumn, SourceTable
from syncmgr.pipeline.snapshot.chunk_processes import StagedRows
from syncmgr.pipeline.worker.chunk import ChunkTask
from syncmgr.sources.mysql.address import MysqlAddress
from syncmgr.sources.mysql.chunk.chunks import VIEW, MysqlRows


@dataclass(frozen=True)
class ReadHere:
    """The ChunkReader of a source."""

    source: SourceReader

    def read(self, chunk: ChunkRows, sink: RowSink | None) -> ChunkRead:
        rows, rules = self.source.rows(chunk), ChunkRules.of(chunk)
        return ChunkTask(rows=rows, sink=sink, rules=rules, dead_letters=chunk.dead_letters).run()

    @contextmanager
    def staged(self, chunk: ChunkRows) -> Iterator[ChunkRead]:
        folder = Path(tempfile.mkdtemp(prefix="syncmgr-chunk-"))
        try:
            yield self.read(chunk, StagedRows(folder))
        finally:
            shutil.rmtree(folder)

    def give_up(self, chunk: ChunkRows) -> None:
        """It cannot."""


class Kept:
    """A RowSink of tables in memory."""

    def __init__(self) -> None:
        self.tables: list[pa.Table] = []

    def append(self, rows: pa.Table) -> None:
        self.tables.append(rows)

    def close(self) -> tuple[str, ...]:
        return ()


def rows_of(chunk: ChunkRows) -> pa.Table:
    """Those that go on."""
    kept = Kept()
    chunk.reader.read(chunk, kept)
    return pa.concat_tables(kept.tables)


def one_number(address: MysqlAddress) -> MysqlRows:
    """A row of one column `a`, as a chunk of that server would be read."""
    column = SourceColumn(name="a", type="bigint")
    return MysqlRows(
        server=address,
        table=SourceTable(db="d", name="t", columns=(column,)),
        columns=(column,),
        refused=(None,),
        query="SELECT 1 c0",
        opening=VIEW,
    )
