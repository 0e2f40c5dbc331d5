"""The open epoch of a worker: its rows on disk, and their counts.

Owns: segments, the numbers of rows and epochs, prepared XA transactions, dead letters.
Must not know: when an epoch ends, batches, processes, the lake.
"""

import time
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from syncmgr.crash import CrashPoint, passing
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.epoch import Epoch, OpenEpoch, Prepared
from syncmgr.job.position import Position
from syncmgr.job.rows.append_policy import appendable
from syncmgr.job.rows.batch import SEQ, PreparedChanges
from syncmgr.job.rows.dead_letter import DeadLetter, DeadLetterBounds
from syncmgr.pipeline.messages import WorkerChannel, WorkerPlan
from syncmgr.pipeline.worker.prepared import PreparedRows
from syncmgr.pipeline.worker.routes import Routes
from syncmgr.pipeline.worker.segment import Segment, sync_folder

Rows = list[tuple[WorkerChannel, pa.Table]]
UNKNOWN: Final = 0.0  # a second of the source


class EpochWriter:
    """Used by one thread.

    `number`: of the open epoch. `open`: what was staged since the last end. `open_since`: when its first row was
    changed, by the source's clock, None before its transaction has ended. `source_time`: of the newest change. `rows`,
    `bytes`: of the whole run.
    """

    def __init__(self, plan: WorkerPlan) -> None:
        self._folder = Path(plan.folder)
        self._segments: dict[str, Segment] = {}
        self._prepared = {xid: PreparedRows(xid, self._folder, stored) for xid, stored in plan.prepared.items()}
        self._dead: tuple[DeadLetter, ...] = ()
        self._dead_bytes = 0
        self._seq = plan.last_seq
        self.number = plan.first_epoch
        self.open = OpenEpoch()
        self.open_since: float | None = None
        self.source_time = UNKNOWN
        self.rows = self.bytes = 0

    def bury(self, dead: tuple[DeadLetter, ...], most: DeadLetterBounds) -> None:
        """Raises DEAD_LETTERS_FULL before exceeding `most`, what the frontend keeps."""
        most.refuse_more(dead, kept=len(self._dead), kept_bytes=self._dead_bytes)
        self._dead += dead
        self._dead_bytes += sum(letter.bytes for letter in dead)

    def append(self, channel: WorkerChannel, rows: pa.Table) -> None:
        """Raises DISK_FULL, NOT_WRITABLE."""
        if not len(rows):
            return
        numbers = np.arange(self._seq + 1, self._seq + 1 + len(rows), dtype=np.int64)
        self._seq += len(rows)
        segment = self._segments.get(channel.token)
        if segment is None:
            segment = self._segments[channel.token] = Segment(self._folder, f"{self.number}-{channel.token}")
        segment.append(rows.append_column(SEQ, pa.array(numbers)))

    def refuse_waiting(self, dead: tuple[DeadLetter, ...], most: DeadLetterBounds) -> None:
        """Raises DEAD_LETTERS_FULL if those of all XA transactions that wait would exceed `most` with these."""
        if dead:
            waiting = [letter for each in self._prepared.values() for letter in each.dead]
            most.refuse_more(dead, kept=len(waiting), kept_bytes=sum(letter.bytes for letter in waiting))

    def prepare(self, part: PreparedChanges, changes: Rows, dead: tuple[DeadLetter, ...]) -> None:
        """`append_on_change` is applied to them only if they are committed."""
        prepared = self._prepared.get(part.xid)
        if prepared is None:
            prepared = self._prepared[part.xid] = PreparedRows(part.xid, self._folder)
        for channel, rows in changes:
            prepared.append(channel.token, rows)
        prepared.bytes += part.bytes
        prepared.dead += dead

    def forget(self, xids: Iterable[str]) -> None:
        """XA transactions that were rolled back."""
        for xid in xids:
            self._prepared.pop(xid).drop()

    def release(self, xid: str, passed: Collection[Table], routes: Routes, most: DeadLetterBounds) -> tuple[int, int]:
        """The rows of an XA transaction join the open epoch, numbered from now; returns how many, and their bytes.
        Those of tables that are no longer read, or were read after it, are dropped.
        """
        prepared, count = self._prepared.pop(xid), 0
        for token, rows in prepared.rows():
            channel = routes.read_now(token, passed)
            if channel is None:
                continue
            accepted = wanted(channel, rows)
            self.append(channel, accepted)
            count += len(accepted)
        dead = (letter for letter in prepared.dead if routes.read_now(letter.token, passed) is not None)
        self.bury(tuple(dead), most)
        prepared.drop()
        return count, prepared.bytes

    def count(self, *, first_time: float, source_time: float, rows: int, size: int) -> None:
        """After rows were staged. `first_time`: as `open_since`. Both times may be UNKNOWN."""
        now = time.time()  # what arrived is no newer, whatever time a session has set
        self.source_time = min(source_time, now) or self.source_time
        self.rows += rows
        self.bytes += size
        if rows:
            first = self.open.first_row_at
            self.open = replace(
                self.open,
                events=self.open.events + rows,
                bytes=self.open.bytes + size,
                first_row_at=time.monotonic() if first is None else first,
            )
        if self.open.first_row_at is not None and self.open_since is None:
            self.open_since = min(first_time, now) or None

    def close(self, end: Position) -> Epoch:
        """Everything staged, durable on disk; opens the next epoch. Raises DISK_FULL, NOT_WRITABLE."""
        files = {token: segment.close() for token, segment in self._segments.items()}
        prepared = self._close_prepared()
        passing(CrashPoint.SEGMENTS_CLOSED)
        if files or prepared:
            sync_folder(self._folder)
        passing(CrashPoint.EPOCH_CLOSED)
        epoch = Epoch(
            number=self.number,
            end=end,
            last_seq=self._seq,
            files=files,
            rows=self.open.events,
            bytes=self.open.bytes,
            source_time=self.source_time,
            oldest_time=self.open_since or UNKNOWN,
            prepared=prepared,
            dead=self._dead,
        )
        self.number += 1
        self._segments, self.open, self.open_since, self._dead, self._dead_bytes = {}, OpenEpoch(), None, (), 0
        return epoch

    def pass_over(self, end: Position) -> Epoch:
        """The next epoch, without rows, for the effect of a statement."""
        epoch = Epoch(
            number=self.number,
            end=end,
            last_seq=self._seq,
            source_time=self.source_time,
            prepared=self._close_prepared(),
        )
        self.number += 1
        return epoch

    def _close_prepared(self) -> dict[str, Prepared]:
        return {xid: rows.close() for xid, rows in self._prepared.items()}


def wanted(channel: WorkerChannel, rows: pa.Table) -> pa.Table:
    """The rows that a target takes. Raises the error of `append_on_change` for a target without a key."""
    return rows if channel.source_keys else appendable(rows, channel.append_on_change, channel.source.label)
