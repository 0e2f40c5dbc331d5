"""Sync jobs: create, pause, resume, stop, show. What the doors call.

Owns: the live runs, and which step follows which when a statement or a run changes a job.
Must not know: protocols, processes, SQL of the metadata, Spark. The rules are in job/.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Protocol

from syncmgr.control import alter_sync, showing
from syncmgr.control.alter_sync import Alterations, made
from syncmgr.control.arrivals import Arrivals
from syncmgr.control.explain_sync import Explanation
from syncmgr.control.planning import Planner
from syncmgr.control.showing import Showing
from syncmgr.control.statement_text import pattern_of, patterns, refuse_on_source
from syncmgr.control.sync_request import CheckExact, Inspect, Plan, Survey, SyncRequest, Table
from syncmgr.control.wanted_tables import WantedTables, is_wide
from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import Code, Remark, SyncError, forgiven
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.channel.patterns import Pattern
from syncmgr.job.ddl.ddl_plan import found_there
from syncmgr.job.ddl.ddl_step import DdlRecord, DdlState
from syncmgr.job.epoch import Epoch
from syncmgr.job.failure import FailType, fail_type, is_due
from syncmgr.job.job_properties import overrides_of, parsed
from syncmgr.job.overview import TableOverview, lost_by_stop
from syncmgr.job.position import Position, has_passed
from syncmgr.job.show_sync import SHOW_COLUMNS
from syncmgr.job.source import SourceDescription
from syncmgr.job.state import JobEvent, JobState
from syncmgr.job.sync_job import JobId, SyncJob, fail_msg
from syncmgr.lake.port import LakeTables, Upkeep
from syncmgr.sources import cancellation
from syncmgr.sources.registry import described
from syncsql import AddTables, CreateSync, ExplainSync, JobAlteration, Name

ENDING_SECOND = 10.0  # CREATE SYNC and ADD TABLE wait this long for the last commit of a stopped job on the same target

_STORED = {
    JobEvent.PAUSED_BY_USER: CrashPoint.PAUSE_STORED,
    JobEvent.STOPPED: CrashPoint.STOP_STORED,
    JobEvent.RESUMED: CrashPoint.RESUME_STORED,
}

LOOK_SECOND: Final = 1.0  # between two looks for tables of new patterns where the first fails
REMEMBER_SECOND: Final = 60.0  # so often the metadata learn how far a source without changes was heard

log = logging.getLogger(__name__)

__all__ = ["SHOW_COLUMNS", "Jobs"]


class Run(showing.Run, Protocol):
    """A running job."""

    def start(self) -> None: ...
    def finish(self) -> None: ...
    def pause(self) -> None: ...
    def abandon(self) -> None: ...
    def retune(self) -> None: ...
    def join(self, timeout: float) -> bool: ...
    def recovers(self) -> bool: ...


class Binlog(Protocol):
    """The binlogs of sources, beside what jobs read of them. Both block."""

    def end(self, source: SourceDescription) -> Position: ...
    def named(self, source: SourceDescription, start: Position, families: Sequence[Pattern]) -> frozenset[Table]:
        """The tables of the families that statements behind a place make, as far as a look of a moment sees."""


class Asked(Protocol):
    """The memory of when sources were asked."""

    def settle(self, job_id: JobId) -> None: ...


class DdlLog(alter_sync.DdlLog, showing.DdlLog, Protocol):
    """The memory of DDL."""

    def note(self, job_id: JobId, record: DdlRecord) -> None: ...
    def mark_gone(self, job_id: JobId, *, but: Collection[str]) -> None: ...


class Store(alter_sync.Store, showing.Store, Protocol):
    """The memory of jobs."""

    def add(self, job: SyncJob, start: Position, start_time: float, loading: frozenset[str]) -> SyncJob: ...
    def part(self, job_id: JobId) -> None: ...
    def jobs(self, db: str | None = None, *, live: bool = False) -> list[SyncJob]: ...
    def count_live(self) -> int: ...
    def ended(self) -> list[tuple[JobId, float]]: ...
    def by_id(self, job_id: JobId) -> SyncJob | None: ...
    def by_name(self, db: str, name: str) -> SyncJob: ...
    def forget(self, job_id: JobId) -> None: ...
    def keep_synced_until(self, job_id: JobId, at: float) -> None: ...
    def target_of(self, db: str, table: str) -> str | None: ...
    def has_channel(self, token: str) -> bool: ...
    def last_epoch(self, job_id: JobId) -> Epoch | None: ...
    @property
    def asked(self) -> Asked: ...
    @property
    def ddl(self) -> DdlLog: ...


OnArrival = Callable[[Sequence[Table], Position], Mapping[Table, SyncError | None] | None]
StartRun = Callable[
    [SyncJob, Callable[[SyncError | None], None], Callable[[SyncError | None, FailType], None], OnArrival], Run
]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Missed:
    """Tables that are there, which a job has not; every statement that made them so is before `end`."""

    tables: frozenset[Table]
    end: Position


class Jobs:
    """All sync jobs of this frontend. Safe to call from any thread; nothing here waits for a source or for Spark
    but CREATE SYNC and ALTER SYNC.
    """

    def __init__(
        self,
        *,
        store: Store,
        catalog: alter_sync.Catalog,
        tables: LakeTables,
        upkeep: Upkeep,
        inspect: Inspect,
        survey: Survey,
        check_exact: CheckExact,
        binlog: Binlog,
        new_run: StartRun,
        drop_staged: Callable[[JobId], None],
        keep_cancelled_second: Callable[[], float],
        max_jobs: Callable[[], int],
        chunk_rows: Callable[[Mapping[str, str]], int],
    ) -> None:
        """`drop_staged`: nothing that a job has staged is needed any more. `chunk_rows`: of a job's properties."""
        self._store = store
        self._catalog = catalog
        self._binlog = binlog
        self._showing = Showing(store, upkeep, self._run_of)
        wanted_tables = WantedTables(
            catalog=catalog,
            tables=tables,
            job_of=store.target_of,
            is_ours=store.has_channel,
            inspect=inspect,
            survey=survey,
        )
        self._planner = Planner(wanted_tables=wanted_tables, tables=tables, inspect=inspect, check_exact=check_exact)
        self._explanation = Explanation(self._planner, inspect, survey)
        self._altering = Alterations(store, catalog, self._planner, inspect, survey, chunk_rows)
        self._chunk_rows = chunk_rows
        self._new_run = new_run
        self._drop_staged = drop_staged
        self._keep_cancelled_second = keep_cancelled_second
        self._max_jobs = max_jobs
        self._runs: dict[JobId, Run] = {}
        self._coming: list[SourceDescription] = []  # of one reader each, whose jobs are yet to be stored
        self._unseen: set[JobId] = set()  # whose last run may have passed by tables that its new patterns mean
        # load, ask the rule, store: one at a time, and nothing that may wait for a source or for the lake
        self._changing = threading.RLock()
        self._closing = False
        self.wake: Callable[[], None] = lambda: None  # set by the scheduler: something is due now

    # -- statements

    def create(self, node: CreateSync, db: str | None) -> tuple[Remark, ...]:
        """CREATE SYNC. Returns what the client is to be told besides. Checks everything before anything is stored."""
        db = self._database(node.job, db)
        if self._live(db, node.job.name) is not None:
            return forgiven(node.if_not_exists, SyncError(Code.JOB_EXISTS, job=node.job.name, db=db))
        self._refuse_one_more()  # before a source is asked
        wanted, overrides = self._wanted(node, db)
        with self._read_by_one(wanted.source):
            return self._create(node, wanted, overrides)

    def _create(self, node: CreateSync, wanted: SyncRequest, overrides: dict[str, str]) -> tuple[Remark, ...]:
        plan = self._planner.plan(wanted)
        job = SyncJob(
            id=JobId(0),
            db=wanted.db,
            name=node.job.name,
            source=wanted.source,
            channels=plan.channels,
            statement=node.masked().sql(),
            created_at=time.time(),
            properties=overrides,
        )
        self._wait_for_ending(job.channels)
        cancellation.has_answers()
        with made(self._catalog, plan.made), self._changing:
            self._add(job, plan)
        passing(CrashPoint.JOB_ADDED)
        log.info("job %s.%s: created, with %d tables", job.db, job.name, len(plan.channels))
        self.wake()
        said = (caveat for channel in plan.channels for caveat in wanted.source.caveats(channel))
        told = [Remark(level="Warning", code=caveat.code, text=caveat.text) for caveat in said]
        if not plan.inspected.full_metadata:
            unnamed = SyncError(Code.SOURCE_UNNAMED, address=wanted.source.address)
            told.append(Remark(level="Warning", code=unnamed.code, text=str(unnamed)))
        return tuple(told)

    def explain(self, node: ExplainSync, db: str | None) -> list[tuple[str, ...]]:
        """EXPLAIN SYNC: what CREATE SYNC would do, in rows of EXPLAIN_COLUMNS. Changes nothing."""
        wanted, _ = self._wanted(node.sync, self._database(node.sync.job, db))
        with self._changing:
            taken = self._other_reader(wanted.source)
        return list(self._explanation.explain(wanted, taken))

    def _wanted(self, node: CreateSync, db: str) -> tuple[SyncRequest, dict[str, str]]:
        """With the properties of its job."""
        source = described({each.key: each.value for each in node.binlog})
        overrides = overrides_of({each.key: each.value for each in node.properties})
        refuse_on_source(source, overrides)
        properties = parsed(overrides)
        wanted = SyncRequest(
            db=db,
            channels=node.channels,
            source=source,
            without_key=properties.tables_without_key,
            chunk_rows=self._chunk_rows(overrides),
            checked=properties.checked,
        )
        return wanted, overrides

    def _refuse_one_more(self) -> None:
        """Raises TOO_MANY_JOBS."""
        limit = self._max_jobs()
        if self._store.count_live() >= limit:
            raise SyncError(Code.TOO_MANY_JOBS, limit=limit)

    def _add(self, job: SyncJob, plan: Plan) -> None:
        self._refuse_one_more()  # others may have come while the source was asked
        inspected = plan.inspected
        start = replace(inspected.start, whole=inspected.start.whole and not plan.loading)
        added = self._store.add(job, start, inspected.server_time, plan.loading)
        if plan.has_grown:
            self._unseen.add(added.id)

    def pause(self, name: Name, db: str | None) -> None:
        """What is committed by then is remembered with its time: a quiet source says nothing of it later."""
        self._on_statement(name, db, JobEvent.PAUSED_BY_USER, lambda run: run.pause())

    def stop(self, name: Name, db: str | None) -> tuple[Remark, ...]:
        """What its targets lack, and no other job brings, is to be told."""
        job = self._named(name, db)
        lost = lost_by_stop(job, self._showing.overview(job))
        self._on_statement(name, db, JobEvent.STOPPED, lambda run: run.abandon())
        return lost

    def resume(self, name: Name, db: str | None) -> None:
        self._on_statement(name, db, JobEvent.RESUMED, lambda _: None)
        self.wake()

    def alter(self, node: JobAlteration, db: str | None) -> None:
        """ALTER SYNC, which changes what is stored; where that matters to what runs, it is started anew."""
        named = self._named(node.job, db)
        looked_at = self._altering.looked_at(named, node)
        cancellation.has_answers()
        with self._changing:
            job = self._store.by_name(named.db, named.name)
            if self._altering.alter(job, node, looked_at):
                self._renew(job.id)
        log.info("job %s.%s: %s", job.db, job.name, node.sql())

    def add_tables(self, node: AddTables, db: str | None) -> tuple[Remark, ...]:
        """ALTER SYNC ... ADD TABLE: checks everything before anything is stored, as CREATE SYNC does."""
        looked_at = self._named(node.job, db)
        plan = self._altering.plan(looked_at, node.channels)
        self._wait_for_ending(plan.channels)
        cancellation.has_answers()
        with made(self._catalog, plan.made), self._changing:
            job = self._store.by_name(looked_at.db, looked_at.name)
            self._altering.add(job, node, plan, looked_at)
            if any(map(is_wide, node.channels)):
                self._unseen.add(job.id)
            self._renew(job.id)
        log.info("job %s.%s: %s", job.db, job.name, node.sql())
        self.wake()
        return ()

    def _renew(self, job_id: JobId) -> None:
        """What runs commits what it has read and ends; a tick starts it with what is stored."""
        run = self._runs.get(job_id)
        if run is None:
            self._store.part(job_id)
        else:
            run.finish()

    def _on_statement(self, name: Name, db: str | None, event: JobEvent, tell: Callable[[Run], None]) -> None:
        named = self._named(name, db)
        with self._changing:
            job = self._store.by_name(named.db, named.name)
            after = job.on(event, at=time.time())
            if event is JobEvent.RESUMED and job.settles_answers:
                self._store.asked.settle(job.id)  # first: a crash in between leaves a job that RESUME settles again
            run = self._runs.get(job.id)
            self._store.save(after)
        passing(_STORED[event])
        log.info("job %s.%s: %s", job.db, job.name, event)
        if run is not None:
            tell(run)

    def show(self, db: str | None) -> list[tuple[str | None, ...]]:
        """The rows of SHOW SYNC JOB for a database, or for all, by id. The lake is not asked, which may be away."""
        return [self._showing.row(job) for job in self._store.jobs(db)]

    def names(self, db: str | None) -> dict[str, tuple[str, str]]:
        """Database and name of the jobs of a database, or of all, by JobId."""
        return {str(job.id): (job.db, job.name) for job in self._store.jobs(db)}

    def _run_of(self, job_id: JobId) -> Run | None:
        return self._runs.get(job_id)

    def recovers(self, job_id: JobId) -> bool:
        """Whether it has yet to commit what an earlier life of the frontend left."""
        run = self._runs.get(job_id)
        return run is not None and run.recovers()

    def rates(self, job_id: JobId) -> Mapping[str, float]:
        """Rows a second that a job's snapshot reads now, by channel token."""
        return self._showing.rates(job_id)

    def overview(self, job: SyncJob) -> tuple[TableOverview, ...]:
        """How each table of a job stands now."""
        return self._showing.overview(job)

    def create_text(self, name: Name, db: str | None) -> str:
        """SHOW CREATE SYNC JOB; passwords are masked."""
        return self._named(name, db).statement

    def owner_of(self, db: str, table: str) -> str | None:
        """The job, not cancelled, that a table is the target of."""
        return self._store.target_of(db, table)

    def retune(self) -> None:
        """A setting was changed that running jobs follow."""
        with self._changing:
            runs = list(self._runs.values())
        for run in runs:
            run.retune()

    # -- what the scheduler calls

    def recover(self) -> None:
        """Once at start: what ran when the frontend ended runs again, and looks for tables that it had yet to find."""
        with self._changing:
            for job in self._store.jobs(live=True):
                with _logged(job.name):
                    if patterns(job):
                        self._unseen.add(job.id)
                if job.state is JobState.RUNNING:
                    self._store.save(job.on(JobEvent.FE_RESTARTED, at=time.time()))

    def tick(self) -> None:
        """Start what is pending, resume what is due, forget what was cancelled long ago: at the next tick where the
        metadata do not answer, which the lease reports.
        """
        now = time.time()
        with self._changing, _unless_down():
            if self._closing:
                return
            for job in self._store.jobs(live=True):
                with _logged(job.name):
                    self._tend(job, now)
            for job_id, ended_at in self._store.ended():
                with _logged(str(job_id)):
                    self._clear(job_id, now - ended_at)

    def _tend(self, job: SyncJob, now: float) -> None:
        if job.state is JobState.PAUSED_BY_ERROR and is_due(job.resume_at, now):
            job = self._store.save(job.on(JobEvent.RESUMED, at=now))
        if job.state is JobState.RUNNING and job.id not in self._runs:  # its end could not be stored
            job = self._store.save(job.on(JobEvent.FE_RESTARTED, at=now))
        if job.state is JobState.RUNNING:
            synced_until = self._runs[job.id].synced_until()
            if synced_until - (job.synced_until or 0.0) > REMEMBER_SECOND:
                self._store.keep_synced_until(job.id, synced_until)
        if job.state is JobState.PENDING and job.id not in self._runs:
            self._start(job, now)

    def _clear(self, job_id: JobId, second: float) -> None:
        """Of a job that was cancelled so long ago."""
        if job_id in self._runs:
            return
        self._drop_staged(job_id)
        passing(CrashPoint.STAGING_REMOVED)
        if second >= self._keep_cancelled_second():
            self._store.forget(job_id)

    def _start(self, job: SyncJob, now: float) -> None:
        if not self._altering.let_go(job):
            self._store.save(job.on(JobEvent.TARGET_DROPPED, at=now))
            return
        self._store.part(job.id)
        stored = self._store.by_id(job.id)
        assert stored is not None, "only a cancelled job is forgotten"
        job = self._store.save(stored.on(JobEvent.STARTED, at=now))
        passing(CrashPoint.START_STORED)
        run = self._new_run(
            job,
            lambda error: self._on_trouble(job.id, error),
            lambda error, kind: self._on_end(job.id, error, kind),
            lambda tables, behind: self._on_arrival(job.id, tables, behind),
        )
        self._runs[job.id] = run
        run.start()
        log.info("job %s.%s: started", job.db, job.name)
        if job.id in self._unseen:
            threading.Thread(target=self._look, args=(job.id, run), name="look", daemon=True).start()

    def close(self, timeout: float) -> None:
        """Let every run commit what it staged; jobs stay RUNNING and are taken up by the next start."""
        with self._changing:
            self._closing = True
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

    # -- what runs call

    def _on_trouble(self, job_id: JobId, error: SyncError | None) -> None:
        with self._changing, _unless_down():
            job = self._store.by_id(job_id)
            if job is None or job.state is not JobState.RUNNING:
                return
            fail = None if error is None else fail_msg(error, fail_type(error.code), at=time.time())
            if fail is not None or job.fail is not None or job.failures:
                self._store.save(job.troubled(fail))
            if fail is not None and (job.fail is None or job.fail.code != fail.code):
                log.warning("job %s.%s: %s", job.db, job.name, error)
            if fail is None and job.fail is not None:
                log.info("job %s.%s: goes on; past is: %s", job.db, job.name, job.fail.message)

    def _on_arrival(
        self, job_id: JobId, tables: Collection[Table], behind: Position | None
    ) -> dict[Table, SyncError | None] | None:
        """With those that were told, what the binlog behind that place names joins, so that one run serves many.

        None: the job has ended its run, or was altered meanwhile, or another has taken a target, or has yet to end its
        last commit into one: its next run has to tell them again.
        """
        job = self._store.by_id(job_id)
        if job is None or job.state is not JobState.RUNNING:
            return None
        families = tuple(map(pattern_of, patterns(job)))
        ahead = frozenset[Table]() if behind is None else self._binlog.named(job.source, behind, families)
        coming = self._altering.arrivals(job, ahead.union(tables))
        synced = [channel.source.label for channel in job.channels]
        self._store.ddl.mark_gone(job_id, but=[*synced, *(".".join(table) for table in coming.there)])
        try:
            self._wait_for_ending(coming.joining.channels, LOOK_SECOND)  # in a job's own thread, so for a moment only
            with made(self._catalog, coming.made), self._changing:
                taken = self._take_in(job, coming, tables)
        except SyncError as error:
            if error.code not in {Code.STALE_JOB, Code.TARGET_IN_USE}:
                raise
            return None
        joined = coming.tables | taken
        gone = SyncError(Code.NO_TABLE_MATCHES, pattern="that name any more", hint="")
        told = (table for table in tables if table not in coming.waits)
        return {table: None if table in joined else coming.refused.get(table, gone) for table in told}

    def _look(self, job_id: JobId, run: Run) -> None:
        """For tables whose statements a run has read that did not heed them. What this run reads it tells itself, so
        they join once it has read all that the server had when it was asked which are there.
        """
        missed: _Missed | None = None
        while self._runs.get(job_id) is run and not self._closing:
            try:
                missed = missed or self._missed(job_id)
                if self._took_in(job_id, missed):
                    self._unseen.discard(job_id)
                    return
            except SyncError as error:
                log.warning("job %s: its source or the lake is asked again: %s", job_id, error)
            run.join(LOOK_SECOND)  # where it ends, the next one looks

    def _missed(self, job_id: JobId) -> "_Missed":
        job = self._store.by_id(job_id)
        assert job is not None
        return _Missed(tables=self._altering.unseen(job), end=self._binlog.end(job.source))

    def _took_in(self, job_id: JobId, missed: "_Missed") -> bool:
        if not missed.tables:
            return True
        last = self._store.last_epoch(job_id)
        if last is None or not has_passed(last.end, missed.end):
            return False
        told = self._on_arrival(job_id, missed.tables, None)
        before = {record.table: record.outcome for record in self._store.ddl.refused(job_id)}
        for table, error in (told or {}).items():
            record = found_there(missed.end, time.time(), table, error)
            if record.state is DdlState.REFUSED and before.get(record.table) != record.outcome:
                self._store.ddl.note(job_id, record)
        return told is not None

    def _take_in(self, looked_at: SyncJob, coming: Arrivals, told: Collection[Table]) -> set[Table]:
        """Which of those that were told are the job's already, though its run does not know: it was stored by a call
        that failed. Raises STALE_JOB.
        """
        job = self._store.by_id(looked_at.id)
        if job is None or job.state is not JobState.RUNNING:
            raise SyncError(Code.STALE_JOB, job=looked_at.name)
        if coming.plans:
            self._altering.take_in(job, coming, looked_at)
        known = {(channel.source.db, channel.source.name) for channel in job.channels} & set(told)
        if coming.plans or known:
            self._renew(job.id)
        return known

    def _on_end(self, job_id: JobId, error: SyncError | None, kind: FailType) -> None:
        now = time.time()
        with self._changing, _unless_down():
            run = self._runs.pop(job_id, None)
            if run is not None:
                self._store.keep_synced_until(job_id, run.synced_until())
            job = self._store.by_id(job_id)
            if job is not None and error is not None and job.state is JobState.RUNNING:
                after = self._store.save(job.failed(error, kind, at=now))
                log.warning("job %s.%s: %s: %s", job.db, job.name, after.state, error)
        self.wake()

    # -- parts of CREATE SYNC

    @contextmanager
    def _read_by_one(self, source: SourceDescription) -> Iterator[None]:
        """Of a source that has one reader, nobody else creates a job meanwhile: to look at it may take from the reader
        what another has stored by then. Raises CANAL_IN_USE.
        """
        if source.one_reader is None:
            yield
            return
        with self._changing:
            taken = self._other_reader(source)
            if taken is not None:
                raise taken
            self._coming.append(source)
        try:
            yield
        finally:
            with self._changing:
                self._coming.remove(source)

    def _other_reader(self, source: SourceDescription) -> SyncError | None:
        """CANAL_IN_USE where a job, or one that is being created, reads what one job alone can read."""
        if source.one_reader is None:
            return None
        readers = [(job.source, f"sync job '{job.db}.{job.name}'") for job in self._store.jobs(live=True)]
        readers += [(coming, "a job that is being created") for coming in self._coming]
        for other, reader in readers:
            if other.one_reader == source.one_reader:
                return source.in_use(reader)
        return None

    def _database(self, name: Name, db: str | None) -> str:
        found = name.db or db
        if found is None:
            raise SyncError(Code.NO_DATABASE)
        if found not in self._catalog.databases():
            raise SyncError(Code.UNKNOWN_DATABASE, db=found)
        return found

    def _named(self, name: Name, db: str | None) -> SyncJob:
        """The lake, which may be away, is asked only where there is no such job."""
        found = name.db or db
        if found is None:
            raise SyncError(Code.NO_DATABASE, job=name.name)
        try:
            return self._store.by_name(found, name.name)
        except SyncError as error:
            if error.code is Code.UNKNOWN_JOB:
                self._database(name, db)
            raise

    def _live(self, db: str, name: str) -> SyncJob | None:
        return next((job for job in self._store.jobs(db, live=True) if job.name == name), None)

    def _wait_for_ending(self, channels: Sequence[ChannelDescription], second: float = ENDING_SECOND) -> None:
        """The last commit of a stopped job may still be on its way into one of the targets. Raises TARGET_IN_USE."""
        wanted = {(channel.target_db, channel.target) for channel in channels}
        for job_id, run in list(self._runs.items()):
            ending = self._store.by_id(job_id)
            if ending is None or ending.state is not JobState.CANCELLED:
                continue
            shared = wanted & {(channel.target_db, channel.target) for channel in ending.channels}
            if shared and not run.join(second):
                raise SyncError(Code.TARGET_IN_USE, table=".".join(min(shared)), job=ending.name)


@contextmanager
def _logged(job: str) -> Iterator[None]:
    """One job that cannot be tended keeps no other from it."""
    try:
        yield
    except Exception:
        log.exception("a job could not be tended", extra={"job": job})


@contextmanager
def _unless_down() -> Iterator[None]:
    """What cannot be stored is logged: there will be another report, and a tick takes up what has ended untold."""
    try:
        yield
    except SyncError as error:
        if error.code is not Code.META_DOWN:
            raise
        log.warning("a report was not stored: %s", error)
