"""Sorts canal's entries by table, transaction by transaction, without decoding a row.

Owns: what each kind of entry leads to, when something is handed on, which batches a position covers.
Must not know: sockets, reconnects, what makes an entry old, how rows are decoded.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final, assert_never

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.objects import any_reading
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import Batch, Ddl
from syncmgr.sources.canal import packet
from syncmgr.sources.canal.acks import Acks
from syncmgr.sources.canal.entry_position import EntryPosition
from syncmgr.sources.canal.history import CanalHistory
from syncmgr.sources.canal.proto import entry_pb2
from syncmgr.sources.canal.runs import Run, runs
from syncmgr.sources.canal.sorting.entry_places import START, EntryPlaces
from syncmgr.sources.canal.sorting.outgoing import Outgoing
from syncmgr.sources.canal.sorting.transactions import Transactions
from syncmgr.sources.canal.synced import Altered, Synced, Truth, Waiting
from syncmgr.sources.canal.trail import Step

ROWS: Final = frozenset({entry_pb2.INSERT, entry_pb2.UPDATE, entry_pb2.DELETE})
TOLD: Final = frozenset({entry_pb2.TRANSACTIONBEGIN, entry_pb2.TRANSACTIONEND, entry_pb2.ROWDATA})
XA: Final = frozenset({entry_pb2.XACOMMIT, entry_pb2.XAROLLBACK})
PLACELESS: Final = (
    "rows without a place in the binlog, as a MariaDB from 11.8 on writes them; read it with 'type' = 'mysql'"
)
XA_TYPE: Final = b"XA_TYPE"  # the name of a property of its BEGIN


class Sorter:
    """Fed with batches in order by one thread. Raises SyncError, MalformedPacketError, RewindError.

    `ddl`: feeding goes on when `take` was called.
    """

    def __init__(
        self,
        tables: Mapping[Table, Truth],
        start: Position,
        acks: Acks,
        *,
        label: str,
        max_open_bytes: int,
    ) -> None:
        """`max_open_bytes`: of an open transaction, before a part of it is handed on without waiting for its end."""
        self._tables = tables
        self._synced = Synced(tables, label=label)
        self._acks = acks
        self._max_open_bytes = max_open_bytes
        self._history = CanalHistory(tables, start, label=label)
        self._places = EntryPlaces(self._history)
        self._outgoing = Outgoing(tables)
        self._transactions = Transactions(
            self._synced, self._history, acks, self._places, self._outgoing, first=not start.file
        )
        self._queue: deque[Run] = deque()
        self._ahead = False
        self.ddl: Ddl | None = None
        self._alters: tuple[Sequence[Table], Altered] | None = None  # by the DDL that was met and not handed on
        self._before_ddl, self._behind_ddl = start, START
        self.restart()

    def restart(self, *, trusted: bool = True) -> None:
        """A new connection: whole transactions stay, the rest is delivered again.

        `trusted` False: none of it is treated as old.
        """
        self._history.restart(trusted=trusted)
        self._acks.restart()
        self._queue.clear()
        self._transactions.restart()
        self._places.restart()

    def feed(self, batch_id: int, entries: Sequence[bytes]) -> None:
        self._acks.received(batch_id, len(entries), sum(map(len, entries)))
        self._queue.extend(runs(entries))
        self.go_on()

    def go_on(self) -> None:
        """Sort what was fed, up to a DDL."""
        while self._queue and self.ddl is None:
            self._run(self._queue.popleft())
        if not self._queue and not self._outgoing.moved and self.ddl is None:
            self._cover()

    def _run(self, run: Run) -> None:
        """What is decided for the first row applies to the following ones, if it was taken."""
        data, *behind = run.entries
        first = packet.entry(data)
        self._entry(first, len(data))
        if not behind:
            return
        if self._transactions.has_begun and self._places.offset == first.header.logfileOffset:
            self._rows_behind(run, sum(map(len, behind)))
            return
        for data in behind:
            self._entry(packet.entry(data), len(data))

    def _rows_behind(self, run: Run, size: int) -> None:
        header = packet.entry(run.entries[-1]).header
        self._places.passed(header)
        table = self._synced.table(header.schemaName, header.tableName)
        if table is not None:
            self._transactions.rows.add(table, run.values[1:], size)

    def _entry(self, entry: entry_pb2.Entry, size: int) -> None:
        header = entry.header
        if header.logfileOffset < 0:
            raise SyncError(Code.CANAL_UNSUPPORTED, address=self._synced.label, reason=PLACELESS)
        if entry.entryType == entry_pb2.ROWDATA and header.eventType in ROWS and self._follows(header):
            self._transactions.add(entry.storeValue, header, size)
            return
        begins, ends = (entry.entryType == kind for kind in (entry_pb2.TRANSACTIONBEGIN, entry_pb2.TRANSACTIONEND))
        at = self._places.next(header, begins=begins)
        if entry.entryType in TOLD and self._steps_back(at, begins=begins, ends=ends):
            return
        if self._history.is_old(at, begins=begins, ends=ends):
            return
        self._sort(entry, header, at, size)
        self._places.took(at)

    def _follows(self, header: entry_pb2.Header) -> bool:
        """Nearly all entries are rows after others of one transaction and connection: these need no checks."""
        return self._transactions.has_begun and self._places.follows(header)

    def _sort(self, entry: entry_pb2.Entry, header: entry_pb2.Header, at: EntryPosition, size: int) -> None:
        match entry.entryType:
            case entry_pb2.TRANSACTIONBEGIN:
                self._transactions.end_unsaid()
                self._transactions.begin(prepares=XA_TYPE in entry.storeValue)
            case entry_pb2.TRANSACTIONEND:
                self._transactions.finish(entry.storeValue, at)
            case entry_pb2.ROWDATA if header.eventType in ROWS:
                self._transactions.add(entry.storeValue, header, size)
            case entry_pb2.ROWDATA if header.eventType in XA:
                self._transactions.end(at)
            case entry_pb2.ROWDATA:
                self._statement(entry.storeValue, header, at)
            case _:
                return  # heartbeats and GTIDs, of which no server sends one

    def _steps_back(self, at: EntryPosition, *, begins: bool, ends: bool) -> bool:
        """Whether it is an earlier END, which ends nothing now. The open transaction is delivered again from its
        beginning.
        """
        step = self._places.trail.step(at, begins=begins, ends=ends)
        if step is not Step.ON:
            self._transactions.let_go()
        match step:
            case Step.BACK:
                self._history.meet(at)
            case Step.AWAY:
                self._go_away(at)
            case Step.ON | Step.AGAIN:
                pass
            case _:
                assert_never(step)
        return step is Step.BACK

    def _go_away(self, at: EntryPosition) -> None:
        """To another server. The batches with the last entries of the first one are not kept back: they prove nothing
        to a reader of the other one.
        """
        self._transactions.first = self._history.go_away(at) or self._transactions.first

    def _statement(self, value: bytes, header: entry_pb2.Header, at: EntryPosition) -> None:
        change = packet.row_change(value)
        if not change.isDdl:
            return  # the text of a statement whose rows are delivered, too
        self._transactions.end_unsaid()
        default = change.ddlSchemaName or header.schemaName
        concern = any_reading.concern(change.sql, default, self._tables)
        if concern is not None:
            self.ddl = Ddl(table=concern.tables[0], statement=change.sql, rows_survive=concern.rows_survive)
            self._before_ddl, self._behind_ddl = self._history.position, at
            self._alters = concern.tables, Altered(change.sql, concern.columns, concern.clauses)
        else:
            self._transactions.end(at)

    @property
    def open(self) -> bool:
        """Whether rows of a transaction have arrived, but not its end."""
        return self._transactions.unended or self._transactions.holds

    @property
    def doubtful(self) -> bool:
        """As `History.doubtful`."""
        return self._history.doubtful

    @property
    def delivered_open(self) -> bool:
        """Whether the last batch ended inside a transaction."""
        return self._transactions.delivered

    @property
    def ahead(self) -> bool:
        """Whether rows were handed on that are after the last position handed on: these cannot be committed before a
        position follows, even one inside the transaction.
        """
        return self._ahead

    @property
    def ready(self) -> bool:
        if self._outgoing.moved or self.ddl is not None or self._transactions.torn:
            return True
        return self._transactions.rows.bytes >= self._max_open_bytes

    def tear(self) -> None:
        """Canal can give no more before an ack for what it gave: the open transaction is handed on in parts.

        If nothing of it is after the last position, that covers everything canal gave.
        """
        if self._transactions.rows.events or self._ahead:
            self._transactions.torn = True
        else:
            self._acks.covered(self._acks.received_last)

    def release(self) -> Batch:
        """The position again, marked so that canal may forget everything up to it."""
        end = self._history.release()
        self._acks.given(end)
        self._acks.covered(self._acks.received_last)
        return self._outgoing.batch(Waiting(), end=end, is_open=self._transactions.delivered, starved=True)

    def take(self) -> Batch:
        """What is whole; otherwise what is split, or a part of what is too large to wait for its end."""
        if self._outgoing.moved or self.ddl is not None:
            return self._take_whole()
        rows = self._transactions.take_open()
        if not self._transactions.torn:
            self._ahead = True
            return self._outgoing.batch(rows, end=None, is_open=True)
        self._transactions.torn = self._ahead = False
        end = self._history.position
        self._acks.given(end)
        self._acks.covered(self._acks.received_last)
        return self._outgoing.batch(rows, end=end, is_open=True, starved=True)

    def _take_whole(self) -> Batch:
        rows = self._outgoing.take_whole()
        met, self.ddl = self.ddl, None
        end = self._before_ddl if met is not None else self._history.position
        self._transactions.first = self._ahead = False
        self._acks.given(end)
        batch = self._outgoing.batch(rows, end=end, is_open=False, met=met)
        if met is not None:
            assert self._alters is not None
            self._outgoing.alter(*self._alters)
            self._transactions.end(self._behind_ddl)
            self.go_on()
        else:
            self._cover()
        return batch

    def _cover(self) -> None:
        """Nothing is left to sort: what canal gave is covered, up to where the open transaction began."""
        if not self._queue and not self._history.doubtful:
            now = self._transactions
            behind = now.unended or self._ahead or now.rows.events > 0
            self._acks.covered(now.begun_in - 1 if behind else self._acks.received_last)
