"""The sources, with the settings that bound queries to them.

Owns: which calls need a capability of the source.
Must not know: kinds of sources.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from syncmgr.config.job_settings import JobSettings
from syncmgr.config.settings import Settings
from syncmgr.fe.limits import retry_of
from syncmgr.job.backoff import RECONNECT
from syncmgr.job.channel.patterns import Found, Pattern
from syncmgr.job.position import Position
from syncmgr.job.snapshot.handshake import Locked, never
from syncmgr.job.source import SourceDescription
from syncmgr.job.source_history.retained import Retained
from syncmgr.job.sync_job import SyncJob
from syncmgr.job.types.schema import SourceTable
from syncmgr.sources import registry
from syncmgr.sources.port import CheckedServer, Inspected, OpenStream, SnapshotSource, SourceRows, SourceTables, Table


class Sources:
    """Every query to a source is made here; each may block up to its timeouts."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def inspect(self, source: SourceDescription, tables: Sequence[Table], locked: Locked = never) -> Inspected:
        """What CREATE SYNC and ALTER SYNC query about the tables of a source."""
        return registry.source(source, self._settings).inspect(tables, locked)

    def check_continues(
        self, source: SourceDescription, before: SourceDescription, start: Position, tables: Sequence[Table]
    ) -> None:
        """Whether a job that has read `before` up to `start` can go on with `source`. Raises SyncError."""
        registry.source(source, self._settings).check_continues(before, start, tables)

    def retained(self, source: SourceDescription, starts: Sequence[Position]) -> Sequence[Retained] | None:
        """Of each place, how long what follows it stays there; None: the source does not show it."""
        return registry.source(source, self._settings).retained(starts)

    def survey(self, source: SourceDescription, patterns: Sequence[str]) -> Mapping[Table, Found]:
        """The tables whose databases match."""
        return self._tables(source).survey(patterns)

    def end(self, source: SourceDescription) -> Position:
        return self._tables(source).end()

    def named(self, source: SourceDescription, start: Position, families: Sequence[Pattern]) -> frozenset[Table]:
        return self._tables(source).named(start, families)

    def check_exact(self, source: SourceDescription, tables: Sequence[SourceTable]) -> None:
        """Whether tables without a key can be read at an exact place. Raises SyncError."""
        self._rows(source).check_exact(tables)

    def snapshot(self, source: SourceDescription) -> SnapshotSource:
        return self._rows(source).snapshot()

    def checked(self, source: SourceDescription) -> CheckedServer | None:
        """What a check queries; None: there is no server to query."""
        return registry.source(source, self._settings).checked()

    def opener(self, job: SyncJob) -> OpenStream:
        """What the worker of a job opens its source with."""
        settings = JobSettings(self._settings, job.properties)
        retry = replace(retry_of(settings), first=RECONNECT.first, most=RECONNECT.most)
        return registry.source(job.source, self._settings).stream(job.channels[0].token, retry)

    def _tables(self, source: SourceDescription) -> SourceTables:
        tables = registry.source(source, self._settings).tables
        assert tables is not None, "who asks has seen that it can LIST_TABLES"
        return tables

    def _rows(self, source: SourceDescription) -> SourceRows:
        rows = registry.source(source, self._settings).rows
        assert rows is not None, "who asks has seen that it can READ_ROWS"
        return rows
