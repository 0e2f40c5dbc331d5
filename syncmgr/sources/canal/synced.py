"""The synced tables among canal's entries, undecoded.

Owns: which names are theirs, which statements must not be logged instead of their rows, rows that wait, and what an
ALTER before them did.
Must not know: transactions, positions, how rows are decoded.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mysqlddl.nodes import Clause
from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.objects import any_reading
from syncmgr.job.rows.batch import TableChanges
from syncmgr.job.types.folding import folded_table
from syncmgr.sources.canal.proto import entry_pb2


@dataclass(frozen=True, slots=True)
class Altered:
    """An ALTER that kept the rows, and the columns, folded, whose values are not what earlier rows said.

    `clauses`: all that it says, by whichever server.
    """

    statement: str
    columns: frozenset[str]
    clauses: tuple[Clause, ...] = ()


class Truth(Protocol):
    """What happens to the RowChange messages of one table."""

    @property
    def keyed(self) -> bool:
        """Whether a change may be applied twice."""

    def changes(self, parts: Sequence[bytes], altered: Altered | None) -> TableChanges:
        """`altered`: the last DDL statement on the table before them, if it was not handed on before."""


class Waiting:
    """RowChange messages by table."""

    def __init__(self) -> None:
        self.rows: dict[Table, list[bytes]] = {}
        self.events = self.bytes = 0

    def add(self, table: Table, changes: Sequence[bytes], size: int) -> None:
        self.rows.setdefault(table, []).extend(changes)
        self.events += len(changes)
        self.bytes += size

    def absorb(self, other: "Waiting") -> None:
        for table, changes in other.rows.items():
            self.rows.setdefault(table, []).extend(changes)
        self.events += other.events
        self.bytes += other.bytes


class Synced:
    """The tables of a job. Raises SyncError. `label`: of their canal."""

    def __init__(self, tables: Iterable[Table], *, label: str) -> None:
        self._tables = frozenset(tables)
        self._folded = {folded_table(table): table for table in self._tables}
        self.label = label

    def refuse_statement(self, change: entry_pb2.RowChange, header: entry_pb2.Header, table: Table | None) -> None:
        """A statement that is logged instead of rows, whatever table canal assigns it to: what it may lead to cannot be
        queried.
        """
        if not change.sql:
            return
        session = "not ROW in some session"
        if table is None:
            did = any_reading.reach(change.sql, change.ddlSchemaName or header.schemaName)
            if did is None:
                return
            session += f", which has {did}, and that may lead to a table of the job,"
        raise SyncError(Code.SOURCE_NOT_ROW, value=session, address=self.label)

    def table(self, db: str, name: str) -> Table | None:
        if (db, name) in self._tables:
            return db, name
        near = self._folded.get(folded_table((db, name)))
        if near is not None:
            reason = f"canal writes it {db}.{name}; create the job with this name"
            raise SyncError(Code.SOURCE_SCHEMA, table=".".join(near), reason=reason)
        return None
