"""Tables that match a job's patterns and are created while it runs.

Owns: when they join: as the run reports them, or by a look for those that an earlier run has missed.
Must not know: how a table is planned, what is stored of it.
"""

import logging
import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, Protocol

from syncmgr.control.alter.arrivals import Arrivals
from syncmgr.control.alter.joining_tables import JoiningTables
from syncmgr.control.made_targets import MadeTargets, made
from syncmgr.control.running.live_runs import LiveRun, LiveRuns
from syncmgr.control.statement_text import pattern_of, patterns
from syncmgr.control.sync_request import Table
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.patterns import Pattern
from syncmgr.job.ddl.ddl_plan import JoinOutcome, found_there
from syncmgr.job.ddl.ddl_step import DdlState
from syncmgr.job.position import Position, has_passed
from syncmgr.job.source import Caveat, SourceDescription
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import JobId, SyncJob
from syncmgr.meta.store import Store

LOOK_SECOND: Final = 1.0  # between two looks for tables of new patterns if the first fails

log = logging.getLogger(__name__)


class Binlog(Protocol):
    """The binlogs of sources, apart from what jobs read of them. Both block."""

    def end(self, source: SourceDescription) -> Position: ...
    def named(self, source: SourceDescription, start: Position, families: Sequence[Pattern]) -> frozenset[Table]:
        """The tables of the families that statements after a place create, as far as a brief look sees."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Missed:
    """Existing tables that a job does not have; every statement that created them is before `end`."""

    tables: frozenset[Table]
    end: Position


class NewTables:
    """Of all jobs. Safe to use from any thread; blocks as long as source and lake take."""

    def __init__(
        self, store: Store, catalog: MadeTargets, binlog: Binlog, joining: JoiningTables, runs: LiveRuns
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._binlog = binlog
        self._joining = joining
        self._runs = runs
        self._unseen: dict[JobId, int] = {}  # whose runs may have missed tables of their patterns, by the newest doubt
        self._doubts = count()

    def expect(self, job_id: JobId) -> None:
        """A run of that job may have missed tables that match its patterns: the next one looks for them."""
        self._unseen[job_id] = next(self._doubts)

    def started(self, job_id: JobId, run: LiveRun) -> None:
        if job_id in self._unseen:
            self._begin_look(job_id, run, frozenset())

    def sighted(self, job_id: JobId, tables: Collection[Table]) -> None:
        """Something of these tables came, though the run has read no statement that creates them: they were created
        where nothing is logged. Returns at once.
        """
        self.expect(job_id)
        run = self._runs.of(job_id)
        if run is not None:
            self._begin_look(job_id, run, frozenset(tables))

    def _begin_look(self, job_id: JobId, run: LiveRun, sighted: frozenset[Table]) -> None:
        args = (job_id, run, self._unseen.get(job_id), sighted)
        threading.Thread(target=self._look, args=args, name="look", daemon=True).start()

    def arrived(
        self, job_id: JobId, tables: Collection[Table], behind: Position | None
    ) -> dict[Table, JoinOutcome] | None:
        """Along with the reported ones, what the binlog names after that place joins, so that one run serves many.

        None: the job has ended its run, or was altered meanwhile, or another has taken a target, or has yet to end its
        last commit into one: its next run has to report them again.
        """
        job = self._store.jobs.by_id(job_id)
        if job is None or job.state is not JobState.RUNNING:
            return None
        families = tuple(map(pattern_of, patterns(job)))
        ahead = frozenset[Table]() if behind is None else self._binlog.named(job.source, behind, families)
        coming = self._joining.arrivals(job, ahead.union(tables))
        synced = [channel.source.label for channel in job.channels]
        self._store.ddl.mark_gone(job_id, but=[*synced, *(".".join(table) for table in coming.there)])
        try:
            self._runs.wait_for_ending(coming.joining.channels, LOOK_SECOND)  # a job's own thread: for a moment only
            with made(self._catalog, coming.made), self._runs.changing:
                taken = self._take_in(job, coming, tables)
        except SyncError as error:
            if error.code not in {Code.STALE_JOB, Code.TARGET_IN_USE, Code.TABLE_EXISTS}:
                raise
            return None
        joined, warned = coming.tables | taken, _warned(job, coming)
        for table, caveat in warned.items():
            log.warning("job %s: %s", job_id, caveat.text)
            if behind is not None and table not in tables:  # its own statement finds it joined, and reports nothing
                self._store.ddl.note(job_id, found_there(behind, time.time(), table, caveat))
        gone = SyncError(Code.NO_TABLE_MATCHES, pattern="that name any more", hint="")
        reported = (table for table in tables if table not in coming.waits)
        return {table: warned.get(table) if table in joined else coming.refused.get(table, gone) for table in reported}

    def _look(self, job_id: JobId, run: LiveRun, doubt: int | None, sighted: frozenset[Table]) -> None:
        """For tables whose statements were read by a run that ignored them, or are in no binlog. This run reports what
        it reads itself, so they join once it has read everything that the server had when it was queried for its
        tables.
        """
        missed: _Missed | None = None
        logged = ""
        while self._runs.of(job_id) is run and not self._runs.closing:
            try:
                missed = missed or self._missed(job_id, sighted)
                if missed is None or self._took_in(job_id, missed):
                    self._settle(job_id, doubt)
                    return
            except SyncError as error:
                if str(error) != logged:  # an outage lasts for many looks
                    log.warning("job %s: its source or the lake is asked again: %s", job_id, error)
                logged = str(error)
            run.join(LOOK_SECOND)  # if it ends, the next one looks

    def _settle(self, job_id: JobId, doubt: int | None) -> None:
        """Unless there is a newer doubt."""
        if self._unseen.get(job_id) == doubt:
            self._unseen.pop(job_id, None)

    def _missed(self, job_id: JobId, sighted: frozenset[Table]) -> "_Missed | None":
        """None if all that was sighted is known: to the job, or as refused."""
        job = self._store.jobs.by_id(job_id)
        assert job is not None
        known = {channel.source.label for channel in job.channels}
        if sighted and {".".join(t) for t in sighted} <= known | {r.table for r in self._store.ddl.refused(job_id)}:
            return None
        return _Missed(tables=self._joining.unseen(job), end=self._binlog.end(job.source))

    def _took_in(self, job_id: JobId, missed: "_Missed") -> bool:
        if not missed.tables:
            return True
        last = self._store.epochs.last(job_id)
        if last is None or not has_passed(last.end, missed.end):
            return False
        outcomes = self.arrived(job_id, missed.tables, None)
        before = {record.table: record.outcome for record in self._store.ddl.refused(job_id)}
        for table, each in (outcomes or {}).items():
            record = found_there(missed.end, time.time(), table, each)
            is_final = record.state is DdlState.REFUSED or isinstance(each, Caveat)
            if is_final and before.get(record.table) != record.outcome:
                self._store.ddl.note(job_id, record)
        return outcomes is not None

    def _take_in(self, looked_at: SyncJob, coming: Arrivals, tables: Collection[Table]) -> set[Table]:
        """Which of the reported ones already belong to the job, though its run does not know: a failed call stored
        them. Raises STALE_JOB.
        """
        job = self._store.jobs.by_id(looked_at.id)
        if job is None or job.state is not JobState.RUNNING:
            raise SyncError(Code.STALE_JOB, job=looked_at.name)
        if coming.plans:
            self._joining.take_in(job, coming, looked_at)
        known = {(channel.source.db, channel.source.name) for channel in job.channels} & set(tables)
        if coming.plans or known:
            self._runs.renew(job.id)
        return known


def _warned(job: SyncJob, coming: Arrivals) -> dict[Table, Caveat]:
    """What CREATE SYNC would warn of if it named these tables."""
    found: dict[Table, Caveat] = {}
    for channel in (channel for plan in coming.plans for channel in plan.channels):
        caveats = job.source.caveats(channel)
        if caveats:
            text = "; ".join(each.text for each in caveats)
            found[channel.source.db, channel.source.name] = Caveat(code=caveats[0].code, text=text)
    return found
