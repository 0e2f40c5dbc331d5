"""Canal as a kind of source.

Owns: which setting becomes which option.
Must not know: how a destination is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from syncmgr.config.settings import Settings
from syncmgr.job.backoff import Retry
from syncmgr.job.position import Position
from syncmgr.job.property import Property
from syncmgr.job.snapshot.handshake import Locked, never
from syncmgr.job.source import SourceDescription
from syncmgr.sources.canal import description, factory
from syncmgr.sources.canal.description import CanalDescription
from syncmgr.sources.port import Inspected, Table


@dataclass(frozen=True, slots=True)
class CanalDestination:
    """One destination. It provides only changes."""

    description: CanalDescription
    settings: Settings
    rows: None = None
    tables: None = None

    def inspect(self, tables: Sequence[Table], _locked: Locked = never) -> Inspected:
        """As `factory.inspect` does."""
        return factory.inspect(
            self.description, tables, connect_timeout=self.settings.seconds("source_connect_timeout_second")
        )

    def check_continues(self, _before: SourceDescription, _start: Position, _tables: Sequence[Table]) -> None:
        """That the destination is served to this login: what canal goes on with it says only to its reader, which then
        compares that with what it has read.
        """
        self.inspect(())

    def retained(self, _starts: Sequence[Position]) -> None:
        """Only the server that canal reads shows it."""

    def checked(self) -> None:
        """There is no server to ask."""

    def stream(self, _token: str, retry: Retry) -> factory.OpenCanal:
        return factory.OpenCanal(
            description=self.description,
            connect_timeout=self.settings.seconds("source_connect_timeout_second"),
            read_timeout=self.settings.seconds("source_read_timeout_second"),
            retry=retry,
        )


class CanalKind:
    """What is "canal" in FROM BINLOG."""

    properties: tuple[Property, ...] = description.PROPERTIES
    modules: tuple[str, ...] = (factory.__name__,)

    def described(self, properties: Mapping[str, str]) -> CanalDescription:
        return description.described(properties)

    def restored(self, facts: Mapping[str, Any]) -> CanalDescription:
        return CanalDescription(**facts)

    def source(self, description: SourceDescription, settings: Settings) -> CanalDestination:
        assert isinstance(description, CanalDescription)
        return CanalDestination(description, settings)


CANAL: Final = CanalKind()
