"""The rows of one chunk, and what reads them.

Owns: what a source has to provide so that its rows can be read, and what reads them for the lake.
Must not know: connections, processes, Spark.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa

from syncmgr.job.ddl.lake_change import LakeChange
from syncmgr.job.rows.dead_letter import NO_DEAD_LETTERS, DeadLetter, DeadLetterBounds
from syncmgr.job.rows.value_error import ValueRules
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.job.types.cells import Unheld
from syncmgr.job.types.charset import looks_like_another
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import TEXT, SourceColumn, SourceTable


@dataclass(frozen=True, kw_only=True, slots=True)
class ChunkRows:
    """The rows of one chunk, to be read from the source instead of staged files."""

    plan: str
    number: int
    reader: "ChunkReader"
    table: SourceTable
    #: wanted of the source
    columns: tuple[str, ...]
    #: WHERE in the source's words; "": all rows
    condition: str
    #: what happens to values that the target cannot hold; None: they are errors
    values: ValueRules | None = None
    #: the columns that distinguish rows
    keys: tuple[str, ...] = ()
    dead_letters: DeadLetterBounds = NO_DEAD_LETTERS
    #: by the hand-shake of `handshake`, named like the plan
    exact: bool = False
    #: the id of that read, which no other has
    read: str = ""
    #: as the plan's
    replaces: bool = False
    #: as the plan's
    excerpt: KeyRange | None = None
    #: of the target, in the commit of the rows
    changes: tuple[LakeChange, ...] = ()
    #: of the channel that commits it, and of its target, in messages
    token: str = ""
    target: str = ""

    @property
    def wanted(self) -> tuple[SourceColumn, ...]:
        """The columns, which the source has, under these names."""
        found = ((name, self.table.column(name)) for name in self.columns)
        return tuple(replace(column, name=name) for name, column in found if column is not None)

    def refused_texts(self, column: SourceColumn) -> str | None:
        """Why some texts of the column are refused, which arrive as LIKE_ANOTHER and their bytes; None: none is."""
        is_key = folded_name(column.name) in {folded_name(key) for key in self.keys}
        return looks_like_another(column.charset) if is_key and column.type in TEXT else None


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadRows:
    """Some rows of a chunk: its columns in the types of a segment. `unheld`: values that are none of those, and NULL
    here.
    """

    rows: pa.Table
    unheld: tuple[Unheld, ...] = ()


class OpenRows(Protocol):
    """The rows of one chunk, which are read in the process to which this is sent."""

    def __call__(self) -> Iterator[ReadRows]:
        """All columns that the chunk wants, in its order. Each piece is to be used before the next is taken. Raises
        SyncError.
        """


class SourceReader(Protocol):
    """One server's rows."""

    def rows(self, chunk: ChunkRows) -> OpenRows:
        """Does not wait for the server."""


class RowSink(Protocol):
    """Where rows go, in the process to which this is sent."""

    def append(self, rows: pa.Table) -> None:
        """Raises SyncError, OSError."""

    def close(self) -> tuple[str, ...]:
        """The files. Raises OSError."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChunkRead:
    """What was read of a chunk: how many rows went on, into which files, and which did not (without their token)."""

    rows: int
    files: tuple[str, ...] = ()
    dead: tuple[DeadLetter, ...] = ()


class ChunkReader(Protocol):
    """Reads chunks. From any thread. Each call queries the server again."""

    def read(self, chunk: ChunkRows, sink: RowSink | None) -> ChunkRead:
        """None: only dead letters are wanted. Raises the errors of the source, SOURCE_VALUE, OSError; INTERRUPTED if it
        was given up.
        """

    def staged(self, chunk: ChunkRows) -> AbstractContextManager[ChunkRead]:
        """Into Parquet files, which are gone after the context."""

    def give_up(self, chunk: ChunkRows) -> None:
        """What is being read of it ends; returns at once."""
