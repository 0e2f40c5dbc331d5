"""Routes batches to channels and closes epochs.

Owns: the loop between the receiver's queue and the staged segments.
Must not know: the rules of the cut (job/epoch.py), processes, the lake.
"""

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import Final

from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import SyncError
from syncmgr.job.ddl.following.ddl_statement import not_followed
from syncmgr.job.epoch import should_cut
from syncmgr.job.rows.batch import Batch, Ddl, TableChanges
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
    UnloggedTables,
    WorkerChannel,
    WorkerPlan,
)
from syncmgr.pipeline.worker.epoch_writer import EpochWriter, Rows, wanted
from syncmgr.pipeline.worker.receiver import Receiver
from syncmgr.pipeline.worker.reports import Reports
from syncmgr.pipeline.worker.routes import Routes
from syncmgr.sources.port import SourceStream

TICK_SECOND: Final = 0.1  # how often the request to end is checked while a DDL is answered
DUE_SECOND: Final = 0.01  # how often to check for a commit while there is no room before its end


class Inbox:
    """The frontend's messages, as the consumer sees them. Written by the pipe's thread, read by the consumer's."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.finish = False
        self.committed = 0  # number of the last epoch that is in the lake
        self.altered: queue.Queue[tuple[WorkerChannel, ...]] = queue.Queue()  # one per Met
        self.kept = threading.Semaphore(0)  # one per Asked


class Consumer:
    """One thread: takes batches, stages rows, cuts epochs, reports to the frontend."""

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
        self._routes = Routes(plan.channels)
        self._writer = EpochWriter(plan)
        self._reports = Reports(send)
        self._sent = plan.first_epoch - 1
        self._staged: dict[int, int] = {}  # bytes on disk by epoch, until it is committed
        self._end = self._cut_end = plan.start
        self._cut_at = time.monotonic()
        self._in_transaction = False
        self._ahead = False  # rows after `_end` are staged
        self._starved = False

    def run(self) -> None:
        """Until asked to finish, or until an error. What was staged whole is sent before either ends it."""
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
        self._reports.report(self._progress)
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

    def _meet(self, ddl: Ddl) -> None:
        """If the source can follow it, the frontend says how the rows after it are read."""
        if ddl.followable is not None and ddl.behind is not None:
            epoch = self._writer.pass_over(ddl.behind)
            self._sent = epoch.number
            self._send(DdlMet(epoch=epoch, statement=ddl.followable, table=ddl.table))
            passing(CrashPoint.DDL_SENT)
            channels = self._answer()
            if channels is not None:
                passing(CrashPoint.DDL_ANSWERED)
                self._routes = Routes(channels)
                self._end = self._cut_end = ddl.behind
                self._receiver.follow(channels)
        elif not ddl.rows_survive:
            raise not_followed(ddl.table, "it changes rows without saying which", ddl.statement)

    def _answer(self) -> tuple[WorkerChannel, ...] | None:
        """None: the end came first; then the statement is read again."""
        while not self._inbox.finish:
            self._reports.report(self._progress)
            with contextlib.suppress(queue.Empty):
                return self._inbox.altered.get(timeout=TICK_SECOND)
        return None

    def _wait_for_room(self) -> None:
        """Read nothing more until commits have caught up; what is staged is sent as soon as the commit before it has
        ended.
        """
        if self._waits_for_commit():
            time.sleep(DUE_SECOND)
        else:
            self._cut()

    def _stage(self, batch: Batch) -> None:
        """All tables are decoded before one row is staged, so that a bad value leaves the epoch whole."""
        if self._routes.doubt(batch.nameless):
            self._send(Nameless(tokens=self._routes.nameless))
        if batch.unlogged_tables:
            self._send(UnloggedTables(tables=batch.unlogged_tables))
        changes, dead = self._decoded(batch.changes)
        changes = [(channel, wanted(channel, rows)) for channel, rows in changes]
        prepared = [(part, *self._decoded(part.changes)) for part in batch.prepared]
        most_dead = self._inbox.limits.dead_letters
        self._writer.refuse_waiting(tuple(letter for _, _, letters in prepared for letter in letters), most_dead)
        self._writer.bury(dead, most_dead)
        self._in_transaction = True  # until every row is staged: an epoch must not end between two of them
        self._writer.forget(batch.forgotten)
        for channel, rows in changes:
            self._writer.append(channel, rows)
        for part, of_part, dead_of_part in prepared:
            self._writer.prepare(part, of_part, dead_of_part)
        rows_released = bytes_released = 0
        if batch.committed is not None:
            released = self._writer.release(batch.committed, batch.passed, self._routes, most_dead)
            rows_released, bytes_released = released
        self._in_transaction = batch.open
        self._starved = batch.starved
        self._ahead = batch.end is None and (self._ahead or bool(batch.changes))
        if batch.end is not None:
            self._end = batch.end
        self._writer.count(
            first_time=batch.first_time,
            source_time=batch.source_time,
            rows=sum(len(rows) for _, rows in changes) + rows_released,
            size=batch.bytes - sum(part.bytes for part in batch.prepared) + bytes_released,
        )
        passing(CrashPoint.ROWS_STAGED)

    def _decoded(self, changes: tuple[TableChanges, ...]) -> tuple[Rows, tuple[DeadLetter, ...]]:
        """The rows that may be staged, and the dead letters of the others."""
        decoded, dead = Rows(), list[DeadLetter]()
        for of_table in changes:
            channel = self._routes.to(of_table.table)
            unheld = list[Unheld]() if channel.values.tolerant else None
            rows = of_table.decode(unheld, inserts=channel.values.inserts)
            label = channel.source.label
            rows, letters = settled(rows, unheld or (), channel.values, token=channel.token, table=label)
            decoded.append((channel, wanted(channel, rows) if channel.values.inserts else rows))
            dead += letters
            if of_table.learned is not None:
                self._send(SchemaLearned(token=channel.token, learned=of_table.learned))
        return decoded, tuple(dead)

    def _due(self) -> bool:
        if self._waits_for_commit():
            return False
        if self._starved and not self._ahead:
            return True
        now = time.monotonic()
        if should_cut(
            self._writer.open,
            self._inbox.limits.thresholds,
            now=now,
            queue_empty=self._receiver.empty,
            in_transaction=self._in_transaction,
        ):
            return True
        quiet = self._writer.open.first_row_at is None and not self._in_transaction and self._end != self._cut_end
        return quiet and now - self._cut_at >= self._inbox.limits.position_interval_second

    def _waits_for_commit(self) -> bool:
        """One epoch is committed while one is staged: a slow lake makes bigger commits, not a longer queue."""
        return self._sent > self._inbox.committed

    def _cut(self) -> None:
        self._starved = False
        if self._writer.open.first_row_at is None and self._end == self._cut_end:
            return
        epoch = self._writer.close(self._end)
        self._staged[epoch.number] = sum(file.bytes for segment in epoch.files.values() for file in segment)
        self._sent = epoch.number
        self._cut_end, self._cut_at = self._end, time.monotonic()
        self._send(Staged(epoch=epoch))
        passing(CrashPoint.EPOCH_SENT)

    def _patience(self) -> float:
        """How long to wait for a batch: never past the moment at which an epoch or a report is due. Messages of the
        frontend wake us.
        """
        limits, due_at = self._inbox.limits, self._reports.due_at
        if self._in_transaction or self._waits_for_commit():
            pass  # its end arrives as a batch, the other's wakes us
        elif self._writer.open.first_row_at is not None:
            due_at = min(due_at, self._writer.open.first_row_at + limits.thresholds.interval_second)
        elif self._end != self._cut_end:
            due_at = min(due_at, self._cut_at + limits.position_interval_second)
        return max(due_at - time.monotonic(), 0.0)

    def _full(self) -> bool:
        """An open transaction may exceed the bound: it only ends by being read."""
        for number in [n for n in self._staged if n <= self._inbox.committed]:
            del self._staged[number]
        if self._in_transaction:
            return False
        return sum(self._staged.values()) + self._writer.open.bytes > self._inbox.limits.max_staged_bytes

    def _progress(self) -> Progress:
        caught_up_at = self._source.caught_up_at()  # before checking the queue, which has all that arrived by then
        return Progress(
            rows=self._writer.rows,
            bytes=self._writer.bytes,
            heard_at=self._source.heard_at(),
            caught_up_at=caught_up_at,
            read_time=self._writer.source_time,
            drained=self._receiver.empty and self._writer.open.first_row_at is None and not self._in_transaction,
            sent=self._sent,
            full=self._full(),
            open_since=self._writer.open_since,
            server=self._source.server(),
        )
