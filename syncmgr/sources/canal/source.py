"""A canal destination as a source of batches.

Owns: the reader's life: connecting, asking, acknowledging, when canal is starved.
Must not know: where transactions end, how rows are decoded, who consumes batches.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import Batch
from syncmgr.sources.canal.acks import Acks
from syncmgr.sources.canal.answers.liveness import Liveness
from syncmgr.sources.canal.answers.starvation import Starvation
from syncmgr.sources.canal.connector import CanalLostError, Connector, Endpoint
from syncmgr.sources.canal.history import RewindError
from syncmgr.sources.canal.packet import Delivery, MalformedPacketError
from syncmgr.sources.canal.sorter import Sorter
from syncmgr.sources.canal.table_reader import LearnedTable
from syncmgr.sources.reconnect import Reconnector

GET_MILLISECOND: Final = 25  # how long canal may wait to fill a batch, and always does, reading nothing else meanwhile
MAX_FETCH: Final = 4096  # a quarter of canal's default ring: more than the ring holds would wait in every GET


class Locator(Protocol):
    """Where the destination is served now."""

    def locate(self) -> Endpoint:
        """Raises CanalLostError if it is not served, or has another reader."""

    def connected(self, local_address: str) -> None:
        """For anyone who looks up the reader."""

    def lost(self) -> bool:
        """Whether there may be another reader by now."""

    def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceOptions:
    """How a source reads. Times in seconds.

    `fetch_size`: of one GET, in KiB or entries, as the server counts. `max_open_bytes`: of a transaction before a part
    of it is handed on.
    """

    fetch_size: int = MAX_FETCH
    max_open_bytes: int = 16 * 1024 * 1024
    retry: Retry = field(default_factory=Retry)


class CanalSource:
    """Reads on after `start`. `get` belongs to one thread; `ack`, `heard_at`, `server`, `close` may be called from
    any.
    """

    def __init__(
        self,
        locator: Locator,
        table_filter: str,
        start: Position,
        tables: Mapping[Table, LearnedTable],
        *,
        label: str,
        options: SourceOptions | None = None,
        trouble: Callable[[SyncError | None], None] = lambda _: None,
        debug: Callable[[str], None] | None = None,
    ) -> None:
        """`label`: address/destination, for messages. `trouble` is called with each failure that is retried, and with
        None once it has passed. `debug` is called for each batch. Connects at the first get.
        """
        self._locator = locator
        self._filter = table_filter
        self._label = label
        self._options = options or SourceOptions()
        self._line = Reconnector(self._options.retry, trouble)
        self._debug = debug
        self._acks = Acks(start)
        self._sorter = Sorter(tables, start, self._acks, label=label, max_open_bytes=self._options.max_open_bytes)
        self._committed: deque[Position] = deque()
        self._connector: Connector | None = None
        self._trusted = True
        self._starvation = Starvation(self._acks, self._sorter)
        self._last_batch = 0  # of this connection; 0: none yet
        self._liveness = Liveness()
        self._server = ""

    def get(self, timeout: float) -> Batch | None:
        """The next batch, None if none came within `timeout` seconds. Raises SyncError for errors that no retry
        fixes.
        """
        batch = self._line.get(lambda: self._get(time.monotonic() + timeout), self._last)
        if self._line.closed:
            self._leave()
        return batch

    def _last(self) -> Batch | None:
        """Whole transactions before the error that ended it are not lost."""
        self._leave()
        return self._take() if self._sorter.ready else None

    def _get(self, deadline: float) -> Batch | None:
        try:
            return self._next(deadline)
        except MalformedPacketError as error:
            raise SyncError(Code.CANAL_PROTOCOL, address=self._label, reason=str(error)) from error

    def _next(self, deadline: float) -> Batch | None:
        while not self._line.closed:
            if self._connector is None and not self._connect(deadline):
                return None
            try:
                self._acknowledge()
                if self._sorter.ready:
                    return self._take()
                if self._receive(deadline):
                    continue
                hint = self._starvation.hint()
                if hint is None and self._sorter.ready:
                    return self._take()
            except CanalLostError as lost:
                self._lose(lost.cause_for_user)
                continue
            except RewindError:
                self._disconnect()
                self._trusted = False
                continue
            if hint is not None:
                return hint
            if time.monotonic() >= deadline:
                return None
        return None

    def _take(self) -> Batch:
        batch = self._sorter.take()
        if batch.events:
            self._line.progressed()
        return batch

    def _receive(self, deadline: float) -> bool:
        """Whether something arrived. The next batch is requested before this one is sorted, so that both sides work."""
        assert self._connector is not None
        delivery = self._connector.receive(deadline)
        if self._locator.lost():
            raise CanalLostError(_lost_lock(self._label))
        if delivery is None:
            return False
        asked_at = self._liveness.heard()
        self._acknowledge()  # before the request: canal would read it after its answer, with its ring full meanwhile
        self._ask(self._connector, *delivery.entries)
        if delivery.batch_id < 0 or not delivery.entries:
            self._starvation.nothing_came()
            if not self._sorter.open and not self._sorter.ready:
                self._liveness.had_all(asked_at)
            return False
        self._starvation.ended()
        self._check_alone(delivery.batch_id)
        self._report(delivery)
        self._sorter.feed(delivery.batch_id, delivery.entries)
        return True

    def _ask(self, connector: Connector, *came: bytes) -> None:
        """`came`: what is un-acked besides everything that was sorted."""
        self._liveness.asks(has_room=self._starvation.has_room(sum(map(len, came))))
        connector.ask(self._options.fetch_size, GET_MILLISECOND)

    def _check_alone(self, batch_id: int) -> None:
        """Canal numbers what it hands out: a missing number went to another reader."""
        expected, self._last_batch = self._last_batch + 1, batch_id
        if expected > 1 and batch_id != expected:
            reader = f"another client: batch {expected} went to it"
            address, _, destination = self._label.rpartition("/")
            raise CanalLostError(SyncError(Code.CANAL_IN_USE, destination=destination, address=address, reader=reader))

    def _report(self, delivery: Delivery) -> None:
        if self._debug is not None:
            size = sum(map(len, delivery.entries))
            self._debug(f"{self._label}: batch {delivery.batch_id}, {len(delivery.entries)} entries, {size} bytes")

    def _acknowledge(self) -> None:
        assert self._connector is not None
        while self._committed:
            self._acks.committed(self._committed.popleft())
        for batch_id in self._acks.due():
            self._connector.acknowledge(batch_id)
            self._starvation.acknowledged()

    def _connect(self, deadline: float) -> bool:
        """Whether there is a connection now; waits for the next attempt no longer than until the deadline."""
        if not self._line.is_due(deadline):
            return False
        try:
            endpoint = self._locator.locate()
            self._connector = Connector(endpoint, self._filter, self._line.opened)
            self._locator.connected(self._connector.local_address())
            self._ask(self._connector)
        except CanalLostError as lost:
            self._lose(lost.cause_for_user)
            return False
        self._sorter.restart(trusted=self._trusted)
        self._trusted = True
        self._starvation.ended()
        self._last_batch = 0
        self._liveness.heard()
        self._server = endpoint.label
        self._line.connected()
        return True

    def _lose(self, error: SyncError) -> None:
        """Whole transactions stay, the open one is read again."""
        self._disconnect()
        self._line.lost(error)

    def _disconnect(self) -> None:
        connector, self._connector, self._server = self._connector, None, ""
        self._line.dropped()
        if connector is not None:
            connector.close()

    def _leave(self) -> None:
        self._disconnect()
        self._locator.close()

    def ack(self, end: Position) -> None:
        """Sent to canal between two GETs."""
        self._committed.append(end)

    def caught_up_at(self) -> float:
        """When canal was last asked and had nothing beyond what was given, in unix time; 0.0: not known."""
        return self._liveness.caught_up_at

    def heard_at(self) -> float:
        """Unix time of canal's last answer; 0.0 if there was none yet."""
        return self._liveness.heard_at

    def server(self) -> str:
        return self._server

    def follow(self, _channels: object) -> None:
        raise AssertionError("canal gives no statement that holds reading back")

    def close(self) -> None:
        """At once; a get that waits ends."""
        self._line.close()


def _lost_lock(label: str) -> SyncError:
    reason = "the session with ZooKeeper is over, so another reader may have begun"
    return SyncError(Code.CANAL_UNREACHABLE, address=label, reason=reason)
