"""The undecoded rows of one table in one batch.

Owns: putting the parts of a batch together.
Must not know: transactions, positions, connections.
"""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.types.cells import Unheld
from syncmgr.job.types.schema import SourceTable
from syncmgr.sources.mysql.values.decoder import RowEvents, RowsDecoder
from syncmgr.sources.mysql.wire import MalformedEventError, OversizeError


class RowsOfTable:
    """TableChanges of a MySQL source: one part for each table map under which rows arrived, in order."""

    def __init__(self, table: Table, parts: Sequence[tuple[RowsDecoder, RowEvents]], address: str) -> None:
        self._table = table
        self._parts = tuple(parts)
        self._address = address

    @property
    def table(self) -> Table:
        return self._table

    @property
    def learned(self) -> SourceTable | None:
        """CREATE SYNC has asked the server."""
        return None

    def decode(self, unheld: list[Unheld] | None = None, *, inserts: bool = False) -> pa.Table:
        """As TableChanges.decode. Raises SyncError: SOURCE_VALUE, SOURCE_ROW_IMAGE, SOURCE_PROTOCOL,
        SOURCE_TOO_LARGE.
        """
        tables: list[pa.Table] = []
        try:
            for decoder, rows in self._parts:
                found: list[Unheld] | None = None if unheld is None else []
                made = decoder.decode(rows, found, inserts=inserts)
                if unheld is not None and found:
                    before = sum(map(len, tables))
                    unheld.extend(replace(each, row=before + each.row) for each in found)
                tables.append(made)
        except MalformedEventError as error:
            raise SyncError(Code.SOURCE_PROTOCOL, address=self._address, reason=str(error)) from error
        except OversizeError as error:
            raise SyncError(Code.SOURCE_TOO_LARGE, address=self._address, reason=str(error)) from error
        return tables[0] if len(tables) == 1 else pa.concat_tables(tables)
