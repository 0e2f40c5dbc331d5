"""What one get of a source returns.

Owns: the shape of a batch and of the change rows in it.
Must not know: canal, binlogs, queues.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import pyarrow as pa

from syncmgr.job.channel.description import Reshaped
from syncmgr.job.ddl.following.ddl_statement import DdlStatement
from syncmgr.job.position import Position
from syncmgr.job.types.cells import Unheld
from syncmgr.job.types.schema import SourceTable

OP = "_op"  # int8, a ChangeKind
SEQ = "_seq"  # int64, grows with every change row of a job
# Where a change row was: unix seconds, file, offset after it in the file (0: not known). Never staged.
WHEN, FILE, OFFSET = PLACE = ("_when", "_file", "_offset")


class ChangeKind(IntEnum):
    """What happened to a row; the values of `_op`."""

    INSERT = 0
    UPDATE = 1
    DELETE = 2


class TableChanges(Protocol):
    """The change rows of one source table in one batch, not yet decoded."""

    @property
    def table(self) -> tuple[str, str]:
        """(database, table) as the source writes them."""

    @property
    def learned(self) -> SourceTable | Reshaped | None:
        """After decode: what these rows, or a statement before the first ones, were the first to show of the table's
        columns; None if they were known.
        """

    def decode(self, unheld: list[Unheld] | None = None, *, inserts: bool = False) -> pa.Table:
        """Wanted source columns in the Arrow types of `schema.arrow_type`, and `_op`, in source order.

        An update that changes one of the key columns is a DELETE of the old image and then an INSERT of the new one;
        any other update is its new image alone. Raises SyncError if a value cannot be represented exactly; with a list,
        such values are NULL and are put into it, and the columns of PLACE are included. `inserts`: only the values of
        inserted rows count; there is no key.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class Ddl:
    """A DDL statement on a subscribed table, met right after the batch's `end`.

    `followable`: what is known of it, if the source can follow it; the source gives nothing more until it learns how
    to go on. `behind`: the position after it.
    """

    table: tuple[str, str]
    statement: str
    rows_survive: bool  # False: TRUNCATE, DROP, RENAME ... change rows without row events
    followable: DdlStatement | None = None
    behind: Position | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedChanges:
    """Rows of an XA transaction that has not ended; if it is larger than a batch, a part of them.

    `xid`: as the source writes it. `changes` empty: it touched no subscribed table, and is reported so that its end is
    recognized.
    """

    xid: str
    changes: tuple[TableChanges, ...]
    bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """What a source gives at once: rows, or only a position that has moved.

    XA transactions: first those `forgotten` are dropped, then come `changes` and what is `prepared`, and last the
    rows of the one `committed`, all of which were prepared before or are in this batch.
    """

    #: may be empty: then only the position moved
    changes: tuple[TableChanges, ...]
    #: the position after the last whole transaction in it; None if none ends in it
    end: Position | None
    #: it ends inside a transaction, so nothing may be cut after it; one that is not open ends exactly at `end`
    open: bool
    #: read for the subscribed tables
    events: int
    #: of `events`
    bytes: int
    source_time: float  # unix seconds at which the newest whole transaction was committed, 0.0 where unknown
    first_time: float = 0.0  # the same of the first one that ends in the batch
    #: comes after `end`; the batch before it is never open
    ddl: Ddl | None = None
    #: the source gives no more until what it gave is committed; with an `end`, such a batch may be open: the
    #: transaction is split there
    starved: bool = False
    forgotten: tuple[str, ...] = ()
    prepared: tuple[PreparedChanges, ...] = ()
    committed: str | None = None
    #: tables whose rows a read of all rows contained
    passed: frozenset[tuple[str, str]] = frozenset()
    #: tables whose rows came, here or before, without the names of their columns, so they are right only if the table
    #: was not altered unseen; they have not been compared since
    nameless: frozenset[tuple[str, str]] = frozenset()
    #: those that match a pattern of the job and are not read, and of which rows or an ALTER came; each is given now and
    #: then
    unlogged_tables: frozenset[tuple[str, str]] = frozenset()
