"""MySQL and MariaDB as a kind of source.

Owns: which setting becomes which option.
Must not know: how a server is checked or read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from syncmgr.config.settings import Settings
from syncmgr.job.backoff import Retry
from syncmgr.job.channel.patterns import Found, Pattern
from syncmgr.job.position import Position
from syncmgr.job.property import Property
from syncmgr.job.snapshot.handshake import Locked, never
from syncmgr.job.source import SourceDescription
from syncmgr.job.source_history.retained import Retained
from syncmgr.job.types.schema import SourceTable
from syncmgr.sources.mysql import description, factory
from syncmgr.sources.mysql.address import Locking
from syncmgr.sources.mysql.binlog.router import Limits
from syncmgr.sources.mysql.chunk.chunks import MOST_ROW
from syncmgr.sources.mysql.description import MysqlDescription
from syncmgr.sources.mysql.server.checked_server import CheckedMysql
from syncmgr.sources.mysql.server.snapshot import MysqlSnapshot
from syncmgr.sources.mysql.server.surroundings import Patience
from syncmgr.sources.port import Inspected, Table


@dataclass(frozen=True, slots=True)
class MysqlServers:
    """The servers of one history, one of which is queried."""

    description: MysqlDescription
    settings: Settings

    @property
    def rows(self) -> "MysqlServers":
        return self

    @property
    def tables(self) -> "MysqlServers":
        return self

    @property
    def connect_timeout(self) -> float:
        """In seconds, as all times here."""
        return self.settings.seconds("source_connect_timeout_second")

    @property
    def read_timeout(self) -> float:
        return self.settings.seconds("source_read_timeout_second")

    @property
    def locking(self) -> Locking:
        wait, tries = self.settings.number("source_lock_wait_second"), self.settings.number("source_lock_tries")
        return Locking(wait=wait, tries=tries)

    @property
    def limits(self) -> Limits:
        return Limits(
            event_bytes=self.settings.number("max_source_event_bytes"),
            transaction_bytes=self.settings.number("max_source_transaction_bytes"),
            event_cells=self.settings.number("max_source_event_cells"),
        )

    def inspect(self, tables: Sequence[Table], locked: Locked = never) -> Inspected:
        return factory.inspect(
            self.description, tables, connect_timeout=self.connect_timeout, locking=self.locking, locked=locked
        )

    def check_continues(self, before: SourceDescription, start: Position, tables: Sequence[Table]) -> None:
        known = isinstance(before, MysqlDescription) and before.server_id == self.description.server_id
        factory.check_continues(
            self.description,
            start,
            tables,
            server_id=0 if known else self.description.server_id,
            connect_timeout=self.connect_timeout,
        )

    def retained(self, starts: Sequence[Position]) -> Sequence[Retained]:
        return factory.retained(
            self.description, starts, connect_timeout=self.connect_timeout, read_timeout=self.read_timeout
        )

    def survey(self, patterns: Sequence[str]) -> Mapping[Table, Found]:
        return factory.survey(self.description, patterns, connect_timeout=self.connect_timeout)

    def end(self) -> Position:
        return self._binlog().end(self.description)

    def named(self, start: Position, families: Sequence[Pattern]) -> frozenset[Table]:
        return self._binlog().named(self.description, start, families)

    def _binlog(self) -> factory.Binlog:
        return factory.Binlog(
            connect_timeout=self.connect_timeout,
            read_timeout=self.read_timeout,
            lookahead=self.settings.seconds("source_lookahead_second"),
            limits=self.limits,
        )

    def check_exact(self, tables: Sequence[SourceTable]) -> None:
        factory.check_exact(self.description, tables, connect_timeout=self.connect_timeout, locking=self.locking)

    def snapshot(self) -> MysqlSnapshot:
        most = min(self.limits.event_bytes, MOST_ROW)
        return factory.snapshot(
            self.description, connect_timeout=self.connect_timeout, locking=self.locking, most_row=most
        )

    def checked(self) -> CheckedMysql:
        return factory.checked(self.description, connect_timeout=self.connect_timeout)

    def stream(self, token: str, retry: Retry) -> factory.OpenMysql:
        return factory.OpenMysql(
            description=self.description,
            server_id=self.description.id_for(token),
            connect_timeout=self.connect_timeout,
            read_timeout=self.read_timeout,
            schema_check=self.settings.seconds("source_schema_check_second"),
            patience=Patience(
                question=self.settings.number("source_question_timeout_second"),
                round=self.settings.number("source_questions_second"),
            ),
            retry=retry,
            limits=self.limits,
        )


class MysqlKind:
    """What is "mysql" in FROM BINLOG."""

    properties: tuple[Property, ...] = description.PROPERTIES
    modules: tuple[str, ...] = (factory.__name__,)

    def described(self, properties: Mapping[str, str]) -> MysqlDescription:
        return description.described(properties)

    def restored(self, facts: Mapping[str, Any]) -> MysqlDescription:
        return MysqlDescription(**facts)

    def source(self, description: SourceDescription, settings: Settings) -> MysqlServers:
        assert isinstance(description, MysqlDescription)
        return MysqlServers(description, settings)


MYSQL: Final = MysqlKind()
