"""Sync jobs: create, alter, pause, resume, stop, show. What the doors call.

Owns: which step follows which when a statement changes a job.
Must not know: protocols, processes, SQL of the metadata, Spark. The rules are in job/.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from syncmgr.control import made_targets, sync_request
from syncmgr.control.alter.alterations import Alterations
from syncmgr.control.alter.joining_tables import JoiningTables
from syncmgr.control.alter.named_channel import leaves_name
from syncmgr.control.alter.new_source import CheckContinues, NewSources
from syncmgr.control.alter.part_of_rows import ResyncTargets
from syncmgr.control.alter.resync import Resyncs
from syncmgr.control.explain_sync import Explanation
from syncmgr.control.job_places import JobPlaces
from syncmgr.control.made_targets import doubling_rows, lacking_rows, made
from syncmgr.control.one_reader import OneReader
from syncmgr.control.planning import Planner
from syncmgr.control.present_text import present_text
from syncmgr.control.running.job_lives import JobLives, StartRun
from syncmgr.control.running.live_runs import LiveRun, LiveRuns
from syncmgr.control.running.new_tables import Binlog, NewTables
from syncmgr.control.showing import Showing, ShownBinlogs
from syncmgr.control.statement_text import refuse_many, refuse_on_source
from syncmgr.control.sync_request import CheckExact, Inspect, Plan, Survey, SyncRequest
from syncmgr.control.wanted_tables import WantedTables, is_wide
from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import Code, Diagnostic, SyncError, as_note
from syncmgr.host.source_files import refuse_others
from syncmgr.job.job_properties import overrides_of, parsed
from syncmgr.job.metrics.sample import JobSample
from syncmgr.job.overview import TableOverview, lost_by_stop
from syncmgr.job.show_sync import SHOW_COLUMNS, ShownJob, cancelled_last
from syncmgr.job.source import SourceDescription
from syncmgr.job.state import JobEvent
from syncmgr.job.sync_job import JobId, SyncJob, refuse_long_name
from syncmgr.lake.port import LakeTables, Upkeep
from syncmgr.meta.store import Store
from syncmgr.sources import cancellation
from syncmgr.sources.registry import described
from syncsql import AddTables, CreateSync, ExplainSync, JobAlteration, Name, ResyncTable, SetSource

_STORED = {
    JobEvent.PAUSED_BY_USER: CrashPoint.PAUSE_STORED,
    JobEvent.STOPPED: CrashPoint.STOP_STORED,
    JobEvent.RESUMED: CrashPoint.RESUME_STORED,
}

log = logging.getLogger(__name__)


def _always() -> None:
    """Whoever calls from inside is allowed everything."""


__all__ = ["SHOW_COLUMNS", "Jobs"]


class JobTargets(sync_request.PlannedTargets, made_targets.MadeTargets, ResyncTargets, Protocol):
    """The databases and tables of the lake."""


class Jobs:
    """All sync jobs of this frontend. Safe to call from any thread; nothing here waits for a source or for Spark except
    CREATE SYNC and ALTER SYNC. `runs`: those that are alive; `lives`: what happens to jobs without a statement.
    """

    def __init__(
        self,
        *,
        store: Store,
        catalog: JobTargets,
        tables: LakeTables,
        upkeep: Upkeep,
        upkeep_failure: Callable[[str, str], str | None],
        inspect: Inspect,
        survey: Survey,
        check_exact: CheckExact,
        check_continues: CheckContinues,
        binlog: Binlog,
        new_run: StartRun,
        drop_staged: Callable[[JobId], None],
        keep_cancelled_second: Callable[[], float],
        max_jobs: Callable[[], int],
        max_jobs_per_account: Callable[[], int],
        source_files_dir: str,
        chunk_rows: Callable[[Mapping[str, str]], int],
        retained: ShownBinlogs,
    ) -> None:
        """`drop_staged`: nothing that a job has staged is needed any more. `chunk_rows`: of a job's properties."""
        self._store, self._catalog, self._chunk_rows, self._files_dir = store, catalog, chunk_rows, source_files_dir
        self._places = JobPlaces(store.jobs, max_jobs, max_jobs_per_account)
        wanted = _wanted_tables(store, catalog, tables, inspect, survey)
        self._planner = Planner(wanted_tables=wanted, tables=tables, inspect=inspect, check_exact=check_exact)
        self._explanation = Explanation(self._planner, inspect, survey)
        self._alterations = Alterations(store, Resyncs(store, catalog, self._planner, inspect))
        self._new_sources = NewSources(store, check_continues)
        self._joining = JoiningTables(store.jobs, self._planner, survey, chunk_rows)
        self.runs = LiveRuns(store.jobs)
        self._readers = OneReader(self.runs.changing, lambda: store.jobs.all(live=True))
        self._showing = Showing(store, upkeep, upkeep_failure, self.runs.of, self.runs.trouble_of, retained)
        self._new_tables = NewTables(store, catalog, binlog, self._joining, self.runs)
        self.lives = JobLives(
            jobs=store.jobs,
            runs=self.runs,
            new_tables=self._new_tables,
            new_run=new_run,
            let_go=self._alterations.let_go,
            drop_staged=drop_staged,
            keep_cancelled_second=keep_cancelled_second,
            max_cancelled=max_jobs_per_account,
        )

    def create(
        self,
        node: CreateSync,
        db: str | None,
        creator: str | None = None,
        *,
        bounded: bool = False,
        allowed: Callable[[], None] = _always,
    ) -> tuple[Diagnostic, ...]:
        """CREATE SYNC. Returns further messages for the client. Checks everything before anything is stored. `bounded`:
        so is the number of jobs of `creator`, and the key files that it may name. `allowed`: raises if it no longer is
        when the source has answered.
        """
        refuse_long_name(node.job.name)
        db = self._database(node.job, db)
        if any(each.name == node.job.name for each in self._store.jobs.labels(db, live=True)):
            return as_note(node.if_not_exists, SyncError(Code.JOB_EXISTS, job=node.job.name, db=db))
        self._places.need_one(creator if bounded else None)  # before a source is queried

        def admit() -> None:
            allowed()
            self._places.need_one(creator if bounded else None)  # others may have been created meanwhile

        wanted, overrides = self._wanted(node, db, bounded=bounded)
        with self._readers.read_by_one(wanted.source):
            return self._create(node, wanted, overrides, creator, admit)

    def _create(
        self,
        node: CreateSync,
        wanted: SyncRequest,
        overrides: dict[str, str],
        creator: str | None,
        admit: Callable[[], None],
    ) -> tuple[Diagnostic, ...]:
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
            creator=creator,
        )
        self.runs.wait_for_ending(job.channels)
        twice = doubling_rows(job, plan.inspected.start, plan.made, self._store, self._catalog.table)
        cancellation.has_answers()
        with made(self._catalog, plan.made), self.runs.changing:
            cancellation.is_storing()
            admit()
            self._add(job, plan)
        passing(CrashPoint.JOB_ADDED)
        log.info("job %s.%s: created, with %d tables", job.db, job.name, len(plan.channels))
        self.lives.wake()
        return (*_caveats(wanted.source, plan), *lacking_rows(plan.made, wanted.source), *twice)

    def explain(self, node: ExplainSync, db: str | None, *, bounded: bool = False) -> list[tuple[str, ...]]:
        """EXPLAIN SYNC: what CREATE SYNC would do, in rows of EXPLAIN_COLUMNS. Changes nothing."""
        wanted, _ = self._wanted(node.sync, self._database(node.sync.job, db), bounded=bounded)
        with self.runs.changing:
            taken = self._readers.other(wanted.source)
        return list(self._explanation.explain(wanted, taken))

    def _wanted(self, node: CreateSync, db: str, *, bounded: bool) -> tuple[SyncRequest, dict[str, str]]:
        """With the properties of its job."""
        refuse_many(node.channels)
        source = described({each.key: each.value for each in node.binlog})
        if bounded:
            refuse_others(source.key_files, self._files_dir, db)
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

    def _add(self, job: SyncJob, plan: Plan) -> None:
        inspected = plan.inspected
        start = replace(inspected.start, whole=inspected.start.whole and not plan.loading)
        added = self._store.jobs.add(job, start, inspected.server_time, plan.loading)
        if plan.has_grown:
            self._new_tables.expect(added.id)

    def pause(self, name: Name, db: str | None) -> None:
        """What is committed by then is stored with its time: a quiet source does not report it later."""
        self._on_statement(self._named(name, db), JobEvent.PAUSED_BY_USER, lambda run: run.pause())

    def stop(self, name: Name, db: str | None) -> tuple[Diagnostic, ...]:
        """Reports what its targets lack, and no other job provides."""
        job = self._named(name, db)
        lost = lost_by_stop(job, self._showing.overviews([job]).get(job.id, ()))
        self._on_statement(job, JobEvent.STOPPED, lambda run: run.abandon())
        return lost

    def resume(self, name: Name, db: str | None) -> None:
        self._on_statement(self._named(name, db), JobEvent.RESUMED, lambda _: None)
        self.lives.wake()

    def alter(self, node: JobAlteration, db: str | None, allowed: Callable[[], None] = _always) -> None:
        """ALTER SYNC, which changes what is stored; if that matters to the run, it is restarted. `allowed`: as in
        `create`.
        """
        named = self._named(node.job, db)
        looked_at = self._alterations.looked_at(named, node)
        with self.runs.changing:
            cancellation.is_storing()
            allowed()
            job = self._still(named)
            if isinstance(node, ResyncTable) and leaves_name(job, node.table):
                self._new_tables.expect(job.id)  # the table that had been read may match a pattern
            with self.runs.unless_unanswered(job.id):
                anew = self._alterations.alter(job, node, looked_at)
            if anew:
                self.runs.renew(job.id)
        log.info("job %s.%s: %s", job.db, job.name, node.sql())

    def set_source(
        self, node: SetSource, db: str | None, allowed: Callable[[], None] = _always, *, bounded: bool = False
    ) -> None:
        """ALTER SYNC ... SET SOURCE: the job goes on from its last commit. `allowed`, `bounded`: as in `create`; who
        changes nothing but a password names no file.
        """
        named = self._named(node.job, db)
        source = self._new_sources.wanted(named, node)
        if bounded and any(not each.key.endswith(".password") for each in node.properties):
            refuse_others(source.key_files, self._files_dir, named.db)
        with self._readers.read_by_one(source, named.id):
            self._new_sources.check(named, source)
            cancellation.has_answers()
            with self.runs.changing:
                allowed()
                job = self._still(named)
                with self.runs.unless_unanswered(job.id):
                    self._new_sources.store(job, node, source)
                self.runs.renew(job.id)
        log.info("job %s.%s: %s", job.db, job.name, node.masked().sql())

    def add_tables(
        self, node: AddTables, db: str | None, allowed: Callable[[], None] = _always
    ) -> tuple[Diagnostic, ...]:
        """ALTER SYNC ... ADD TABLE: checks everything before anything is stored, as CREATE SYNC does. `allowed`: as in
        `create`.
        """
        refuse_many(node.channels)
        looked_at = self._named(node.job, db)
        plan = self._joining.plan(looked_at, node.channels)
        self.runs.wait_for_ending(plan.channels)
        cancellation.has_answers()
        with made(self._catalog, plan.made), self.runs.changing:
            cancellation.is_storing()
            allowed()
            job = self._store.jobs.by_name(looked_at.db, looked_at.name)
            if any(map(is_wide, node.channels)):
                self._new_tables.expect(job.id)  # first: it may be stored although the answer is lost
            with self.runs.unless_unanswered(job.id):
                self._joining.add(job, node, plan, looked_at)
            self.runs.renew(job.id)
        log.info("job %s.%s: %s", job.db, job.name, node.sql())
        self.lives.wake()
        return tuple(_caveats(looked_at.source, plan))

    def _on_statement(self, named: SyncJob, event: JobEvent, notify: Callable[[LiveRun], None]) -> None:
        with self.runs.changing:
            job = self._still(named)
            after = job.on(event, at=time.time())
            if event is JobEvent.RESUMED and job.settles_answers:
                self._store.asked.settle(job.id)  # first: a crash in between leaves a job that RESUME settles again
            run = self.runs.of(job.id)
            with self.runs.unless_unanswered(job.id):
                self._store.jobs.save(after)
        passing(_STORED[event])
        log.info("job %s.%s: %s", job.db, job.name, event)
        if run is not None:
            notify(run)

    def show(self, db: str | None, ids: Collection[str] | None = None) -> list[tuple[str | None, ...]]:
        """The rows of SHOW SYNC JOB for a database, or for all, by id, cancelled ones last; only those of some JobIds,
        if they are given.
        The lake is not queried, since it may be unavailable.
        """
        return [shown.row for shown in self._showing.shown(_listed(self._store, db, ids))]

    def samples(self, db: str | None = None, ids: Collection[str] | None = None) -> list[JobSample]:
        """What metrics say of the same jobs."""
        return list(self._showing.samples(_listed(self._store, db, ids)))

    def names(self, db: str | None) -> dict[str, tuple[str, str]]:
        """Database and name of the jobs of a database, or of all, by JobId."""
        return {str(each.id): (each.db, each.name) for each in self._store.jobs.labels(db)}

    def targets(self, ids: Collection[str]) -> dict[str, tuple[tuple[str, str], ...]]:
        """Database and table of the targets of these jobs, by JobId."""
        wanted = _listed(self._store, None, ids)
        return {str(job.id): tuple((each.target_db, each.target) for each in job.channels) for job in wanted}

    def rates(self, job_id: JobId) -> Mapping[str, float]:
        """Rows a second that a job's snapshot reads now, by channel token."""
        return self._showing.rates(job_id)

    def shown(self, jobs: Sequence[SyncJob]) -> Iterator[ShownJob]:
        """In their order; without jobs that are no longer stored."""
        return self._showing.shown(jobs)

    def overviews(self, jobs: Sequence[SyncJob]) -> Mapping[JobId, tuple[TableOverview, ...]]:
        """The present state of each of their tables; without jobs that are no longer stored."""
        return self._showing.overviews(jobs)

    def create_text(self, name: Name, db: str | None) -> str:
        """SHOW CREATE SYNC JOB, with each table under its present name; passwords are masked."""
        return present_text(self._named(name, db))

    def _database(self, name: Name, db: str | None) -> str:
        found = name.db or db
        if found is None:
            raise SyncError(Code.NO_DATABASE)
        if found not in self._catalog.databases():
            raise SyncError(Code.UNKNOWN_DATABASE, db=found)
        return found

    def _named(self, name: Name, db: str | None) -> SyncJob:
        """The lake, which may be unavailable, is queried only if there is no such job."""
        found = name.db or db
        if found is None:
            raise SyncError(Code.NO_DATABASE, job=name.name)
        try:
            return self._store.jobs.by_name(found, name.name)
        except SyncError as error:
            if error.code is Code.UNKNOWN_JOB:
                self._database(name, db)
            raise

    def _still(self, named: SyncJob) -> SyncJob:
        """As it is stored now. Raises STALE_JOB if another one has got its name meanwhile."""
        job = self._store.jobs.by_name(named.db, named.name)
        if job.id != named.id:
            raise SyncError(Code.STALE_JOB, job=job.name)
        return job


def _listed(store: Store, db: str | None, ids: Collection[str] | None) -> list[SyncJob]:
    """Cancelled ones last."""
    if ids is None:
        return sorted(store.jobs.all(db), key=cancelled_last)
    wanted = [each.id for each in store.jobs.labels(db) if str(each.id) in ids]
    return sorted(store.jobs.of(wanted), key=cancelled_last)


def _wanted_tables(
    store: Store, catalog: JobTargets, tables: LakeTables, inspect: Inspect, survey: Survey
) -> WantedTables:
    return WantedTables(
        catalog=catalog,
        tables=tables,
        job_of=store.jobs.target_of,
        is_ours=store.jobs.has_channel,
        inspect=inspect,
        survey=survey,
    )


def _caveats(source: SourceDescription, plan: Plan) -> list[Diagnostic]:
    caveats = (caveat for channel in plan.channels for caveat in source.caveats(channel))
    warnings = [Diagnostic(level="Warning", code=caveat.code, text=caveat.text) for caveat in caveats]
    if not plan.inspected.full_metadata:
        unnamed = SyncError(Code.SOURCE_UNNAMED, address=source.address)
        warnings.append(Diagnostic(level="Warning", code=unnamed.code, text=str(unnamed)))
    return warnings
