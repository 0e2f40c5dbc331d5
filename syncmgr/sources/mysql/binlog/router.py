"""Sorts the events of a stream by table, transaction by transaction, without decoding a row.

Owns: where transactions begin and end, the position behind the last whole one, what waits undelivered.
Must not know: sockets, reconnects, how rows are decoded.
"""

import logging
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import MAX_PIECES, GtidSet, MariadbGtids, Position, Sid, number_of, parse_gtids
from syncmgr.job.rows.batch import Batch, Ddl, PreparedChanges
from syncmgr.job.source_history.logged import WHOLE_JSON
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.binlog import compressed, events
from syncmgr.sources.mysql.binlog.changes import RowsOfTable
from syncmgr.sources.mysql.binlog.sessions import Begun
from syncmgr.sources.mysql.binlog.subscriptions import Subscribed, Subscriptions
from syncmgr.sources.mysql.binlog.undelivered import CompressedTail, Part, RowBuffer, TableBuffer
from syncmgr.sources.mysql.binlog.xa import Branches
from syncmgr.sources.mysql.values.decoder import MOST_CELLS
from syncmgr.sources.mysql.wire import MalformedEventError, OversizeError

log = logging.getLogger(__name__)
MAX_SIDS: Final = 4096  # servers' ids whose text is remembered
MAX_ROUTES: Final = 4096  # table ids remembered; every statement tells its own anew
PLACEHOLDER: Final = 0xFFFFFF  # the table id of rows events that only end a statement
FILE_HEAD: Final = 4  # offset of a file's first event

# Not a row, not a transaction's edge, nothing that a replica of rows must heed.
QUIET: Final = frozenset({3, 5, 9, 11, 13, 14, 17, 27, 28, 29, 36, 37, 41, 160, 164})


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How much one batch holds. `event_bytes`, `transaction_bytes`: of what came compressed, how large the plain form
    of an event, and of a transaction, may be. `event_cells`: of the rows of an event.
    """

    events: int = 4000
    bytes: int = 16 * 1024 * 1024
    event_bytes: int = 1 << 31
    transaction_bytes: int = 1 << 34
    event_cells: int = MOST_CELLS


Handler = Callable[[memoryview, int, int], bool | None]  # True: feeding has to stop behind this event
_U32, _U64 = struct.Struct("<I").unpack_from, struct.Struct("<Q").unpack_from


class Router:
    """Fed with events in order by one thread. Raises SyncError and MalformedEventError.

    `moved`: the position behind the last whole transaction was not delivered yet. `stopped`: feeding has to wait until
    `take` was called. `server`: as a position names it.
    """

    def __init__(
        self,
        subscriptions: Subscriptions,
        limits: Limits,
        start: Position,
        address: str,
        prepared: Mapping[str, bool],
    ) -> None:
        """`prepared`: the XA transactions that are open at `start`, and whether they have rows."""
        self._subscriptions = subscriptions
        self._limits = limits
        self._address = address
        self._waiting = RowBuffer()
        self._branches = Branches(prepared, address)
        self._gtids: GtidSet | MariadbGtids | None = parse_gtids(start.gtids) if start.gtids else None
        self._sids: dict[bytes, Sid] = {}
        self._end_file, self._end_offset, self._end_created = start.file, start.offset, start.created
        self._last, self._last_event = start.last, b""  # the last transaction, and its GTID event until that is read
        self.server = start.server
        self._by_gtid = self._shares_id = False
        self._passed: frozenset[tuple[str, str]] = frozenset()  # of the XA transaction that was committed last
        self._delivered: Part | None = None
        self._before_ddl: Position | None = None
        self._met_inside = False  # a DDL whose rows follow in its own transaction
        self._followed_inside = start.ordinal > 0
        self.ddl: Ddl | None = None
        self.moved = False
        self.source_time = self._first_time = 0.0
        self._handlers = self._table_of_handlers()
        self.restart()

    def _table_of_handlers(self) -> dict[int, Handler]:
        return {
            wire.QUERY: self._query,
            wire.QUERY_COMPRESSED: self._query,
            wire.EXECUTE_LOAD_QUERY: self._query,
            wire.ROTATE: self._rotate,
            wire.FORMAT_DESCRIPTION: self._format,
            wire.XID: self._xid,
            wire.TABLE_MAP: self._table_map,
            wire.INCIDENT: self._incident,
            wire.GTID: self._gtid,
            wire.ANONYMOUS_GTID: self._anonymous,
            wire.TAGGED_GTID: self._tagged,
            wire.PREVIOUS_GTIDS: self._previous,
            wire.XA_PREPARE: self._xa_prepare,
            wire.PARTIAL_UPDATE: self._partial,
            wire.TRANSACTION_PAYLOAD: self._payload,
            wire.MARIADB_GTID: self._mariadb_gtid,
            wire.MARIADB_GTID_LIST: self._mariadb_list,
            wire.MARIADB_CHECKPOINT: self._pass,
            **dict.fromkeys(wire.ROWS, self._rows),
            **dict.fromkeys(QUIET, self._quiet),
        }

    def connected(self, server: str, *, by_gtid: bool, shares_id: bool) -> None:
        """A stream of this server follows. The files of another one are none of its own, whatever their names.

        `by_gtid`: all that it writes has GTIDs. Else those that it once wrote are no place to go on from. `shares_id`:
        others may be called as it is, so that the name does not say whose files they are.
        """
        self._by_gtid, self._shares_id = by_gtid, shares_id
        if not by_gtid:
            self._gtids, self._last, self._last_event = None, "", b""
        if self.server and self.server != server:
            self._subscriptions.unlogged.sessions_ended()  # of the other one
            self._end_file, self._end_offset, self._end_created = "", 0, 0
            self._file, self._offset, self._created = "", 0, 0
        self.server = server

    def restart(self) -> None:
        """A new stream from `position` follows."""
        self._waiting.forget_open()
        self._skip = self._delivered
        self._routes: dict[int, Subscribed | None] = {}
        self._inner: CompressedTail | None = None
        self._file, self._offset, self._created = self._end_file, self._end_offset, self._end_created
        self._begin()

    def _begin(self) -> None:
        self._gtid_now: tuple[Sid, int] | tuple[int, int, int] | None = None
        self._gtid_event = b""
        self._in_transaction = self._alters_nothing = False
        self._committed_at = 0.0  # of the open transaction, where its GTID says that
        self._branch: str | None = None
        self._taken = 0  # subscribed rows events of the open transaction so far
        self._last_log_pos = 0

    def position(self) -> Position:
        """Behind the last whole transaction that was fed, or behind the DDL that the open one begins with.

        Raises OversizeError where the server has scattered its GTIDs so that it would have no bound.
        """
        if self._gtids is not None and self._gtids.pieces > MAX_PIECES:
            raise OversizeError(f"GTIDs in {self._gtids.pieces} pieces; {MAX_PIECES} are taken")
        return Position(
            ordinal=int(self._followed_inside),
            whole=not self._followed_inside,
            gtids="" if self._gtids is None else str(self._gtids),
            file=self._end_file,
            offset=self._end_offset,
            server=self.server,
            created=self._end_created,
            last=self._last_read(),
        )

    def _last_read(self) -> str:
        """Of each batch one is asked for, so that the others need not be understood."""
        if self._last_event:
            self._last, self._last_event = str(events.begun(memoryview(self._last_event)) or ""), b""
        return self._last

    @property
    def torn(self) -> bool:
        """Whether a part of the open transaction was delivered."""
        return self._delivered is not None

    @property
    def _delivered_tables(self) -> frozenset[tuple[str, str]]:
        """Of which rows of the open transaction went out."""
        return frozenset[tuple[str, str]]() if self._delivered is None else self._delivered.tables

    # -- taking

    @property
    def ready(self) -> bool:
        """Whether rows of whole transactions wait, or that for which feeding stopped."""
        return self._halted or self._waiting.any_whole

    @property
    def stopped(self) -> bool:
        return self._full or self._halted

    @property
    def _full(self) -> bool:
        return self._waiting.events >= self._limits.events or self._waiting.bytes >= self._limits.bytes

    @property
    def _halted(self) -> bool:
        """A DDL, or an XA COMMIT of rows that went out: nothing behind it may come into the batch before it."""
        return self.ddl is not None or self._branches.committed is not None

    def take(self) -> Batch:
        """What waits up to the last boundary; where there is none and no room, a part of the open transaction."""
        is_open = self._full and not self.ready
        lanes = self._waiting.take_all() if is_open else self._waiting.take_whole()
        if is_open:
            tables = self._delivered_tables | {lane.table.table for lane in lanes if lane.xid == self._branch}
            self._delivered = Part(events=self._taken, file=self._file, log_pos=self._last_log_pos, tables=tables)
        batch = Batch(
            changes=self._changes([lane for lane in lanes if lane.xid is None]),
            end=None if is_open else self._before_ddl or self.position(),
            open=is_open,
            events=sum(len(lane.ends) for lane in lanes),
            bytes=sum(len(lane.data) for lane in lanes),
            source_time=self.source_time,
            first_time=self._first_time,
            ddl=self.ddl,
            forgotten=tuple(self._branches.forgotten),
            prepared=tuple(self._prepared(lanes, is_open=is_open)),
            committed=self._branches.committed,
            passed=self._passed,
        )
        self._branches.deliver({each.xid: bool(each.changes) for each in batch.prepared})
        self._first_time = 0.0
        # An open transaction brings its position itself; the transaction of a DDL goes with the next batch.
        self.moved = not is_open and self.ddl is not None
        self.ddl = self._before_ddl = None
        return batch

    def _prepared(self, lanes: list[TableBuffer], *, is_open: bool) -> Iterator[PreparedChanges]:
        by_xid: dict[str, list[TableBuffer]] = {} if is_open else {xid: [] for xid in self._branches.prepared}
        for lane in lanes:
            if lane.xid is not None:
                by_xid.setdefault(lane.xid, []).append(lane)
        for xid, of_xid in by_xid.items():
            size = sum(len(lane.data) for lane in of_xid)
            yield PreparedChanges(xid=xid, changes=self._changes(of_xid), bytes=size)

    def _changes(self, lanes: list[TableBuffer]) -> tuple[RowsOfTable, ...]:
        by_table: dict[tuple[str, str], list[TableBuffer]] = {}
        for lane in lanes:
            by_table.setdefault(lane.table.table, []).append(lane)
        return tuple(
            RowsOfTable(table, [(lane.table.decoder, lane.rows()) for lane in of_table], self._address)
            for table, of_table in by_table.items()
        )

    # -- feeding

    @property
    def inside(self) -> bool:
        """Whether events of a compressed transaction wait: feed again, even with no spans left."""
        return self._inner is not None

    def feed(self, data: memoryview, spans: list[tuple[int, int]], at: int) -> int:
        """Take events from span `at` on. Returns the first span not taken: the batch is full or a DDL was met."""
        try:
            return self._feed(data, spans, at)
        except MalformedEventError:
            raise
        except (IndexError, struct.error, ValueError) as error:  # the readers of the frequent events check nothing
            raise MalformedEventError("an event that cannot be read") from error

    def _feed(self, data: memoryview, spans: list[tuple[int, int]], at: int) -> int:
        if self._inner is not None and self._feed_inner():
            return at
        handler_of, unknown = self._handlers.get, self._unknown
        for index in range(at, len(spans)):
            start, end = spans[index]
            handler = handler_of(data[start + 4], unknown)
            if handler(data, start, end):
                return index + 1
        if at < len(spans):
            self._keep_high_bits(data, spans[-1][0])
        return len(spans)

    def _feed_inner(self) -> bool:
        """Whether feeding has to stop; the inner events that are left come with the next feed."""
        inner = self._inner
        assert inner is not None
        for data, start, end in inner.events:
            kind = data[start + 4]
            handler = self._unknown if kind == wire.TRANSACTION_PAYLOAD else self._handlers.get(kind, self._unknown)
            if handler(data, start, end):
                return True
        self._inner = None
        return False

    def _unknown(self, data: memoryview, start: int, _end: int) -> None:
        if not data[start + 17] & wire.FLAG_IGNORABLE:
            raise self._unsupported(f"it writes binlog events of type {data[start + 4]}")

    def _quiet(self, data: memoryview, start: int, end: int) -> None:
        pass

    # -- rows

    def _table_map(self, data: memoryview, start: int, end: int) -> None:
        if len(self._routes) > MAX_ROUTES:
            self._routes.clear()
        body, known = bytes(data[start + 27 : end]), self._subscriptions
        early = False
        if known.begin_later and self._branch is None:  # rows of an XA transaction count at its end
            early = known.is_early(body, self._gtid_now, self._behind(data, start))
        self._routes[_table_id(data, start)] = None if early else known.of(body)

    def _rows(self, data: memoryview, start: int, end: int) -> bool:
        table = self._route(data, start)
        if table is None:
            return False
        self._taken += 1
        if self._skip is not None and self._was_delivered(self._skip, data, start):
            return False
        event = data[start:end]
        if event[4] in wire.PLAIN_OF:
            event = memoryview(compressed.rows(bytes(event), self._limits.event_bytes))
        self._waiting.add(table, self._branch, self._file, event)
        self._last_log_pos = _log_pos(data, start)
        return self._full

    def _route(self, data: memoryview, start: int) -> Subscribed | None:
        table_id = _table_id(data, start)
        try:
            return self._routes[table_id]
        except KeyError:
            if table_id == PLACEHOLDER:
                return None
            raise MalformedEventError(f"rows of table id {table_id} without a table map") from None

    def _was_delivered(self, part: Part, data: memoryview, start: int) -> bool:
        """The stream broke inside this event's transaction, and so much of it was delivered before."""
        if self._taken == part.events:
            self._skip = None
            if (self._file, _log_pos(data, start)) != (part.file, part.log_pos):
                raise self._torn()
        return True

    def _torn(self) -> SyncError:
        reason = "the server changed inside a transaction of which a part was read"
        return SyncError(Code.SOURCE_PROTOCOL, address=self._address, reason=reason)

    def _partial(self, data: memoryview, start: int, _end: int) -> None:
        if (of := self._route(data, start)) is not None:
            label = ".".join(of.table)
            raise self._unsupported(f"partial JSON updates of {label}; {WHOLE_JSON}", table=label)

    # -- transactions

    def _gtid(self, data: memoryview, start: int, end: int) -> None:
        raw = bytes(data[start + 20 : start + 36])
        sid = self._sids.get(raw)
        if sid is None:
            if len(self._sids) >= MAX_SIDS:
                self._sids.clear()
            sid = self._sids[raw] = events.uuid_text(raw), ""
        self._close_left_open()
        self._gtid_now = sid, int.from_bytes(data[start + 36 : start + 44], "little")
        self._gtid_event = bytes(data[start:end])
        self._committed_at = events.committed_at(data[start:end])
        self._in_transaction = False

    def _tagged(self, data: memoryview, start: int, end: int) -> None:
        self._close_left_open()
        self._gtid_event = bytes(data[start:end])
        self._gtid_now = events.tagged_gtid(self._gtid_event)
        self._committed_at = events.tagged_committed_at(self._gtid_event)
        self._in_transaction = False

    def _close_left_open(self) -> None:
        """The next transaction begins, so the one before is over; its GTID must not be missing from the position."""
        if self._gtid_now is None:
            return
        log.error(
            "%s: the transaction of GTID %s has no end that is known; it counts as read", self._address, self._gtid_now
        )
        self._add_gtid()
        self._gtid_now = None

    def _add_gtid(self) -> None:
        if self._gtids is not None and self._gtid_now is not None:
            self._gtids.add(*self._gtid_now)
            self._last_event = self._gtid_event

    def _anonymous(self, data: memoryview, start: int, end: int) -> None:
        self._gtid_now = None
        self._committed_at = events.committed_at(data[start:end])
        self._in_transaction = False

    def _mariadb_gtid(self, data: memoryview, start: int, end: int) -> None:
        event = bytes(data[start:end])
        domain, server, seq, flags = events.mariadb_gtid(event)
        self._close_left_open()
        self._gtid_now, self._gtid_event = (domain, server, seq), event
        self._offset = self._end_of(data, start)  # from 11.8 on no event inside of the transaction has a place
        self._in_transaction = not flags & events.MARIADB_STANDALONE
        self._alters_nothing = events.mariadb_alters_nothing(event)
        if flags & events.MARIADB_PREPARED_XA:
            self._begin_xa(events.mariadb_xid(event))

    def _xid(self, data: memoryview, start: int, _end: int) -> None:
        self._end_transaction(data, start)

    def _end_transaction(self, data: memoryview, start: int) -> None:
        if self._skip is not None:
            raise self._torn()
        self._add_gtid()
        self._offset = self._end_of(data, start)
        self._delivered = None
        self._followed_inside = False
        self._waiting.end_transaction()
        self._end_file, self._end_offset, self._end_created = self._file, self._offset, self._created
        self.moved = True
        said = float(int.from_bytes(data[start : start + 4], "little"))
        self.source_time = min(said, self._committed_at or said)  # a session may have set its time ahead
        self._first_time = self._first_time or self.source_time
        self._begin()

    def _keep_high_bits(self, data: memoryview, start: int) -> None:
        if data[start + 4] in wire.ROWS:
            self._offset = self._end_of(data, start)

    def _end_of(self, data: memoryview, start: int) -> int:
        """Where an event ends in its file; one of a compressed transaction, where that ends.

        Positions in events have 32 bits; a file grows beyond them when a transaction does. An event may have none.
        """
        log_pos = _log_pos(data, start) if self._inner is None else self._inner.log_pos
        if not log_pos:
            return self._offset
        high = self._offset >> 32
        return (high + (log_pos < self._offset & 0xFFFFFFFF)) << 32 | log_pos

    def _behind(self, data: memoryview, start: int) -> Position:
        """The coordinate behind an event."""
        server = "" if self._shares_id else self.server
        return Position(file=self._file, offset=self._end_of(data, start), server=server, created=self._created)

    def _begin_xa(self, xid: str) -> None:
        self._branch = xid
        if self._skip is None:
            self._branches.begin(xid)
            self._waiting.drop(xid)

    def _xa_prepare(self, data: memoryview, start: int, end: int) -> bool:
        xid, one_phase = events.xa_prepare(bytes(data[start:end]))
        self._branches.prepare(xid)
        if one_phase:
            self._commit_xa(xid, data, start)
        self._end_transaction(data, start)
        return self._halted

    def _commit_xa(self, xid: str, data: memoryview, start: int) -> None:
        """Tables whose rows were read after it have what it did."""
        passed = self._subscriptions.passed(self._gtid_now, self._behind(data, start))
        if self._branches.commit(xid):
            self._waiting.release(xid, passed)
        self._passed = passed

    def _payload(self, data: memoryview, start: int, end: int) -> bool:
        """A whole transaction in one event; it may be larger than a batch."""
        inner = compressed.payload(bytes(data[start:end]), self._limits.event_bytes, self._limits.transaction_bytes)
        self._inner = CompressedTail(inner, _log_pos(data, start))
        return self._feed_inner()

    # -- statements

    def _query(self, data: memoryview, start: int, end: int) -> bool:
        if events.is_begin(data, start, end):
            self._in_transaction = True
            return False
        said = events.query(bytes(data[start:end]))
        word = said.text[:16].lstrip().upper()
        if word.startswith("BEGIN"):
            self._in_transaction = True
        elif word == "COMMIT":
            self._end_transaction(data, start)
        elif word.startswith("XA "):
            self._xa_statement(word, events.xid_of(said.text), data, start)
        elif word.startswith("ROLLBACK"):
            self._rollback(said.text, data, start)
        elif not word.startswith(("SAVEPOINT", "RELEASE ")):
            self._statement(said, data, start)
        return self._halted

    def _xa_statement(self, word: str, xid: str, data: memoryview, start: int) -> None:
        if word.startswith("XA START"):
            self._in_transaction = True
            self._begin_xa(xid)
        elif not word.startswith("XA END"):
            if self._taken:
                raise self._unsupported(f"an {word} inside the transaction that it ends")
            if word.startswith("XA COMMIT"):
                self._commit_xa(xid, data, start)
            else:
                self._branches.roll_back(xid)
                self._waiting.drop(xid)
            self._end_transaction(data, start)

    def _rollback(self, text: str, data: memoryview, start: int) -> None:
        """Written only where a table without transactions took part: which rows stay depends on their engines.

        One table is named, which stops alone; the next one is met when it is read again without that.
        """
        if self._taken:
            label = ".".join(min(self._delivered_tables | self._waiting.open_tables()))
            reason = f"a ROLLBACK behind rows of {label}, beside a table without transactions"
            raise self._unsupported(reason, table=label)
        if text.strip().upper() == "ROLLBACK":
            self._end_transaction(data, start)

    def _statement(self, said: events.Query, data: memoryview, start: int) -> None:
        at = int.from_bytes(data[start : start + 4], "little")
        passed = self._subscriptions.passed(self._gtid_now, self._behind(data, start))
        here = replace(self.position(), file=self._file, offset=self._begin_of(data, start))
        own = self._subscriptions.unlogged.own_tables(said)
        if not self._subscriptions.stands_for_rows(said, at, here, passed) and not self._alters_nothing:
            if self._subscriptions.begins(said):
                self._in_transaction = True
            if not self._followed_inside:
                self._meet(said, at, here, own)
        if not self._in_transaction:
            self._end_transaction(data, start)
            if self.ddl is not None:
                self.ddl = replace(self.ddl, behind=self.position())

    def _meet(self, said: events.Query, at: int, here: Position, own: frozenset[tuple[str, str]]) -> None:
        """CREATE TABLE ... SELECT is followed by its rows: what it made is reached with a part of its transaction.

        `here`: where the statement stands. `own`: temporary tables of its session.
        """
        inside, before = self._in_transaction, self.position()
        self.ddl = self._subscriptions.met(said, at, here, own, followable=not self._taken, with_rows=inside)
        self._before_ddl = before if self.ddl else None
        if self.ddl is not None and inside and not self._taken:
            self.ddl = replace(self.ddl, behind=replace(before, ordinal=1, whole=False))
            self._met_inside = True

    def _begin_of(self, data: memoryview, start: int) -> int:
        """Where an event begins in its file; one of a compressed transaction, where that ends."""
        end = self._end_of(data, start)
        return end if self._inner is not None else max(self._offset, end - int(_U32(data, start + 9)[0]))

    def follow(self, subscriptions: Subscriptions) -> None:
        """What is wanted behind the DDL that was taken last."""
        self._followed_inside, self._met_inside = self._met_inside, False
        self._subscriptions = subscriptions
        self._routes.clear()

    # -- files

    def _rotate(self, data: memoryview, start: int, end: int) -> None:
        self._file, self._offset = events.rotate(bytes(data[start:end]))
        artificial = data[start + 17] & wire.FLAG_ARTIFICIAL  # where a dump begins, which by GTID may lie far back
        if artificial and self._end_file not in {"", self._file}:
            self._subscriptions.unlogged.forget_sessions()  # the server may have begun one that is passed by
        if self._between_transactions and not (artificial and self._end_file and not self._is_later()):
            if self._file != self._end_file:
                self._end_created = 0  # its head follows
            self._end_file, self._end_offset = self._file, self._offset
            self.moved = self.moved or not artificial

    def _is_later(self) -> bool:
        """Whether this file comes behind that of the end: what ended the one before, as a restart, may be no event."""
        (base, number), (end_base, end_number) = number_of(self._file), number_of(self._end_file)
        return base == end_base and number > end_number

    def _pass(self, data: memoryview, start: int, _end: int) -> None:
        """An event of no transaction: behind it the server may end, and nobody write for long.

        Where no GTID is known yet, who reads on from here must see the head of the file again, which tells them.
        """
        stands_in_file = not data[start + 17] & wire.FLAG_ARTIFICIAL and self._file == self._end_file
        if not stands_in_file or not self._between_transactions or (self._by_gtid and not self._gtids):
            return
        behind = self._end_of(data, start)
        if behind > self._end_offset:
            self._end_offset, self.moved = behind, True

    @property
    def _between_transactions(self) -> bool:
        return not self._in_transaction and self._gtid_now is None and self._taken == 0 and self._delivered is None

    def _format(self, data: memoryview, start: int, end: int) -> None:
        self._created = int.from_bytes(data[start : start + 4], "little")
        self._routes.clear()
        begins = events.begins_server(data[start:end])
        if begins and self._is_later():
            self._undo_open()
        if self._between_transactions and self._file == self._end_file:
            if not self._end_created and begins:
                self._server_began(data[start:end])
            self._end_created = self._created

    def _undo_open(self) -> None:
        """As the server has, which wrote the begin of it alone before it crashed."""
        if self._delivered_tables:
            label = ".".join(min(self._delivered_tables))
            reason = f"the begin of a transaction that a crash has undone, with rows of {label}"
            raise self._unsupported(reason, table=label)
        self._delivered = self._skip = None
        self._waiting.forget_open()
        self._begin()
        self._end_file, self._end_offset, self._end_created = self._file, self._offset, 0

    def _server_began(self, head: memoryview) -> None:
        origin = int.from_bytes(head[events.ORIGIN], "little")
        self._subscriptions.unlogged.sessions_ended(None if self._shares_id else Begun(origin=origin))

    def _previous(self, data: memoryview, start: int, end: int) -> None:
        if self._by_gtid and self._gtids is None and self._offset <= FILE_HEAD:
            self._gtids = events.previous_gtids(bytes(data[start:end]))
        self._pass(data, start, end)

    def _mariadb_list(self, data: memoryview, start: int, end: int) -> None:
        artificial = data[start + 17] & wire.FLAG_ARTIFICIAL
        if self._gtids is None and not artificial and self._offset <= FILE_HEAD:
            self._gtids = events.mariadb_gtid_list(bytes(data[start:end]))
        self._pass(data, start, end)

    def _incident(self, _data: memoryview, _start: int, _end: int) -> None:
        raise self._unsupported("an incident: the server says that events are missing from its binlog")

    def _unsupported(self, reason: str, **facts: str) -> SyncError:
        return SyncError(Code.SOURCE_UNSUPPORTED, address=self._address, reason=reason, **facts)


def _table_id(data: memoryview, start: int) -> int:
    return int(_U64(data, start + 19)[0]) & 0xFFFFFFFFFFFF


def _log_pos(data: memoryview, start: int) -> int:
    return int(_U32(data, start + 13)[0])
