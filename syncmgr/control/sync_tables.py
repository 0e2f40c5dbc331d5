"""What jobs have done, as tables: the sync_* tables of information_schema.

Owns: their rows, each of which begins with the id, database and name of its job; consistent points and their snapshots.
Must not know: who reads them, how the tables are shown.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Final, Protocol

from syncmgr.control.checking.checks import Checks
from syncmgr.errors import Code, SyncError
from syncmgr.job.overview import TableOverview
from syncmgr.job.show_sync import ShownJob, WantedRows, cancelled_last, channel_row, ddl_row, snapshot_row
from syncmgr.job.sync_job import JobId, SyncJob
from syncmgr.lake.port import LakeTables
from syncmgr.meta.epochs import StoredEpoch
from syncmgr.meta.store import Store

Row = tuple[object, ...]
EVERYTHING: Final = WantedRows()
FIGURES: Final = (
    *("binlog_left_second", "lag_bytes", "lag_second", "synced_until", "needs_operator", "error", "advice"),
    *("paused_by", "resume_at", "consumed_rows", "consumed_bytes", "commits", "dead_letters"),
)  # of Status, that have a column of their own besides

TABLES: Final = (
    "sync_jobs",
    "sync_channels",
    "sync_epochs",
    "sync_points",
    "sync_snapshots",
    "sync_ddl",
    "sync_dead_letters",
    "sync_checks",
    "sync_check_rows",
)


class ShownJobs(Protocol):
    """The present state of jobs, of their tables and of their snapshots."""

    def shown(self, jobs: Sequence[SyncJob]) -> Iterable[ShownJob]: ...
    def rates(self, job_id: JobId) -> Mapping[str, float]: ...
    def overviews(self, jobs: Sequence[SyncJob]) -> Mapping[JobId, Sequence[TableOverview]]: ...


class History:
    """Reads metadata and lake at each call; every call blocks for as long as that takes."""

    def __init__(self, store: Store, jobs: ShownJobs, tables: LakeTables, checks: Checks) -> None:
        self._store = store
        self._jobs = jobs
        self.checks = checks
        self._tables = tables

    def rows(self, table: str, wanted: WantedRows = EVERYTHING) -> list[Row]:
        """The rows of one of TABLES."""
        jobs = self._store.jobs.of([each.id for each in self._store.jobs.labels() if wanted.job(*each)])
        match table:
            case "sync_jobs":
                return [_job_row(shown) for shown in self._jobs.shown(sorted(jobs, key=cancelled_last))]
            case "sync_channels":
                return list(self._channels(jobs))
            case "sync_epochs":
                return [row for job in jobs for row in self._epochs(job, wanted)]
            case "sync_snapshots":
                return list(self._loads(jobs))
            case "sync_ddl":
                records = self._store.ddl.of_jobs([job.id for job in jobs])
                return [(*_name(job), *ddl_row(record)) for job in jobs for record in records.get(job.id, ())]
            case "sync_checks" | "sync_check_rows":
                ids = {job.id for job in jobs}
                return self.checks.rows(table, replace(wanted, job=lambda job_id, *_: job_id in ids))
            case "sync_dead_letters":
                having = self._store.dead_letters.counts([job.id for job in jobs])
                return [row for job in jobs if job.id in having for row in self._dead_letters(job, wanted)]
            case _:
                return [row for job in jobs for row in self._points(job, wanted)]

    def _channels(self, jobs: Sequence[SyncJob]) -> Iterator[Row]:
        progress, overviews = self._store.epochs.progress_of([job.id for job in jobs]), self._jobs.overviews(jobs)
        for job, table in _tables(jobs, overviews):
            channel = table.channel
            at = progress.get(channel.token)
            if at is None:  # it has left since the job was read
                continue
            columns = json.dumps({each.target: each.expression for each in channel.columns}, ensure_ascii=False)
            yield (
                *(*_name(job), channel.source.db, channel.source.name, channel.target_db, channel.target),
                *(columns, channel.where, at.last.epoch, at.last.snapshot),
                *channel_row(table, job.state),
            )

    def _epochs(self, job: SyncJob, wanted: WantedRows) -> Iterator[Row]:
        for stored in self._store.epochs.of(job.id, wanted):
            epoch, end = stored.epoch, stored.epoch.end
            state = "INTENT" if stored.committed_at is None else "COMMITTED"
            yield (
                *(*_name(job), epoch.number, state, epoch.rows, epoch.bytes),
                *(_time(epoch.source_time or None), _time(stored.committed_at), end.gtids, end.file, end.offset),
            )

    def _dead_letters(self, job: SyncJob, wanted: WantedRows) -> Iterator[Row]:
        channels = {channel.token: channel for channel in job.channels}
        for epoch, letter in self._store.dead_letters.wanted(job.id, tuple(channels), wanted):
            channel = channels[letter.token]
            yield (
                *(*_name(job), epoch, channel.source.db, channel.source.name, channel.target_db, channel.target),
                *(letter.change, letter.column, letter.value, letter.reason, letter.row),
                *(_time(letter.at), letter.file, letter.offset),
            )

    def _points(self, job: SyncJob, wanted: WantedRows) -> Iterator[Row]:
        """Without snapshots that were removed from a table, for instance by an expiry or an older state of it."""
        there = cache(self._snapshots)
        for stored in self._store.epochs.of(job.id, replace(wanted, newest=None)):
            for channel in job.channels:
                where = channel.target_db, channel.target
                snapshot = stored.snapshots.get(channel.token)
                if snapshot is not None and snapshot in there(*where):
                    yield *_name(job), stored.epoch.number, _time(stored.committed_at), *where, snapshot

    def _snapshots(self, db: str, table: str) -> frozenset[int]:
        try:
            return self._tables.snapshots(db, table)
        except SyncError as error:
            if error.code is not Code.NO_SUCH_TABLE:
                raise
            return frozenset()

    def _loads(self, jobs: Sequence[SyncJob]) -> Iterator[Row]:
        loads, overviews = self._store.loads.of_jobs([job.id for job in jobs]), self._jobs.overviews(jobs)
        rates = {job.id: self._jobs.rates(job.id) for job in jobs}
        for job, table in _tables(jobs, overviews):
            if table.channel.token in loads.get(job.id, ()):
                yield *_name(job), *snapshot_row(table, loads[job.id], rates[job.id])

    def snapshots(self, db: str, name: str, epoch: int | None) -> dict[tuple[str, str], int]:
        """The snapshot of each of a job's tables at a consistent point; `epoch` None: at the newest.

        Raises UNKNOWN_JOB, NO_SUCH_POINT.
        """
        job = self._store.jobs.by_name(db, name)
        found = self._store.epochs.point(job.id, epoch)
        if found is None:
            raise SyncError(Code.NO_SUCH_POINT, job=f"{db}.{name}", at="" if epoch is None else f" at epoch {epoch}")
        return _by_table(job, found)


def _by_table(job: SyncJob, point: StoredEpoch) -> dict[tuple[str, str], int]:
    made = ((channel, point.snapshots.get(channel.token)) for channel in job.channels)
    return {(channel.target_db, channel.target): snapshot for channel, snapshot in made if snapshot is not None}


def _tables(
    jobs: Sequence[SyncJob], overviews: Mapping[JobId, Sequence[TableOverview]]
) -> Iterator[tuple[SyncJob, TableOverview]]:
    """Without those of jobs that are no longer stored."""
    return ((job, table) for job in jobs for table in overviews.get(job.id, ()))


def _job_row(shown: ShownJob) -> Row:
    """That of SHOW, and then FIGURES."""
    facts = shown.status.facts()
    figures = (("NO", "YES")[value] if isinstance(value := facts[key], bool) else value for key in FIGURES)
    return *_name(shown.job), *shown.row[2:], *figures


def _name(job: SyncJob) -> tuple[int, str, str]:
    return job.id, job.db, job.name


def _time(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
