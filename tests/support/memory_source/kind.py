"""The kind of source, as the registry expects it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from syncmgr.config.settings import Settings
from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.channel.patterns import Found, Pattern
from syncmgr.job.position import Position
from syncmgr.job.snapshot.handshake import Locked
from syncmgr.job.source import SourceDescription
from syncmgr.job.types.schema import SourceTable
from syncmgr.sources.port import Inspected, Table
from tests.support.memory_source import server
from tests.support.memory_source.description import PROPERTIES, MemoryDescription, described
from tests.support.memory_source.server import Folder, MemorySnapshot, OpenMemory


@dataclass(frozen=True, kw_only=True)
class Facts:
    start: Position
    tables: tuple[SourceTable, ...]
    unique_keys: tuple[tuple[tuple[str, ...], ...], ...]
    server_time: float
    known_at: Position | None = None
    full_metadata: bool = True


@dataclass(frozen=True)
class MemoryServer:
    description: MemoryDescription

    @property
    def folder(self) -> Folder:
        return Folder(self.description.folder)

    @property
    def rows(self) -> "MemoryServer":
        return self

    @property
    def tables(self) -> "MemoryServer":
        return self

    def inspect(self, tables: Sequence[Table], _locked: Locked, /) -> Inspected:
        there = self.folder.tables()
        for db, name in tables:
            if (db, name) not in there:
                raise SyncError(
                    Code.SOURCE_UNKNOWN_TABLE, table=f"{db}.{name}", address=self.description.folder, hint=""
                )
        found = tuple(there[table] for table in tables)
        keys = tuple((tuple(each.name for each in table.columns if each.key),) for table in found)
        return Facts(start=self.folder.end(), tables=found, unique_keys=keys, server_time=time.time())

    def check_continues(self, before: SourceDescription, start: Position, tables: Sequence[Table]) -> None:
        if self.folder.end().offset < start.offset:
            where = {"position": start.offset, "address": self.description.folder}
            raise SyncError(Code.SOURCE_POSITION_LOST, **where, reason="it is shorter")

    def retained(self, _starts: Sequence[Position]) -> None:
        """It keeps everything."""

    def checked(self) -> None:
        """It speaks no SQL."""

    def survey(self, patterns: Sequence[str]) -> Mapping[Table, Found]:
        return {
            table: Found(db=table[0], name=table[1], rows=len(self.folder.rows(schema)))
            for table, schema in self.folder.tables().items()
            if table[0] in patterns
        }

    def end(self) -> Position:
        return self.folder.end()

    def named(self, start: Position, families: Sequence[Pattern]) -> frozenset[Table]:
        found: dict[Table, None] = {}
        for old, new in self.folder.renamed(start.offset):
            if new is not None and (old is None or old in found):
                found[new] = None
            if None not in {old, new}:
                found.pop(old, None)  # under its last name; one that goes again has come nevertheless
        return frozenset(table for table in found if any(family.has(table) for family in families))

    def check_exact(self, tables: Sequence[SourceTable]) -> None:
        raise AssertionError(f"all tables have keys: {tables}")

    def snapshot(self) -> MemorySnapshot:
        return MemorySnapshot(self.description.folder)

    def stream(self, _token: str, _retry: Retry, /) -> OpenMemory:
        return OpenMemory(self.description.folder)


class MemoryKind:
    properties = PROPERTIES
    modules = (server.__name__,)

    def described(self, properties: Mapping[str, str]) -> MemoryDescription:
        return described(properties)

    def restored(self, facts: Mapping[str, Any]) -> MemoryDescription:
        return MemoryDescription(**facts)

    def source(self, description: SourceDescription, settings: Settings) -> MemoryServer:
        assert isinstance(description, MemoryDescription)
        assert settings.number("query_port")
        return MemoryServer(description)


MEMORY = MemoryKind()
