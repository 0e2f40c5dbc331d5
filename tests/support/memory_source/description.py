"""FROM BINLOG ("type" = "memory", "memory.folder" = "...") as a value."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from syncmgr.errors import SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.property import Property, filled, refuse_fixed
from syncmgr.job.source import BINLOG, SNAPSHOT, Can, Caveat

PROPERTIES = (
    Property("type", None, "`memory`"),
    Property("memory.folder", None, "Where its tables and changes are."),
    Property("start", SNAPSHOT, "`snapshot` or `latest`"),
)


@dataclass(frozen=True, kw_only=True)
class MemoryDescription:
    folder: str
    start: str = SNAPSHOT
    password: str = ""
    joins: bool = False

    @property
    def starts_at_place(self) -> bool:
        return False

    @property
    def kind(self) -> str:
        return "MEMORY"

    @property
    def refused(self) -> Mapping[str, str]:
        return {}

    @property
    def accepts_unlogged(self) -> bool:
        return False

    @property
    def key_files(self) -> Mapping[str, str]:
        return {}

    @property
    def one_reader(self) -> None:
        return None

    @property
    def address(self) -> str:
        return self.folder

    @property
    def config(self) -> str:
        return f"folder:{self.folder},start:{self.start}"

    @property
    def can(self) -> frozenset[Can]:
        return frozenset({Can.READ_ROWS, Can.LIST_TABLES})

    @property
    def takes_snapshot(self) -> bool:
        return self.start == SNAPSHOT

    @property
    def joining(self) -> "MemoryDescription":
        return MemoryDescription(folder=self.folder, joins=True)

    def in_use(self, reader: str) -> SyncError:
        raise AssertionError(reader)

    def check_channel(self, channel: ChannelDescription) -> None:
        """All values are exact."""

    def caveats(self, channel: ChannelDescription) -> tuple[Caveat, ...]:
        return ()

    def properties(self) -> dict[str, str]:
        return {"type": "memory", "memory.folder": self.folder, "start": self.start}

    def altered(self, changed: Mapping[str, str]) -> "MemoryDescription":
        refuse_fixed(changed, PROPERTIES, ["memory.folder"])
        return described(self.properties() | changed)

    def facts(self) -> dict[str, Any]:
        return asdict(self)


def described(properties: Mapping[str, str]) -> MemoryDescription:
    values = filled(properties, PROPERTIES, BINLOG)
    return MemoryDescription(folder=values["memory.folder"], start=values["start"])
