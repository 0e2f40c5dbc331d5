"""The rows of a server's chunks.

Owns: the SELECT of a chunk, the session in which it runs, what the server's errors mean.
Must not know: chunks' plans, where the rows go.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pymysql import err

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel import channel_state
from syncmgr.job.snapshot import select_list
from syncmgr.job.snapshot.chunk_rows import ChunkRows, ReadRows
from syncmgr.job.snapshot.handshake import opening
from syncmgr.job.snapshot.select_list import LIKE_ANOTHER
from syncmgr.job.types.cells import Unheld, UnholdableError
from syncmgr.job.types.schema import SourceColumn, SourceTable
from syncmgr.sources.mysql.address import (
    ALL_ROWS,
    ANY_TIME,
    Connection,
    Identity,
    MysqlAddress,
    connect,
    naming_failures,
    query,
    refuse_other,
)
from syncmgr.sources.mysql.chunk.prepared_select import PreparedSelect, SentColumn
from syncmgr.sources.mysql.chunk.row_buffer import Rows
from syncmgr.sources.mysql.chunk.row_cells import row_cells
from syncmgr.sources.mysql.chunk.row_values import OtherTypeError, check_sent, values
from syncmgr.sources.mysql.wire import MalformedEventError

SILENCE_SECOND: Final = 600  # a server that is silent for this long has lost the query; and one waits so long for us
SESSION: Final = (
    f"SET SESSION time_zone = '+00:00', sql_mode = '', net_write_timeout = {SILENCE_SECOND}, {ALL_ROWS} {ANY_TIME}"
)
VIEW: Final = ("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",)
MOST_ROW: Final = 1 << 30  # bytes; servers send none of more
# no such table, column or database; may not read the table, or a column; a table that its engine lacks
NOT_THERE: Final = frozenset({1146, 1054, 1049, 1142, 1143, 1932})


@dataclass(frozen=True, slots=True)
class MysqlChunks:
    """The rows of one server. `most_row`: bytes of one. `identity`: of that server; None: of whichever answers."""

    server: MysqlAddress
    most_row: int = MOST_ROW
    identity: Identity | None = None

    def rows(self, chunk: ChunkRows) -> "MysqlRows":
        columns = chunk.wanted
        refused = tuple(chunk.refused_texts(column) for column in columns)
        items = ", ".join(
            f"{select_list.selected(column, exactly=reason is not None)} AS c{place}"
            for place, (column, reason) in enumerate(zip(columns, refused, strict=True))
        )
        table = f"{select_list.quoted(chunk.table.db)}.{select_list.quoted(chunk.table.name)}"
        where = f" WHERE {chunk.condition}" if chunk.condition else ""
        return MysqlRows(
            server=self.server,
            table=chunk.table,
            columns=columns,
            refused=refused,
            query=f"SELECT {items} FROM {table}{where}",  # noqa: S608 - quoted
            opening=opening(chunk.plan) if chunk.exact else VIEW,
            most_row=self.most_row,
            identity=self.identity,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class MysqlRows:
    """Those of one chunk. `refused`: of each column, why some of its texts are refused, which come as LIKE_ANOTHER and
    their bytes; None: none is. `opening`: the statements before the query. `identity`: as that of MysqlChunks.
    """

    server: MysqlAddress
    table: SourceTable
    columns: tuple[SourceColumn, ...]
    refused: tuple[str | None, ...]
    query: str
    opening: tuple[str, ...]
    most_row: int = MOST_ROW
    identity: Identity | None = None

    def __call__(self) -> Iterator[ReadRows]:
        with self._naming_failures(), contextlib.closing(connect(self.server)) as connection:
            connection.waits(SILENCE_SECOND)
            if self.identity is not None:
                refuse_other(self.server, connection, self.identity)
            for statement in (SESSION, *self.opening):
                query(connection, statement)
            select = PreparedSelect(connection, self.query, self.most_row)
            self._check(select.columns)
            for rows in select.rows():
                yield self._read(rows, select.columns, connection)

    @contextlib.contextmanager
    def _naming_failures(self) -> Iterator[None]:
        with naming_failures(self.server):
            try:
                yield
            except err.MySQLError as error:
                if error.args and error.args[0] in NOT_THERE:
                    raise self._broken(str(error.args[-1])) from error
                raise

    def _broken(self, reason: str, **facts: bool) -> SyncError:
        return SyncError(Code.SNAPSHOT_BROKEN, table=self.table.label, reason=reason, **facts)

    def _check(self, sent: tuple[SentColumn, ...]) -> None:
        try:
            for column, definition in zip(self.columns, sent, strict=True):
                check_sent(column, definition.code)
        except OtherTypeError as error:
            raise self._broken(str(error), **{channel_state.ALTERED: True}) from None

    def _read(self, rows: Rows, sent: tuple[SentColumn, ...], connection: Connection) -> ReadRows:
        unheld, arrays = list[Unheld](), list[pa.Array]()
        try:
            cells = row_cells(rows, [definition.code for definition in sent])
            for place, column in enumerate(self.columns):
                found = list[tuple[int, str, str]]()
                of_column = replace(cells[place], unheld=found)
                array = values(column, sent[place].code, of_column, unsigned=sent[place].unsigned)
                arrays.append(_without_refused(array, self.refused[place], found))
                unheld += [Unheld(row=row, column=column.name, shown=shown, reason=why) for row, shown, why in found]
        except MalformedEventError as error:
            connection.drop()
            raise SyncError(Code.SOURCE_ANSWER, address=self.server.label, reason=str(error)) from None
        except UnholdableError as error:
            facts = {"column": column.name, "table": self.table.label, "value": error.shown, "reason": error.reason}
            raise SyncError(Code.SOURCE_VALUE, **facts) from None
        names = [column.name for column in self.columns]
        return ReadRows(rows=pa.Table.from_arrays(arrays, names=names), unheld=tuple(unheld))


def _without_refused(texts: pa.Array, reason: str | None, found: list[tuple[int, str, str]]) -> pa.Array:
    if reason is None:
        return texts
    refused = pc.starts_with(texts, LIKE_ANOTHER).fill_null(False)
    if not refused.true_count:
        return texts
    places = np.flatnonzero(refused.to_numpy(zero_copy_only=False)).tolist()
    found += [(place, texts[place].as_py().removeprefix(LIKE_ANOTHER), reason) for place in places]
    return pc.if_else(refused, pa.scalar(None, texts.type), texts)
