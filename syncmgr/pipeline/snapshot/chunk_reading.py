"""The chunks of some tables, read in parallel, each committed and stored.

Owns: how many are read at a time, how fast, which are given up.
Must not know: which tables are read when, how a table is cut.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from uuid import uuid4

from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.epoch import ChannelCommit, ChannelCommitted
from syncmgr.job.snapshot.chunk import MOST_CONNECTIONS, ChunkPlan
from syncmgr.job.snapshot.chunk_rows import ChunkReader, ChunkRows
from syncmgr.job.types.schema import has_arrow_type
from syncmgr.lake.port import Chunks
from syncmgr.pipeline.known_history import first_waiting
from syncmgr.pipeline.snapshot.handover import LOOK_SECOND, Ending
from syncmgr.pipeline.snapshot.held_binlog import HeldBinlog
from syncmgr.pipeline.snapshot.isolated import isolated
from syncmgr.pipeline.snapshot.port import SnapshotLedger, SnapshotOptions
from syncmgr.sources.port import SnapshotSource

Committing = Future[ChannelCommitted | None]

log = logging.getLogger(__name__)


class ChunkReading:
    """`channels`: by token, as they are from the next read on."""

    def __init__(
        self,
        options: SnapshotOptions,
        channels: Mapping[str, ChannelDescription],
        source: SnapshotSource,
        ledger: SnapshotLedger,
        lake: Chunks,
    ) -> None:
        self._options, self._channels = options, channels
        self._source, self._ledger, self._lake = source, ledger, lake
        self.reader: ChunkReader | None = None  # of the server that is read
        self.held = HeldBinlog(source, ledger)
        self.on_chunk: Callable[[], None] = lambda: None
        self.on_failed: Callable[[str, SyncError], None] = lambda *_: None  # of a channel, by its token, alone
        self.begin_anew: Callable[[str], None] = lambda _: None  # the rows of a channel, by its token
        self._read: dict[str, tuple[int, float]] = {}  # rows in this process, and when their read began
        self._rows = 0
        self._giving_up = threading.Event()

    @property
    def gives_up(self) -> bool:
        return self._giving_up.is_set()

    def give_up(self) -> None:
        """What is being read ends now, and is read another time. From any thread."""
        self._giving_up.set()

    def rates(self) -> dict[str, float]:
        """Rows per second by channel token, of those that are read now. From any thread."""
        now = time.monotonic()
        return {token: rows / max(now - began, 0.001) for token, (rows, began) in list(self._read.items())}

    @contextmanager
    def unless_given_up(self) -> Iterator[None]:
        """A chunk that was given up has not failed; it is still missing."""
        try:
            yield
        except SyncError as error:
            if error.code is not Code.INTERRUPTED or not self._giving_up.is_set():
                raise

    def branches(self) -> frozenset[str]:
        """XA transactions that were prepared at the last epoch."""
        last = self._ledger.last_epoch()
        return frozenset() if last is None else frozenset(last.prepared)

    def read(self, channels: Sequence[ChannelDescription], failed: dict[str, SyncError], ending: Ending) -> None:
        """In parallel; all that began have ended when this returns or raises the first error."""
        chunks = () if ending.is_set() else self._missing([each for each in channels if each.token not in failed])
        waiting, began = deque(chunks), time.monotonic()
        self._rows = 0
        running: dict[Committing, ChannelCommit] = {}
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
        assert self.reader is not None, "a server is settled on first"
        done, load = self._ledger.progress()[channel.token], self._ledger.loads()[channel.token]
        return ChannelCommit(
            token=channel.token,
            epoch=done.last.epoch,
            fingerprint="",
            db=channel.target_db,
            table=channel.target,
            files=(),
            columns=channel.columns,
            keys=channel.keys,
            where=channel.where,
            last=done.last,
            settled=False,
            part=channel.part,
            renews=load.renews(channel.part),
            unanswered=first_waiting(self._ledger, channel.token),
            chunk=ChunkRows(
                plan=plan.id,
                number=number,
                reader=self.reader,
                table=channel.source,
                columns=_columns(channel),
                condition=plan.condition(number),
                values=self._options.values(channel),
                keys=channel.source_keys,
                dead_letters=self._options.dead_letters(),
                exact=not channel.keys,
                replaces=plan.replaces,
                excerpt=plan.excerpt,
                changes=load.changes,
            ),
        )

    def _commit_exact(self, commit: ChannelCommit, plan: ChunkPlan) -> ChannelCommitted | None:
        """All rows of a table without a key, in one commit. Each read has an id and a point of its own, stored before
        its commit; the table says which read it has, whatever its catalog answered. None: the load begins again.
        """
        assert commit.chunk is not None
        read = uuid4().hex[:12]
        exact = self._source.exact(commit.chunk.table, plan.id, self.branches())
        with ThreadPoolExecutor(1, "exact") as reader, exact as point:
            reading = reader.submit(self._lake.commit, replace(commit, chunk=replace(commit.chunk, read=read)))
            at = point.find(reading.done)
            if at is not None:
                plan = plan.read_at(read, at)
                self._ledger.plan_load(commit.token, plan)
                passing(CrashPoint.PLAN_STORED)
            point.release()
            done = reading.result()
        return done if not done.passed_over or self._pair(commit, plan, done.read) else None

    def _pair(self, commit: ChannelCommit, plan: ChunkPlan, read: str | None) -> bool:
        """A read is in the table already: what follows it begins at its point. False: that is not known, or the binlog
        was read beyond it while the table was left out, so that changes would be missing: the load begins again.
        """
        paired = plan.paired(read, since=self.held.start)
        if paired is not None:
            self._ledger.plan_load(commit.token, paired)
            return True
        log.warning("%s.%s has rows of a read after which changes may be missing", commit.db, commit.table)
        self.begin_anew(commit.token)
        return False

    def _fill(
        self,
        pool: ThreadPoolExecutor,
        running: dict[Committing, ChannelCommit],
        waiting: deque[tuple[ChannelDescription, ChunkPlan, int]],
        failed: Collection[str],
    ) -> None:
        while waiting and len(running) < min(self._options.connections(), MOST_CONNECTIONS):
            channel, plan, number = waiting.popleft()
            if channel.token in failed:
                continue
            commit = self._commit(channel, plan, number)
            self._read.setdefault(commit.token, (0, time.monotonic()))
            exact, by = partial(self._commit_exact, plan=plan), self._lake.commit
            running[pool.submit(by if channel.keys else exact, commit)] = commit

    def _take(
        self,
        running: dict[Committing, ChannelCommit],
        failed: dict[str, SyncError],
        ending: Ending,
    ) -> None:
        """Records what has ended in the ledger; waits for that a moment."""
        if not running:
            ending.wait(LOOK_SECOND)
        done, _ = wait(running, LOOK_SECOND, FIRST_COMPLETED)
        self._end_readings(running.values())
        for future in done:
            commit = running.pop(future)
            goes_on = commit.token not in failed
            with self.unless_given_up(), isolated(self._channels[commit.token], failed):
                self._took(commit, future.result())
            if goes_on and commit.token in failed:
                self.on_failed(commit.token, failed[commit.token])
        self.held.check_now_and_then()

    def _end_readings(self, commits: Iterable[ChannelCommit]) -> None:
        """Again at each look, for those that had not begun at the last one."""
        for commit in commits:
            if self._giving_up.is_set() and commit.chunk is not None:
                self._lake.give_up(commit.chunk)

    def _took(self, commit: ChannelCommit, committed: ChannelCommitted | None) -> None:
        assert commit.chunk is not None
        if committed is None:
            return
        self._ledger.add_chunk(commit.token, commit.chunk.number, committed)
        passing(CrashPoint.CHUNK_STORED)
        rows, began = self._read[commit.token]
        self._read[commit.token] = rows + committed.rows, began
        self._rows += committed.rows
        self.on_chunk()


def _columns(channel: ChannelDescription) -> tuple[str, ...]:
    """What it reads. If it computes from nothing, any column: each row still counts, and no SELECT is without one."""
    return channel.reads or tuple(each.name for each in channel.source.columns if has_arrow_type(each))[:1]
