"""Sorts the events of a stream by table, transaction by transaction, without decoding a row.

Owns: which part handles which kind of event, when feeding halts, the batches that are taken.
Must not know: sockets, reconnects, what an event means, how rows are decoded.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import Batch
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.binlog import compressed
from syncmgr.sources.mysql.binlog.routing.batched import changes_of, prepared_of
from syncmgr.sources.mysql.binlog.routing.coordinates import log_pos
from syncmgr.sources.mysql.binlog.routing.file_events import FileEvents
from syncmgr.sources.mysql.binlog.routing.statements import Statements
from syncmgr.sources.mysql.binlog.routing.table_routes import TableRoutes
from syncmgr.sources.mysql.binlog.routing.transactions import Transactions
from syncmgr.sources.mysql.binlog.routing.xa import Branches
from syncmgr.sources.mysql.binlog.subscriptions import Subscriptions
from syncmgr.sources.mysql.binlog.undelivered import RowBuffer
from syncmgr.sources.mysql.values.decoder import MOST_CELLS
from syncmgr.sources.mysql.wire import MalformedEventError

# Not a row, not a transaction's edge, nothing that matters to a replica of rows.
QUIET: Final = frozenset({3, 5, 9, 11, 13, 14, 17, 27, 28, 29, 36, 37, 41, 160, 164})


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How much one batch holds. `event_bytes`, `transaction_bytes`: how large the plain form of a compressed event, and
    of a transaction, may be. `event_cells`: of the rows of an event.
    """

    events: int = 4000
    bytes: int = 16 * 1024 * 1024
    event_bytes: int = 1 << 31
    transaction_bytes: int = 1 << 34
    event_cells: int = MOST_CELLS


Handler = Callable[[memoryview, int, int], bool | None]  # True: feeding has to stop after this event


class Router:
    """Fed with events in order by one thread. Raises SyncError and MalformedEventError."""

    def __init__(
        self,
        subscriptions: Subscriptions,
        limits: Limits,
        start: Position,
        address: str,
        prepared: Mapping[str, bool],
    ) -> None:
        """`prepared`: the XA transactions that are open at `start`, and whether they have rows."""
        self._limits = limits
        self._address = address
        self._waiting = RowBuffer(limits.events, limits.bytes)
        self._branches = Branches(prepared, address)
        self._transactions = Transactions(subscriptions, start, self._waiting, self._branches, address)
        self._routes = TableRoutes(subscriptions, self._transactions, self._waiting, limits.event_bytes, address)
        self._statements = Statements(subscriptions, self._transactions, self._waiting, address)
        self._files = FileEvents(subscriptions.unlogged, self._transactions, self._routes, address)
        self._inner: Iterator[tuple[memoryview, int, int]] | None = None  # events of a compressed transaction
        self._handlers = self._table_of_handlers()

    def _table_of_handlers(self) -> dict[int, Handler]:
        return {
            wire.QUERY: self._query,
            wire.QUERY_COMPRESSED: self._query,
            wire.EXECUTE_LOAD_QUERY: self._query,
            wire.ROTATE: self._files.rotate,
            wire.FORMAT_DESCRIPTION: self._files.format_description,
            wire.XID: self._transactions.xid,
            wire.TABLE_MAP: self._routes.table_map,
            wire.INCIDENT: self._incident,
            wire.GTID: self._transactions.gtid,
            wire.ANONYMOUS_GTID: self._transactions.anonymous,
            wire.TAGGED_GTID: self._transactions.tagged,
            wire.PREVIOUS_GTIDS: self._files.previous_gtids,
            wire.XA_PREPARE: self._xa_prepare,
            wire.PARTIAL_UPDATE: self._routes.partial,
            wire.TRANSACTION_PAYLOAD: self._payload,
            wire.MARIADB_GTID: self._transactions.mariadb_gtid,
            wire.MARIADB_GTID_LIST: self._files.mariadb_gtid_list,
            wire.MARIADB_CHECKPOINT: self._files.outside,
            **dict.fromkeys(wire.ROWS, self._routes.rows),
            **dict.fromkeys(QUIET, _pass_by),
        }

    def connected(self, server: str, *, by_gtid: bool, shares_id: bool) -> None:
        """A stream of this server follows. The files of another one are not its own, whatever their names.

        `by_gtid`: all that it writes has GTIDs. Otherwise those that it once wrote are not a place to go on from.
        `shares_id`: others may have its id, so the name does not show whose files they are.
        """
        self._files.connected(server, by_gtid=by_gtid, shares_id=shares_id)

    def restart(self) -> None:
        """A new stream from `position` follows."""
        self._transactions.restart()
        self._routes.forget()
        self._inner = None

    def follow(self, subscriptions: Subscriptions) -> None:
        """What is wanted after the DDL that was taken last."""
        self._statements.follow(subscriptions)
        self._transactions.follow(subscriptions)
        self._routes.follow(subscriptions)

    def position(self) -> Position:
        """After the last whole transaction that was fed, or after the DDL that the open one begins with.

        Raises OversizeError if the server has scattered its GTIDs so that its size would be unbounded.
        """
        return self._transactions.position()

    @property
    def server(self) -> str:
        """As a position names it."""
        return self._transactions.coordinates.server

    @property
    def file(self) -> str:
        """In which the stream is."""
        return self._transactions.coordinates.file

    @property
    def torn(self) -> bool:
        """Whether a part of the open transaction was delivered."""
        return self._transactions.open.torn

    @property
    def ready(self) -> bool:
        """Whether rows of whole transactions wait, or the event for which feeding stopped."""
        return self._halted or self._waiting.any_whole

    @property
    def moved(self) -> bool:
        """Whether the position after the last whole transaction was not delivered yet."""
        return self._transactions.moved

    @property
    def stopped(self) -> bool:
        """Whether feeding has to wait until `take` was called."""
        return self._waiting.full or self._halted

    @property
    def _halted(self) -> bool:
        """A DDL, or an XA COMMIT of rows that were delivered: nothing after it may get into the batch before it."""
        return self._statements.ddl is not None or self._branches.committed is not None

    def take(self) -> Batch:
        """What waits up to the last boundary; if there is none and no room, a part of the open transaction."""
        is_open = self._waiting.full and not self.ready
        lanes = self._waiting.take_all() if is_open else self._waiting.take_whole()
        now, ddl = self._transactions, self._statements.ddl
        if is_open:
            tables = frozenset(lane.table.table for lane in lanes if lane.xid == now.open.branch)
            now.open.deliver(now.coordinates.file, tables)
        batch = Batch(
            changes=changes_of([lane for lane in lanes if lane.xid is None], self._address),
            end=None if is_open else self._statements.before_ddl or self.position(),
            open=is_open,
            events=sum(len(lane.ends) for lane in lanes),
            bytes=sum(len(lane.data) for lane in lanes),
            source_time=now.source_time,
            first_time=now.first_time,
            ddl=ddl,
            forgotten=tuple(self._branches.forgotten),
            prepared=tuple(prepared_of(lanes, () if is_open else self._branches.prepared, self._address)),
            committed=self._branches.committed,
            passed=now.passed,
        )
        self._branches.deliver({each.xid: bool(each.changes) for each in batch.prepared})
        now.first_time = 0.0
        # An open transaction brings its own position; the transaction of a DDL goes with the next batch.
        now.moved = not is_open and ddl is not None
        self._statements.taken()
        return batch

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
        """Whether feeding has to stop; the remaining inner events come with the next feed."""
        assert self._inner is not None
        for data, start, end in self._inner:
            kind = data[start + 4]
            handler = self._unknown if kind == wire.TRANSACTION_PAYLOAD else self._handlers.get(kind, self._unknown)
            if handler(data, start, end):
                return True
        self._inner = self._transactions.coordinates.payload_end = None
        return False

    def _keep_high_bits(self, data: memoryview, start: int) -> None:
        if data[start + 4] in wire.ROWS:
            self._transactions.coordinates.pass_event(data, start)

    def _payload(self, data: memoryview, start: int, end: int) -> bool:
        """A whole transaction in one event; it may be larger than a batch."""
        limits = self._limits
        self._inner = compressed.payload(bytes(data[start:end]), limits.event_bytes, limits.transaction_bytes)
        self._transactions.coordinates.payload_end = log_pos(data, start)
        return self._feed_inner()

    def _query(self, data: memoryview, start: int, end: int) -> bool:
        self._statements.query(data, start, end)
        return self._halted

    def _xa_prepare(self, data: memoryview, start: int, end: int) -> bool:
        self._transactions.prepare_xa(data, start, end)
        return self._halted

    def _unknown(self, data: memoryview, start: int, _end: int) -> None:
        if not data[start + 17] & wire.FLAG_IGNORABLE:
            raise self._unsupported(f"it writes binlog events of type {data[start + 4]}")

    def _incident(self, _data: memoryview, _start: int, _end: int) -> None:
        raise self._unsupported("an incident: the server says that events are missing from its binlog")

    def _unsupported(self, reason: str) -> SyncError:
        return SyncError(Code.SOURCE_UNSUPPORTED, address=self._address, reason=reason)


def _pass_by(data: memoryview, start: int, end: int) -> None:
    """Nothing follows from the event."""
