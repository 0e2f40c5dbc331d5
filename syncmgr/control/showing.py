"""What SHOW finds of a job: in its run, in what is stored, and in the upkeep of its targets.

Owns: where each fact is looked up.
Must not know: which fact counts, the shape of an answer; both are in job/.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from syncmgr.control.statement_text import lacked
from syncmgr.errors import SyncError
from syncmgr.job.channel.channel_state import Standing
from syncmgr.job.ddl.ddl_step import DdlRecord
from syncmgr.job.epoch import Backlog
from syncmgr.job.failure import FailMsg
from syncmgr.job.freshness import Reading
from syncmgr.job.metrics.sample import JobSample, job_sample
from syncmgr.job.overview import (
    Facts,
    TableOverview,
    as_reported,
    lag_second,
    needs_operator,
    overview,
    synced_until,
    with_trouble,
)
from syncmgr.job.show_sync import (
    Fact,
    Figures,
    JobStatus,
    ShownJob,
    index_facts,
    pause_facts,
    refused_facts,
    snapshot_facts,
    upkeep_facts,
)
from syncmgr.job.snapshot.chunk import Load
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import JobId, SyncJob
from syncmgr.lake.port import Upkeep
from syncmgr.meta.store import Store

NONE: Final[Mapping[JobId, Sequence[DdlRecord]]] = MappingProxyType({})


class ShownRun(Protocol):
    """A running job; by channel token."""

    def reading(self) -> Reading | None: ...
    def synced_until(self) -> float:
        """The source time up to which its tables are complete, except those that are behind; 0.0: not known."""

    def standings(self) -> Mapping[str, Standing]: ...
    def backlogs(self) -> Mapping[str, Backlog]: ...
    def rates(self) -> Mapping[str, float]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class _Known:
    """What is stored of some jobs, and the runs of those that have one. `waiting`: of the others. `refused`: statements
    about tables that could not join.
    """

    figures: Mapping[JobId, Figures]
    runs: Mapping[JobId, ShownRun]
    loads: Mapping[JobId, Mapping[str, Load]]
    waiting: Mapping[JobId, Mapping[str, Backlog]]
    resyncing: Mapping[JobId, Mapping[str, float | None]]
    refused: Mapping[JobId, Sequence[DdlRecord]]

    def facts(self, job_id: JobId) -> Facts:
        """From the run if there is one; otherwise as stored."""
        run = self.runs.get(job_id)
        return Facts(
            loads=self.loads.get(job_id, {}),
            backlogs=self.waiting.get(job_id, {}) if run is None else run.backlogs(),
            standings={} if run is None else run.standings(),
            resyncing=self.resyncing.get(job_id, {}),
            committed=self.figures[job_id].synced_until if run is None else run.synced_until() or None,
            reading=None if run is None else run.reading(),
        )


class _Seen(NamedTuple):
    """A job and what is known of it, at one moment. `refused`: tables that could not join it."""

    job: SyncJob
    figures: Figures
    facts: Facts
    tables: tuple[TableOverview, ...]
    refused: dict[str, dict[str, Fact]]


class ShownBinlogs(Protocol):
    """What the sources of jobs have kept when they were last asked."""

    def left(self, job: SyncJob) -> float | None:
        """Seconds until what the job reads next may be purged; None: never by itself, or not known."""

    def lag_bytes(self, job: SyncJob) -> int | None:
        """Of its binlog from the job's place on; None: not known."""

    def warning(self, job: SyncJob, left: float | None) -> SyncError | None:
        """If that is too little."""


class Showing:
    """Reads at each call. Safe to use from any thread."""

    def __init__(
        self,
        store: Store,
        upkeep: Upkeep,
        upkeep_failure: Callable[[str, str], str | None],
        run_of: Callable[[JobId], ShownRun | None],
        trouble_of: Callable[[JobId], FailMsg | None],
        retained: ShownBinlogs,
    ) -> None:
        """`upkeep_failure`: of a target, None: there is none. `run_of`: a job's run, None: it does not run.
        `trouble_of`: what a run is retrying, if that could not be stored.
        """
        self._store = store
        self._upkeep, self._upkeep_failure = upkeep, upkeep_failure
        self._run_of, self._trouble_of = run_of, trouble_of
        self._retained = retained

    def _seen(self, jobs: Sequence[SyncJob]) -> Iterator[_Seen]:
        """In their order; without jobs that are no longer stored."""
        known = self._known(
            jobs, self._store.ddl.refused_of([job.id for job in jobs if job.state is not JobState.CANCELLED])
        )
        now = time.time()
        for job in jobs:
            if job.id in known.figures:
                yield self._seen_at(job, known, now)

    def _seen_at(self, job: SyncJob, known: _Known, now: float) -> _Seen:
        facts = known.facts(job.id)
        job = with_trouble(job, self._trouble_of(job.id))
        tables = overview(job, facts, now)
        refused = _refused(job, known.refused.get(job.id, ()))
        return _Seen(as_reported(job, tables), known.figures[job.id], facts, tables, refused)

    def samples(self, jobs: Sequence[SyncJob]) -> Iterator[JobSample]:
        """What metrics say of them: the same as SHOW."""
        for job, figures, facts, tables, refused in self._seen(jobs):
            rates = self.rates(job.id)
            yield job_sample(
                job,
                figures,
                tables=tables,
                refused=refused,
                loads=facts.loads,
                rates=rates,
                server=_server(facts),
            )

    def shown(self, jobs: Sequence[SyncJob]) -> Iterator[ShownJob]:
        """What SHOW SYNC JOB says of them, in their order; without jobs that are no longer stored."""
        for seen in self._seen(jobs):
            job, status = seen.job, self._status(seen)
            warning = self._retained.warning(job, status.binlog_left)
            yield ShownJob(job=job, status=status, is_ending=self._run_of(job.id) is not None, warning=warning)

    def _status(self, seen: _Seen) -> JobStatus:
        job, figures, facts, tables, refused = seen
        return JobStatus(
            figures=figures,
            tables=tables,
            synced=synced_until(tables),
            lag=lag_second(tables),
            lag_bytes=self._retained.lag_bytes(job),
            binlog_left=self._retained.left(job),
            needs_operator=needs_operator(job, tables, refused),
            server=_server(facts),
            paused=pause_facts(job),
            upkeep={c.target: self._upkeep_facts(c.target_db, c.target) for c in job.channels},
            index={c.target: index_facts(self._upkeep.index(c.target_db, c.target)) for c in job.channels if c.keys},
            snapshot=snapshot_facts(tables, facts.loads, self.rates(job.id)),
            refused=refused,
        )

    def _upkeep_facts(self, db: str, target: str) -> dict[str, str | None]:
        return upkeep_facts(self._upkeep.upkeep_log(db, target), self._upkeep_failure(db, target))

    def overviews(self, jobs: Sequence[SyncJob]) -> dict[JobId, tuple[TableOverview, ...]]:
        """The present state of each of their tables; without jobs that are no longer stored."""
        known, now = self._known(jobs), time.time()
        return {job.id: overview(job, known.facts(job.id), now) for job in jobs if job.id in known.figures}

    def rates(self, job_id: JobId) -> Mapping[str, float]:
        """Rows a second that a job's snapshot reads now, by channel token."""
        run = self._run_of(job_id)
        return {} if run is None else run.rates()

    def _known(self, jobs: Sequence[SyncJob], refused: Mapping[JobId, Sequence[DdlRecord]] = NONE) -> _Known:
        """The number of questions to the metadata does not depend on that of the jobs."""
        ids = [job.id for job in jobs]
        figures = self._store.epochs.figures_of(ids)
        runs = {job_id: run for job_id in ids if (run := self._run_of(job_id)) is not None}
        return _Known(
            figures=figures,
            runs=runs,
            loads=self._store.loads.of_jobs(ids),
            waiting=self._store.epochs.waiting_of([job_id for job_id in ids if job_id not in runs]),
            resyncing=self._store.epochs.resyncing(ids),
            refused=refused,
        )


def _server(facts: Facts) -> str | None:
    """Who is read now."""
    return facts.reading.server or None if facts.reading is not None else None


def _refused(job: SyncJob, records: Sequence[DdlRecord]) -> dict[str, dict[str, Fact]]:
    """Tables that match its patterns and could not join it."""
    return refused_facts(records, lacked(job, [record.table for record in records])) if records else {}
