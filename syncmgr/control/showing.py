"""What SHOW finds of a job: in its run, in what is stored, and in the upkeep of its targets.

Owns: where each fact is looked up.
Must not know: which fact counts, the shape of an answer; both are in job/.
"""

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from syncmgr.control.statement_text import lacked
from syncmgr.job.channel.channel_state import Standing
from syncmgr.job.epoch import Backlog
from syncmgr.job.failure import FailMsg
from syncmgr.job.freshness import Reading
from syncmgr.job.metrics.sample import JobSample, job_sample
from syncmgr.job.overview import (
    Facts,
    TableOverview,
    as_told,
    lag_second,
    needs_operator,
    overview,
    synced_until,
    with_trouble,
)
from syncmgr.job.show_sync import (
    Fact,
    Figures,
    index_facts,
    pause_facts,
    refused_facts,
    show_row,
    snapshot_facts,
    status_json,
    upkeep_facts,
)
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import JobId, SyncJob
from syncmgr.lake.port import Upkeep
from syncmgr.meta.store import Store


class ShownRun(Protocol):
    """A running job; by channel token."""

    def reading(self) -> Reading | None: ...
    def synced_until(self) -> float:
        """The source time up to which its tables are complete, except those that are behind; 0.0: not known."""

    def standings(self) -> Mapping[str, Standing]: ...
    def backlogs(self) -> Mapping[str, Backlog]: ...
    def rates(self) -> Mapping[str, float]: ...


class _Seen(NamedTuple):
    """A job and what is known of it, at one moment. `refused`: tables that could not join it."""

    job: SyncJob
    figures: Figures
    facts: Facts
    tables: tuple[TableOverview, ...]
    refused: dict[str, dict[str, Fact]]


class Showing:
    """Reads at each call. Safe to use from any thread."""

    def __init__(
        self,
        store: Store,
        upkeep: Upkeep,
        upkeep_failure: Callable[[str, str], str | None],
        run_of: Callable[[JobId], ShownRun | None],
        trouble_of: Callable[[JobId], FailMsg | None],
    ) -> None:
        """`upkeep_failure`: of a target, None: there is none. `run_of`: a job's run, None: it does not run.
        `trouble_of`: what a run is retrying, if that could not be stored.
        """
        self._store = store
        self._upkeep, self._upkeep_failure = upkeep, upkeep_failure
        self._run_of, self._trouble_of = run_of, trouble_of

    def _seen(self, job: SyncJob) -> "_Seen":
        figures = self._store.epochs.figures(job.id)
        facts = self._facts(job, figures)
        job = with_trouble(job, self._trouble_of(job.id))
        tables = overview(job, facts, time.time())
        return _Seen(as_told(job, tables), figures, facts, tables, self._refused(job))

    def sample(self, job: SyncJob) -> JobSample:
        """What metrics say of it: the same as SHOW."""
        seen = self._seen(job)
        return job_sample(
            seen.job,
            seen.figures,
            tables=seen.tables,
            refused=seen.refused,
            loads=seen.facts.loads,
            rates=self.rates(job.id),
        )

    def row(self, job: SyncJob) -> tuple[str | None, ...]:
        """One row of SHOW SYNC JOB."""
        job, figures, facts, tables, refused = self._seen(job)
        status = status_json(
            figures,
            tables=tables,
            synced=synced_until(tables),
            lag=lag_second(tables),
            needs_operator=needs_operator(job, tables, refused),
            server=facts.reading.server or None if facts.reading is not None else None,
            paused=pause_facts(job),
            upkeep={c.target: self._upkeep_facts(c.target_db, c.target) for c in job.channels},
            index={c.target: index_facts(self._upkeep.index(c.target_db, c.target)) for c in job.channels if c.keys},
            snapshot=snapshot_facts(tables, facts.loads, self.rates(job.id)),
            refused=refused,
        )
        return show_row(job, status, is_ending=self._run_of(job.id) is not None)

    def _upkeep_facts(self, db: str, target: str) -> dict[str, str | None]:
        return upkeep_facts(self._upkeep.upkeep_log(db, target), self._upkeep_failure(db, target))

    def _refused(self, job: SyncJob) -> dict[str, dict[str, Fact]]:
        """Tables that match its patterns and could not join it."""
        records = [] if job.state is JobState.CANCELLED else self._store.ddl.refused(job.id)
        return refused_facts(records, lacked(job, [record.table for record in records])) if records else {}

    def overview(self, job: SyncJob) -> tuple[TableOverview, ...]:
        """The present state of each table of a job."""
        return overview(job, self._facts(job, self._store.epochs.figures(job.id)), time.time())

    def rates(self, job_id: JobId) -> Mapping[str, float]:
        """Rows a second that a job's snapshot reads now, by channel token."""
        run = self._run_of(job_id)
        return {} if run is None else run.rates()

    def _facts(self, job: SyncJob, figures: Figures) -> Facts:
        """From the run if there is one; otherwise as stored."""
        run = self._run_of(job.id)
        return Facts(
            loads=self._store.loads.of(job.id),
            backlogs=self._store.epochs.waiting(job.id) if run is None else run.backlogs(),
            standings={} if run is None else run.standings(),
            resyncing={t: at.stale_since for t, at in self._store.epochs.progress(job.id).items() if at.resyncing},
            committed=figures.synced_until if run is None else run.synced_until() or None,
            reading=None if run is None else run.reading(),
        )
