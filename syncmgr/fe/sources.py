"""The sources, with the settings that bound what is asked of them.

Owns: which kind of source is opened by what.
Must not know: how a source is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, assert_never

from syncmgr.config.job_settings import JobSettings
from syncmgr.config.settings import Settings
from syncmgr.control.planning import Inspected
from syncmgr.fe.limits import retry_of, source_limits
from syncmgr.job.channel.patterns import Found
from syncmgr.job.snapshot.handshake import Locked, never
from syncmgr.job.source import CanalDescription, MysqlDescription, SourceDescription
from syncmgr.job.sync_job import SyncJob, replica_id
from syncmgr.job.types.schema import SourceTable
from syncmgr.pipeline.worker.worker import OpenSource
from syncmgr.sources.canal import factory as canal
from syncmgr.sources.canal.factory import OpenCanal
from syncmgr.sources.mysql import factory as mysql
from syncmgr.sources.mysql.address import Locking
from syncmgr.sources.mysql.factory import OpenMysql
from syncmgr.sources.mysql.server.snapshot import MysqlSnapshot
from syncmgr.sources.mysql.server.surroundings import Patience

RECONNECT_FIRST_SECOND: Final = 0.2
RECONNECT_MAX_SECOND: Final = 15.0
MODULES: Final = (mysql.__name__, canal.__name__)  # that a worker needs


class Sources:
    """Every question to a source is asked here; each may block up to its timeouts."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @property
    def connect_timeout(self) -> float:
        return self._settings.seconds("source_connect_timeout_second")

    @property
    def read_timeout(self) -> float:
        return self._settings.seconds("source_read_timeout_second")

    def inspect(
        self, source: SourceDescription, tables: Sequence[tuple[str, str]], locked: Locked = never
    ) -> Inspected:
        """What CREATE SYNC and ALTER SYNC ask of the tables of a source."""
        timeout = self.connect_timeout
        match source:
            case MysqlDescription():
                return mysql.inspect(source, tables, connect_timeout=timeout, locking=self.locking(), locked=locked)
            case CanalDescription():
                return canal.inspect(source, tables, connect_timeout=timeout)
            case _:
                assert_never(source)

    def survey(self, source: MysqlDescription, patterns: Sequence[str]) -> Mapping[tuple[str, str], Found]:
        """The tables whose databases match."""
        return mysql.survey(source, patterns, connect_timeout=self.connect_timeout)

    def check_exact(self, source: MysqlDescription, tables: Sequence[SourceTable]) -> None:
        """Whether tables without a key can be read at an exact place. Raises SyncError."""
        mysql.check_exact(source, tables, connect_timeout=self.connect_timeout, locking=self.locking())

    def locking(self) -> Locking:
        wait, tries = self._settings.number("source_lock_wait_second"), self._settings.number("source_lock_tries")
        return Locking(wait=wait, tries=tries)

    def binlog(self) -> mysql.Binlog:
        """How it is looked ahead in."""
        return mysql.Binlog(
            connect_timeout=self.connect_timeout,
            read_timeout=self.read_timeout,
            lookahead=self._settings.seconds("source_lookahead_second"),
            limits=source_limits(self._settings),
        )

    def snapshot(self, source: MysqlDescription) -> MysqlSnapshot:
        return mysql.snapshot(source, connect_timeout=self.connect_timeout, locking=self.locking())

    def opener(self, job: SyncJob) -> OpenSource:
        """What the worker of a job opens its source with."""
        settings = JobSettings(self._settings, job.properties)
        retry = replace(retry_of(settings), first=RECONNECT_FIRST_SECOND, most=RECONNECT_MAX_SECOND)
        match job.source:
            case MysqlDescription() as source:
                return OpenMysql(
                    description=source,
                    server_id=replica_id(job, source),
                    connect_timeout=self.connect_timeout,
                    read_timeout=self.read_timeout,
                    schema_check=self._settings.seconds("source_schema_check_second"),
                    patience=self._patience(),
                    retry=retry,
                    limits=source_limits(self._settings),
                )
            case CanalDescription() as source:
                return OpenCanal(
                    description=source,
                    connect_timeout=self.connect_timeout,
                    read_timeout=self.read_timeout,
                    retry=retry,
                )
            case _:
                assert_never(job.source)

    def _patience(self) -> Patience:
        return Patience(
            question=self._settings.number("source_question_timeout_second"),
            round=self._settings.number("source_questions_second"),
        )
