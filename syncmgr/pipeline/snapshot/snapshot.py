"""The snapshot of a job: the rows that were there before its binlog is read.

Owns: the order of its steps, how many chunks are read at a time, how fast it goes, which tables come later than others.
Must not know: how a table is cut, how a chunk is read and committed, where the changes of a table wait.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol

from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel import channel_state
from syncmgr.job.channel.channel_state import ChannelState, Rows, is_altered
from syncmgr.job.channel.description import ChannelDescription, OnValueError
from syncmgr.job.ddl.ddl_step import DdlStep
from syncmgr.job.epoch import ChannelCommit, ChannelCommitted, Epoch
from syncmgr.job.failure import Retry, Series, mildest
from syncmgr.job.position import Position, has_passed
from syncmgr.job.rows.value_error import ValueRules
from syncmgr.job.snapshot.chunk import MOST_CONNECTIONS, ChunkPlan, ChunkRows, Load, plan_id
from syncmgr.job.snapshot.key_range import KeyRange, kept
from syncmgr.job.source import MysqlDescription
from syncmgr.job.types.schema import SourceTable
from syncmgr.pipeline.committer import Lake as CommittingLake
from syncmgr.pipeline.committer import Progressed
from syncmgr.pipeline.snapshot.handover import LOOK_SECOND, Ending, ReadStatementLock
from syncmgr.pipeline.snapshot.isolated import OF_ONE_TABLE, isolated
from syncmgr.pipeline.standings import Standings

SLOW_SECOND: Final = 10  # so long a chunk may take where rows a second are bounded
SHORT_HOURS: Final = 24.0  # a binlog that is kept for less is told of
HELD_SECOND: Final = 30.0  # how often the server is asked whether it still has the binlog from the start on
RETRY_FIRST_SECOND: Final = 5.0  # after which a table that failed alone is tried again; then twice as long

log = logging.getLogger(__name__)


class Point(Protocol):
    """The hand-shake with the reading of a table without a key."""

    def find(self, ended: Callable[[], bool]) -> Position | None:
        """Where the reading stands in the binlog; None: it `ended` before it read."""

    def release(self) -> None:
        """The rows may be read."""


class Lake(CommittingLake, Protocol):
    """Commits chunks, too."""

    def check_chunks(self, db: str, table: str, plan: ChunkPlan) -> None:
        """Raises TARGET_REPLACED where somebody has rolled the table back since one of its chunks was committed."""

    def give_up(self, chunk: ChunkRows) -> None:
        """Its commit ends with INTERRUPTED, unless it is in the lake."""


class Source(Protocol):
    """What a snapshot asks the server beside the rows."""

    def give_up(self) -> None: ...
    def settle(self, start: Position) -> tuple[str, int]: ...
    def await_seen(self, table: SourceTable, start: Position) -> None: ...
    def plan(self, table: SourceTable, key: Sequence[str], wanted_rows: int, where: str = "") -> ChunkPlan: ...
    def end(self) -> Position: ...
    def exact(self, table: SourceTable, name: str, known: Collection[str]) -> AbstractContextManager[Point]: ...
    def check_same(self, tables: Sequence[tuple[SourceTable, Sequence[str]]]) -> None: ...
    def check_held(self, start: Position) -> float | None: ...


class Ledger(Protocol):
    """What a snapshot writes down, for one job."""

    def loads(self) -> Mapping[str, Load]: ...
    def begin_loads(self, excerpts: Mapping[str, KeyRange | None]) -> None: ...
    def plan_load(self, token: str, plan: ChunkPlan) -> None: ...
    def add_chunk(self, token: str, number: int, committed: ChannelCommitted) -> None: ...
    def end_loads(self, tokens: Collection[str], upper: Position) -> None: ...
    def catch_up(self, tokens: Collection[str]) -> None: ...
    def progress(self) -> Mapping[str, Progressed]: ...
    def last_epoch(self) -> Epoch | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SnapshotOptions:
    """What a snapshot needs to know of its job, now. `connections`: how many chunks may be read at a time.

    `rows_per_second`: of the whole job; 0: as fast as it goes. `retry_most`: the longest wait, in seconds, before a
    table that failed alone is tried again. `values`: what becomes of those that do not fit.
    """

    description: MysqlDescription
    channels: tuple[ChannelDescription, ...]
    connect_timeout: float
    connections: Callable[[], int]
    chunk_rows: Callable[[], int]
    rows_per_second: Callable[[], int]
    retry_most: Callable[[], float]
    values: Callable[[ChannelDescription], ValueRules] = lambda _: ValueRules(policy=OnValueError.STOP)
    max_dead_letters: Callable[[], int] = lambda: 0


class Snapshot:
    """Of one job; the thread of its run calls what says nothing else."""

    def __init__(self, options: SnapshotOptions, source: Source, ledger: Ledger, lake: Lake) -> None:
        self._options = options
        self._channels = {channel.token: channel for channel in options.channels}
        self._description = options.description
        self._source = source
        self._ledger = ledger
        self._lake = lake
        self._read: dict[str, tuple[int, float]] = {}  # rows in this life, and when their reading began
        self._rows = 0
        self._held_at = 0.0
        loads = ledger.loads()
        self.standings = Standings(options.channels, loads)
        self._uppers = {token: load.upper for token, load in loads.items() if load.upper and not load.caught_up}
        self._on_chunk: Callable[[], None] = lambda: None
        self._late: threading.Thread | None = None
        self._bringing = threading.Lock()  # held while tables are brought
        self._tries = Series()  # of tables without a key, that failed
        self._due = 0.0  # monotonic; their next turn
        self._order = ReadStatementLock()
        self._giving_up = threading.Event()

    def give_up(self) -> None:
        """Chunks that are being read, and questions to the source, end now, and come another time; `ending` of `run`
        is set. From any thread.
        """
        self._giving_up.set()
        self._source.give_up()

    def run(self, ending: threading.Event, on_chunk: Callable[[], None]) -> None:
        """Bring what is missing. A crash after any step resumes at that step; `ending` ends it behind a chunk.

        1. plan each table      stored before its first chunk is read, so that every life cuts alike
        2. read the chunks      a table that already bears a chunk passes it over
        3. check the tables     they must be what they were when the job was made
        4. find the upper bound stored: from here on the binlog is read, from the job's start

        A table that fails alone is left out, and tried again beside the others: what the binlog has of it waits. So it
        is with one that joins others. Of those without a key nothing is read before their point: they are tried again
        when this is called again, while no binlog is read, as soon as `is_due`.
        """
        self._on_chunk = on_chunk
        rows = self._open()
        for token in rows:
            self.standings.change(token, partial(channel_state.bringing, begun=True))
        if len(rows) == len(self._channels) and not any(each.replaces for each in rows.values()):
            self._bring_all(ending)
        elif self.is_due():
            self._bring_waiting(ending)
        if self._with_key() and not ending.is_set() and self._late is None:
            self._late = threading.Thread(target=self._run_late, args=(ending,), name="late-snapshot", daemon=True)
            self._late.start()

    def _open(self) -> dict[str, Rows]:
        """Of tables whose rows are not there, by token."""
        return {token: each.rows for token, each in self.standings.all().items() if each.rows is not None}

    def _wanted(self) -> dict[str, Rows]:
        """Those that are to be read: one that is stopped waits for RESYNC."""
        states = self.standings.all()
        return {token: rows for token, rows in self._open().items() if states[token].state is ChannelState.SNAPSHOT}

    def _with_key(self) -> set[str]:
        return {token for token, rows in self._wanted().items() if not rows.exact}

    def _without_key(self) -> set[str]:
        return {token for token, rows in self._wanted().items() if rows.exact}

    def is_due(self) -> bool:
        """Whether `run` is to be called, again, for tables without a key."""
        return bool(self._without_key()) and time.monotonic() >= self._due and not self._bringing.locked()

    def load(self, token: str) -> Load | None:
        """How far that of a table is; None: it came in no snapshot."""
        return self._ledger.loads().get(token)

    def _bring_all(self, ending: threading.Event) -> None:
        """A statement may have changed all tables meanwhile: it is in the binlog, and their rows are read behind it."""
        wanted = self._with_key() | self._without_key()
        if not wanted:
            return
        try:
            self._bring_first(wanted, ending)
        except SyncError as error:
            failures = self.failures()
            if not any(is_altered(failures.get(token, error)) for token in self._with_key()):
                raise

    def _bring_waiting(self, ending: threading.Event) -> None:
        try:
            self._bring_first(self._without_key(), ending)
        except SyncError as error:
            if error.code not in OF_ONE_TABLE:
                raise

    def _bring_first(self, tokens: set[str], ending: threading.Event) -> None:
        try:
            self._bring(tokens, ending)
        finally:
            if self._without_key():
                now = time.monotonic()
                self._tries = self._tries.failed(now)
                self._due = now + self._wait(self._tries)

    def join(self) -> None:
        """Wait for the chunks of late tables that are under way; `ending` is set."""
        if self._late is not None:
            self._late.join()

    def reshapes(self, token: str) -> bool:
        """Whether the target of a table has yet to get the columns that the channel fills: they come with its rows."""
        load = self.load(token)
        return self.standings[token].rows is not None and load is not None and load.reshapes

    def renews(self, token: str) -> bool:
        """Whether all rows that a table has are replaced by those that are still to be read."""
        load = self.load(token)
        return self._replaces(token) and load is not None and load.renews(self._channels[token].part)

    def points(self) -> dict[str, Position]:
        """By channel token, where changes begin of tables without a key: what is before them came with their rows."""
        plans = {token: load.plan for token, load in self._ledger.loads().items()}
        return {token: plan.point for token, plan in plans.items() if plan is not None and plan.point is not None}

    def trouble(self) -> SyncError | None:
        """Why a table stays behind."""
        return next(iter(self.failures().values()), None)

    def failures(self) -> dict[str, SyncError]:
        """By channel token, of those that are tried again. From any thread."""
        reads = [(t, each.error) for t, each in self.standings.all().items() if each.state is ChannelState.SNAPSHOT]
        return {token: error for token, error in reads if error is not None}

    def whole(self, end: Position) -> bool:
        """Whether an epoch that ends there is a state that the source had."""
        return not self._open() and all(has_passed(end, upper) for upper in list(self._uppers.values()))

    def committed(self, end: Position, behind: Container[str] = ()) -> None:
        """Epochs up to there are in the lake, but those of channels that are `behind`."""
        passed = [t for t, upper in list(self._uppers.items()) if t not in behind and has_passed(end, upper)]
        if passed:
            self._ledger.catch_up(passed)
            for token in passed:
                del self._uppers[token]

    # -- statements on tables that are being read

    def read_as(self, channels: Iterable[ChannelDescription]) -> None:
        """What the channels are from the next reading on."""
        self._channels |= {channel.token: channel for channel in channels}

    @contextmanager
    def begun_anew(self, step: DdlStep) -> Iterator[None]:
        """Around the following of a statement. The rows of tables that it changes are read from the beginning behind
        it, and what waits for them is committed before it, to the rows that are there: those that come replace them.
        Where a part of the rows was read, that is read again, unless its condition means others behind the statement.

        Waits for a reading under way, whose rows may be from before the statement, and come behind it.
        """
        if not self._changed(step):
            yield
            return
        with self._order.statement():
            given = self._changed(step)
            self._ledger.begin_loads({token: self._kept(step, token) for token in given})
            for token in given:
                rows = Rows(replaces=True, begun=False)
                self.standings.change(token, partial(channel_state.begun, rows=rows, at=time.time()))
            try:
                yield
            finally:
                for token in given:
                    self.standings.change(token, partial(channel_state.bringing, begun=True))

    def _changed(self, step: DdlStep) -> set[str]:
        ways = {token for token, channel in step.channels.items() if channel.way != self._channels[token].way}
        changed = (ways | step.changes.keys()) & self._open().keys() - step.dropped
        return {token for token in changed if self._channels[token].keys}

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
        """Rows a second by channel token, of those that are read now. From any thread."""
        now = time.monotonic()
        return {token: rows / max(now - began, 0.001) for token, (rows, began) in list(self._read.items())}

    # -- some tables

    def _run_late(self, ending: threading.Event) -> None:
        """At once where others have gone on in an earlier life; a table that has just failed waits first."""
        series = Series().failed(time.monotonic()) if self.failures().keys() & self._with_key() else Series()
        self._await_branches(ending)
        while self._with_key() and not self._order.rests(self._wait(series), ending):
            try:
                with self._order.reading(ending) as end:
                    self._bring(self._with_key(), end)
            except SyncError as error:
                log.warning("tables that failed alone fail again: %s", error)
                self._fail(dict.fromkeys(self._with_key() - self.failures().keys(), error))
            except Exception as error:
                log.exception("the thread of late tables failed")
                self._fail(dict.fromkeys(self._with_key(), SyncError(Code.INTERNAL, message=repr(error))))
                return
            series = series.failed(time.monotonic())

    def _wait(self, series: Series) -> float:
        """Seconds until the next attempt."""
        if not series.failures:
            return 0.0
        most = self._options.retry_most()
        return series.wait(Retry(first=min(RETRY_FIRST_SECOND, most), most=most))

    def _await_branches(self, ending: threading.Event) -> None:
        """Rows of a table that joined are missing in XA transactions from before: they come with its rows alone."""
        branches = self._branches()
        while branches & self._branches() and not ending.wait(LOOK_SECOND):
            pass

    def _branches(self) -> frozenset[str]:
        last = self._ledger.last_epoch()
        return frozenset() if last is None else frozenset(last.prepared)

    def _bring(self, tokens: AbstractSet[str], ending: Ending) -> None:
        """Raises the mildest error where each of them failed alone."""
        with self._bringing, self._unless_given_up():
            self._bring_now(tokens, ending)

    def _bring_now(self, tokens: AbstractSet[str], ending: Ending) -> None:
        failed: dict[str, SyncError] = {}
        wanted = [channel for token, channel in self._channels.items() if token in tokens]
        self._settle(wanted, failed)
        self._plan(wanted, failed, ending)
        self._read_chunks(wanted, failed, ending)
        if ending.is_set() or self._giving_up.is_set():
            return
        for channel in self._without(wanted, failed):
            with isolated(channel, failed):
                self._source.check_same([(channel.source, channel.reads)])
                self._check_chunks(channel)
        self._check_held()
        done = [channel.token for channel in self._without(wanted, failed)]
        if done:
            self._end(done)
        failed = {token: self._why(token, error) for token, error in failed.items()}
        for token in tokens - failed.keys():
            self.standings.change(token, channel_state.mended)
        self._fail(failed)
        if not done:
            raise mildest(failed.values())

    def _check_chunks(self, channel: ChannelDescription) -> None:
        """A roll-back leaves the done-set, and a chunk that was under way would hide it."""
        load = self.load(channel.token)
        assert load is not None
        assert load.plan is not None, "its chunks are read"
        self._lake.check_chunks(channel.target_db, channel.target, load.plan)

    def _fail(self, failures: Mapping[str, SyncError]) -> None:
        for token, error in failures.items():
            self.standings.change(token, partial(channel_state.failed, error=error, at=time.time()))

    def _why(self, token: str, error: SyncError) -> SyncError:
        """A reading may have failed for a column that is gone."""
        channel = self._channels[token]
        if error.code is not Code.SNAPSHOT_BROKEN or not channel.keys:
            return error
        try:
            self._source.check_same([(channel.source, channel.reads)])
        except SyncError as differs:
            return differs if is_altered(differs) else error
        return error

    def _end(self, tokens: Collection[str]) -> None:
        upper = self._source.end()
        self._ledger.end_loads(tokens, upper)
        passing(CrashPoint.SNAPSHOT_STORED)
        self._uppers |= dict.fromkeys(tokens, upper)
        for token in tokens:
            self.standings.change(token, partial(channel_state.read, at=time.time()))

    def _without(
        self, channels: Sequence[ChannelDescription], failed: Mapping[str, SyncError]
    ) -> list[ChannelDescription]:
        return [channel for channel in channels if channel.token not in failed]

    @property
    def _start(self) -> Position:
        last = self._ledger.last_epoch()
        assert last is not None, "epoch 0 holds the start position"
        return last.end

    def _settle(self, channels: Sequence[ChannelDescription], failed: dict[str, SyncError]) -> None:
        """Looks first at what an earlier life left of the tables. All rows come from one server, as does their upper
        bound.
        """
        for channel in channels:
            with isolated(channel, failed):
                self._lake.check_whole(channel.target_db, channel.target)
        start = self._start
        host, port = self._source.settle(start)
        for channel in self._without(channels, failed):
            if channel.after is not None or self._replaces(channel.token):
                with isolated(channel, failed):
                    for place in {start, channel.after or start}:
                        self._source.await_seen(channel.source, place)
        self._description = self._options.description.of_server(host, port)
        self._check_held()

    def _replaces(self, token: str) -> bool:
        rows = self.standings[token].rows
        return rows is not None and rows.replaces

    def _check_held(self) -> None:
        hours = self._source.check_held(self._start)
        if not self._held_at and hours is not None and hours < SHORT_HOURS:
            log.warning("the source keeps its binlog for %.1f hours, and it is read behind the snapshot", hours)
        self._held_at = time.monotonic()

    def _plan(self, channels: Sequence[ChannelDescription], failed: dict[str, SyncError], ending: Ending) -> None:
        loads = self._ledger.loads()
        for channel in self._without(channels, failed):
            if not ending.is_set():
                with isolated(channel, failed):
                    self._plan_one(channel, loads[channel.token])

    def _plan_one(self, channel: ChannelDescription, load: Load) -> None:
        """What was read in another way, by an earlier life or before a statement, counts as nothing."""
        anew, made, excerpt = load.replaces, load.plan is not None, load.excerpt
        if (load.plan is not None and anew and load.plan.way != channel.way) or (excerpt and not excerpt.fits(channel)):
            self._ledger.begin_loads({channel.token: None})
            made, excerpt, load = False, None, self._ledger.loads()[channel.token]
        if not made:
            key, where = () if anew else channel.source_keys, "" if excerpt is None else excerpt.source
            plan = self._source.plan(channel.source, key, self._chunk_rows(), where)
            plan = replace(plan, id=plan_id(load.generation, plan.id), replaces=anew, way=channel.way, excerpt=excerpt)
            self._ledger.plan_load(channel.token, plan)
            passing(CrashPoint.PLAN_STORED)

    def _chunk_rows(self) -> int:
        """Of which a slow reading needs small ones: it waits between them."""
        rows, slow = self._options.chunk_rows(), self._options.rows_per_second() * SLOW_SECOND
        return min(rows, slow) if slow else rows

    # -- the chunks

    def _read_chunks(
        self, channels: Sequence[ChannelDescription], failed: dict[str, SyncError], ending: Ending
    ) -> None:
        """Side by side; all that began have ended when this returns or raises the first error."""
        chunks = () if ending.is_set() else self._missing(self._without(channels, failed))
        waiting, began = deque(chunks), time.monotonic()
        self._rows = 0
        running: dict[Future[ChannelCommitted], ChannelCommit] = {}
        with ThreadPoolExecutor(MOST_CONNECTIONS, thread_name_prefix="snapshot") as pool:
            try:
                while waiting and not ending.is_set():
                    if not self._is_too_fast(began):
                        self._fill(pool, running, waiting, failed)
                    self._take(running, failed, ending)
                while running:
                    self._take(running, failed, ending)
            finally:
                while wait(running, LOOK_SECOND).not_done:
                    self._end_readings(running.values())
                self._read.clear()

    def _is_too_fast(self, began: float) -> bool:
        most = self._options.rows_per_second()
        return bool(most) and self._rows > most * (time.monotonic() - began)

    def _missing(self, channels: Sequence[ChannelDescription]) -> Iterator[tuple[ChannelDescription, ChunkPlan, int]]:
        """One table after the other."""
        loads = self._ledger.loads()
        for channel in channels:
            plan = loads[channel.token].plan
            assert plan is not None, "all tables are planned"
            for number in loads[channel.token].missing:
                yield channel, plan, number

    def _commit(self, channel: ChannelDescription, plan: ChunkPlan, number: int) -> ChannelCommit:
        done, load = self._ledger.progress()[channel.token], self._ledger.loads()[channel.token]
        return ChannelCommit(
            token=channel.token,
            epoch=done.last_epoch,
            fingerprint="",
            db=channel.target_db,
            table=channel.target,
            files=(),
            columns=channel.columns,
            keys=channel.keys,
            where=channel.where,
            last_epoch=done.last_epoch,
            last_snapshot=done.last_snapshot,
            settled=False,
            part=channel.part,
            renews=load.renews(channel.part),
            chunk=ChunkRows(
                plan=plan.id,
                number=number,
                source=self._description,
                table=channel.source,
                columns=channel.reads,
                condition=plan.condition(number),
                connect_timeout=self._options.connect_timeout,
                values=self._options.values(channel),
                max_dead_letters=self._options.max_dead_letters(),
                exact=not channel.keys,
                replaces=plan.replaces,
                excerpt=plan.excerpt,
                changes=load.changes,
            ),
        )

    def _commit_exact(self, commit: ChannelCommit, plan: ChunkPlan) -> ChannelCommitted:
        """All rows of a table without a key, in one commit. Each reading has a point of its own; the one of a reading
        that is in the table already was stored before it.
        """
        assert commit.chunk is not None
        exact = self._source.exact(commit.chunk.table, plan.id, self._branches())
        with ThreadPoolExecutor(1, "exact") as reader, exact as point:
            reading = reader.submit(self._lake.commit, commit)
            at = point.find(reading.done)
            if at is not None:
                self._ledger.plan_load(commit.token, replace(plan, point=at))
                passing(CrashPoint.PLAN_STORED)
            point.release()
            return reading.result()

    def _fill(
        self,
        pool: ThreadPoolExecutor,
        running: dict[Future[ChannelCommitted], ChannelCommit],
        waiting: deque[tuple[ChannelDescription, ChunkPlan, int]],
        failed: Collection[str],
    ) -> None:
        while waiting and len(running) < min(self._options.connections(), MOST_CONNECTIONS):
            channel, plan, number = waiting.popleft()
            if channel.token in failed:
                continue
            commit = self._commit(channel, plan, number)
            self._read.setdefault(commit.token, (0, time.monotonic()))
            by = partial(self._commit_exact, plan=plan) if not channel.keys else self._lake.commit
            running[pool.submit(by, commit)] = commit

    def _take(
        self,
        running: dict[Future[ChannelCommitted], ChannelCommit],
        failed: dict[str, SyncError],
        ending: Ending,
    ) -> None:
        """What has ended goes into the ledger; waits for that a moment."""
        if not running:
            ending.wait(LOOK_SECOND)
        done, _ = wait(running, LOOK_SECOND, FIRST_COMPLETED)
        self._end_readings(running.values())
        for future in done:
            commit = running.pop(future)
            with self._unless_given_up(), isolated(self._channels[commit.token], failed):
                self._took(commit, future.result())
        if time.monotonic() - self._held_at > HELD_SECOND:
            self._check_held()

    def _end_readings(self, commits: Iterable[ChannelCommit]) -> None:
        """Once more at each look, for those that had not begun at the last one."""
        for commit in commits:
            if self._giving_up.is_set() and commit.chunk is not None:
                self._lake.give_up(commit.chunk)

    @contextmanager
    def _unless_given_up(self) -> Iterator[None]:
        """A chunk that was given up has not failed; it is missing still."""
        try:
            yield
        except SyncError as error:
            if error.code is not Code.INTERRUPTED or not self._giving_up.is_set():
                raise

    def _took(self, commit: ChannelCommit, committed: ChannelCommitted) -> None:
        assert commit.chunk is not None
        self._ledger.add_chunk(commit.token, commit.chunk.number, committed)
        passing(CrashPoint.CHUNK_STORED)
        rows, began = self._read[commit.token]
        self._read[commit.token] = rows + committed.rows, began
        self._rows += committed.rows
        self._on_chunk()
