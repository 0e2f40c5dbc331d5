"""What a synced table's columns are, according to canal.

Owns: the check of a table's first rows against its channel, the way from source columns to the names of its list.
Must not know: transactions, positions, how a value is decoded.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

import pyarrow as pa
from google.protobuf.message import DecodeError

from mysqlddl import nodes
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.attempts import gathered
from syncmgr.job.channel.description import Reshaped
from syncmgr.job.channel.positional import check_reported, source_names
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.ddl.following.ddl_statement import not_followed
from syncmgr.job.objects.any_reading import doubts
from syncmgr.job.rows.batch import OP
from syncmgr.job.types.cells import Unheld
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import SourceTable
from syncmgr.sources.canal.synced import Altered
from syncmgr.sources.canal.values.canal_text import check_exact
from syncmgr.sources.canal.values.entry import EntryRows, EntryTable, column_headers
from syncmgr.sources.canal.values.schema import source_table_of
from syncmgr.sources.port import ChannelPlan

NO_ROWS: Final = pa.table({OP: pa.array([], pa.int8())})


class LearnedTable:
    """One synced table. The reader calls `changes`, the decoder the rest, in the same order."""

    def __init__(self, channel: ChannelPlan, *, time_zone: str | None, address: str) -> None:
        """`time_zone`: of canal's server. `address`: for messages."""
        self._channel = channel
        self._source = channel.source
        self._time_zone = time_zone
        self._address = address
        self.reshaped = channel.reshaped

    @property
    def table(self) -> Table:
        return self._source.db, self._source.name

    @property
    def keyed(self) -> bool:
        return bool(self._channel.source_keys)

    def changes(self, parts: Sequence[bytes], altered: Altered | None) -> "CanalChanges":
        return CanalChanges(self, parts, altered)

    def learn(self, part: bytes) -> SourceTable | None:
        """The columns, if this RowChange is the first to show them. Raises SyncError, with all that does not fit."""
        if self._source.columns:
            return None
        try:
            source = source_table_of(self.table, column_headers(part))
        except (ValueError, DecodeError) as error:
            raise SyncError(Code.CANAL_PROTOCOL, address=self._address, reason=str(error)) from error
        names = source_names(self._channel.places, source)
        keys, reads = self._channel.source_keys, [names[name] for name in self._channel.reads]
        gathered(
            [
                partial(check_reported, self._channel.places, keys, source),
                partial(check_exact, source, reads, self._time_zone),
            ]
        )
        self._source = source
        return source

    def check(self, altered: Altered) -> None:
        """Raises SOURCE_DDL if an ALTER changed, or may have changed, what was read before."""
        if not self._source.columns:
            self._check_places(altered)
            return
        names = source_names(self._channel.places, self._source)
        why = doubts(self._source, altered.clauses)
        why |= {name: f"it adds, drops, renames or recomputes column '{name}'" for name in altered.columns}
        touched = [name for name in self._channel.reads if folded_name(names[name]) in why]
        if touched:
            reason = f"{why[folded_name(names[touched[0]])]}"
            raise not_followed(self.table, reason, altered.statement)

    def _check_places(self, altered: Altered) -> None:
        """Before the first rows only the number of columns can show that the list is not for these columns."""
        added = any(isinstance(clause, nodes.AddColumn) for clause in altered.clauses)
        dropped = any(isinstance(clause, nodes.DropColumn) for clause in altered.clauses)
        before = self.reshaped
        self.reshaped = Reshaped(added=before.added or added, dropped=before.dropped or dropped)
        moved = any(isinstance(clause, nodes.ChangeColumn) and clause.place for clause in altered.clauses)
        if moved or (self.reshaped.added and self.reshaped.dropped):
            reason = "columns have changed places before the first rows, and the column list names them by place"
            raise not_followed(self.table, reason, altered.statement)

    def decode(self, parts: Sequence[bytes], *, inserts: bool = False) -> pa.Table:
        """Change rows under the names of the list. `inserts`: only the values of inserted rows count."""
        names = source_names(self._channel.places, self._source)
        table = EntryTable(
            schema=self._source,
            columns=tuple(names[name] for name in self._channel.reads),
            keys=tuple(names[name] for name in self._channel.source_keys),
            time_zone=self._time_zone,
            address=self._address,
            inserts=inserts,
        )
        rows = EntryRows(table, parts).decode()
        listed = {own: name for name, own in names.items()}
        return rows.rename_columns([listed.get(name, name) for name in rows.column_names])


class CanalChanges:
    """TableChanges of a canal source."""

    def __init__(self, truth: LearnedTable, parts: Sequence[bytes], altered: Altered | None) -> None:
        self._truth = truth
        self._parts = tuple(parts)
        self._altered = altered
        self._learned: SourceTable | Reshaped | None = None

    @property
    def table(self) -> Table:
        return self._truth.table

    @property
    def learned(self) -> SourceTable | Reshaped | None:
        return self._learned

    def decode(self, unheld: list[Unheld] | None = None, *, inserts: bool = False) -> pa.Table:
        """As TableChanges.decode. Raises SyncError: SOURCE_VALUE, SOURCE_SCHEMA, SOURCE_DDL, CANAL_INEXACT."""
        assert unheld is None, "a job on canal stops at a value that cannot be determined"
        before = self._truth.reshaped
        if self._altered is not None:
            self._truth.check(self._altered)
        if self._truth.reshaped != before:
            self._learned = self._truth.reshaped
        if not self._parts:
            return NO_ROWS
        self._learned = self._truth.learn(self._parts[0]) or self._learned
        return self._truth.decode(self._parts, inserts=inserts)
