"""The snapshot of a job: the rows that were there before its binlog is read.

Owns: the order of its steps, how many chunks are read at a time, how fast it goes.
Must not know: how a table is cut, how a chunk is read and committed, what is done about an error.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Final, Protocol

from syncmgr.crash import CrashPoint, passing
from syncmgr.job.chunk import MOST_CONNECTIONS, ChunkPlan, ChunkRows, Load, has_passed
from syncmgr.job.description import ChannelDescription, OnValueError
from syncmgr.job.epoch import ChannelCommit, ChannelCommitted, Epoch
from syncmgr.job.position import Position
from syncmgr.job.schema import SourceTable
from syncmgr.job.source import MysqlDescription
from syncmgr.job.value_error import ValueRules
from syncmgr.pipeline.committer import Lake, Progressed

LOOK_SECOND: Final = 0.2  # how often the wish to end is looked at while chunks are read
SLOW_SECOND: Final = 10  # so long a chunk may take where rows a second are bounded
SHORT_HOURS: Final = 24.0  # a binlog that is kept for less is told of
HELD_SECOND: Final = 30.0  # how often the server is asked whether it still has the binlog from the start on

log = logging.getLogger(__name__)


class Source(Protocol):
    """What a snapshot asks the server beside the rows."""

    def settle(self, start: Position) -> tuple[str, int]: ...
    def plan(self, table: SourceTable, key: Sequence[str], wanted_rows: int) -> ChunkPlan: ...
    def end(self) -> Position: ...
    def check_same(self, tables: Sequence[tuple[SourceTable, Sequence[str]]]) -> None: ...
    def check_held(self, start: Position) -> float | None: ...


class Ledger(Protocol):
    """What a snapshot writes down, for one job."""

    def loads(self) -> Mapping[str, Load]: ...
    def plan_load(self, token: str, plan: ChunkPlan) -> None: ...
    def add_chunk(self, token: str, number: int, committed: ChannelCommitted) -> None: ...
    def end_loads(self, upper: Position) -> None: ...
    def catch_up(self) -> None: ...
    def progress(self) -> Mapping[str, Progressed]: ...
    def last_epoch(self) -> Epoch | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SnapshotOptions:
    """What a snapshot needs to know of its job, now. `connections`: how many chunks may be read at a time.

    `rows_per_second`: of the whole job; 0: as fast as it goes. `values`: what becomes of those that do not fit.
    """

    description: MysqlDescription
    channels: tuple[ChannelDescription, ...]
    connect_timeout: float
    connections: Callable[[], int]
    chunk_rows: Callable[[], int]
    rows_per_second: Callable[[], int]
    values: Callable[[ChannelDescription], ValueRules] = lambda _: ValueRules(policy=OnValueError.STOP)
    max_dead_letters: Callable[[], int] = lambda: 0


class Snapshot:
    """Of one job; the thread of its run calls all but `rates`."""

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
        self._upper: Position | None = None
        self._on_chunk: Callable[[], None] = lambda: None

    def run(self, ending: threading.Event, on_chunk: Callable[[], None]) -> None:
        """Bring what is missing. A crash after any step resumes at that step; `ending` ends it behind a chunk.

        1. plan each table      stored before its first chunk is read, so that every life cuts alike
        2. read the chunks      a table that already bears a chunk passes it over
        3. check the tables     they must be what they were when the job was made
        4. find the upper bound stored: from here on the binlog is read, from the job's start
        """
        self._on_chunk = on_chunk
        loads = self._ledger.loads()
        if any(load.upper is None for load in loads.values()):
            self._settle()
            self._plan(loads, ending)
            self._read_chunks(ending)
            if ending.is_set():
                return
            self._source.check_same([(c.source, c.reads) for c in self._loading()])
            self._check_held()
            self._ledger.end_loads(self._source.end())
            passing(CrashPoint.SNAPSHOT_STORED)
        self._look_for_upper()

    def whole(self, end: Position) -> bool:
        """Whether an epoch that ends there is a state that the source had."""
        return self._upper is None or has_passed(end, self._upper)

    def committed(self, end: Position) -> None:
        """An epoch is in the lake."""
        if self._upper is not None and has_passed(end, self._upper):
            self._ledger.catch_up()
            self._upper = None

    def rates(self) -> dict[str, float]:
        """Rows a second by channel token, of those that are read now."""
        now = time.monotonic()
        return {token: rows / max(now - began, 0.001) for token, (rows, began) in list(self._read.items())}

    def _look_for_upper(self) -> None:
        """What the binlog already had before the first epoch may be all that there is."""
        uppers = [load.upper for load in self._ledger.loads().values() if not load.caught_up]
        self._upper = next((upper for upper in uppers if upper is not None), None)
        self.committed(self._start)

    def _loading(self) -> Iterator[ChannelDescription]:
        loads = self._ledger.loads()
        return (channel for token, channel in self._channels.items() if token in loads)

    @property
    def _start(self) -> Position:
        last = self._ledger.last_epoch()
        assert last is not None, "epoch 0 holds the start position"
        return last.end

    def _settle(self) -> None:
        """Looks first at what an earlier life left of the tables. All rows come from one server, as does their upper
        bound.
        """
        for channel in self._loading():
            self._lake.check_whole(channel.target_db, channel.target)
        host, port = self._source.settle(self._start)
        self._description = replace(self._options.description, host=host, port=port)
        self._check_held()

    def _check_held(self) -> None:
        hours = self._source.check_held(self._start)
        if not self._held_at and hours is not None and hours < SHORT_HOURS:
            log.warning("the source keeps its binlog for %.1f hours, and it is read behind the snapshot", hours)
        self._held_at = time.monotonic()

    def _plan(self, loads: Mapping[str, Load], ending: threading.Event) -> None:
        for channel in self._loading():
            if loads[channel.token].plan is None and not ending.is_set():
                plan = self._source.plan(channel.source, channel.source_keys, self._chunk_rows())
                self._ledger.plan_load(channel.token, plan)
                passing(CrashPoint.PLAN_STORED)

    def _chunk_rows(self) -> int:
        """Of which a slow reading needs small ones: it waits between them."""
        rows, slow = self._options.chunk_rows(), self._options.rows_per_second() * SLOW_SECOND
        return min(rows, slow) if slow else rows

    # -- the chunks

    def _read_chunks(self, ending: threading.Event) -> None:
        """Side by side; all that began have ended when this returns or raises the first error."""
        waiting, began = deque(() if ending.is_set() else self._missing()), time.monotonic()
        self._rows = 0
        running: dict[Future[ChannelCommitted], ChannelCommit] = {}
        with ThreadPoolExecutor(MOST_CONNECTIONS, thread_name_prefix="snapshot") as pool:
            try:
                while waiting and not ending.is_set():
                    if not self._is_too_fast(began):
                        self._fill(pool, running, waiting)
                    self._take(running, ending)
                while running:
                    self._take(running, ending)
            finally:
                wait(running)
                self._read.clear()

    def _is_too_fast(self, began: float) -> bool:
        most = self._options.rows_per_second()
        return bool(most) and self._rows > most * (time.monotonic() - began)

    def _missing(self) -> Iterator[tuple[ChannelDescription, ChunkPlan, int]]:
        """One table after the other."""
        loads = self._ledger.loads()
        for channel in self._loading():
            plan = loads[channel.token].plan
            assert plan is not None, "all tables are planned"
            for number in loads[channel.token].missing:
                yield channel, plan, number

    def _commit(self, channel: ChannelDescription, plan: ChunkPlan, number: int) -> ChannelCommit:
        done = self._ledger.progress()[channel.token]
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
            key_may_exist=False,
            last_snapshot=done.last_snapshot,
            settled=False,
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
            ),
        )

    def _fill(
        self,
        pool: ThreadPoolExecutor,
        running: dict[Future[ChannelCommitted], ChannelCommit],
        waiting: deque[tuple[ChannelDescription, ChunkPlan, int]],
    ) -> None:
        while waiting and len(running) < min(self._options.connections(), MOST_CONNECTIONS):
            commit = self._commit(*waiting.popleft())
            self._read.setdefault(commit.token, (0, time.monotonic()))
            running[pool.submit(self._lake.commit, commit)] = commit

    def _take(self, running: dict[Future[ChannelCommitted], ChannelCommit], ending: threading.Event) -> None:
        """What has ended goes into the ledger; waits for that a moment."""
        if not running:
            ending.wait(LOOK_SECOND)
        done, _ = wait(running, LOOK_SECOND, FIRST_COMPLETED)
        for future in done:
            commit = running.pop(future)
            committed = future.result()
            assert commit.chunk is not None
            self._ledger.add_chunk(commit.token, commit.chunk.number, committed)
            passing(CrashPoint.CHUNK_STORED)
            rows, began = self._read[commit.token]
            self._read[commit.token] = rows + committed.rows, began
            self._rows += committed.rows
            self._on_chunk()
        if time.monotonic() - self._held_at > HELD_SECOND:
            self._check_held()
