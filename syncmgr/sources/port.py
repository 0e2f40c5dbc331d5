"""What the rest of the program requires of a source.

Owns: the ports of a kind of source, of one source, of its rows and of its changes.
Must not know: kinds of sources.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from syncmgr.config.settings import Settings
from syncmgr.errors import SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.channel.description import ChannelDescription, Listed, Reshaped, Shadow
from syncmgr.job.channel.patterns import Found, Pattern
from syncmgr.job.check.reached import Reached
from syncmgr.job.position import Position
from syncmgr.job.property import Property
from syncmgr.job.rows.batch import Batch
from syncmgr.job.snapshot.chunk import ChunkPlan
from syncmgr.job.snapshot.chunk_rows import SourceReader
from syncmgr.job.snapshot.handshake import Locked
from syncmgr.job.source import SourceDescription
from syncmgr.job.source_history.retained import Retained
from syncmgr.job.types.schema import SourceTable

Table = tuple[str, str]
Trouble = Callable[[SyncError | None], None]  # an error that is retried; None: it has passed
Keep = Callable[[int], None]  # the second of an answer, which survives every end of the process


class Inspected(Protocol):
    """What the source server said at CREATE SYNC. Tables in the requested order.

    `unique_keys`: per table, the column sets of its primary and NOT NULL unique keys. `server_time`: unix seconds.
    `known_at`: the place in the binlog at which the tables are as described. `full_metadata`: the binlog has column
    names.
    """

    @property
    def start(self) -> Position: ...
    @property
    def full_metadata(self) -> bool: ...
    @property
    def known_at(self) -> Position | None: ...
    @property
    def server_time(self) -> float: ...
    @property
    def tables(self) -> tuple[SourceTable, ...]: ...
    @property
    def unique_keys(self) -> tuple[tuple[tuple[str, ...], ...], ...]: ...


class SourceStream(Protocol):
    """A canal destination or a MySQL server, read from the position it was opened at."""

    def get(self, timeout: float) -> Batch | None:
        """The next batch, None if nothing came in time. Raises SyncError for errors that a retry does not fix."""

    def ack(self, end: Position) -> None:
        """Everything up to `end` is in the lake."""

    def heard_at(self) -> float:
        """Unix time of the last sign of life, heartbeats included; 0.0 if there was none yet."""

    def caught_up_at(self) -> float:
        """At this unix time of its clock the source had nothing beyond what `get` had given before its last call began;
        0.0: not known. It never decreases.
        """

    def server(self) -> str:
        """`host:port` of the server that is read now, "" if none is."""

    def close(self) -> None:
        """From any thread, at once; a get that waits ends."""

    def follow(self, channels: "Sequence[ChannelPlan]", /) -> None:
        """What is wanted after a Ddl with `followable`, which stops reading. For a source that can FOLLOW_DDL: others
        give none. Not concurrently with `get`.
        """


class ChannelPlan(Protocol):
    """The part of a worker's channel that matters to a source."""

    @property
    def token(self) -> str: ...
    @property
    def source(self) -> SourceTable: ...
    @property
    def reads(self) -> tuple[str, ...]: ...
    @property
    def source_keys(self) -> tuple[str, ...]: ...
    @property
    def places(self) -> tuple[Listed, ...]: ...
    @property
    def shadows(self) -> tuple[Shadow, ...]: ...
    @property
    def after(self) -> Position | None: ...
    @property
    def known_at(self) -> Position | None: ...
    @property
    def complete(self) -> bool: ...
    @property
    def nameless(self) -> bool: ...
    @property
    def gone(self) -> bool: ...
    @property
    def reshaped(self) -> Reshaped: ...


class PreparedRows(Protocol):
    """The part of an open XA transaction that matters to a source."""

    @property
    def files(self) -> Mapping[str, object]: ...


class StreamPlan(Protocol):
    """The part of a worker's plan that matters to a source."""

    @property
    def start(self) -> Position: ...
    @property
    def channels(self) -> Sequence[ChannelPlan]: ...
    @property
    def prepared(self) -> Mapping[str, PreparedRows]: ...
    @property
    def families(self) -> Sequence[Pattern]: ...
    @property
    def asked_until(self) -> int: ...


class OpenStream(Protocol):
    """Opens the changes of a job in its worker's process, to which it is sent."""

    def __call__(self, plan: StreamPlan, trouble: Trouble, keep: Keep, /) -> SourceStream: ...


class Point(Protocol):
    """The handshake with the reader of a table without a key."""

    def find(self, ended: Callable[[], bool]) -> Position | None:
        """The place of the read in the binlog; None: it `ended` before it read."""

    def release(self) -> None:
        """The rows may be read."""


class SnapshotSource(Protocol):
    """What a snapshot queries from the server besides the rows."""

    def give_up(self) -> None: ...
    def settle(self, start: Position) -> SourceReader:
        """What reads the rows of the server that is queried from now on."""

    def await_seen(self, table: SourceTable, start: Position) -> None: ...
    def plan(self, table: SourceTable, key: Sequence[str], wanted_rows: int, where: str = "") -> ChunkPlan: ...
    def end(self) -> Position: ...
    def exact(self, table: SourceTable, name: str, known: Collection[str]) -> AbstractContextManager[Point]: ...
    def check_same(self, tables: Sequence[tuple[SourceTable, Sequence[str]]]) -> None: ...
    def check_held(self, start: Position) -> float | None: ...


class SourceRows(Protocol):
    """Of a source that can READ_ROWS."""

    def check_exact(self, tables: Sequence[SourceTable]) -> None:
        """Whether tables without a key can be read at an exact point. Raises SNAPSHOT_REFUSED."""

    def snapshot(self) -> SnapshotSource: ...


class CheckedServer(Protocol):
    """What a check of the rows queries: one server, by the texts of job/check. From any thread."""

    def give_up(self) -> None:
        """All present and future questions end with INTERRUPTED. Returns at once."""

    def settle(self, channel: ChannelDescription, start: Position) -> None:
        """Waits until a SELECT shows everything up to there. Raises CHECK_REFUSED if that is never known."""

    def bounds(self, channel: ChannelDescription, wanted_rows: int) -> tuple[tuple[str, ...], int]:
        """The integers at which to cut a table whose key is one, and an estimate of its rows."""

    def ask(self, text: str) -> list[tuple[Any, ...]]:
        """The rows of one SELECT, which sees one moment."""

    def end(self) -> Reached:
        """After everything that a SELECT has shown so far."""


class SourceTables(Protocol):
    """Of a source that can LIST_TABLES."""

    def survey(self, patterns: Sequence[str]) -> Mapping[Table, Found]:
        """The tables of the databases that match one of these LIKE patterns."""

    def end(self) -> Position:
        """Where its changes end now."""

    def named(self, start: Position, families: Sequence[Pattern]) -> frozenset[Table]:
        """The tables of the families that statements after a place create, as far as a brief look sees: under their
        last names, also if they were dropped again.
        """


class Source(Protocol):
    """One source, as a job describes it. Every call may block up to the settings' timeouts."""

    def inspect(self, tables: Sequence[Table], locked: Locked, /) -> Inspected:
        """What CREATE SYNC must know. Raises SyncError for anything that forbids the job."""

    def check_continues(self, before: SourceDescription, start: Position, tables: Sequence[Table], /) -> None:
        """Whether a job that has read `before` up to `start` can go on here, as far as it can be known without reading
        on. `tables`: those that it reads. Raises SyncError for anything that forbids it.
        """

    def retained(self, starts: Sequence[Position], /) -> Sequence[Retained] | None:
        """Of each place, how long what follows it stays; None: such a source does not show it. Raises SyncError."""

    @property
    def rows(self) -> SourceRows | None: ...
    @property
    def tables(self) -> SourceTables | None: ...
    def checked(self) -> CheckedServer | None:
        """None: its rows cannot be compared."""

    def stream(self, token: str, retry: Retry, /) -> OpenStream:
        """`token`: of the job's first channel. `retry`: of connections."""


class SourceKind(Protocol):
    """MySQL, canal, ...: what "type" of FROM BINLOG names."""

    @property
    def properties(self) -> tuple[Property, ...]:
        """The keys of FROM BINLOG."""

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that a worker needs: they start no thread."""

    def described(self, properties: Mapping[str, str]) -> SourceDescription:
        """Raises PROPERTY_MISSING, PROPERTY_UNKNOWN, PROPERTY_WRONG."""

    def restored(self, facts: Mapping[str, Any]) -> SourceDescription:
        """The inverse of its `facts`, also as earlier versions have stored them."""

    def source(self, description: SourceDescription, settings: Settings) -> Source: ...
