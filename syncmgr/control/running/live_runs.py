"""The runs of jobs that are alive.

Owns: one run of a job at a time, and the lock under which a job is loaded, judged and stored.
Must not know: why a run starts or ends.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

from syncmgr.control import showing
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.failure import FailMsg
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import JobId
from syncmgr.meta.jobs import JobStore

ENDING_SECOND: Final = 10.0  # how long to wait for the last commit of a stopped job on the same target


class LiveRun(showing.ShownRun, Protocol):
    """A running job."""

    def start(self) -> None: ...
    def finish(self) -> None: ...
    def pause(self) -> None: ...
    def abandon(self) -> None: ...
    def retune(self) -> None: ...
    def join(self, timeout: float) -> bool: ...
    def recovers(self) -> bool: ...


class LiveRuns:
    """Safe to use from any thread.

    `changing`: load, apply the rule, store: one at a time, and nothing that may wait for a source or for the lake.
    """

    def __init__(self, jobs: JobStore) -> None:
        self._jobs = jobs
        self._runs: dict[JobId, LiveRun] = {}
        self._outdated = set[JobId]()
        self._troubles: dict[JobId, FailMsg] = {}
        self.changing = threading.RLock()
        self.closing = False

    def of(self, job_id: JobId) -> LiveRun | None:
        """None: it does not run."""
        return self._runs.get(job_id)

    def add(self, job_id: JobId, run: LiveRun) -> None:
        self._runs[job_id] = run
        self._outdated.discard(job_id)

    def remove(self, job_id: JobId) -> LiveRun | None:
        self._troubles.pop(job_id, None)
        return self._runs.pop(job_id, None)

    def keep_trouble(self, job_id: JobId, fail: FailMsg | None) -> None:
        """Of a run, until it is stored: the metadata may be what fails. None: it is, or there is none."""
        if fail is None:
            self._troubles.pop(job_id, None)
        else:
            self._troubles[job_id] = fail

    def trouble_of(self, job_id: JobId) -> FailMsg | None:
        """What a run is retrying, if that could not be stored."""
        return self._troubles.get(job_id)

    def renew(self, job_id: JobId) -> None:
        """The run commits what it has read and ends; a tick starts the next with what is stored."""
        run = self._runs.get(job_id)
        if run is None:
            self._jobs.apply_pending(job_id)
        else:
            self._finish(job_id, run)

    def _finish(self, job_id: JobId, run: LiveRun) -> None:
        self._outdated.add(job_id)
        run.finish()

    def is_outdated(self, job_id: JobId) -> bool:
        """Whether the job was changed since its last run began, so that what ends that run may not end the next."""
        return job_id in self._outdated

    @contextmanager
    def unless_unanswered(self, job_id: JobId) -> Iterator[None]:
        """Around a write of a job. It may be stored although the answer was lost, and the run would never learn of it:
        so the run ends, and the next one begins with what is stored.
        """
        try:
            yield
        except SyncError as error:
            run = self._runs.get(job_id)
            if error.code is Code.META_DOWN and run is not None:
                self._finish(job_id, run)
            raise

    def wait_for_ending(self, channels: Sequence[ChannelDescription], second: float = ENDING_SECOND) -> None:
        """The last commit of a stopped job may still be on its way into one of the targets. Raises TARGET_IN_USE."""
        wanted = {(channel.target_db, channel.target) for channel in channels}
        cancelled = {each.id for each in self._jobs.ended()}  # each job that runs would be loaded otherwise
        for job_id, run in list(self._runs.items()):
            ending = self._jobs.by_id(job_id) if job_id in cancelled else None
            if ending is None or ending.state is not JobState.CANCELLED:
                continue
            shared = wanted & {(channel.target_db, channel.target) for channel in ending.channels}
            if shared and not run.join(second):
                raise SyncError(Code.TARGET_IN_USE, table=".".join(min(shared)), job=f"{ending.db}.{ending.name}")

    def recovers(self, job_id: JobId) -> bool:
        """Whether it has yet to commit what an earlier process of the frontend left."""
        run = self._runs.get(job_id)
        return run is not None and run.recovers()

    def retune(self) -> None:
        """A setting was changed that running jobs follow."""
        with self.changing:
            runs = list(self._runs.values())
        for run in runs:
            run.retune()

    def close(self, timeout: float) -> None:
        """Let every run commit what it staged; jobs stay RUNNING and are resumed by the next start."""
        with self.changing:
            self.closing = True
            runs = list(self._runs.values())
        for run in runs:
            run.pause()
        deadline = time.monotonic() + timeout
        for run in runs:
            if not run.join(max(0.0, deadline - time.monotonic())):
                run.abandon()

    def join(self, timeout: float) -> None:
        """Wait for the runs that were abandoned, once nothing commits for them any more."""
        deadline = time.monotonic() + timeout
        for run in list(self._runs.values()):
            run.join(max(0.0, deadline - time.monotonic()))
