"""The run of a job, put together from its description and the settings.

Owns: what a run is given.
Must not know: what a run does.
"""

from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from pathlib import Path

from syncmgr.config.job_settings import JobSettings
from syncmgr.config.settings import Settings
from syncmgr.control.catalog import Catalog
from syncmgr.control.running.job_lives import OnArrival, OnUnloggedTables
from syncmgr.control.statement_text import pattern_of, patterns
from syncmgr.errors import SyncError
from syncmgr.fe.commit_times import AllCommitTimes
from syncmgr.fe.limits import dead_letters_of, limits_of, retry_of
from syncmgr.fe.places import staging
from syncmgr.fe.sources import Sources
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.following.ddl_statement import Rules
from syncmgr.job.failure import FailType
from syncmgr.job.job_properties import parsed
from syncmgr.job.rows.value_error import rules_of
from syncmgr.job.snapshot import renewal
from syncmgr.job.source import Can
from syncmgr.job.sync_job import JobId, SyncJob
from syncmgr.job.types.schema import TargetTable
from syncmgr.lake.opening import OpenLake
from syncmgr.meta.ledger import JobLedger
from syncmgr.meta.store import Store
from syncmgr.pipeline.known_history import KnownHistory
from syncmgr.pipeline.run import JobRun
from syncmgr.pipeline.run_options import Listeners, RunOptions
from syncmgr.pipeline.snapshot.port import SnapshotOptions
from syncmgr.pipeline.snapshot.snapshot import Snapshot
from syncmgr.pipeline.witness import Witnesses


class Runs:
    """Makes one for each life of a job."""

    def __init__(
        self,
        settings: Settings,
        sources: Sources,
        store: Store,
        catalog: Catalog,
        lake: OpenLake,
        pool: Executor,
        times: AllCommitTimes,
    ) -> None:
        self._times = times
        self._settings, self._sources = settings, sources
        self._store, self._catalog, self._lake, self._pool = store, catalog, lake, pool
        self.witnesses = Witnesses()

    def new(
        self,
        job: SyncJob,
        on_trouble: Callable[[SyncError | None], None],
        on_end: Callable[[SyncError | None, FailType], None],
        on_arrival: OnArrival,
        on_unlogged_tables: OnUnloggedTables,
    ) -> JobRun:
        ledger = self._ledger(job)
        lake = KnownHistory(self._lake, ledger)
        listeners = Listeners(
            on_trouble=on_trouble,
            on_end=on_end,
            on_arrival=on_arrival,
            on_unlogged_tables=on_unlogged_tables,
            witness=self.witnesses.begin(job.id),
        )
        snapshot = self._snapshot(job, ledger, lake)
        opener = self._sources.opener(job)
        return JobRun(self._options(job), ledger, lake, self._pool, opener, listeners, snapshot)

    def staging(self, job_id: JobId) -> Path:
        return staging(self._settings, job_id)

    def _options(self, job: SyncJob) -> RunOptions:
        settings = self._of(job)
        return RunOptions(
            job_id=job.id,
            name=f"{job.db}.{job.name}",
            channels=job.channels,
            rules=self._rules(job),
            folder=self.staging(job.id),
            limits=partial(limits_of, settings),
            retry=partial(retry_of, settings),
            max_backlog_bytes=partial(settings.number, "max_channel_backlog_bytes"),
            finish_second=partial(settings.seconds, "pause_timeout_second"),
            families=tuple(map(pattern_of, patterns(job))),
            leaves_out=Can.STOP_TABLE in job.source.can,
            synced_until=max(job.synced_until or 0.0, self._store.epochs.figures(job.id).synced_until or 0.0),
        )

    def _of(self, job: SyncJob) -> JobSettings:
        return JobSettings(self._settings, job.properties)

    def _ledger(self, job: SyncJob) -> JobLedger:
        return JobLedger(
            self._store,
            job.id,
            partial(self._settings.seconds, "consistent_point_keep_second"),
            partial(dead_letters_of, self._of(job)),
            name=f"{job.db}.{job.name}",
            labels={channel.token: channel.source.label for channel in job.channels},
            observe=partial(self._times.observe, job.id),
        )

    def _snapshot(self, job: SyncJob, ledger: JobLedger, lake: KnownHistory) -> Snapshot | None:
        """None if the job began without one, or has caught up with it."""
        loads = ledger.loads().values()
        if Can.READ_ROWS not in job.source.can or all(load.caught_up for load in loads):
            return None
        settings, rules = self._of(job), self._rules(job)
        options = SnapshotOptions(
            channels=job.channels,
            folder=self.staging(job.id),
            connections=partial(settings.number, "snapshot_max_connections"),
            chunk_rows=partial(settings.number, "snapshot_chunk_rows"),
            rows_per_second=partial(settings.number, "snapshot_max_rows_per_second"),
            retry_most=partial(settings.seconds, "snapshot_retry_max_second"),
            values=lambda channel: rules_of(channel, rules.describe, rules.on_value_error, rules.append_on_change),
            dead_letters=partial(dead_letters_of, settings),
        )
        return Snapshot(options, self._sources.snapshot(job.source), ledger, lake)

    def _rules(self, job: SyncJob) -> Rules:
        properties = parsed(job.properties)
        return Rules(
            policy=properties.on_ddl,
            append_on_change=properties.append_on_change,
            describe=partial(self._becoming, job.id),
            deeds=properties.actions,
            stop=properties.on_ddl_stop,
            on_value_error=properties.on_value_error,
            unlogged=job.source.accepts_unlogged,
            unrenewable=partial(renewal.refused, terms=renewal.terms_of(properties)),
        )

    def _becoming(self, job_id: JobId, channel: ChannelDescription) -> TargetTable:
        """The target of a channel, as it is once the rows being read for it are committed."""
        target = self._catalog.table(channel.target_db, channel.target)
        load = self._store.loads.of(job_id).get(channel.token)
        return renewal.becoming(target, load.changes) if load is not None and load.reshapes else target
