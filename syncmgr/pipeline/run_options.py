"""What a run of a job is given.

Owns: its options, its listeners, the plan of its workers.
Must not know: what a run does with them.
"""

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from syncmgr.errors import SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.channel.patterns import Pattern
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.ddl.ddl_plan import JoinOutcome
from syncmgr.job.ddl.following.ddl_statement import Rules
from syncmgr.job.epoch import Epoch
from syncmgr.job.failure import FailType
from syncmgr.job.position import Position
from syncmgr.pipeline.messages import Limits, WorkerChannel, WorkerPlan
from syncmgr.pipeline.witness import Witness


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOptions:
    """What a run needs to know of its job. `folder`: the job's own staging folder.

    `finish_second`: a worker that was asked to finish and has not ended by then is killed; what it staged and did not
    send is read again. `families`: those whose new tables join the job. `synced_until`: the stored source time up to
    which the lake is complete, unix seconds, 0.0: none. `leaves_out`: a table that cannot be read further stops alone,
    since it can be restored.
    """

    job_id: int
    name: str
    channels: tuple[ChannelDescription, ...]
    rules: Rules
    folder: Path
    limits: Callable[[], Limits]
    retry: Callable[[], Retry]
    max_backlog_bytes: Callable[[], int]
    finish_second: Callable[[], float]
    families: tuple[Pattern, ...] = ()
    leaves_out: bool = False
    synced_until: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Listeners:
    """The listeners of a run. All are called from the run's own threads."""

    on_trouble: Callable[[SyncError | None], None]  # a transient error is being retried; None: it has passed
    on_end: Callable[[SyncError | None, FailType], None]  # the last call; None: it ended as requested
    # New tables, and the place after their statement: why each does not join, None: it does, and the run is asked to #
    # finish. None for all: not decided; the run ends, and the next one reports them again.
    on_arrival: Callable[[Sequence[Table], Position], Mapping[Table, JoinOutcome] | None] = lambda *_: {}
    # Tables of the families of which something came though no statement has created them. Returns at once.
    on_unlogged_tables: Callable[[Collection[Table]], None] = lambda _: None
    # Of the keys that are committed.
    witness: Witness = field(default_factory=Witness)


def worker_plan(options: RunOptions, last: Epoch, channels: tuple[WorkerChannel, ...], asked_until: int) -> WorkerPlan:
    """Of a worker that goes on after the last epoch, in a folder of its own."""
    return WorkerPlan(
        job_id=options.job_id,
        start=last.end,
        first_epoch=last.number + 1,
        last_seq=last.last_seq,
        channels=channels,
        limits=options.limits(),
        folder=str(options.folder / uuid.uuid4().hex),
        prepared=last.prepared,
        families=options.families,
        asked_until=asked_until,
    )
