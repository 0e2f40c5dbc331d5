"""Sources that only one job can read.

Owns: that no second job reads one, and that no two are created on it at the same time.
Must not know: what a source is.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from syncmgr.errors import SyncError
from syncmgr.job.source import SourceDescription
from syncmgr.job.sync_job import JobId, SyncJob


class OneReader:
    """`changing`: the lock under which jobs are stored. `jobs`: those that are not cancelled."""

    def __init__(self, changing: threading.RLock, jobs: Callable[[], Sequence[SyncJob]]) -> None:
        self._changing = changing
        self._jobs = jobs
        self._coming: list[SourceDescription] = []  # whose jobs are yet to be stored

    @contextmanager
    def read_by_one(self, source: SourceDescription, reader: JobId | None = None) -> Iterator[None]:
        """For a source that has one reader, no other job is created meanwhile: checking the source may take data from a
        job stored by then. `reader`: the job that may already read it. Raises CANAL_IN_USE.
        """
        if source.one_reader is None:
            yield
            return
        with self._changing:
            taken = self.other(source, reader)
            if taken is not None:
                raise taken
            self._coming.append(source)
        try:
            yield
        finally:
            with self._changing:
                self._coming.remove(source)

    def other(self, source: SourceDescription, than: JobId | None = None) -> SyncError | None:
        """CANAL_IN_USE if a job, or one that is being created, reads what only one job can read."""
        if source.one_reader is None:
            return None
        readers = [(job.source, f"sync job '{job.db}.{job.name}'") for job in self._jobs() if job.id != than]
        readers += [(coming, "a job that is being created") for coming in self._coming]
        for other, reader in readers:
            if other.one_reader == source.one_reader:
                return source.in_use(reader)
        return None
