"""Sorts canal's entries by table, transaction by transaction, without decoding a row.

Owns: where transactions begin and end, what is old, what waits undelivered, which batches a position covers.
Must not know: sockets, reconnects, how rows are decoded.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, assert_never

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.objects import untold
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import Batch, Ddl, TableChanges
from syncmgr.job.statement.nodes import Clause
from syncmgr.sources.canal import packet
from syncmgr.sources.canal.acks import Acks
from syncmgr.sources.canal.entry_position import EntryPosition, Relation, Taken, place_of
from syncmgr.sources.canal.proto import entry_pb2
from syncmgr.sources.canal.runs import Run, runs
from syncmgr.sources.canal.trail import Step, Trail

ROWS: Final = frozenset({entry_pb2.INSERT, entry_pb2.UPDATE, entry_pb2.DELETE})
TOLD: Final = frozenset({entry_pb2.TRANSACTIONBEGIN, entry_pb2.TRANSACTIONEND, entry_pb2.ROWDATA})
XA: Final = frozenset({entry_pb2.XACOMMIT, entry_pb2.XAROLLBACK})
PLACELESS: Final = (
    "rows without a place in the binlog, as a MariaDB from 11.8 on writes them; read it with 'type' = 'mysql'"
)
XA_TYPE: Final = b"XA_TYPE"  # the name of a property of its BEGIN
PREPARED: Final = "rows of synced tables in an XA transaction, whose outcome canal tells later"
BACK_SECOND: Final = 10  # the clocks of two servers of one history differ by less than canal's step back of 60 s
START: Final = EntryPosition(file="", offset=0, length=0, number=0, counted=False, server="", time=0, gtid="", gtids="")


class RewindError(Exception):
    """What was taken for old belongs to another history: everything has to be delivered again."""


@dataclass(frozen=True, slots=True)
class Altered:
    """An ALTER that left the rows, and the columns, folded, whose values are not what earlier rows said.

    `clauses`: all that it says, by whichever server.
    """

    statement: str
    columns: frozenset[str]
    clauses: tuple[Clause, ...] = ()


class Truth(Protocol):
    """What becomes of the RowChange messages of one table."""

    @property
    def keyed(self) -> bool:
        """Whether a change may be applied twice."""

    def changes(self, parts: Sequence[bytes], altered: Altered | None) -> TableChanges:
        """`altered`: the last DDL statement on the table before them, where none of it was handed on before."""


class _Waiting:
    """RowChange messages by table."""

    def __init__(self) -> None:
        self.rows: dict[Table, list[bytes]] = {}
        self.events = self.bytes = 0

    def add(self, table: Table, changes: Sequence[bytes], size: int) -> None:
        self.rows.setdefault(table, []).extend(changes)
        self.events += len(changes)
        self.bytes += size

    def absorb(self, other: "_Waiting") -> None:
        for table, changes in other.rows.items():
            self.rows.setdefault(table, []).extend(changes)
        self.events += other.events
        self.bytes += other.bytes


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
        self._keyed = all(truth.keyed for truth in tables.values())
        self._folded = {(db.casefold(), name.casefold()): (db, name) for db, name in tables}
        self._acks = acks
        self._label = label
        self._max_open_bytes = max_open_bytes
        self._taken = Taken(start)
        self._time = start.time
        self._apart_until = 0
        self._ended = 0  # the time of the last END
        self._source_time = self._first_time = 0.0
        self._ready = _Waiting()
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
        self._trusted = trusted
        self._acks.restart()
        self._queue: deque[Run] = deque()
        self._open = _Waiting()
        self._in_transaction, self._torn = self._delivered_open, False
        self._prepares = False
        self._at = self._last = START
        self._offset = 0  # of the last entry that was taken
        self._unsettled: entry_pb2.Header | None = None
        self._joined = self._dropped = self._met = False
        self._doubted = False  # by a coordinate alone
        self._trail = Trail()
        self._unended = False  # a part of a transaction was let go, which comes again from its beginning
        self._begun_in = self._acks.received_last

    # -- what comes in

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
        table = self._table(header.schemaName, header.tableName)
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
        at = self._at = self._place(header, begins=entry.entryType == entry_pb2.TRANSACTIONBEGIN)
        if self._steps_back(entry, at):
            return
        lie = self._taken.lies(at, trusted=self._trusted)
        if lie is Relation.OLD:
            self._dropped = True
            self._doubted |= not self._taken.knows(at)
            self._ended = at.time if entry.entryType == entry_pb2.TRANSACTIONEND else self._ended
            self._met |= self._taken.ends_at(at)
            return
        if self._taken.tears(at):
            raise self._lost(f"canal goes on with {at.gtid}, and the rest of a transaction that it tore did not come")
        if not self._joined:
            self._join(at, begins=entry.entryType == entry_pb2.TRANSACTIONBEGIN)
        if lie is Relation.ELSEWHERE:
            self._apply_again(at)
        self._time = max(self._time, at.time)
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
            self._time = max(self._time, self._at.time)

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

    # -- canal's parser that connects anew

    def _steps_back(self, entry: entry_pb2.Entry, at: EntryPosition) -> bool:
        """Whether it is an END of before, which ends nothing now. What is open comes again from its beginning."""
        if entry.entryType not in TOLD:
            return False
        begins, ends = (entry.entryType == kind for kind in (entry_pb2.TRANSACTIONBEGIN, entry_pb2.TRANSACTIONEND))
        step = self._trail.step(at, begins=begins, ends=ends)
        if step is not Step.ON:
            self._let_go()
        match step:
            case Step.BACK:
                self._met |= self._taken.ends_at(at)
            case Step.AWAY:
                self._go_away(at)
            case Step.ON | Step.AGAIN:
                pass
            case _:
                assert_never(step)
        return step is Step.BACK

    def _let_go(self) -> None:
        self._unended = self.open
        self._open = _Waiting()
        self._in_transaction = self._torn = False

    def _go_away(self, at: EntryPosition) -> None:
        """To another server: GTIDs tell what is old there. Else nothing does, unless it begins at the position, and
        that is not met on the way.

        The batches with the last of the first server are not kept back: they prove nothing to who goes on at the other.
        """
        if self._taken.by_gtid(at):
            self._taken.go_away()
            return
        if self._taken.ends_at(at):
            return
        self._joined = True
        self._trusted = not self._taken.position.file
        self._first = self._first or not self._trusted

    # -- what was taken before

    def _join(self, at: EntryPosition, *, begins: bool) -> None:
        """The first entry that is not old: nothing may be missing before it."""
        taken = self._taken.position
        self._joined = True
        if not taken.file or not self._trusted or self._met:
            return
        if taken.ordinal and self._taken.by_gtid(at):
            self._join_torn(at, begins=begins)
            return
        if self._taken.continues(at):
            return
        if self._dropped and at.gtid and taken.gtids:
            return
        if self._dropped or at.time < taken.time - BACK_SECOND:
            self._refuse_again(at)
            raise RewindError
        if taken.acked:
            return  # nothing need come again
        raise self._lost(f"canal goes on at {at.file}:{at.offset}, and what it delivered last did not come again")

    def _join_torn(self, at: EntryPosition, *, begins: bool) -> None:
        """What is not met is the torn transaction from its beginning, in other binlogs: its GTID says so."""
        taken = self._taken.position
        if taken.acked and not begins and not self._dropped and at.file == taken.file:
            return  # nothing need come again
        if not self._taken.may_be_torn():
            raise self._lost(f"canal goes on with {at.gtid}, and the rest of a transaction that it tore did not come")
        self._refuse_again(at)
        raise RewindError

    def _apply_again(self, at: EntryPosition) -> None:
        """Another history: rows with a key are applied a second time, until it is past the first one."""
        self._refuse_again(at)
        self._apart_until = max(self._apart_until, self._taken.position.time, self._time)
        self._time = at.time

    def _refuse_again(self, at: EntryPosition) -> None:
        unkeyed = [table for table, truth in self._tables.items() if not truth.keyed]
        if unkeyed:
            raise self._lost(
                f"canal goes on in another history of binlogs, at {at.file}:{at.offset}, and rows of "
                f"{'.'.join(unkeyed[0])}, whose target has no key, would be appended twice"
            )

    def _lost(self, reason: str) -> SyncError:
        taken = self._taken.position
        position = taken.gtids or f"{taken.file}:{taken.offset}"
        return SyncError(Code.CANAL_POSITION_LOST, address=self._label, position=position, reason=reason)

    # -- transactions

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
        if self._open.events or self._delivered_open:
            end = entry_pb2.TransactionEnd.FromString(value)
            if any(pair.key == "XA_TYPE" for pair in end.props):
                raise self._unsupported(PREPARED)
        self._end_transaction(at)

    def _end_transaction(self, at: EntryPosition) -> None:
        if self._taken.jumps_back(at, BACK_SECOND, ended=self._ended):
            self._apply_again(at)
        self._ended = at.time
        self._time = max(self._time, at.time)
        self._taken.behind(at, time=self._time, whole=self._is_whole(at), acked=self._first)
        self._trusted = True
        self._source_time = float(at.time)
        self._first_time = self._first_time or self._source_time
        self._ready.absorb(self._open)
        self._open = _Waiting()
        self._in_transaction = self._delivered_open = self._torn = self._unended = False
        self._moved = True

    def _is_whole(self, at: EntryPosition) -> bool:
        if self._apart_until and at.time > self._apart_until:
            self._apart_until = 0
        return not self._apart_until

    def _rows(self, value: bytes, header: entry_pb2.Header, size: int) -> None:
        table = self._table(header.schemaName, header.tableName)
        if not _counted(header):
            self._refuse_statement(packet.row_change(value), header, table)
        if table is None:
            return
        if not self._in_transaction:
            self._begin()
        if self._prepares:
            raise self._unsupported(PREPARED)
        self._open.add(table, (value,), size)

    def _refuse_statement(self, change: entry_pb2.RowChange, header: entry_pb2.Header, table: Table | None) -> None:
        """One in place of rows, of whichever table canal says that it is: what it may lead to cannot be asked."""
        if not change.sql:
            return
        session = "not ROW in some session"
        if table is None:
            did = untold.reach(change.sql, change.ddlSchemaName or header.schemaName)
            if did is None:
                return
            session += f", which has {did}, and that may lead to a table of the job,"
        raise SyncError(Code.SOURCE_NOT_ROW, value=session, address=self._label)

    def _table(self, db: str, name: str) -> Table | None:
        if (db, name) in self._tables:
            return db, name
        near = self._folded.get((db.casefold(), name.casefold()))
        if near is not None:
            reason = f"canal writes it {db}.{name}; create the job with this name"
            raise SyncError(Code.SOURCE_SCHEMA, table=".".join(near), reason=reason)
        return None

    # -- statements

    def _statement(self, value: bytes, header: entry_pb2.Header, at: EntryPosition) -> None:
        change = packet.row_change(value)
        if not change.isDdl:
            return  # the text of a statement whose rows come, too
        self._end_unsaid()
        default = change.ddlSchemaName or header.schemaName
        concern = untold.concern(change.sql, default, self._tables)
        if concern is not None:
            self.ddl = Ddl(table=concern.tables[0], statement=change.sql, rows_survive=concern.rows_survive)
            self._before_ddl, self._behind_ddl = self._taken.position, at
            self._alters = dict.fromkeys(concern.tables, Altered(change.sql, concern.columns, concern.clauses))
        else:
            self._end_transaction(at)

    # -- what goes out

    @property
    def open(self) -> bool:
        """Whether rows have come of a transaction whose end did not."""
        return self._unended or self._holds

    @property
    def _holds(self) -> bool:
        return self._in_transaction and (self._open.events > 0 or self._delivered_open)

    @property
    def doubtful(self) -> bool:
        """Whether what was dropped may be of another server, and be wanted again: nothing has met the position yet.

        Without a key it is not taken in any case, but stops the job.
        """
        return self._doubted and not self._met and not self._joined and self._keyed

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
        end = self._taken.release()
        self._acks.given(end)
        self._acks.covered(self._acks.received_last)
        return self._batch(_Waiting(), end=end, open_=self._delivered_open, starved=True)

    def take(self) -> Batch:
        """What is whole; else what is torn, else a part of what is too large to wait for its end."""
        if self._moved or self.ddl is not None:
            return self._take_whole()
        self._settle()
        if self._open.events:
            self._taken.within(self._last, time=self._time)
            self._delivered_open = True
        waiting, self._open = self._open, _Waiting()
        if not self._torn:
            self._ahead = True
            return self._batch(waiting, end=None, open_=True)
        self._torn = self._ahead = False
        end = self._taken.position
        self._acks.given(end)
        self._acks.covered(self._acks.received_last)
        return self._batch(waiting, end=end, open_=True, starved=True)

    def _take_whole(self) -> Batch:
        waiting, self._ready = self._ready, _Waiting()
        met, self.ddl = self.ddl, None
        end = self._before_ddl if met is not None else self._taken.position
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
        if not self._queue and not self.doubtful:
            behind = self._unended or self._ahead or self._open.events > 0
            self._acks.covered(self._begun_in - 1 if behind else self._acks.received_last)

    def _batch(
        self, waiting: _Waiting, *, end: Position | None, open_: bool, met: Ddl | None = None, starved: bool = False
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
