"""The frontend: builds all parts, starts them, stops them.

Owns: the order of start and stop.
Must not know: how any part works.
"""

import logging
import os
import platform
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from syncmgr import __version__
from syncmgr.config.frontend_config import FrontendConfig
from syncmgr.config.job_settings import JobSettings
from syncmgr.config.settings import Settings
from syncmgr.console.login.tls import publish_certificate
from syncmgr.control.catalog import Catalog
from syncmgr.control.checking.checks import Checks
from syncmgr.control.checking.repairs import Repairs
from syncmgr.control.checking.repetition import Repetition
from syncmgr.control.jobs import Jobs
from syncmgr.control.running.retained_binlogs import RetainedBinlogs
from syncmgr.control.running.scheduler import Scheduler
from syncmgr.control.sync_tables import History
from syncmgr.control.upkeep import EXPIRY, UPKEEP, TargetUpkeep
from syncmgr.control.users import Users
from syncmgr.fe.alerts import Alerts
from syncmgr.fe.commit_times import AllCommitTimes
from syncmgr.fe.doors import Doors
from syncmgr.fe.limits import check_limits, console_limits
from syncmgr.fe.measuring import Measuring
from syncmgr.fe.metadata import Metadata
from syncmgr.fe.places import exposed, jars_dir, remove, tls_folder
from syncmgr.fe.runs import Runs
from syncmgr.fe.sources import Sources
from syncmgr.host import log_files, log_output, open_files, thread_switching
from syncmgr.host.folders import locked, make_writable, refuse_unfinished
from syncmgr.host.private import without_secrets
from syncmgr.lake.opening import OpenLake, open_lake
from syncmgr.lake.registry import FORMAT
from syncmgr.lake.spark.queries.queries import Queries
from syncmgr.pipeline import worker_process
from syncmgr.sources.registry import KINDS

REPLACED: Final = 3  # exit status
OUTPUT: Final = "output"
BINLOGS: Final = "binlogs"
CHECKS: Final = "checks"

log = logging.getLogger(__package__)


class Frontend:
    """Everything, once. `start` opens the port before Spark is up; `stop` leaves running jobs to the next start."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        for name in ("meta_dir", "lake_dir", "staging_dir", "log_dir"):
            make_writable(settings.folder(name))
        lock = locked(settings.folder("meta_dir"))
        refuse_unfinished(settings.folder("meta_dir"))
        files = open_files.raised()  # workers inherit it
        worker_process.preload(*(module for kind in KINDS.values() for module in kind.modules))
        self.audit = _logs_of(settings)
        log.info("syncmgr %s starts, Python %s; set: %s", __version__, platform.python_version(), settings.given())
        self.config = FrontendConfig(settings, self._on_config)
        self.lake = _lake_of(settings, without_secrets(os.environ))
        self.queries = _queries_of(settings, self.lake)
        self._metadata = Metadata(settings, lock)
        store = self._metadata.store
        self.catalog = Catalog(self.lake.tables, store.jobs.target_of, store.jobs.filled_columns)
        self.users = Users(store.accounts)
        self._pool = ThreadPoolExecutor(settings.number("max_sync_task_threads_num"), thread_name_prefix="sync-task")
        upkeep = TargetUpkeep(
            self.lake,
            store,
            lambda job_id: self.jobs.runs.recovers(job_id),  # noqa: PLW0108 - there are no jobs yet
            lambda: settings.seconds("consistent_point_keep_second"),
        )
        sources = Sources(settings)
        retained = RetainedBinlogs(
            store,
            sources.retained,
            warn_second=lambda: settings.number("binlog_warn_second"),
            ask_second=lambda: settings.seconds("binlog_check_second"),
        )
        self._commit_times = AllCommitTimes()
        runs = Runs(settings, sources, store, self.catalog, self.lake, self._pool, self._commit_times)
        self.jobs = self._jobs(upkeep, sources, retained, runs)
        checks = Checks(
            store=store,
            runs=self.jobs.runs,
            witnesses=runs.witnesses,
            server_of=sources.checked,
            target_of=self.catalog.table,
            queries=self.queries,
            repairs=Repairs(store, self.jobs.runs, self.catalog),
            limits=lambda: check_limits(settings),
        )
        self.history = History(store, self.jobs, self.lake.tables, checks)
        self._scheduler = self._scheduled(upkeep, retained)
        self.alerts = Alerts(settings, store.alerts)
        limits = console_limits(settings, files)
        self._doors = Doors(self, self.users, settings, limits, self._measuring().sample, self.alerts.heard)

    def _jobs(self, upkeep: TargetUpkeep, sources: Sources, retained: RetainedBinlogs, runs: Runs) -> Jobs:
        settings, store = self._settings, self._metadata.store
        return Jobs(
            store=store,
            catalog=self.catalog,
            tables=self.lake.tables,
            upkeep=self.lake,
            upkeep_failure=upkeep.failure,
            inspect=sources.inspect,
            survey=sources.survey,
            check_exact=sources.check_exact,
            check_continues=sources.check_continues,
            binlog=sources,
            new_run=runs.new,
            drop_staged=lambda job_id: remove(runs.staging(job_id)),
            keep_cancelled_second=lambda: settings.seconds("label_keep_max_second"),
            max_jobs=lambda: settings.number("max_jobs"),
            max_jobs_per_account=lambda: settings.number("max_jobs_per_account"),
            source_files_dir=str(settings.folder("source_files_dir")) if settings.text("source_files_dir") else "",
            retained=retained,
            chunk_rows=lambda given: JobSettings(settings, given).number("snapshot_chunk_rows"),
        )

    @property
    def checks(self) -> Checks:
        """Their outcome is a part of the history."""
        return self.history.checks

    def _repetition(self) -> Repetition:
        store = self._metadata.store
        return Repetition(
            lambda: list(store.jobs.all(live=True)),
            self.checks,
            lambda given: JobSettings(self._settings, given).seconds("check_every_hour"),
        )

    def _measuring(self) -> Measuring:
        folders = {name: self._settings.folder(name) for name in ("meta_dir", "lake_dir", "staging_dir", "log_dir")}
        engines = {"lake": lambda: self.lake.serves, "queries": lambda: self.queries.pid is not None}
        return Measuring(jobs=self.jobs.samples, spark_up=engines, folders=folders, commit_times=self._commit_times)

    def _scheduled(self, upkeep: TargetUpkeep, retained: RetainedBinlogs) -> Scheduler:
        return Scheduler(
            self._tick,
            self._settings.seconds("sync_checker_interval_second"),
            {
                UPKEEP: upkeep.upkeep,
                EXPIRY: upkeep.expire,
                OUTPUT: log_output.bound,
                BINLOGS: retained.look,
                CHECKS: self._repetition().look,
            },
            self._settings.seconds("upkeep_interval_second"),
        )

    def _tick(self) -> None:
        thread_switching.adapt()  # each job that runs has two
        self.jobs.lives.tick()

    def start(self) -> None:
        """Raises PORT_IN_USE, META_OWNED, META_FAILED; failures of Spark show in the statements that need it."""
        self._metadata.take()
        self.users.load()
        self.checks.recover()
        self._doors.open()
        self.alerts.start()
        self._publish_certificate()
        for line in exposed(self._settings):
            log_files.announce(line, logging.WARNING)
        log_files.announce(f"The console is open on port {self._settings.number('query_port')}")
        self.lake.start()
        self.jobs.lives.recover()
        self.jobs.lives.wake = self._scheduler.wake
        self._scheduler.start()

    def stop(self) -> None:
        self._scheduler.stop()
        self._doors.close()
        self.checks.close()
        self.alerts.stop()
        self.jobs.runs.close(self._settings.seconds("shutdown_timeout_second"))
        self._pool.shutdown(wait=False, cancel_futures=True)
        self.queries.stop()
        self.lake.stop()
        self._pool.shutdown(wait=True)  # a commit that hangs ends with its JVM
        self.jobs.runs.join(self._settings.seconds("shutdown_timeout_second"))
        self._metadata.close()
        log.info("stopped")

    def root_password(self) -> str:
        return self._settings.text("root_password")

    def requires_tls(self) -> bool:
        return self._settings.text("require_secure_transport") == "ON"

    def _publish_certificate(self) -> None:
        """Next to fe.conf, for clients: they may not read the place where it is created."""
        try:
            publish_certificate(tls_folder(self._settings), self._settings.file.parent)
        except OSError as error:
            log.warning("clients find no console.crt in the folder of fe.conf: %s", error)

    def _on_config(self, name: str) -> None:
        if name == "log_level":
            log_files.set_level(self._settings.text(name))
        if name == "audit_log":
            _set_audit(self._settings)
        self.jobs.runs.retune()


def _logs_of(settings: Settings) -> log_files.AuditState:
    log_files.log_to(
        settings.folder("log_dir"),
        settings.text("log_level"),
        as_json=settings.text("log_format") == "json",
        on_stderr=settings.text("log_to") == "stderr",
    )
    _set_audit(settings)
    log_output.append_only()
    return log_files.AuditState(lambda: settings.text("audit_log") == "STRICT")


def _set_audit(settings: Settings) -> None:
    log_files.set_audit(on=settings.text("audit_log") != "OFF")


def _lake_of(settings: Settings, environment: Mapping[str, str]) -> OpenLake:
    return open_lake(
        FORMAT,
        lake_dir=settings.folder("lake_dir"),
        jars_dir=jars_dir(settings),
        options=settings.spark,
        progress=log_files.announce,
        wait_second=settings.seconds("spark_start_timeout_second"),
        copies_dir=settings.folder("copies_dir"),
        executor_wait_second=settings.seconds("executor_wait_second"),
        fold_copy_bytes=lambda: settings.number("fold_copy_bytes"),
        task_rows_bytes=lambda: settings.number("task_rows_bytes"),
        index_dir=settings.folder("meta_dir") / "index",
        index_max_bytes=lambda: settings.number("key_index_max_bytes"),
        environment=environment,
        trusts_expressions=settings.text("unbounded_expressions") == "ON",
    )


def _queries_of(settings: Settings, lake: OpenLake) -> Queries:
    return Queries(
        lake.place,
        lake.make_catalog,
        lambda: lake.state,
        memory=settings.number("query_memory"),
        spill=settings.number("query_spill_bytes"),
        nice=settings.number("query_nice"),
        wait_second=settings.seconds("spark_start_timeout_second"),
    )
