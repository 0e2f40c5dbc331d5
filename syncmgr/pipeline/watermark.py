"""The source time up to which the lake has everything that a run reads: its watermark, as in stream processors.

Owns: what the worker last said, which epoch is being committed, and what follows from both. Times are unix seconds.
Must not know: its callers. Tables that are behind the others are the caller's.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from syncmgr.job.epoch import Epoch
from syncmgr.job.freshness import Reading, of_commit, of_reading
from syncmgr.pipeline.messages import Progress


class Watermark:
    """Of one run. Safe to use from any thread; it never decreases."""

    def __init__(self, known_until: float, clock: Callable[[], float] = time.time) -> None:
        """`known_until`: by an earlier run, 0.0: nothing is known."""
        self._clock = clock
        self._lock = threading.Lock()
        self._progress: Progress | None = None
        self._committing: Epoch | None = None
        self._committed = 0
        self._known = known_until

    def begins(self, last: Epoch) -> None:
        """A worker reads on from where this epoch ends, which is in the lake."""
        with self._lock:
            self._reached(last)

    def heard(self, progress: Progress) -> None:
        """The worker's messages overtake the epochs that it sent before."""
        with self._lock:
            self._progress = progress
            self._advance()

    def commits(self, epoch: Epoch) -> Epoch:
        """Its rows are no longer staged, nor committed. They came after everything that was known, whatever time their
        sessions have set: so the watermark does not decrease if a table has to wait with them.
        """
        with self._lock:
            dated = replace(epoch, oldest_time=max(epoch.since, self._known)) if epoch.since else epoch
            self._committing = dated
            return dated

    def committed(self) -> None:
        """All channels have it, except those that are behind."""
        with self._lock:
            if self._committing is not None:
                committed, self._committing = self._committing, None
                self._reached(committed)

    def lost(self) -> None:
        """The worker is gone: it is not known what the source has."""
        with self._lock:
            self._progress = self._committing = None

    def reading(self) -> Reading | None:
        """None if no worker has reported anything yet."""
        with self._lock:
            return None if self._progress is None else self._reading(self._progress)

    def committing(self) -> Epoch | None:
        """What is on its way into the lake."""
        return self._committing

    def until(self) -> float:
        """0.0: nothing is known."""
        return self._known

    def _reached(self, epoch: Epoch) -> None:
        self._committed = epoch.number
        staged_since = None if self._progress is None else self._progress.open_since
        self._known = of_commit(self._known, epoch.source_time, staged_since, self._clock())
        self._advance()

    def _advance(self) -> None:
        if self._progress is not None:
            self._known = of_reading(self._reading(self._progress), self._clock())

    def _reading(self, progress: Progress) -> Reading:
        waits = progress.open_since if self._committing is None else self._committing.since
        drained = progress.drained and self._committing is None and self._committed >= progress.sent
        return Reading(
            caught_up_at=progress.caught_up_at,
            read_time=progress.read_time,
            waiting_since=waits,
            drained=drained,
            known_until=self._known,
            server=progress.server,
        )
