"""How long the sources of all jobs still have what these read next.

Owns: when each source is asked, and the last answers. SHOW reads them here, and never asks.
Must not know: kinds of sources, what an answer means.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import Position
from syncmgr.job.source import SourceDescription
from syncmgr.job.source_history.retained import Retained, short_notice
from syncmgr.job.sync_job import JobId, SyncJob
from syncmgr.meta.store import Store

FAILED_SECOND: Final = 300.0  # after one that was not answered

AskRetained = Callable[[SourceDescription, Sequence[Position]], Sequence[Retained] | None]


class RetainedBinlogs:
    """`look` belongs to one thread, the others may be called from any. `warn_second`: less is too little. `ask_second`:
    between two questions to one source. `monotonic`: the time that passes.
    """

    def __init__(
        self,
        store: Store,
        ask: AskRetained,
        warn_second: Callable[[], float],
        ask_second: Callable[[], float],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._ask, self._warn_second, self._monotonic = store, ask, warn_second, monotonic
        self._ask_second = ask_second
        self._due: dict[JobId, float] = {}
        self._found: dict[JobId, Retained] = {}

    def left(self, job: SyncJob) -> float | None:
        """By the last answer about a job that has not ended."""
        found = self._found.get(job.id) if job.finished_at is None else None
        return None if found is None else found.left(time.time())

    def lag_bytes(self, job: SyncJob) -> int | None:
        """The same."""
        found = self._found.get(job.id) if job.finished_at is None else None
        return None if found is None else found.lag_bytes

    def warning(self, job: SyncJob, left: float | None) -> SyncError | None:
        return short_notice(left, self._warn_second(), job.source.address)

    def look(self) -> None:
        """One tick: all jobs of a source are asked about at once, when one of them is due."""
        try:
            jobs = self._store.jobs.all(live=True)
        except SyncError as error:
            if error.code is not Code.META_DOWN:
                raise
            return
        for gone in self._due.keys() - {job.id for job in jobs}:
            self._due.pop(gone)
            self._found.pop(gone, None)
        now = self._monotonic()
        for source in dict.fromkeys(job.source for job in jobs if self._due.get(job.id, now) <= now):
            self._look_at(source, [job.id for job in jobs if job.source == source])

    def _look_at(self, source: SourceDescription, jobs: Sequence[JobId]) -> None:
        wait = self._ask_second()
        try:
            last = [self._store.epochs.last(job) for job in jobs]
            known = {job: epoch.end for job, epoch in zip(jobs, last, strict=True) if epoch is not None}
            answers = self._ask(source, list(known.values()))
            self._found |= dict(zip(known, answers or (), strict=answers is not None))
        except SyncError:  # the run of a job says so; what was answered before goes on to count down
            wait = max(wait, FAILED_SECOND)
        self._due |= dict.fromkeys(jobs, self._monotonic() + wait)
