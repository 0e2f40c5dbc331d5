"""The lives of jobs: what starts, resumes, ends and is deleted by itself.

Owns: which step follows which when time passes or a run reports.
Must not know: statements, processes, sources, Spark. The rules are in job/.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from syncmgr.control.running.live_runs import LiveRun, LiveRuns
from syncmgr.control.running.new_tables import NewTables
from syncmgr.control.statement_text import patterns
from syncmgr.control.sync_request import Table
from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import is_due
from syncmgr.job.ddl.ddl_plan import JoinOutcome
from syncmgr.job.failure import FailType, fail_type
from syncmgr.job.position import Position
from syncmgr.job.state import JobEvent, JobState
from syncmgr.job.sync_job import JobId, SyncJob, fail_msg
from syncmgr.meta.jobs import Ended, JobStore

REMEMBER_SECOND: Final = 60.0  # how often the metadata record how far a source without changes was read

log = logging.getLogger(__name__)

OnArrival = Callable[[Sequence[Table], Position], Mapping[Table, JoinOutcome] | None]
OnUnloggedTables = Callable[[Collection[Table]], None]
StartRun = Callable[
    [
        SyncJob,
        Callable[[SyncError | None], None],
        Callable[[SyncError | None, FailType], None],
        OnArrival,
        OnUnloggedTables,
    ],
    LiveRun,
]


class JobLives:
    """Of all jobs of this frontend."""

    def __init__(
        self,
        *,
        jobs: JobStore,
        runs: LiveRuns,
        new_tables: NewTables,
        new_run: StartRun,
        let_go: Callable[[SyncJob], bool],
        drop_staged: Callable[[JobId], None],
        keep_cancelled_second: Callable[[], float],
        max_cancelled: Callable[[], int],
    ) -> None:
        """`let_go`: channels whose targets were dropped leave their job; False: it has no other. `max_cancelled`: of
        one account.
        """
        self._jobs = jobs
        self._runs = runs
        self._new_tables = new_tables
        self._new_run = new_run
        self._let_go = let_go
        self._drop_staged = drop_staged
        self._keep_cancelled_second, self._max_cancelled = keep_cancelled_second, max_cancelled
        self._down = set[str]()  # what was not stored when it was last tried
        self.wake: Callable[[], None] = lambda: None  # set by the scheduler: something is due now

    def recover(self) -> None:
        """Once at start: what ran when the frontend ended runs again, and looks for tables that it had not found
        yet.
        """
        with self._runs.changing:
            for job in self._jobs.all(live=True):
                with _logged(job.name):
                    if patterns(job):
                        self._new_tables.expect(job.id)
                if job.state is JobState.RUNNING:
                    self._jobs.save(job.on(JobEvent.FE_RESTARTED, at=time.time()))

    def tick(self) -> None:
        """Start what is pending, resume what is due, delete what was cancelled long ago, or before many others of its
        account: at the next tick if the metadata do not answer, which the lease reports.
        """
        now = time.time()
        with self._runs.changing, self._unless_down("jobs are neither started nor resumed"):
            if self._runs.closing:
                return
            for job in self._jobs.all(live=True):
                with _logged(job.name):
                    self._tend(job, now)
            ended = self._jobs.ended()
            left, keep = crowded_out(ended, self._max_cancelled()), self._keep_cancelled_second()
            for each in ended:
                with _logged(str(each.id)):
                    self._clear(each.id, forgets=each.id in left or now - each.at >= keep)

    def _tend(self, job: SyncJob, now: float) -> None:
        if job.state is JobState.PAUSED_BY_ERROR and is_due(job.resume_at, now):
            job = self._jobs.save(job.on(JobEvent.RESUMED, at=now))
        run = self._runs.of(job.id)
        if job.state is JobState.RUNNING and run is None:  # its end could not be stored
            job = self._jobs.save(job.on(JobEvent.FE_RESTARTED, at=now))
        if job.state is JobState.RUNNING and run is not None:
            synced_until = run.synced_until()
            if synced_until - (job.synced_until or 0.0) > REMEMBER_SECOND:
                self._jobs.keep_synced_until(job.id, synced_until)
        if job.state is JobState.PENDING and run is None:
            self._start(job, now)

    def _clear(self, job_id: JobId, *, forgets: bool) -> None:
        """Of a job that was cancelled."""
        if self._runs.of(job_id) is not None:
            return
        self._drop_staged(job_id)
        passing(CrashPoint.STAGING_REMOVED)
        if forgets:
            self._jobs.forget(job_id)

    def _start(self, job: SyncJob, now: float) -> None:
        if not self._let_go(job):
            self._jobs.save(job.on(JobEvent.TARGET_DROPPED, at=now))
            return
        self._jobs.apply_pending(job.id)
        stored = self._jobs.by_id(job.id)
        assert stored is not None, "only a cancelled job is forgotten"
        job = self._jobs.save(stored.on(JobEvent.STARTED, at=now))
        passing(CrashPoint.START_STORED)
        run = self._new_run(
            job,
            lambda error: self._on_trouble(job.id, error),
            lambda error, kind: self._on_end(job.id, error, kind),
            lambda tables, behind: self._new_tables.arrived(job.id, tables, behind),
            lambda tables: self._new_tables.sighted(job.id, tables),
        )
        self._runs.add(job.id, run)
        run.start()
        log.info("job %s.%s: started", job.db, job.name)
        self._new_tables.started(job.id, run)

    def _on_trouble(self, job_id: JobId, error: SyncError | None) -> None:
        fail = None if error is None else fail_msg(error, fail_type(error.code), at=time.time())
        with self._runs.changing, self._unless_down(f"job {job_id}: its trouble is not stored"):
            self._runs.keep_trouble(job_id, fail)
            job = self._jobs.by_id(job_id)
            if job is None or job.state is not JobState.RUNNING:
                return
            if fail is not None or job.fail is not None:
                self._jobs.save(job.troubled(fail))
            if fail is not None and (job.fail is None or job.fail.code != fail.code):
                log.warning("job %s.%s: %s", job.db, job.name, error)
            if fail is None and job.fail is not None:
                log.info("job %s.%s: resumed after: %s", job.db, job.name, job.fail.message)
            self._runs.keep_trouble(job_id, None)

    def _on_end(self, job_id: JobId, error: SyncError | None, kind: FailType) -> None:
        now = time.time()
        with self._runs.changing, self._unless_down(f"job {job_id}: its end is not stored"):
            run = self._runs.remove(job_id)
            if run is not None:
                self._jobs.keep_synced_until(job_id, run.synced_until())
            job = self._jobs.by_id(job_id)
            if job is not None and error is not None and job.state is JobState.RUNNING:
                self._fail(job, error, kind, now)
        self.wake()

    def _fail(self, job: SyncJob, error: SyncError, kind: FailType, now: float) -> None:
        """Unless it was altered meanwhile: a tick starts it with what is stored, which may be the cure."""
        if self._runs.is_outdated(job.id):
            log.warning("job %s.%s: starts again, as it was altered: %s", job.db, job.name, error)
            return
        after = self._jobs.save(job.failed(error, kind, at=now))
        log.warning("job %s.%s: %s: %s", job.db, job.name, after.state, error)

    @contextmanager
    def _unless_down(self, what: str) -> Iterator[None]:
        """What cannot be stored is logged once: there will be another report, and a tick handles what has ended
        unreported.
        """
        try:
            yield
        except SyncError as error:
            if error.code is not Code.META_DOWN:
                raise
            if what not in self._down:
                log.warning("%s: %s", what, error)
            self._down.add(what)
        else:
            self._down.discard(what)


def crowded_out(ended: Iterable[Ended], most: int) -> frozenset[JobId]:
    """Those of cancelled jobs that came before the last `most` of their account: whoever creates and stops jobs without
    end fills nothing.
    """
    newest_first, seen = sorted(ended, key=lambda each: (each.at, each.id), reverse=True), Counter[str]()
    left = set[JobId]()
    for each in newest_first:
        if each.creator is not None:
            seen[each.creator] += 1
            if seen[each.creator] > most:
                left.add(each.id)
    return frozenset(left)


@contextmanager
def _logged(job: str) -> Iterator[None]:
    """A failure with one job does not affect the others, unless it is none of the job."""
    try:
        yield
    except Exception as error:
        if isinstance(error, SyncError) and error.code is Code.META_DOWN:
            raise
        log.exception("a job could not be tended", extra={"job": job})
