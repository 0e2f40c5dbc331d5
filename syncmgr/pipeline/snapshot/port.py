"""What a snapshot asks of the source, the lake and the ledger, and what it is given."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from syncmgr.job.channel.description import ChannelDescription, OnValueError
from syncmgr.job.epoch import ChannelCommitted, Epoch
from syncmgr.job.position import Position
from syncmgr.job.rows.value_error import ValueRules
from syncmgr.job.snapshot.chunk import ChunkPlan, ChunkRows, Load
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.job.source import MysqlDescription
from syncmgr.job.types.schema import SourceTable
from syncmgr.pipeline.committer import Lake as CommittingLake
from syncmgr.pipeline.committer import Progressed


class Point(Protocol):
    """The hand-shake with the reading of a table without a key."""

    def find(self, ended: Callable[[], bool]) -> Position | None:
        """Where the reading stands in the binlog; None: it `ended` before it read."""

    def release(self) -> None:
        """The rows may be read."""


class Lake(CommittingLake, Protocol):
    """Commits chunks, too."""

    def check_chunks(self, db: str, table: str, plan: ChunkPlan) -> None:
        """Raises TARGET_REPLACED where somebody has rolled the table back since one of its chunks was committed."""

    def give_up(self, chunk: ChunkRows) -> None:
        """Its commit ends with INTERRUPTED, unless it is in the lake."""


class Source(Protocol):
    """What a snapshot asks the server beside the rows."""

    def give_up(self) -> None: ...
    def settle(self, start: Position) -> tuple[str, int]: ...
    def await_seen(self, table: SourceTable, start: Position) -> None: ...
    def plan(self, table: SourceTable, key: Sequence[str], wanted_rows: int, where: str = "") -> ChunkPlan: ...
    def end(self) -> Position: ...
    def exact(self, table: SourceTable, name: str, known: Collection[str]) -> AbstractContextManager[Point]: ...
    def check_same(self, tables: Sequence[tuple[SourceTable, Sequence[str]]]) -> None: ...
    def check_held(self, start: Position) -> float | None: ...


class Ledger(Protocol):
    """What a snapshot writes down, for one job."""

    def loads(self) -> Mapping[str, Load]: ...
    def begin_loads(self, excerpts: Mapping[str, KeyRange | None]) -> None: ...
    def plan_load(self, token: str, plan: ChunkPlan) -> None: ...
    def add_chunk(self, token: str, number: int, committed: ChannelCommitted) -> None: ...
    def end_loads(self, tokens: Collection[str], upper: Position) -> None: ...
    def catch_up(self, tokens: Collection[str]) -> None: ...
    def progress(self) -> Mapping[str, Progressed]: ...
    def last_epoch(self) -> Epoch | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SnapshotOptions:
    """What a snapshot needs to know of its job, now. `connections`: how many chunks may be read at a time.

    `rows_per_second`: of the whole job; 0: as fast as it goes. `retry_most`: the longest wait, in seconds, before a
    table that failed alone is tried again. `values`: what becomes of those that do not fit.
    """

    description: MysqlDescription
    channels: tuple[ChannelDescription, ...]
    connect_timeout: float
    connections: Callable[[], int]
    chunk_rows: Callable[[], int]
    rows_per_second: Callable[[], int]
    retry_most: Callable[[], float]
    values: Callable[[ChannelDescription], ValueRules] = lambda _: ValueRules(policy=OnValueError.STOP)
    max_dead_letters: Callable[[], int] = lambda: 0
