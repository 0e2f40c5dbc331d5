"""A MySQL or MariaDB server as a source of batches.

Owns: the reader's life: connecting, what a lost stream means, when a batch is handed out.
Must not know: where transactions end, how rows are decoded, who consumes batches.
"""

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from mysqlddl.reading import Modes
from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.channel.patterns import Pattern
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.objects.surroundings import Answers, Unasked
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import Batch
from syncmgr.sources.mysql.address import Candidates, MysqlAddress
from syncmgr.sources.mysql.binlog.continuation.continuation import LeftOutError
from syncmgr.sources.mysql.binlog.dump.liveness import Liveness
from syncmgr.sources.mysql.binlog.dump.stream import (
    BinlogStream,
    DumpFailedError,
    DuplicateServerIdError,
    StreamLostError,
    StreamOptions,
)
from syncmgr.sources.mysql.binlog.dump.turned_replica import TurnedReplica
from syncmgr.sources.mysql.binlog.router import Limits, Router
from syncmgr.sources.mysql.binlog.subscription import Subscription
from syncmgr.sources.mysql.binlog.subscriptions import Subscriptions
from syncmgr.sources.mysql.binlog.unlogged import Keep, Unlogged
from syncmgr.sources.mysql.binlog.unlogged_alter import UnloggedAlters
from syncmgr.sources.mysql.binlog.unlogged_tables import UnloggedTables
from syncmgr.sources.mysql.server.surroundings import Patience, asked
from syncmgr.sources.mysql.wire import MalformedEventError, OversizeError
from syncmgr.sources.port import ChannelPlan
from syncmgr.sources.reconnect import Reconnector

if TYPE_CHECKING:
    from syncmgr.sources.mysql.binlog.dump.packets import Chunk

MOST_LINGERS: Final = 20
MAX_DUPLICATES: Final = 2  # our own old connection may linger once; another replica keeps coming back


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceOptions:
    """How a source reads. Times in seconds.

    `linger`: how long rows wait for more, which makes batches out of a trickle; for rows that are already there,
    MOST_LINGERS times as long, or a process that shares its core would make many small batches. `position_interval`:
    how often the position alone is reported while only foreign transactions pass. `schema_check`: how often tables are
    checked for an ALTER that is in no binlog, and the server whether it has become a replica that logs nothing of what
    it replicates. `patience`: with queries about objects that are not read.
    """

    limits: Limits = field(default_factory=Limits)
    heartbeat: float = 5.0
    read_timeout: float = 20.0
    verify: bool = True
    linger: float = 0.01
    position_interval: float = 1.0
    schema_check: float = 30.0
    patience: Patience = field(default_factory=Patience)
    retry: Retry = field(default_factory=Retry)


@dataclass(slots=True)
class _Failures:
    """`duplicates`: of the server id, since a connection lived for long. `dump`: the server could not read its binlog,
    since the last rows.
    """

    duplicates: int = 0
    dump: bool = False


class MysqlSource:
    """Reads from `start`. `get` belongs to one thread; `ack`, `heard_at` and `close` may be called from any."""

    def __init__(
        self,
        addresses: Sequence[MysqlAddress],
        server_id: int,
        start: Position,
        tables: Mapping[Table, Subscription],
        *,
        options: SourceOptions | None = None,
        trouble: Callable[[SyncError | None], None] = lambda _: None,
        prepared: Mapping[str, bool] | None = None,
        families: Collection[Pattern] = (),
        keep: Keep = lambda _: None,
        asked_until: int = 0,
    ) -> None:
        """`addresses`: servers of one history; one is read, the next when that fails. `trouble` is called with each
        failure that is retried, and with None once it has passed. Connects at the first get. `prepared`: by xid, the XA
        transactions that are open at `start`, and whether they have rows. `families`: those whose new tables are
        reported as DDL. `keep`: stores the second in which the server has answered about objects, before the answer is
        used; `asked_until`: what it stored last.
        """
        self._servers = Candidates(addresses)
        self._server_id = server_id
        self._options = options or SourceOptions()
        self._line = Reconnector(self._options.retry, trouble)
        label = ",".join(address.label for address in addresses)
        unlogged = Unlogged(label, self._ask, keep, asked_until=asked_until)
        most = self._options.limits.event_cells
        self._subscriptions = Subscriptions(tables, label, unlogged, UnloggedTables(families), most_cells=most)
        self._router = Router(self._subscriptions, self._options.limits, start, label, prepared or {})
        self._unlogged_alters = UnloggedAlters(
            self._options.schema_check,
            lambda: self._subscriptions.known(),  # noqa: PLW0108 - after `follow` they are different
            self._subscriptions.nameless,
        )
        self._turned_replica = TurnedReplica(self._options.schema_check, self._line.opened)
        self._stream: BinlogStream | None = None
        self._chunk: Chunk | None = None
        self._at = 0
        self._failures = _Failures()
        self._liveness = Liveness(self._options.heartbeat, self._options.read_timeout, self._line.opened)
        self._reported_at = time.monotonic()
        self._since: float | None = None  # when the rows that wait began to wait

    def get(self, timeout: float) -> Batch | None:
        """The next batch, None if none came within `timeout` seconds. Raises SyncError for errors that no retry
        fixes.
        """
        batch = self._line.get(lambda: self._get(time.monotonic() + timeout), self._last)
        if self._line.closed:
            self._disconnect()
        return batch

    def _last(self) -> Batch | None:
        """Whole transactions before the error that ended it are not lost."""
        self._disconnect()
        if not (self._router.ready or self._router.moved):
            return None
        with contextlib.suppress(MalformedEventError, OversizeError):  # it may be what ended the read
            return self._take()
        return None

    def _get(self, deadline: float) -> Batch | None:
        try:
            return self._next(deadline)
        except MalformedEventError as error:
            raise SyncError(Code.SOURCE_PROTOCOL, address=self._servers.current.label, reason=str(error)) from error
        except OversizeError as error:
            raise SyncError(Code.SOURCE_TOO_LARGE, address=self._servers.current.label, reason=str(error)) from error

    def _next(self, deadline: float) -> Batch | None:
        while not self._line.closed:
            if self._stream is None and not self._connect(deadline):
                return None
            try:
                if self._feed():
                    return self._take()
                assert self._stream is not None, "it is connected"
                self._turned_replica.look(self._stream, self._servers.current)
                if self._chunk is None and not self._router.ready:
                    self._liveness.nothing_waits(self._stream, self._servers.current, self._router.file)
                self._unlogged_alters.look(self._servers.current, self._router.position())
                came = self._read(deadline)
            except (StreamLostError, DuplicateServerIdError) as lost:
                self._lose(lost)
                continue
            except DumpFailedError as failed:
                self._lose(self._once_more(failed))
                continue
            if not came and (self._router.ready or self._position_is_due()):
                return self._take()
            if not came and time.monotonic() >= deadline:
                return None
        return None

    def _once_more(self, failed: DumpFailedError) -> StreamLostError:
        """Raises the error if that was in vain."""
        if self._failures.dump:
            raise failed
        self._failures.dump = True
        return StreamLostError(failed)

    def _feed(self) -> bool:
        """Whether a batch must be taken now."""
        if self._chunk is not None:
            self._at = self._router.feed(self._chunk.data, self._chunk.spans, self._at)
            if self._at == len(self._chunk.spans) and not self._router.inside:
                self._chunk = None
        if self._router.stopped:
            return True
        if not self._router.ready:
            self._since = None
            return self._position_is_due() and self._chunk is None
        now = time.monotonic()
        self._since = self._since or now
        return now - self._since >= MOST_LINGERS * self._options.linger

    def _read(self, deadline: float) -> bool:
        """Whether something arrived. Rows that have lingered long enough wait for nothing that has yet to arrive."""
        assert self._stream is not None
        until = deadline if self._since is None else min(deadline, self._since + self._options.linger)
        chunk = self._stream.read(max(until - time.monotonic(), 0.0))
        if chunk is None:
            self._liveness.check_pace(self._stream)
            return False
        self._liveness.came(self._stream, chunk)
        self._chunk, self._at = chunk, 0
        return True

    def _ask(self, unasked: Unasked, modes: Modes) -> Answers:
        """Outside the stream. Raises StreamLostError if the server gives no answer: then it is queried again."""
        assert self._stream is not None
        try:
            opened, patience = self._line.opened, self._options.patience
            return asked(self._servers.current, self._stream.settings.id, unasked, modes, opened, patience)
        except SyncError as error:
            if error.code in {Code.SOURCE_UNREACHABLE, Code.SOURCE_LOCKED}:
                raise StreamLostError(error) from error
            raise
        finally:
            self._line.opened(self._stream.connected)

    def _position_is_due(self) -> bool:
        return self._router.moved and time.monotonic() - self._reported_at >= self._options.position_interval

    def _take(self) -> Batch:
        self._reported_at = time.monotonic()
        self._since = None
        batch, known = self._router.take(), self._subscriptions
        batch = replace(batch, nameless=known.nameless.tables, unlogged_tables=known.unlogged_tables.take())
        if batch.events:
            self._failures.dump = False
            self._line.progressed()
        return batch

    def _connect(self, deadline: float) -> bool:
        """Whether there is a stream now; waits for the next attempt no longer than until the deadline."""
        if not self._line.is_due(deadline):
            return False
        options = StreamOptions(
            server_id=self._server_id,
            heartbeat=self._options.heartbeat,
            read_timeout=self._options.read_timeout,
            verify=self._options.verify,
            event_bytes=self._options.limits.event_bytes,
        )
        try:
            self._stream = BinlogStream(self._servers.current, options, self._router.position(), self._line.opened)
        except StreamLostError as lost:
            self._lose(lost)
            self._servers.next()
            return False
        except LeftOutError:
            raise
        except SyncError as error:
            self._refused(error)
            return False
        self._servers.accepted()
        settings = self._stream.settings
        self._refuse_torn(settings.id)
        self._router.connected(settings.id, by_gtid=settings.by_gtid, shares_id=settings.in_galera)
        self._subscriptions.connected(settings, self._stream.begun)
        self._unlogged_alters.begin(named=settings.named)
        self._turned_replica.begin(self._stream)
        self._liveness.connected(self._stream)
        self._line.connected()
        return True

    def _refused(self, error: SyncError) -> None:
        """By one of several servers: the next may accept it. Raises the error if none is left."""
        self._servers.refused(error)
        self._router.restart()
        self._line.lost(error)

    def _refuse_torn(self, server: str) -> None:
        """Another server may split a transaction into other events than those already handed on."""
        if self._router.torn and server != self._router.server:
            raise SyncError(Code.SOURCE_MOVED, address=self._servers.current.label)

    def _lose(self, lost: StreamLostError | DuplicateServerIdError) -> None:
        """Whole transactions stay, the open one is read again."""
        self._disconnect()
        self._router.restart()
        if self._line.steady:
            self._failures.duplicates = 0
        self._line.lost(self._named(lost))

    def _named(self, lost: StreamLostError | DuplicateServerIdError) -> SyncError:
        if isinstance(lost, StreamLostError):
            return lost.cause_for_user
        self._failures.duplicates += 1
        error = SyncError(Code.SOURCE_SERVER_ID, server_id=self._server_id, address=self._servers.current.label)
        if self._failures.duplicates >= MAX_DUPLICATES:
            raise error
        return error

    def _disconnect(self) -> None:
        stream, self._stream, self._chunk = self._stream, None, None
        self._line.dropped()
        self._liveness.disconnected()
        if stream is not None:
            stream.close()

    def follow(self, channels: Iterable[ChannelPlan]) -> None:
        """What is wanted after the DDL that was given last. Not concurrently with `get`."""
        self._subscriptions = self._subscriptions.following(channels, self._router.position())
        self._router.follow(self._subscriptions)
        self._unlogged_alters.followed()

    def ack(self, end: Position) -> None:
        """A binlog needs none: the committer keeps the position."""

    def caught_up_at(self) -> float:
        """By then, in unix time of its clock, the server had nothing beyond what was given; 0.0: not known."""
        return self._liveness.caught_up_at

    def heard_at(self) -> float:
        """Unix time of the last sign of life, heartbeats included; 0.0 if there was none yet."""
        return self._liveness.heard_at

    def server(self) -> str:
        """The one server, while there is a connection."""
        return "" if self._stream is None else self._servers.current.label

    def close(self) -> None:
        """At once; a get that waits ends."""
        self._line.close()
