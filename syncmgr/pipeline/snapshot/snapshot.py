"""The snapshot of a job: the rows that existed before its binlog is read.

Owns: which tables are read now and which later, what a statement on a table that is being read does to its rows.
Must not know: how the rows of a table are read, where the changes of a table wait.
"""

import threading
import time
from collections.abc import Callable, Container, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import partial

from syncmgr.errors import SyncError
from syncmgr.errors.concern import Phase, is_of_one_table
from syncmgr.job.backoff import Series
from syncmgr.job.channel import channel_state
from syncmgr.job.channel.channel_state import Rows, may_be_followed
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.ddl_step import DdlStep
from syncmgr.job.position import Position, has_passed, is_beyond
from syncmgr.job.snapshot.chunk import Load
from syncmgr.job.snapshot.key_range import KeyRange, kept
from syncmgr.job.snapshot.outdated import is_outdated, is_renamed
from syncmgr.lake.port import Chunks
from syncmgr.pipeline.snapshot.chunk_reading import ChunkReading
from syncmgr.pipeline.snapshot.handover import Ending, ReadStatementLock
from syncmgr.pipeline.snapshot.late_tables import LateTables, next_wait
from syncmgr.pipeline.snapshot.loading import Loading
from syncmgr.pipeline.snapshot.missing_rows import MissingRows
from syncmgr.pipeline.snapshot.port import SnapshotLedger, SnapshotOptions
from syncmgr.pipeline.standings import Standings
from syncmgr.sources.port import SnapshotSource


class Snapshot:
    """Of one job; methods are for the thread of its run unless stated otherwise."""

    def __init__(self, options: SnapshotOptions, source: SnapshotSource, ledger: SnapshotLedger, lake: Chunks) -> None:
        self._options = options
        self._channels = {channel.token: channel for channel in options.channels}
        self._source = source
        self._ledger = ledger
        loads = ledger.loads()
        self.standings = Standings(options.channels, loads)
        self._uppers = {token: load.upper for token, load in loads.items() if load.upper and not load.caught_up}
        self._chunks = ChunkReading(options, self._channels, source, ledger, lake)
        self._loading = Loading(
            options,
            self._channels,
            source,
            ledger,
            lake,
            chunks=self._chunks,
            standings=self.standings,
            uppers=self._uppers,
        )
        self._missing = MissingRows(self.standings)
        self._bringing = threading.Lock()  # held while tables are loaded
        self._tries = Series()  # of tables without a key, that failed
        self._due = 0.0  # monotonic; their next turn
        self._order = ReadStatementLock()
        self._late = LateTables(
            self._missing, self._chunks, self._loading, self._order, bring=self._bring, retry_most=options.retry_most
        )

    def give_up(self) -> None:
        """Chunks that are being read, and queries to the source, end now, and are done another time; `ending` of `run`
        is set. From any thread.
        """
        self._chunks.give_up()
        self._source.give_up()

    def run(self, ending: threading.Event, on_chunk: Callable[[], None]) -> None:
        """Load what is missing. A crash after any step resumes at that step; `ending` ends it after a chunk.

        1. plan each table      stored before its first chunk is read, so that every process cuts alike
        2. read the chunks      a table that already has a chunk skips it
        3. check the tables     they must be what they were when the job was created
        4. find the upper bound stored: from here on the binlog is read, from the job's start

        A table that fails alone is left out, and retried while the others go on: what the binlog has of it waits. The
        same for one that joins others. Of those without a key nothing is read before their point: they are retried when
        this is called again, while no binlog is read, as soon as `is_due`.
        """
        self._chunks.on_chunk = on_chunk
        rows = self._missing.all()
        for token in rows:
            self.standings.change(token, partial(channel_state.bringing, begun=True))
        if len(rows) == len(self._channels) and not any(each.replaces for each in rows.values()):
            self._bring_all(ending)
        elif self.is_due():
            self._bring_waiting(ending)
        self._late.start(ending)

    def is_due(self) -> bool:
        """Whether `run` is to be called again for tables without a key."""
        return bool(self._missing.without_key()) and time.monotonic() >= self._due and not self._bringing.locked()

    def load(self, token: str) -> Load | None:
        """How far that of a table is; None: it was in no snapshot."""
        return self._ledger.loads().get(token)

    def _bring_all(self, ending: threading.Event) -> None:
        """A statement may have changed, renamed or dropped all tables meanwhile: it is in the binlog, and rows are read
        after it.
        """
        wanted = self._missing.with_key() | self._missing.without_key()
        if not wanted:
            return
        try:
            self._bring_first(wanted, ending)
        except SyncError as error:
            failures = self.failures()
            if not any(may_be_followed(failures.get(token, error)) for token in self._missing.with_key()):
                raise

    def _bring_waiting(self, ending: threading.Event) -> None:
        try:
            self._bring_first(self._missing.without_key(), ending)
        except SyncError as error:
            if not is_of_one_table(error.code, Phase.COPY):
                raise

    def _bring_first(self, tokens: set[str], ending: threading.Event) -> None:
        try:
            self._bring(tokens, ending)
        finally:
            if self._missing.without_key():
                now = time.monotonic()
                self._tries = self._tries.failed(now)
                self._due = now + next_wait(self._tries, self._options.retry_most())

    def join(self) -> None:
        """Wait for the chunks of late tables that are under way; `ending` is set."""
        self._late.join()

    def reshapes(self, token: str) -> bool:
        """Whether the target of a table has yet to get the columns that the channel fills: they come with its rows."""
        load = self.load(token)
        return self.standings[token].rows is not None and load is not None and load.reshapes

    def renews(self, token: str) -> bool:
        """Whether all rows that a table has are replaced by those that are still to be read."""
        load = self.load(token)
        return self._loading.replaces(token) and load is not None and load.renews(self._channels[token].part)

    def points(self) -> dict[str, Position]:
        """By channel token, where the changes of tables without a key begin: what is before came with their rows."""
        plans = {token: load.plan for token, load in self._ledger.loads().items()}
        return {token: plan.point for token, plan in plans.items() if plan is not None and plan.point is not None}

    def trouble(self) -> SyncError | None:
        """Why a table stays behind."""
        return next(iter(self.failures().values()), None)

    def failures(self) -> dict[str, SyncError]:
        """By channel token, of those that are retried. From any thread."""
        return self._missing.failures()

    def whole(self, end: Position) -> bool:
        """Whether an epoch that ends there is a state that the source had."""
        return not self._missing.all() and all(has_passed(end, upper) for upper in list(self._uppers.values()))

    def committed(self, end: Position, behind: Container[str] = ()) -> None:
        """Epochs up to there are in the lake, except those of channels that are `behind`."""
        passed = [t for t, upper in list(self._uppers.items()) if t not in behind and has_passed(end, upper)]
        if passed:
            self._ledger.catch_up(passed)
            for token in passed:
                del self._uppers[token]

    def read_as(self, channels: Iterable[ChannelDescription]) -> None:
        """What the channels are from the next read on."""
        self._channels.update((channel.token, channel) for channel in channels)

    @contextmanager
    def begun_anew(self, step: DdlStep, end: Position) -> Iterator[DdlStep]:
        """Around the following of a statement that ends there; yields what is to be followed. The rows of tables that
        it changes are read from the beginning after it, and what waits for them is committed before it, to the existing
        rows, which the new ones then replace. If a part of the rows was read, that is read again, unless its condition
        means others after the statement.

        Waits for a read under way, whose rows may be from before the statement, and be committed after it.
        """
        if not self._changed(step):
            yield self._read_again(step, end)
            return
        with self._order.statement():
            given = self._changed(step)
            self._ledger.begin_loads({token: self._kept(step, token) for token in given})
            for token in given:
                rows = Rows(replaces=True, begun=False)
                self.standings.change(token, partial(channel_state.begun, rows=rows, at=time.time()))
            try:
                yield self._read_again(step, end)
            finally:
                for token in given:
                    self.standings.change(token, partial(channel_state.bringing, begun=True))

    def _changed(self, step: DdlStep) -> set[str]:
        before = self._channels
        others = {
            token
            for token, each in step.channels.items()
            if each.mapping_fingerprint != before[token].mapping_fingerprint
        }
        named = {token for token, each in step.channels.items() if is_renamed(before[token], each)}
        changed = (others | named | step.changes.keys()) & self._missing.all().keys() - step.dropped
        return {token for token in changed if before[token].keys}

    def _read_again(self, step: DdlStep, end: Position) -> DdlStep:
        """Rows that have been read may be as the statement left them: those are read again, too, by the next run."""
        read = {token: self._channels[token] for token, upper in self._uppers.items() if not is_beyond(end, upper)}
        tokens = {t for t, channel in read.items() if t not in step.dropped and channel.keys}
        return step.read_again({token for token in tokens if is_outdated(read[token], step)})

    def _kept(self, step: DdlStep, token: str) -> KeyRange | None:
        before = self._channels[token]
        there = before.target_db, before.target  # other channels may fill it, too
        same = {token for token, each in self._channels.items() if (each.target_db, each.target) == there}
        changes = [change for other, made in step.changes.items() if other in same for change in made]
        return kept(self._ledger.loads()[token].excerpt, before, step.channels.get(token, before), changes)

    @property
    def is_catching_up(self) -> bool:
        return bool(self._uppers)

    def rates(self) -> dict[str, float]:
        """Rows per second by channel token, of those that are read now. From any thread."""
        return self._chunks.rates()

    def _bring(self, tokens: AbstractSet[str], ending: Ending) -> None:
        """Raises the mildest error if each of them failed alone."""
        with self._bringing, self._chunks.unless_given_up():
            self._loading.bring(tokens, ending)
