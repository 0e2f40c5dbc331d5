"""The times of all jobs' commits.

Owns: which job has which, from the threads of its run.
Must not know: what is done with them.
"""

import threading
from collections.abc import Collection, Mapping

from syncmgr.job.metrics.histogram import NO_COMMITS, CommitTimes


class AllCommitTimes:
    """Safe to use from any thread."""

    def __init__(self) -> None:
        self._of: dict[int, CommitTimes] = {}
        self._changing = threading.Lock()

    def observe(self, job_id: int, intent_at: float | None, source_time: float, now: float) -> None:
        """A commit of it; see CommitTimes.with_commit."""
        with self._changing:
            known = self._of.get(job_id, NO_COMMITS)
            self._of[job_id] = known.with_commit(intent_at=intent_at, source_time=source_time, now=now)

    def of(self, job_ids: Collection[int]) -> Mapping[int, CommitTimes]:
        """Forgets all others, which are no longer stored."""
        with self._changing:
            for gone in self._of.keys() - set(job_ids):
                del self._of[gone]
            return dict(self._of)
