"""Routes batches to channels and closes epochs.

Owns: the loop between the receiver's queue and the staged segments.
Must not know: the rules of the cut (job/epoch.py), processes, the lake.
"""

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.following.ddl_statement import not_followed
from syncmgr.job.epoch import Epoch, OpenEpoch, StagedFile, should_cut
from syncmgr.job.position import Position
from syncmgr.job.rows.append_policy import appendable
from syncmgr.job.rows.batch import SEQ, Batch, Ddl, PreparedChanges, TableChanges
from syncmgr.job.rows.dead_letter import DeadLetter
from syncmgr.job.rows.value_error import settled
from syncmgr.job.types.cells import Unheld
from syncmgr.pipeline.messages import (
    DdlMet,
    FromWorker,
    Limits,
    Nameless,
    Progress,
    SchemaLearned,
    Staged,
    WorkerChannel,
    WorkerPlan,
)
from syncmgr.pipeline.worker.prepared import PreparedRows
from syncmgr.pipeline.worker.receiver import Receiver
from syncmgr.pipeline.worker.segment import Segment, sync_folder
from syncmgr.sources.port import SourceStream

TICK_SECOND: Final = 0.1  # how often the wish to end is looked at while a DDL is answered
DUE_SECOND: Final = 0.01  # how often a commit is looked for while there is no room before its end
PROGRESS_SECOND: Final = 0.5
SAME_SECOND: Final = 2.0  # so often the frontend hears that nothing has changed: hundreds of quiet jobs cost it little
Rows = list[tuple[WorkerChannel, pa.Table]]


class Inbox:
    """What the frontend said, as the consumer sees it. Written by the pipe's thread, read by the consumer's."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.finish = False
        self.committed = 0  # number of the last epoch that is in the lake
        self.altered: queue.Queue[tuple[WorkerChannel, ...]] = queue.Queue()  # one per Met
        self.kept = threading.Semaphore(0)  # one per Asked


class Consumer:
    """One thread: takes batches, stages rows, cuts epochs, tells the frontend."""

    def __init__(
        self,
        plan: WorkerPlan,
        receiver: Receiver,
        inbox: Inbox,
        send: Callable[[FromWorker], None],
        source: SourceStream,
    ) -> None:
        self._receiver = receiver
        self._inbox = inbox
        self._send = send
        self._source = source
        self._folder = Path(plan.folder)
        self._learn(plan.channels)
        self._segments: dict[str, Segment] = {}
        self._prepared = {xid: PreparedRows(xid, self._folder, stored) for xid, stored in plan.prepared.items()}
        self._epoch = OpenEpoch()
        self._dead: tuple[DeadLetter, ...] = ()
        self._number = plan.first_epoch
        self._sent = plan.first_epoch - 1
        self._seq = plan.last_seq
        self._end = self._cut_end = plan.start
        self._in_transaction = False
        self._ahead = False  # rows are staged that are behind `_end`
        self._starved = False
        self._source_time = 0.0
        self._open_since: float | None = None
        self._staged: dict[int, int] = {}  # bytes on disk by epoch, until it is committed
        self._rows = self._bytes = 0
        self._cut_at = self._looked_at = self._told_at = time.monotonic()
        self._told: Progress | None = None

    def run(self) -> None:
        """Until told to finish, or until an error. What was staged whole is sent before either ends it."""
        try:
            while not self._inbox.finish:
                self._step()
        except SyncError:
            if not self._in_transaction:
                self._cut()
            raise
        if not self._in_transaction:
            self._cut()

    def _step(self) -> None:
        self._tell()
        if self._full():
            self._wait_for_room()
            return
        batch = self._receiver.take(self._patience())
        if batch is not None:
            self._stage(batch)
        if self._due():
            self._cut()
        if batch is not None and batch.ddl is not None:
            self._cut()
            self._meet(batch.ddl)

    def _learn(self, channels: Iterable[WorkerChannel]) -> None:
        self._channels = {(channel.source.db, channel.source.name): channel for channel in channels}
        self._by_token = {channel.token: channel for channel in channels}
        self._nameless = frozenset(channel.token for channel in channels if channel.nameless)

    def _meet(self, ddl: Ddl) -> None:
        """Where the source can follow it, the frontend says how the rows behind it are read."""
        if ddl.said is not None and ddl.behind is not None:
            self._send(DdlMet(epoch=self._epoch_of(ddl.behind), said=ddl.said, table=ddl.table))
            passing(CrashPoint.DDL_TOLD)
            channels = self._answer()
            if channels is not None:
                passing(CrashPoint.DDL_ANSWERED)
                self._learn(channels)
                self._end = self._cut_end = ddl.behind
                self._receiver.follow(channels)
        elif not ddl.rows_survive:
            raise not_followed(ddl.table, "it changes rows without saying which", ddl.statement)

    def _epoch_of(self, behind: Position) -> Epoch:
        """The next epoch, without rows."""
        prepared = {xid: rows.close() for xid, rows in self._prepared.items()}
        epoch = Epoch(
            number=self._number,
            end=behind,
            last_seq=self._seq,
            source_time=self._source_time,
            prepared=prepared,
        )
        self._sent, self._number = self._number, self._number + 1
        return epoch

    def _answer(self) -> tuple[WorkerChannel, ...] | None:
        """None: the end came first; then the statement is read again."""
        while not self._inbox.finish:
            self._tell()
            with contextlib.suppress(queue.Empty):
                return self._inbox.altered.get(timeout=TICK_SECOND)
        return None

    def _wait_for_room(self) -> None:
        """Read nothing more until commits have caught up; what is staged goes as soon as the commit before it ended."""
        if self._waits_for_commit():
            time.sleep(DUE_SECOND)
        else:
            self._cut()

    def _stage(self, batch: Batch) -> None:
        """All tables are decoded before one row is staged, so that a bad value leaves the epoch whole."""
        self._doubt(batch.nameless)
        changes, dead = self._decoded(batch.changes)
        changes = [(channel, self._wanted(channel, rows)) for channel, rows in changes]
        prepared = [(part, *self._decoded(part.changes)) for part in batch.prepared]
        self._bury(dead)
        self._in_transaction = True  # until every row is staged: an epoch must not end between two of them
        for xid in batch.forgotten:
            self._prepared.pop(xid).drop()
        for channel, rows in changes:
            self._append(channel, rows)
        for part, of_part, dead_of_part in prepared:
            self._prepare(part, of_part, dead_of_part)
        rows_released = bytes_released = 0
        if batch.committed is not None:
            rows_released, bytes_released = self._release(batch.committed, batch.passed)
        self._in_transaction = batch.open
        self._starved = batch.starved
        self._ahead = batch.end is None and (self._ahead or bool(batch.changes))
        if batch.end is not None:
            self._end = batch.end
        now = time.time()  # what came is no newer, whatever a session has called its time
        self._source_time = min(batch.source_time, now) or self._source_time
        self._count(
            first_time=min(batch.first_time, now),
            rows=sum(len(rows) for _, rows in changes) + rows_released,
            size=batch.bytes - sum(part.bytes for part in batch.prepared) + bytes_released,
        )
        passing(CrashPoint.ROWS_STAGED)

    def _doubt(self, tables: Collection[tuple[str, str]]) -> None:
        nameless = frozenset(token for token, c in self._by_token.items() if (c.source.db, c.source.name) in tables)
        if nameless != self._nameless:
            self._nameless = nameless
            self._send(Nameless(tokens=nameless))

    def _decoded(self, changes: tuple[TableChanges, ...]) -> tuple[Rows, tuple[DeadLetter, ...]]:
        """The rows that may be staged, and what is told of the others."""
        decoded, dead = Rows(), list[DeadLetter]()
        for of_table in changes:
            channel = self._channels[of_table.table]
            unheld = list[Unheld]() if channel.values.tolerant else None
            rows = of_table.decode(unheld)
            label = channel.source.label
            rows, letters = settled(rows, unheld or (), channel.values, token=channel.token, table=label)
            decoded.append((channel, rows))
            dead += letters
            if of_table.told is not None:
                self._send(SchemaLearned(token=channel.token, told=of_table.told))
        return decoded, tuple(dead)

    def _bury(self, dead: tuple[DeadLetter, ...]) -> None:
        """Raises DEAD_LETTERS_FULL before one more than the frontend keeps."""
        most = self._inbox.limits.max_dead_letters
        if dead and len(self._dead) + len(dead) > most:
            raise SyncError(Code.DEAD_LETTERS_FULL, count=len(self._dead) + len(dead), limit=most, reason=dead[-1].text)
        self._dead += dead

    def _wanted(self, channel: WorkerChannel, rows: pa.Table) -> pa.Table:
        if channel.source_keys:
            return rows
        return appendable(rows, channel.append_on_change, channel.source.label)

    def _prepare(self, part: PreparedChanges, changes: Rows, dead: tuple[DeadLetter, ...]) -> None:
        """What `append_on_change` says of them is asked only if they are committed."""
        prepared = self._prepared.get(part.xid)
        if prepared is None:
            prepared = self._prepared[part.xid] = PreparedRows(part.xid, self._folder)
        for channel, rows in changes:
            prepared.append(channel.token, rows)
        prepared.bytes += part.bytes
        prepared.dead += dead

    def _release(self, xid: str, passed: Collection[tuple[str, str]]) -> tuple[int, int]:
        """The rows of an XA transaction join the open epoch, numbered as of now; how many, and their bytes. Those of
        tables that are not read any more, or were read after it, go.
        """
        prepared, count = self._prepared.pop(xid), 0
        for token, rows in prepared.rows():
            channel = self._by_token.get(token)
            if channel is None or (channel.source.db, channel.source.name) in passed:
                continue
            wanted = self._wanted(channel, rows)
            self._append(channel, wanted)
            count += len(wanted)
        self._bury(prepared.dead)
        prepared.drop()
        return count, prepared.bytes

    def _append(self, channel: WorkerChannel, rows: pa.Table) -> None:
        if not len(rows):
            return
        numbers = np.arange(self._seq + 1, self._seq + 1 + len(rows), dtype=np.int64)
        self._seq += len(rows)
        segment = self._segments.get(channel.token)
        if segment is None:
            segment = self._segments[channel.token] = Segment(self._folder, f"{self._number}-{channel.token}")
        segment.append(rows.append_column(SEQ, pa.array(numbers)))

    def _count(self, *, first_time: float, rows: int, size: int) -> None:
        self._rows += rows
        self._bytes += size
        if rows:
            first = self._epoch.first_row_at
            self._epoch = replace(
                self._epoch,
                events=self._epoch.events + rows,
                bytes=self._epoch.bytes + size,
                first_row_at=time.monotonic() if first is None else first,
            )
        if self._epoch.first_row_at is not None and self._open_since is None:
            self._open_since = first_time or None  # None: its transaction has not ended yet

    def _due(self) -> bool:
        if self._waits_for_commit():
            return False
        if self._starved and not self._ahead:
            return True
        now = time.monotonic()
        if should_cut(
            self._epoch,
            self._inbox.limits.thresholds,
            now=now,
            queue_empty=self._receiver.empty,
            in_transaction=self._in_transaction,
        ):
            return True
        quiet = self._epoch.first_row_at is None and not self._in_transaction and self._end != self._cut_end
        return quiet and now - self._cut_at >= self._inbox.limits.position_interval_second

    def _waits_for_commit(self) -> bool:
        """One epoch is committed while one is staged: a slow lake makes bigger commits, not a longer queue."""
        return self._sent > self._inbox.committed

    def _cut(self) -> None:
        self._starved = False
        if self._epoch.first_row_at is None and self._end == self._cut_end:
            return
        files: dict[str, tuple[StagedFile, ...]] = {token: segment.close() for token, segment in self._segments.items()}
        prepared = {xid: rows.close() for xid, rows in self._prepared.items()}
        passing(CrashPoint.SEGMENTS_CLOSED)
        if files or prepared:
            sync_folder(self._folder)
        passing(CrashPoint.EPOCH_CLOSED)
        epoch = Epoch(
            number=self._number,
            end=self._end,
            last_seq=self._seq,
            files=files,
            rows=self._epoch.events,
            bytes=self._epoch.bytes,
            source_time=self._source_time,
            oldest_time=self._open_since or 0.0,
            prepared=prepared,
            dead=self._dead,
        )
        self._staged[self._number] = sum(file.bytes for segment in files.values() for file in segment)
        self._sent, self._number = self._number, self._number + 1
        self._segments, self._epoch, self._open_since, self._dead = {}, OpenEpoch(), None, ()
        self._cut_end, self._cut_at = self._end, time.monotonic()
        self._send(Staged(epoch=epoch))
        passing(CrashPoint.EPOCH_TOLD)

    def _patience(self) -> float:
        """How long to wait for a batch: never past the moment at which an epoch is due, or something is to be told.
        What the frontend says wakes us.
        """
        limits, due_at = self._inbox.limits, self._looked_at + PROGRESS_SECOND
        if self._in_transaction or self._waits_for_commit():
            pass  # its end comes as a batch, the other's wakes us
        elif self._epoch.first_row_at is not None:
            due_at = min(due_at, self._epoch.first_row_at + limits.thresholds.interval_second)
        elif self._end != self._cut_end:
            due_at = min(due_at, self._cut_at + limits.position_interval_second)
        return max(due_at - time.monotonic(), 0.0)

    def _full(self) -> bool:
        """An open transaction may exceed the bound: it can only end by being read."""
        for number in [n for n in self._staged if n <= self._inbox.committed]:
            del self._staged[number]
        if self._in_transaction:
            return False
        return sum(self._staged.values()) + self._epoch.bytes > self._inbox.limits.max_staged_bytes

    def _tell(self) -> None:
        now = time.monotonic()
        if now - self._looked_at < PROGRESS_SECOND:
            return
        self._looked_at = now
        progress = self._progress()
        if progress != self._told or now - self._told_at >= SAME_SECOND:
            self._told, self._told_at = progress, now
            self._send(progress)

    def _progress(self) -> Progress:
        caught_up_at = self._source.caught_up_at()  # before the queue is looked at, which has all that came by then
        return Progress(
            rows=self._rows,
            bytes=self._bytes,
            heard_at=self._source.heard_at(),
            caught_up_at=caught_up_at,
            read_time=self._source_time,
            drained=self._receiver.empty and self._epoch.first_row_at is None and not self._in_transaction,
            sent=self._sent,
            full=self._full(),
            open_since=self._open_since,
            server=self._source.server(),
        )
