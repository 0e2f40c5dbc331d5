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
    def told(self) -> SourceTable | Reshaped | None:
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

    `said`: what is known of it, if the source can follow it; the source gives nothing more until it is told how to go
    on. `behind`: the position after it.
    """

    table: tuple[str, str]
    statement: str
    rows_survive: bool  # False: TRUNCATE, DROP, RENAME ... change rows without row events
    said: DdlStatement | None = None
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
    """`end` is the position after the last whole transaction in it, None if none ends in it.

    `open`: the batch ends inside a transaction, so nothing may be cut after it. A batch that is not open ends exactly
    at `end`. `changes` may be empty: then only the position moved. `ddl` comes after `end`; the batch before it is
    never open. `bytes` and `events` count what was read for the subscribed tables.
    `starved`: the source gives no more until what it gave is committed. With an `end`, such a batch may be open: the
    transaction is split there.

    XA transactions: first those `forgotten` are dropped, then come `changes` and what is `prepared`, and last the
    rows of the one `committed`, all of which were prepared before or are in this batch; for tables in `passed`, a read
    of all rows contained them.

    `nameless`: tables whose rows came, here or before, without the names of their columns, so they are right only if
    the table was not altered unseen; they have not been compared since. `unlogged_tables`: those that match a pattern
    of the job and are not read, and of which rows or an ALTER came; each is given now and then.
    """

    changes: tuple[TableChanges, ...]
    end: Position | None
    open: bool
    events: int
    bytes: int
    source_time: float  # unix seconds at which the newest whole transaction was committed, 0.0 where unknown
    first_time: float = 0.0  # the same of the first one that ends in the batch
    ddl: Ddl | None = None
    starved: bool = False
    forgotten: tuple[str, ...] = ()
    prepared: tuple[PreparedChanges, ...] = ()
    committed: str | None = None
    passed: frozenset[tuple[str, str]] = frozenset()
    nameless: frozenset[tuple[str, str]] = frozenset()
    unlogged_tables: frozenset[tuple[str, str]] = frozenset()
