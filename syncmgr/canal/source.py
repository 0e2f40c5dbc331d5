"""A canal destination as a source of batches.

Owns: the reader's life: connecting, reconnecting with back-off, asking, acknowledging, when canal is starved.
Must not know: where transactions end, how rows are decoded, who consumes batches.
"""

import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from syncmgr.canal.acks import Acks
from syncmgr.canal.connector import CanalLostError, Connector, Endpoint, shut
from syncmgr.canal.packet import Delivery, MalformedPacketError
from syncmgr.canal.sorter import RewindError, Sorter
from syncmgr.canal.truth import TableTruth
from syncmgr.errors import Code, SyncError
from syncmgr.job.batch import Batch
from syncmgr.job.ddl import Table
from syncmgr.job.position import Position

STEADY_SECOND: Final = 30.0  # a connection that lived so long ends a series of failures
PATIENCE_SECOND: Final = 60.0  # a cluster may need so long to find its new active server
GET_MILLISECOND: Final = 100  # how long canal may wait to fill a batch
MAX_FETCH: Final = 4096  # a quarter of canal's default ring: more than the ring holds would wait in every GET
FULL_ENTRIES: Final = 8192  # half of the default ring
FULL_BYTES: Final = 8 * 1024 * 1024
STARVED_GETS: Final = 3  # empty ones in a row, with so much un-acked
SILENT_GETS: Final = 20  # the same whatever is un-acked: two seconds
KEPT_BYTES: Final = 64 * 1024  # what the batch that is kept back may take of the ring while nothing moves


class Locator(Protocol):
    """Where the destination is served now."""

    def locate(self) -> Endpoint:
        """Raises CanalLostError where nobody serves it, or somebody else reads it."""

    def connected(self, local_address: str) -> None:
        """For whoever asks who reads."""

    def lost(self) -> bool:
        """Whether somebody else may read by now."""

    def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceOptions:
    """How a source reads. Times in seconds.

    `fetch_size`: of one GET, in KiB or entries, as the server counts. `max_open_bytes`: of a transaction before a part
    of it is handed on. `max_retry`: failures in a row before the error is raised, though not before `patience`; None:
    it tries for ever.
    """

    fetch_size: int = MAX_FETCH
    max_open_bytes: int = 16 * 1024 * 1024
    retry_first: float = 0.2
    retry_max: float = 15.0
    patience: float = PATIENCE_SECOND
    max_retry: int | None = None


class CanalSource:
    """Reads on behind `start`. `get` belongs to one thread; `ack`, `heard_at`, `server`, `close` come from any."""

    def __init__(
        self,
        locator: Locator,
        table_filter: str,
        start: Position,
        tables: Mapping[Table, TableTruth],
        *,
        label: str,
        options: SourceOptions | None = None,
        trouble: Callable[[SyncError | None], None] = lambda _: None,
        debug: Callable[[str], None] | None = None,
    ) -> None:
        """`label`: address/destination, for messages. `trouble` hears of each failure that is retried, and None

        once it has passed. `debug` hears of each batch. Connects at the first get.
        """
        self._locator = locator
        self._filter = table_filter
        self._label = label
        self._options = options or SourceOptions()
        self._trouble = trouble
        self._debug = debug
        self._acks = Acks()
        self._sorter = Sorter(tables, start, self._acks, label=label, max_open_bytes=self._options.max_open_bytes)
        self._committed: deque[Position] = deque()
        self._connector: Connector | None = None
        self._trusted = True
        self._empty = 0  # GETs in a row that brought nothing
        self._idle = False
        self._last_batch = 0  # of this connection; 0: none yet
        self._hinted = False
        self._failures = 0
        self._failing_since = self._connected_at = self._retry_at = 0.0
        self._heard_at = 0.0
        self._server = ""
        self._failure: SyncError | None = None
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def get(self, timeout: float) -> Batch | None:
        """The next batch, None if none came within `timeout` seconds. Raises SyncError for what no retry mends."""
        if self._closed.is_set():
            self._leave()
            return None
        if self._failure is not None:
            raise self._failure
        try:
            return self._get(time.monotonic() + timeout)
        except SyncError as error:
            self._failure = error
        except MalformedPacketError as error:
            self._failure = SyncError(Code.CANAL_PROTOCOL, address=self._label, reason=str(error))
        self._leave()
        if self._sorter.ready:
            return self._take()  # whole transactions before the failure are not lost
        raise self._failure

    def _get(self, deadline: float) -> Batch | None:
        while not self._closed.is_set():
            if self._connector is None and not self._connect(deadline):
                return None
            try:
                self._acknowledge()
                if self._sorter.ready:
                    return self._take()
                if self._receive(deadline):
                    continue
            except CanalLostError as lost:
                self._lose(lost.cause_for_user)
                continue
            except RewindError:
                self._disconnect()
                self._trusted = False
                continue
            hint = self._hint()
            if hint is not None:
                return hint
            if time.monotonic() >= deadline:
                return None
        self._leave()
        return None

    def _take(self) -> Batch:
        batch = self._sorter.take()
        if batch.events:
            self._failures = 0
        return batch

    def _receive(self, deadline: float) -> bool:
        """Whether something came. The next batch is asked for before this one is sorted, so that both work."""
        assert self._connector is not None
        delivery = self._connector.receive(deadline)
        if self._locator.lost():
            raise CanalLostError(self._in_use())
        if delivery is None:
            return False
        self._heard_at = time.time()
        self._connector.ask(self._options.fetch_size, GET_MILLISECOND)
        self._idle = delivery.batch_id < 0 or not delivery.entries
        if self._idle:
            self._empty += 1
            return False
        self._empty, self._hinted = 0, False
        self._check_alone(delivery.batch_id)
        self._tell(delivery)
        self._sorter.feed(delivery.batch_id, delivery.entries)
        return True

    def _check_alone(self, batch_id: int) -> None:
        """Canal counts what it hands out: a number that is left out went to another reader."""
        expected, self._last_batch = self._last_batch + 1, batch_id
        if expected > 1 and batch_id != expected:
            reader = f"another client: batch {expected} went to it"
            address, _, destination = self._label.rpartition("/")
            raise CanalLostError(SyncError(Code.CANAL_IN_USE, destination=destination, address=address, reader=reader))

    def _in_use(self) -> SyncError:
        reason = "the session with ZooKeeper is over, so another reader may have begun"
        return SyncError(Code.CANAL_UNREACHABLE, address=self._label, reason=reason)

    def _tell(self, delivery: Delivery) -> None:
        if self._debug is not None:
            size = sum(map(len, delivery.entries))
            self._debug(f"{self._label}: batch {delivery.batch_id}, {len(delivery.entries)} entries, {size} bytes")

    # -- acknowledging, and a ring that is full

    def _acknowledge(self) -> None:
        assert self._connector is not None
        while self._committed:
            self._acks.committed(self._committed.popleft())
        for batch_id in self._acks.due():
            self._connector.acknowledge(batch_id)
            self._empty = 0

    def _hint(self) -> Batch | None:
        """Canal's ring may be full of what is not acknowledged: it gives no more until that changes."""
        full = self._acks.entries >= FULL_ENTRIES or self._acks.bytes >= FULL_BYTES
        starved = self._empty >= STARVED_GETS and full
        silent = self._empty >= SILENT_GETS
        if not (starved or silent):
            return None
        if self._acks.pending:
            return self._hurry() if starved or self._sorter.open else None
        if silent and self._acks.kept_bytes >= KEPT_BYTES:
            self._empty = 0
            return self._sorter.release()
        if self._sorter.open and not self._acks.kept_bytes:
            self._empty = 0
            self._sorter.tear()
            return self._take()
        return None

    def _hurry(self) -> Batch | None:
        """Ask once that what was handed on is committed."""
        if self._hinted:
            return None
        self._hinted = True
        return Batch(
            changes=(),
            end=None,
            open=self._sorter.delivered_open,
            events=0,
            bytes=0,
            source_time=0.0,
            starved=True,
        )

    # -- the connection

    def _connect(self, deadline: float) -> bool:
        """Whether there is a connection now; waits for the next attempt no longer than until the deadline."""
        now = time.monotonic()
        if self._retry_at > now:
            self._closed.wait(min(self._retry_at, deadline) - now)
            if time.monotonic() < self._retry_at:
                return False
        try:
            endpoint = self._locator.locate()
            self._connector = Connector(endpoint, self._filter, self._opened)
            self._locator.connected(self._connector.local_address())
            self._connector.ask(self._options.fetch_size, GET_MILLISECOND)
        except CanalLostError as lost:
            self._lose(lost.cause_for_user)
            return False
        self._sorter.restart(trusted=self._trusted)
        self._trusted, self._empty, self._hinted = True, 0, False
        self._last_batch = 0
        self._connected_at = time.monotonic()
        self._heard_at = time.time()
        self._server = endpoint.label
        if self._failures:
            self._trouble(None)
        return True

    def _opened(self, connected: socket.socket) -> None:
        with self._lock:
            self._socket = connected
            if self._closed.is_set():
                shut(connected)

    def _lose(self, error: SyncError) -> None:
        """Whole transactions stay, the open one is read again."""
        self._disconnect()
        if self._closed.is_set():
            return
        now = time.monotonic()
        if self._connected_at and now - self._connected_at > STEADY_SECOND:
            self._failures = 0
        if not self._failures:
            self._failing_since = now
        self._failures += 1
        self._retry_at = now + min(
            self._options.retry_first * 2.0 ** min(self._failures - 1, 16), self._options.retry_max
        )
        self._connected_at = 0.0
        tried = self._options.max_retry is not None and self._failures > self._options.max_retry
        if tried and now - self._failing_since >= self._options.patience:
            raise error
        self._trouble(error)

    def _disconnect(self) -> None:
        connector, self._connector, self._server = self._connector, None, ""
        with self._lock:
            self._socket = None
        if connector is not None:
            connector.close()

    def _leave(self) -> None:
        self._disconnect()
        self._locator.close()

    # -- from any thread

    def ack(self, end: Position) -> None:
        """Canal hears of it between two GETs."""
        self._committed.append(end)

    def idle(self) -> bool:
        """Whether canal had nothing more to give when it was asked last."""
        return self._idle and not self._sorter.open

    def heard_at(self) -> float:
        """Unix time of canal's last answer; 0.0 if there was none yet."""
        return self._heard_at

    def server(self) -> str:
        return self._server

    def close(self) -> None:
        """At once; a get that waits ends."""
        self._closed.set()
        with self._lock:
            if self._socket is not None:
                shut(self._socket)
