"""The frontend: builds the house, starts it, stops it.

Owns: the order of start and stop, and the reading of settings; nobody else reads them.
Must not know: how any part works.
"""

import logging
import os
import platform
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, assert_never
from uuid import uuid4

from alembic.util import CommandError
from sqlalchemy.exc import SQLAlchemyError

from syncmgr import __version__
from syncmgr.config.checks import Value
from syncmgr.config.settings import Settings, find, parse
from syncmgr.console import limits as console
from syncmgr.console.login.tls import publish_certificate
from syncmgr.console.server import Console
from syncmgr.control.catalog import Catalog
from syncmgr.control.jobs import Jobs, OnArrival
from syncmgr.control.planning import Inspected
from syncmgr.control.scheduler import Scheduler
from syncmgr.control.statement_text import pattern_of, patterns
from syncmgr.control.sync_tables import History
from syncmgr.control.users import Users
from syncmgr.errors import Code, SyncError
from syncmgr.host import log_files, log_output
from syncmgr.host.folders import locked, make_writable, refuse_unfinished
from syncmgr.host.private import seen_by_others, without_secrets
from syncmgr.job.channel.description import AppendOnChange, ChannelDescription, OnValueError
from syncmgr.job.channel.patterns import Found
from syncmgr.job.ddl.ddl_plan import Rules
from syncmgr.job.ddl_policy import OnDdl, deeds_of, stop_of
from syncmgr.job.epoch import Thresholds
from syncmgr.job.failure import FailType, Retry
from syncmgr.job.rows.value_error import rules_of
from syncmgr.job.snapshot.handshake import Locked, never
from syncmgr.job.snapshot.renewal import becoming
from syncmgr.job.source import CanalDescription, MysqlDescription, SourceDescription
from syncmgr.job.sync_job import JobId, SyncJob, replica_id
from syncmgr.job.types.schema import SourceTable, TargetTable
from syncmgr.lake.lake import Lake
from syncmgr.lake.spark.jars import users_folder
from syncmgr.lake.spark.launch import JARS
from syncmgr.lake.spark.queries.queries import Queries
from syncmgr.meta.codec import Vault
from syncmgr.meta.engine import sqlite_url
from syncmgr.meta.lease import Lease
from syncmgr.meta.ledger import JobLedger
from syncmgr.meta.store import Store
from syncmgr.pipeline import worker_process
from syncmgr.pipeline.known_history import KnownHistory
from syncmgr.pipeline.messages import Limits
from syncmgr.pipeline.run import JobRun
from syncmgr.pipeline.run_options import Listeners, RunOptions
from syncmgr.pipeline.snapshot.snapshot import Snapshot, SnapshotOptions
from syncmgr.pipeline.worker.worker import OpenSource
from syncmgr.sources.canal import factory as canal_opening
from syncmgr.sources.canal.factory import OpenCanal
from syncmgr.sources.mysql import factory as mysql_opening
from syncmgr.sources.mysql.address import Locking
from syncmgr.sources.mysql.binlog.router import Limits as SourceLimits
from syncmgr.sources.mysql.factory import OpenMysql
from syncmgr.sources.mysql.server.surroundings import Patience

NAME_LENGTH: Final = 255
REPLACED: Final = 3  # exit status
UPKEEP, EXPIRY = "upkeep", "expiry"  # what is done by turns to each target
OUTPUT = "output"
RECONNECT_FIRST_SECOND: Final = 0.2
RECONNECT_MAX_SECOND: Final = 15.0

log = logging.getLogger(__name__)


class Frontend:
    """Everything, once. `start` opens the port before Spark is up; `stop` leaves running jobs to the next start."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        for name in ("meta_dir", "lake_dir", "staging_dir", "log_dir"):
            make_writable(settings.folder(name))
        self._lock = locked(settings.folder("meta_dir"))
        refuse_unfinished(settings.folder("meta_dir"))
        worker_process.preload(mysql_opening.__name__, canal_opening.__name__)
        log_files.log_to(settings.folder("log_dir"), settings.text("log_level"))
        log_files.set_audit(on=settings.text("audit_log") != "OFF")
        log_output.append_only()
        self.audit = log_files.AuditState(lambda: settings.text("audit_log") == "STRICT")
        log.info("syncmgr %s starts, Python %s; set: %s", __version__, platform.python_version(), settings.given())
        self.config = Config(settings, self._on_config)
        self.lake = _lake_of(settings, without_secrets(os.environ))
        self.queries = _queries_of(settings, self.lake)
        self._store = open_store(settings)
        self._lease = Lease(self._store, name_of(settings.folder("meta_dir")), _replaced)
        self.catalog = Catalog(self.lake, self._store.target_of)
        self.users = Users(self._store.accounts)
        self._pool = ThreadPoolExecutor(settings.number("max_sync_task_threads_num"), thread_name_prefix="sync-task")
        self.jobs = Jobs(
            store=self._store,
            catalog=self.catalog,
            lake=self.lake,
            inspect=self._inspect,
            survey=self._survey,
            check_exact=self._check_exact,
            binlog=self._binlog(),
            new_run=self._new_run,
            drop_staged=lambda job_id: remove(self._staging(job_id)),
            keep_cancelled_second=lambda: settings.seconds("label_keep_max_second"),
            max_jobs=lambda: settings.number("max_jobs"),
            chunk_rows=lambda given: int(overridden(settings, given, "snapshot_chunk_rows")),
        )
        self.history = History(self._store, self.jobs, self.lake)
        upkeep = {UPKEEP: self._upkeep, EXPIRY: self._expire, OUTPUT: log_output.bound}
        self._troubles = {kind: log_files.Lasting(log) for kind in (UPKEEP, EXPIRY)}
        self._scheduler = Scheduler(
            self.jobs.tick,
            settings.seconds("sync_checker_interval_second"),
            upkeep,
            settings.seconds("upkeep_interval_second"),
        )
        self._console = Console(
            self,
            limits=console_limits(settings),
            host=settings.text("query_host"),
            port=settings.number("query_port"),
            tls_folder=tls_folder(settings),
        )

    def start(self) -> None:
        """Raises PORT_IN_USE, META_OWNED; what Spark's start may fail on shows in the statements that need it."""
        self._lease.take()
        self.users.load()
        self._console.start()
        self._publish_certificate()
        for line in exposed(self._settings):
            _warn(line)
        _say(f"The console is open on port {self._settings.number('query_port')}")
        self.lake.start()
        self.jobs.recover()
        self.jobs.wake = self._scheduler.wake
        self._scheduler.start()

    def stop(self) -> None:
        self._scheduler.stop()
        self._console.stop()
        self.jobs.close(self._settings.seconds("shutdown_timeout_second"))
        self._pool.shutdown(wait=True, cancel_futures=True)
        self.queries.stop()
        self.lake.stop()
        self._lease.give_back()
        self._store.close()
        self._lock.close()
        log.info("stopped")

    def root_password(self) -> str:
        return self._settings.text("root_password")

    def requires_tls(self) -> bool:
        return self._settings.text("require_secure_transport") == "ON"

    def _publish_certificate(self) -> None:
        """Beside fe.conf, for clients: where it is made they may not look."""
        try:
            publish_certificate(tls_folder(self._settings), self._settings.file.parent)
        except OSError as error:
            log.warning("clients find no console.crt beside fe.conf: %s", error)

    def _on_config(self, name: str) -> None:
        if name == "log_level":
            log_files.set_level(self._settings.text(name))
        if name == "audit_log":
            log_files.set_audit(on=self._settings.text(name) != "OFF")
        self.jobs.retune()

    def _new_run(
        self,
        job: SyncJob,
        on_trouble: Callable[[SyncError | None], None],
        on_end: Callable[[SyncError | None, FailType], None],
        on_arrival: OnArrival,
    ) -> JobRun:
        settings = self._settings
        options = RunOptions(
            job_id=job.id,
            name=f"{job.db}.{job.name}",
            channels=job.channels,
            rules=self._rules(job),
            folder=self._staging(job.id),
            silence_second=settings.seconds("source_read_timeout_second") / 2,  # two heartbeats
            limits=partial(limits_of, settings, job),
            retry=partial(retry_of, settings, job),
            max_backlog_bytes=lambda: int(value_of(settings, job, "max_channel_backlog_bytes")),
            finish_second=lambda: float(value_of(settings, job, "pause_timeout_second")),
            families=tuple(map(pattern_of, patterns(job))),
            leaves_out=isinstance(job.source, MysqlDescription),
            synced_until=max(job.synced_until or 0.0, self._store.figures(job.id).synced_until or 0.0),
        )
        ledger = JobLedger(
            self._store,
            job.id,
            lambda: settings.seconds("consistent_point_keep_second"),
            lambda: int(value_of(settings, job, "max_dead_letters")),
            name=f"{job.db}.{job.name}",
            labels={channel.token: channel.source.label for channel in job.channels},
        )
        listeners = Listeners(on_trouble=on_trouble, on_end=on_end, on_arrival=on_arrival)
        lake = KnownHistory(self.lake, ledger)
        snapshot = self._snapshot(job, ledger, lake)
        return JobRun(options, ledger, lake, self._pool, self._opener(job), listeners, snapshot)

    def _snapshot(self, job: SyncJob, ledger: JobLedger, lake: KnownHistory) -> Snapshot | None:
        """None where the job began without one, or has left it behind."""
        loads = ledger.loads().values()
        if not isinstance(job.source, MysqlDescription) or all(load.caught_up for load in loads):
            return None
        timeout, rules = self._settings.seconds("source_connect_timeout_second"), self._rules(job)
        options = SnapshotOptions(
            description=job.source,
            channels=job.channels,
            connect_timeout=timeout,
            connections=lambda: int(value_of(self._settings, job, "snapshot_max_connections")),
            chunk_rows=lambda: int(value_of(self._settings, job, "snapshot_chunk_rows")),
            rows_per_second=lambda: int(value_of(self._settings, job, "snapshot_max_rows_per_second")),
            retry_most=lambda: float(value_of(self._settings, job, "snapshot_retry_max_second")),
            values=lambda channel: rules_of(channel, rules.describe, rules.on_value_error),
            max_dead_letters=lambda: int(value_of(self._settings, job, "max_dead_letters")),
        )
        source = mysql_opening.snapshot(job.source, connect_timeout=timeout, locking=self._locking())
        return Snapshot(options, source, ledger, lake)

    def _inspect(
        self, source: SourceDescription, tables: Sequence[tuple[str, str]], locked: Locked = never
    ) -> Inspected:
        timeout = self._settings.seconds("source_connect_timeout_second")
        match source:
            case MysqlDescription():
                locking = self._locking()
                return mysql_opening.inspect(source, tables, connect_timeout=timeout, locking=locking, locked=locked)
            case CanalDescription():
                return canal_opening.inspect(source, tables, connect_timeout=timeout)
            case _:
                assert_never(source)

    def _survey(self, source: MysqlDescription, patterns: Sequence[str]) -> Mapping[tuple[str, str], Found]:
        timeout = self._settings.seconds("source_connect_timeout_second")
        return mysql_opening.survey(source, patterns, connect_timeout=timeout)

    def _check_exact(self, source: MysqlDescription, tables: Sequence[SourceTable]) -> None:
        timeout = self._settings.seconds("source_connect_timeout_second")
        mysql_opening.check_exact(source, tables, connect_timeout=timeout, locking=self._locking())

    def _locking(self) -> Locking:
        wait, tries = self._settings.number("source_lock_wait_second"), self._settings.number("source_lock_tries")
        return Locking(wait=wait, tries=tries)

    def _patience(self) -> Patience:
        return Patience(
            question=self._settings.number("source_question_timeout_second"),
            round=self._settings.number("source_questions_second"),
        )

    def _binlog(self) -> mysql_opening.Binlog:
        """How it is looked ahead in."""
        return mysql_opening.Binlog(
            connect_timeout=self._settings.seconds("source_connect_timeout_second"),
            read_timeout=self._settings.seconds("source_read_timeout_second"),
            limits=self._source_limits(),
        )

    def _source_limits(self) -> SourceLimits:
        return SourceLimits(
            event_bytes=self._settings.number("max_source_event_bytes"),
            transaction_bytes=self._settings.number("max_source_transaction_bytes"),
            event_cells=self._settings.number("max_source_event_cells"),
        )

    def _opener(self, job: SyncJob) -> OpenSource:
        connect_timeout = self._settings.seconds("source_connect_timeout_second")
        read_timeout = self._settings.seconds("source_read_timeout_second")
        retry = replace(retry_of(self._settings, job), first=RECONNECT_FIRST_SECOND, most=RECONNECT_MAX_SECOND)
        match job.source:
            case MysqlDescription() as source:
                return OpenMysql(
                    description=source,
                    server_id=replica_id(job, source),
                    connect_timeout=connect_timeout,
                    read_timeout=read_timeout,
                    schema_check=self._settings.seconds("source_schema_check_second"),
                    patience=self._patience(),
                    retry=retry,
                    limits=self._source_limits(),
                )
            case CanalDescription() as source:
                return OpenCanal(
                    description=source,
                    connect_timeout=connect_timeout,
                    read_timeout=read_timeout,
                    retry=retry,
                )
            case _:
                assert_never(job.source)

    def _rules(self, job: SyncJob) -> Rules:
        on_value_error = job.properties.get("on_value_error")
        return Rules(
            policy=OnDdl(job.properties.get("on_ddl", OnDdl.EVOLVE)),
            append_on_change=AppendOnChange(job.properties.get("append_on_change", AppendOnChange.ERROR)),
            describe=partial(self._becoming, job.id),
            deeds=deeds_of(job.properties),
            stop=stop_of(job.properties),
            on_value_error=None if on_value_error is None else OnValueError(on_value_error),
            unlogged=isinstance(job.source, MysqlDescription) and job.source.accepts_unlogged,
        )

    def _becoming(self, job_id: JobId, channel: ChannelDescription) -> TargetTable:
        """The target of a channel, as it is once what is being read for it is there."""
        target = self.catalog.table(channel.target_db, channel.target)
        load = self._store.loads.of(job_id).get(channel.token)
        return becoming(target, load.changes) if load is not None and load.reshapes else target

    def _staging(self, job_id: JobId) -> Path:
        return self._settings.folder("staging_dir") / f"job-{job_id}"

    def _upkeep(self) -> None:
        """What a crash has left is committed first: upkeep would take the time of it."""

        def of(job: SyncJob, channel: ChannelDescription) -> None:
            if not self.jobs.recovers(job.id):
                self.lake.upkeep(channel.target_db, channel.target)

        self._each_target(UPKEEP, of)

    def _expire(self) -> None:
        def of(job: SyncJob, channel: ChannelDescription) -> object:
            target = channel.target_db, channel.target
            others = [each.token for each in job.channels if (each.target_db, each.target) == target]
            since = time.time() - self._settings.seconds("consistent_point_keep_second")
            return self.lake.expire(*target, self._store.kept(job.id, others, since))

        self._each_target(EXPIRY, of)

    def _each_target(self, kind: str, do: Callable[[SyncJob, ChannelDescription], object]) -> None:
        """One tick: every target of a live job, with the channel that fills it longest. An error is logged, once, and
        the next tick tries again.
        """
        if not self.lake.serves:
            return  # Spark itself says why
        found = dict[str, str]()
        for job in self._store.jobs(live=True):
            for channel in {(each.target_db, each.target): each for each in reversed(job.channels)}.values():
                try:
                    do(job, channel)
                except SyncError as error:
                    if error.code is Code.LAKE_STARTING:
                        return  # so it is for every table; Spark itself says when it is ready
                    found[f"{kind} of {channel.target_db}.{channel.target}"] = str(error)
        self._troubles[kind].tell(found)


def _lake_of(settings: Settings, environment: Mapping[str, str]) -> Lake:
    return Lake(
        lake_dir=settings.folder("lake_dir"),
        jars_dir=_jars_dir(settings),
        options=settings.spark,
        progress=_say,
        wait_second=settings.seconds("spark_start_timeout_second"),
        index_dir=settings.folder("meta_dir") / "index",
        index_max_bytes=lambda: settings.number("key_index_max_bytes"),
        environment=environment,
        trusts_expressions=settings.text("unbounded_expressions") == "ON",
    )


def _jars_dir(settings: Settings) -> Path:
    if settings.text("jars_dir"):
        return settings.folder("jars_dir")
    return users_folder() or settings.folder("lake_dir") / JARS


def tls_folder(settings: Settings) -> Path:
    return settings.folder("meta_dir") / "tls"


def exposed(settings: Settings) -> Iterator[str]:
    """Which files other users of this machine can read though they should not, and what to type."""
    file, secrets = settings.file, settings.secrets()
    mode = seen_by_others(file)
    if secrets and mode is not None:
        yield f"{file} holds {', '.join(secrets)}, and others can read it (mode {mode:04o}); type: chmod 600 {file}"
    for name in ("meta_dir", "staging_dir", "log_dir"):
        folder = settings.folder(name)
        mode = seen_by_others(folder)
        if mode is not None:
            yield f"{name} is open to others (mode {mode:04o}); type: chmod -R go= {folder}"


def _queries_of(settings: Settings, lake: Lake) -> Queries:
    def lake_is_there() -> None:
        lake.ready()
        lake.iceberg()  # makes the catalog

    return Queries(
        lake.place,
        lake_is_there,
        memory=settings.number("query_memory"),
        spill=settings.number("query_spill_bytes"),
        nice=settings.number("query_nice"),
        wait_second=settings.seconds("spark_start_timeout_second"),
    )


class Config:
    """SHOW and ADMIN SET FRONTEND CONFIG."""

    def __init__(self, settings: Settings, changed: Callable[[str], None]) -> None:
        self._settings = settings
        self._changed = changed

    def show(self) -> list[tuple[str, ...]]:
        return list(self._settings.rows())

    def set(self, name: str, value: str) -> None:
        self._settings.set(name, value)
        self._changed(name)


def value_of(settings: Settings, job: SyncJob, name: str) -> Value:
    """A setting as it holds for a job."""
    return overridden(settings, job.properties, name)


def overridden(settings: Settings, properties: Mapping[str, str], name: str) -> Value:
    """A setting as it holds for a job of these properties."""
    text = properties.get(name)
    return settings[name] if text is None else parse(find(name), text)


def limits_of(settings: Settings, job: SyncJob) -> Limits:
    value = partial(value_of, settings, job)
    return Limits(
        thresholds=Thresholds(
            interval_second=float(value("sync_commit_interval_second")),
            min_events=int(value("min_sync_commit_size")),
            min_bytes=int(value("min_bytes_sync_commit")),
            max_bytes=int(value("max_bytes_sync_commit")),
        ),
        position_interval_second=float(value("position_commit_interval_second")),
        max_staged_bytes=int(value("max_staged_bytes")),
        queue_batches=int(value("source_queue_batches")),
        queue_bytes=int(value("source_queue_bytes")),
        max_dead_letters=int(value("max_dead_letters")),
    )


def retry_of(settings: Settings, job: SyncJob) -> Retry:
    return Retry(
        times=int(value_of(settings, job, "max_retry")), patience=float(value_of(settings, job, "max_retry_second"))
    )


def console_limits(settings: Settings) -> console.Limits:
    return console.Limits(
        max_connections=settings.number("max_connections"),
        max_packet=settings.number("max_allowed_packet"),
        max_statement=settings.number("max_statement_bytes"),
        max_query=settings.number("max_query_bytes"),
        max_queries_per_account=settings.number("max_queries_per_account"),
        max_query_second=settings.seconds("max_query_second"),
        threads=settings.number("query_threads"),
        source_threads=settings.number("source_threads"),
        source_second=settings.seconds("source_statement_second"),
        max_connection_bytes=settings.number("max_connection_bytes"),
        max_console_bytes=settings.number("max_console_bytes"),
        max_logins=settings.number("max_logins"),
        max_logins_per_address=settings.number("max_logins_per_address"),
        reserved_connections=settings.number("reserved_connections"),
        max_login_failures=settings.number("max_login_failures"),
        login_refuse_second=settings.seconds("login_refuse_second"),
        connect_timeout=settings.seconds("connect_timeout"),
        read_timeout=settings.seconds("net_read_timeout"),
        write_timeout=settings.seconds("net_write_timeout"),
        wait_timeout=settings.seconds("wait_timeout"),
    )


def remove(folder: Path) -> None:
    """The folder and all in it. What cannot be deleted is logged, and tried again at the next call."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        log.warning("cannot delete %s: %s", folder, error)


def name_of(meta_dir: Path) -> str:
    """Of this frontend, the same after every restart: whoever has the lock of this folder is it."""
    file = meta_dir / "frontend"
    if not file.exists():
        file.write_text(uuid4().hex)
    return f"{socket.gethostname()}:{meta_dir} ({file.read_text().strip()})"[:NAME_LENGTH]


def _replaced() -> None:
    """Another frontend commits by now; JVM and workers end by the loss of their pipes, and what they do is fenced."""
    os._exit(REPLACED)


def open_store(settings: Settings) -> Store:
    """Raises META_FAILED."""
    folder, url = settings.folder("meta_dir"), settings.text("meta_url")
    try:
        timeout = settings.seconds("meta_timeout_second")
        return Store(url or sqlite_url(folder), Vault(folder / "secret.key"), timeout)
    except (SQLAlchemyError, CommandError, ImportError, ValueError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise SyncError(Code.META_FAILED, where="meta_url" if url else folder, reason=reason) from error


def _say(line: str) -> None:
    """A line for the person who started the frontend, and for the log."""
    log.info(line)
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _warn(line: str) -> None:
    """The same, of what should be mended."""
    log.warning(line)
    sys.stderr.write(f"WARNING: {line}\n")
    sys.stderr.flush()
