"""What a statement requests, and the resulting plan.

Owns: the values that pass between the parts of planning, and the ports that these use.
Must not know: how a plan is made.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.channel.patterns import Found
from syncmgr.job.job_properties import WithoutKey
from syncmgr.job.snapshot.handshake import Locked, never
from syncmgr.job.source import SourceDescription
from syncmgr.job.types.schema import SourceTable, TargetTable
from syncmgr.sources.port import Inspected
from syncsql import Channel, Shards, Tables

Table = tuple[str, str]
KeyedTable = tuple[SourceTable, tuple[tuple[str, ...], ...]]  # with its unique keys


class PlannedTargets(Protocol):
    """The tables of the lake."""

    def databases(self) -> list[str]: ...
    def tables(self, db: str) -> list[str]: ...
    def table(self, db: str, name: str) -> TargetTable: ...


class Inspect(Protocol):
    """Queries the source."""

    def __call__(self, source: SourceDescription, tables: Sequence[Table], locked: Locked = never, /) -> Inspected: ...


CheckExact = Callable[[SourceDescription, Sequence[SourceTable]], None]
Survey = Callable[[SourceDescription, Sequence[str]], Mapping[Table, Found]]


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncRequest:
    """What a statement requests, and how its job is to handle it. `chunk_rows`: of a snapshot.

    `checked`: each value will be checked, so a target may be narrower than its source. `shared`: targets that already
    have shards of the same job.
    """

    db: str
    channels: tuple[Channel | Tables | Shards, ...]
    source: SourceDescription
    without_key: WithoutKey
    chunk_rows: int
    checked: bool = False
    shared: frozenset[Table] = frozenset()

    @property
    def takes_snapshot(self) -> bool:
        return self.source.takes_snapshot


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """`made`: targets that do not exist yet; with the uuid of a spare one that does. `has_grown`: there may be more
    tables that match.
    """

    channels: tuple[ChannelDescription, ...]
    inspected: Inspected
    made: tuple[TargetTable, ...]
    takes_snapshot: bool = False
    has_grown: bool = False

    @property
    def loading(self) -> frozenset[str]:
        """Tokens of the channels whose rows come by a snapshot first."""
        return frozenset(channel.token for channel in self.channels) if self.takes_snapshot else frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedChannel:
    """A channel of the statement; `target` None: it is to be created, as `found` says, instead of `spare`.

    `shards`: the clause by which tables of other databases go into the target, too.
    """

    node: Channel
    target: TargetTable | None
    found: Found | None = None
    shards: Shards | None = None
    spare: TargetTable | None = None

    @property
    def table(self) -> Table:
        return str(self.node.source.db), self.node.source.name

    @property
    def written(self) -> Channel | Shards:
        return self.shards or self.node
