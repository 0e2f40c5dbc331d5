"""What a snapshot needs from the ledger, and its options.

Owns: the interface of the ledger to a snapshot, and the options of one.
Must not know: metadata, SQL, who implements it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.epoch import ChannelCommitted, Epoch
from syncmgr.job.job_properties import OnValueError
from syncmgr.job.position import Position
from syncmgr.job.rows.dead_letter import DeadLetterBounds
from syncmgr.job.rows.value_error import ValueRules
from syncmgr.job.snapshot.chunk import ChunkPlan, Load
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.pipeline.committer import Progressed


class SnapshotLedger(Protocol):
    """What a snapshot stores, for one job."""

    def loads(self) -> Mapping[str, Load]: ...
    def begin_loads(self, excerpts: Mapping[str, KeyRange | None]) -> None: ...
    def plan_load(self, token: str, plan: ChunkPlan) -> None: ...
    def add_chunk(self, token: str, number: int, committed: ChannelCommitted) -> None: ...
    def end_loads(self, tokens: Collection[str], upper: Position) -> None: ...
    def catch_up(self, tokens: Collection[str]) -> None: ...
    def progress(self) -> Mapping[str, Progressed]: ...
    def last_epoch(self) -> Epoch | None: ...
    def intents(self) -> Sequence[Epoch]: ...
    def backlog(self) -> Sequence[Epoch]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SnapshotOptions:
    """What a snapshot needs to know of its job, now. `folder`: the job's own staging folder. `connections`: how many
    chunks may be read at a time.

    `rows_per_second`: of the whole job; 0: unlimited. `retry_most`: the longest wait, in seconds, before a table that
    failed alone is retried. `values`: what happens to those that do not fit.
    """

    channels: tuple[ChannelDescription, ...]
    folder: Path
    connections: Callable[[], int]
    chunk_rows: Callable[[], int]
    rows_per_second: Callable[[], int]
    retry_most: Callable[[], float]
    values: Callable[[ChannelDescription], ValueRules] = lambda _: ValueRules(policy=OnValueError.STOP)
    dead_letters: Callable[[], DeadLetterBounds] = DeadLetterBounds
