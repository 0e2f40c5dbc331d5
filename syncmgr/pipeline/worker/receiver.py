"""Reads a source ahead of the consumer.

Owns: the thread that calls get, and the bounded queue after it.
Must not know: channels, epochs, what a batch holds.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.rows.batch import Batch
from syncmgr.pipeline.messages import Limits, WorkerChannel
from syncmgr.sources.port import SourceStream

GET_SECOND: Final = 0.5


class Receiver:
    """One thread that gets batches into a queue. An error ends it and comes out of `take`."""

    def __init__(self, source: SourceStream, limits: Callable[[], Limits]) -> None:
        """`limits`: those in force now, of which it uses the bounds of the queue."""
        self._source = source
        self._limits = limits
        self._ready = threading.Condition()
        self._queue: deque[Batch] = deque()
        self._bytes = 0
        self._error: SyncError | None = None
        self._stopped = self._held = self._woken = False
        self._thread = threading.Thread(target=self._run, name="receiver", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end; does not wait."""
        with self._ready:
            self._stopped = True
            self._ready.notify_all()
        self._source.close()

    def follow(self, channels: Sequence[WorkerChannel]) -> None:
        """Read on after a DDL with `followable`, which stops reading."""
        self._source.follow(channels)
        with self._ready:
            self._held = False
            self._ready.notify_all()

    def take(self, timeout: float) -> Batch | None:
        """The next batch in order, None if none arrived in time, or before `wake`. Raises what ended the thread, after
        its last batch.
        """
        with self._ready:
            self._ready.wait_for(lambda: self._queue or self._error or self._stopped or self._woken, timeout)
            self._woken = False
            if self._queue:
                batch = self._queue.popleft()
                self._bytes -= batch.bytes
                self._ready.notify_all()
                return batch
            if self._error:
                raise self._error
            return None

    def wake(self) -> None:
        """Whoever waits in `take`, or is the next to, stops waiting for a batch: there is something else to handle."""
        with self._ready:
            self._woken = True
            self._ready.notify_all()

    @property
    def empty(self) -> bool:
        return not self._queue

    def _run(self) -> None:
        try:
            while self._wait_for_room():
                batch = self._source.get(GET_SECOND)
                if batch is not None:
                    self._put(batch)
        except SyncError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - the top of a thread: it becomes the job's Msg
            self._fail(SyncError(Code.INTERNAL, message=f"the receiver failed: {error!r}"))

    def _wait_for_room(self) -> bool:
        with self._ready:
            self._ready.wait_for(lambda: self._stopped or self._has_room())
            return not self._stopped

    def _has_room(self) -> bool:
        limits = self._limits()
        return not self._held and len(self._queue) < limits.queue_batches and self._bytes < limits.queue_bytes

    def _put(self, batch: Batch) -> None:
        with self._ready:
            self._queue.append(batch)
            self._bytes += batch.bytes
            self._held = batch.ddl is not None and batch.ddl.followable is not None
            self._ready.notify_all()

    def _fail(self, error: SyncError) -> None:
        with self._ready:
            if not self._stopped:
                self._error = error
            self._ready.notify_all()
