"""The rows of one chunk, and what reads them.

Owns: what a source has to provide so that its rows can be read.
Must not know: connections, Spark, where the rows go.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from syncmgr.errors import SyncError
from syncmgr.job.ddl.lake_change import LakeChange
from syncmgr.job.rows.value_error import ValueRules
from syncmgr.job.snapshot.key_range import KeyRange
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
    max_dead_letters: int = 0
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

    def refused_texts(self, column: SourceColumn) -> str | None:
        """Why some texts of the column are refused, which arrive as LIKE_ANOTHER and their bytes; None: none is."""
        is_key = folded_name(column.name) in {folded_name(key) for key in self.keys}
        return looks_like_another(column.charset) if is_key and column.type in TEXT else None


@dataclass(frozen=True, kw_only=True, slots=True)
class JdbcSelect:
    """Rows that a JDBC driver reads, in one partition. `query`: a SELECT with the columns c0, c1, ... `options`: of
    Spark's JDBC source, the driver's class and what is secret among them.

    `columns`: of each, the SQL type in which the driver is to give it, and the one to which that is cast.
    """

    options: Mapping[str, str]
    query: str
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ArrowRows:
    """Rows that the source reads itself when it is asked to: a table with the columns c0, c1, ..."""

    read: Callable[[], pa.Table]


class ChunkReader(Protocol):
    """One server's rows. Neither call waits for the server."""

    def rows(self, chunk: ChunkRows) -> JdbcSelect | ArrowRows:
        """The wanted columns in their order, NULLs included. Raises PEM_FILE."""

    def error(self, text: str, table: SourceTable) -> SyncError | None:
        """The error of a source that did not give its rows; None if the text, of an exception with all its causes, says
        something else.
        """
