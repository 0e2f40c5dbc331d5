"""Sorts canal's entries by table, transaction by transaction, without decoding a row.

Owns: where transactions begin and end, what is handed on, which batches a position covers.
Must not know: sockets, reconnects, what makes an entry old, how rows are decoded.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final, assert_never

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.objects import untold
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import Batch, Ddl
from syncmgr.sources.canal import packet
from syncmgr.sources.canal.acks import Acks
from syncmgr.sources.canal.entry_position import EntryPosition, place_of
from syncmgr.sources.canal.history import History
from syncmgr.sources.canal.proto import entry_pb2
from syncmgr.sources.canal.runs import Run, runs
from syncmgr.sources.canal.synced import Altered, Synced, Truth, Waiting
from syncmgr.sources.canal.trail import Step, Trail

ROWS: Final = frozenset({entry_pb2.INSERT, entry_pb2.UPDATE, entry_pb2.DELETE})
TOLD: Final = frozenset({entry_pb2.TRANSACTIONBEGIN, entry_pb2.TRANSACTIONEND, entry_pb2.ROWDATA})
XA: Final = frozenset({entry_pb2.XACOMMIT, entry_pb2.XAROLLBACK})
PLACELESS: Final = (
    "rows without a place in the binlog, as a MariaDB from 11.8 on writes them; read it with 'type' = 'mysql'"
)
XA_TYPE: Final = b"XA_TYPE"  # the name of a property of its BEGIN
PREPARED: Final = "rows of synced tables in an XA transaction, whose outcome canal tells later"
START: Final = EntryPosition(file="", offset=0, length=0, number=0, counted=False, server="", time=0, gtid="", gtids="")


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
        self._label = label
        self._max_open_bytes = max_open_bytes
        self._history = History(tables, start, label=label)
        self._source_time = self._first_time = 0.0
        self._ready = Waiting()
        self._moved = self._torn = self._delivered_open = self._ahead = False
        self._altered: dict[Table, Altered] = {}
        self._alters = self._altered  # by the DDL that was met and not handed on
        self.ddl: Ddl | None = None
        self._before_ddl, self._behind_ddl = start, START
        self._first = not start.file  # canal has no cursor before the first ack, so that one is not put off
        self.restart()

    def restart(self, *, trusted: bool = True) -> None:
        """A new connection: whole transactions stay, the rest is delivered again.

        `trusted` False: nothing of it is taken for old.
        """
        self._history.restart(trusted=trusted)
        self._acks.restart()
        self._queue: deque[Run] = deque()
        self._open = Waiting()
        self._in_transaction, self._torn = self._delivered_open, False
        self._prepares = False
        self._at = self._last = START
        self._offset = 0  # of the last entry that was taken
        self._unsettled: entry_pb2.Header | None = None
        self._trail = Trail()
        self._unended = False  # a part of a transaction was let go, which comes again from its beginning
        self._begun_in = self._acks.received_last

    def feed(self, batch_id: int, entries: Sequence[bytes]) -> None:
        self._acks.received(batch_id, len(entries), sum(map(len, entries)))
        self._queue.extend(runs(entries))
        self.go_on()

    def go_on(self) -> None:
        """Sort what was fed, up to a DDL."""
        while self._queue and self.ddl is None:
            self._run(self._queue.popleft())
        if not self._queue and not self._moved and self.ddl is None:
            self._cover()

    def _run(self, run: Run) -> None:
        """What is decided for the first row goes for those behind it, where it was taken."""
        data, *behind = run.entries
        first = packet.entry(data)
        self._entry(first, len(data))
        if not behind:
            return
        if self._in_transaction and self._offset == first.header.logfileOffset:
            self._rows_behind(run, sum(map(len, behind)))
            return
        for data in behind:
            self._entry(packet.entry(data), len(data))

    def _rows_behind(self, run: Run, size: int) -> None:
        header = self._unsettled = packet.entry(run.entries[-1]).header
        self._offset = header.logfileOffset
        table = self._synced.table(header.schemaName, header.tableName)
        if table is not None:
            self._open.add(table, run.values[1:], size)

    def _entry(self, entry: entry_pb2.Entry, size: int) -> None:
        header = entry.header
        if header.logfileOffset < 0:
            raise self._unsupported(PLACELESS)
        if entry.entryType == entry_pb2.ROWDATA and header.eventType in ROWS and self._follows(header):
            self._rows(entry.storeValue, header, size)
            return
        self._settle()
        begins, ends = (entry.entryType == kind for kind in (entry_pb2.TRANSACTIONBEGIN, entry_pb2.TRANSACTIONEND))
        at = self._at = self._place(header, begins=begins)
        if entry.entryType in TOLD and self._steps_back(at, begins=begins, ends=ends):
            return
        if self._history.is_old(at, begins=begins, ends=ends):
            return
        self._sort(entry, header, at, size)
        self._last, self._offset = at, at.offset

    def _follows(self, header: entry_pb2.Header) -> bool:
        """Nearly all entries are rows behind others of one transaction and connection: of those nothing is asked."""
        offset = header.logfileOffset
        if not self._in_transaction or offset <= self._offset or header.logfileName != self._last.file:
            return False
        self._unsettled, self._offset = header, offset
        return True

    def _settle(self) -> None:
        """The place of the last entry, where nobody has asked for it yet."""
        header, self._unsettled = self._unsettled, None
        if header is not None:
            self._at = self._last = place_of(header, 1, counted=True)
            self._trail.passed(self._at)
            self._history.passed(self._at)

    def _sort(self, entry: entry_pb2.Entry, header: entry_pb2.Header, at: EntryPosition, size: int) -> None:
        match entry.entryType:
            case entry_pb2.TRANSACTIONBEGIN:
                self._end_unsaid()
                self._begin(prepares=XA_TYPE in entry.storeValue)
            case entry_pb2.TRANSACTIONEND:
                self._finish(entry.storeValue, at)
            case entry_pb2.ROWDATA if header.eventType in ROWS:
                self._rows(entry.storeValue, header, size)
            case entry_pb2.ROWDATA if header.eventType in XA:
                self._end_transaction(at)
            case entry_pb2.ROWDATA:
                self._statement(entry.storeValue, header, at)
            case _:
                return  # heartbeats and GTIDs, of which no server sends one

    def _place(self, header: entry_pb2.Header, *, begins: bool) -> EntryPosition:
        last = self._at
        if not begins and (last.file, last.offset) == (header.logfileName, header.logfileOffset):
            return place_of(header, last.number + 1, counted=last.counted)
        return place_of(header, 1, counted=begins or last is not START)

    def _steps_back(self, at: EntryPosition, *, begins: bool, ends: bool) -> bool:
        """Whether it is an END of before, which ends nothing now. What is open comes again from its beginning."""
        step = self._trail.step(at, begins=begins, ends=ends)
        if step is not Step.ON:
            self._let_go()
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

    def _let_go(self) -> None:
        self._unended = self.open
        self._open = Waiting()
        self._in_transaction = self._torn = False

    def _go_away(self, at: EntryPosition) -> None:
        """To another server. The batches with the last of the first one are not kept back: they prove nothing to who
        goes on at the other.
        """
        self._first = self._history.go_away(at) or self._first

    def _begin(self, *, prepares: bool = False) -> None:
        self._in_transaction, self._prepares = True, prepares
        if not self._unended:
            self._begun_in = self._acks.received_last

    def _end_unsaid(self) -> None:
        """What begins next ends a transaction whose end nobody told. Where nothing of it has come since the connection
        was made, the position stays inside it: which of its entries was the last one is not known.
        """
        if not self._holds:
            return
        if self._last is START:
            self._in_transaction = self._delivered_open = False
            return
        self._end_transaction(self._last)

    def _finish(self, value: bytes, at: EntryPosition) -> None:
        if self._open.events or self._delivered_open or self._history.inside:
            end = entry_pb2.TransactionEnd.FromString(value)
            if any(pair.key == "XA_TYPE" for pair in end.props):
                raise self._unsupported(PREPARED)
        self._end_transaction(at)

    def _end_transaction(self, at: EntryPosition) -> None:
        self._history.end(at, acked=self._first)
        self._source_time = float(at.time)
        self._first_time = self._first_time or self._source_time
        self._ready.absorb(self._open)
        self._open = Waiting()
        self._in_transaction = self._delivered_open = self._torn = self._unended = False
        self._moved = True

    def _rows(self, value: bytes, header: entry_pb2.Header, size: int) -> None:
        table = self._synced.table(header.schemaName, header.tableName)
        if not _counted(header):
            self._synced.refuse_statement(packet.row_change(value), header, table)
        if table is None:
            return
        if not self._in_transaction:
            self._begin()
        if self._prepares:
            raise self._unsupported(PREPARED)
        self._open.add(table, (value,), size)

    def _statement(self, value: bytes, header: entry_pb2.Header, at: EntryPosition) -> None:
        change = packet.row_change(value)
        if not change.isDdl:
            return  # the text of a statement whose rows come, too
        self._end_unsaid()
        default = change.ddlSchemaName or header.schemaName
        concern = untold.concern(change.sql, default, self._tables)
        if concern is not None:
            self.ddl = Ddl(table=concern.tables[0], statement=change.sql, rows_survive=concern.rows_survive)
            self._before_ddl, self._behind_ddl = self._history.position, at
            self._alters = dict.fromkeys(concern.tables, Altered(change.sql, concern.columns, concern.clauses))
        else:
            self._end_transaction(at)

    @property
    def open(self) -> bool:
        """Whether rows have come of a transaction whose end did not."""
        return self._unended or self._holds

    @property
    def _holds(self) -> bool:
        return self._in_transaction and (self._open.events > 0 or self._delivered_open)

    @property
    def doubtful(self) -> bool:
        """As `History.doubtful`."""
        return self._history.doubtful

    @property
    def delivered_open(self) -> bool:
        """Whether the last batch ended inside a transaction."""
        return self._delivered_open

    @property
    def ahead(self) -> bool:
        """Whether rows were handed on that are behind the last position that was: nothing of both can be committed
        before a position follows, be it one inside the transaction.
        """
        return self._ahead

    @property
    def ready(self) -> bool:
        return self._moved or self.ddl is not None or self._torn or self._open.bytes >= self._max_open_bytes

    def tear(self) -> None:
        """Canal can give no more before it hears of what it gave: the open transaction is handed on in parts.

        Where nothing of it is behind the last position, that covers all that canal gave.
        """
        if self._open.events or self._ahead:
            self._torn = True
        else:
            self._acks.covered(self._acks.received_last)

    def release(self) -> Batch:
        """The position anew, as one behind which canal may forget everything."""
        end = self._history.release()
        self._acks.given(end)
        self._acks.covered(self._acks.received_last)
        return self._batch(Waiting(), end=end, open_=self._delivered_open, starved=True)

    def take(self) -> Batch:
        """What is whole; else what is torn, else a part of what is too large to wait for its end."""
        if self._moved or self.ddl is not None:
            return self._take_whole()
        self._settle()
        if self._open.events:
            self._history.within(self._last)
            self._delivered_open = True
        waiting, self._open = self._open, Waiting()
        if not self._torn:
            self._ahead = True
            return self._batch(waiting, end=None, open_=True)
        self._torn = self._ahead = False
        end = self._history.position
        self._acks.given(end)
        self._acks.covered(self._acks.received_last)
        return self._batch(waiting, end=end, open_=True, starved=True)

    def _take_whole(self) -> Batch:
        waiting, self._ready = self._ready, Waiting()
        met, self.ddl = self.ddl, None
        end = self._before_ddl if met is not None else self._history.position
        self._moved = self._first = self._ahead = False
        self._acks.given(end)
        batch = self._batch(waiting, end=end, open_=False, met=met)
        if met is not None:
            self._altered |= self._alters
            self._end_transaction(self._behind_ddl)
            self.go_on()
        else:
            self._cover()
        return batch

    def _cover(self) -> None:
        """Nothing is left to sort: what canal gave is covered, up to where the open transaction began."""
        if not self._queue and not self._history.doubtful:
            behind = self._unended or self._ahead or self._open.events > 0
            self._acks.covered(self._begun_in - 1 if behind else self._acks.received_last)

    def _batch(
        self, waiting: Waiting, *, end: Position | None, open_: bool, met: Ddl | None = None, starved: bool = False
    ) -> Batch:
        rows = {table: list[bytes]() for table in self._altered} | waiting.rows  # an ALTER is judged without rows
        changes = tuple(self._tables[t].changes(parts, self._altered.pop(t, None)) for t, parts in rows.items())
        first, self._first_time = self._first_time, 0.0
        return Batch(
            changes=changes,
            end=end,
            open=open_,
            events=waiting.events,
            bytes=waiting.bytes,
            source_time=self._source_time,
            first_time=first,
            ddl=met,
            starved=starved,
        )

    def _unsupported(self, reason: str) -> SyncError:
        return SyncError(Code.CANAL_UNSUPPORTED, address=self._label, reason=reason)


def _counted(header: entry_pb2.Header) -> bool:
    """Whether canal says how many rows there are: it does not of a statement in their place."""
    return bool(header.props) and header.props[-1].key == "rowsCount"
