"""What a worker and the frontend say to each other over their pipe.

Owns: the message types. All frozen and picklable.
Must not know: processes, pipes, threads.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from syncmgr.errors import SyncError
from syncmgr.job.channel.description import ChannelDescription, Listed, Reshaped, Shadow
from syncmgr.job.channel.patterns import Pattern
from syncmgr.job.ddl.following.ddl_statement import DdlStatement, Rules
from syncmgr.job.ddl_policy import Action, Kind
from syncmgr.job.epoch import Epoch, Prepared, Thresholds
from syncmgr.job.job_properties import AppendOnChange, OnValueError
from syncmgr.job.position import Position
from syncmgr.job.rows.dead_letter import NO_DEAD_LETTERS, DeadLetterBounds
from syncmgr.job.rows.value_error import ValueRules, rules_of
from syncmgr.job.types.schema import SourceTable


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerChannel:
    """What a worker needs of a channel. `source_keys` empty: rows are only appended. `after`: changes up to there are
    skipped, None: none. `complete`: no column of the source may be left out. The rest: as the description's.
    """

    token: str
    source: SourceTable
    reads: tuple[str, ...]
    source_keys: tuple[str, ...]
    append_on_change: AppendOnChange
    places: tuple[Listed, ...] = ()
    shadows: tuple[Shadow, ...] = ()
    values: ValueRules = ValueRules(policy=OnValueError.STOP)  # noqa: RUF009 - frozen
    after: Position | None = None
    known_at: Position | None = None
    complete: bool = False
    nameless: bool = False
    gone: bool = False
    reshaped: Reshaped = Reshaped()  # noqa: RUF009 - the same

    @classmethod
    def of(cls, channel: ChannelDescription, rules: Rules, after: Position | None) -> Self:
        return cls(
            token=channel.token,
            source=channel.source,
            reads=channel.reads,
            source_keys=channel.source_keys,
            append_on_change=rules.append_on_change,
            places=channel.places,
            shadows=channel.history.shadows,
            values=rules_of(channel, rules.describe, rules.on_value_error, rules.append_on_change),
            after=after,
            known_at=channel.history.known_at,
            complete=channel.takes_new_columns and rules.deed(Kind.ADD_COLUMN) is not Action.KEEP,
            nameless=channel.history.nameless,
            gone=channel.history.source_dropped,
            reshaped=channel.history.reshaped,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Thresholds and bounds of one job, in force at once."""

    thresholds: Thresholds
    position_interval_second: float
    max_staged_bytes: int
    queue_batches: int
    queue_bytes: int
    dead_letters: DeadLetterBounds = NO_DEAD_LETTERS


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerPlan:
    """Where a worker begins and what it stages. `folder`: its own, absolute; named after the worker's incarnation.

    `prepared`: by xid, the XA transactions that are open at `start`. `families`: tables that join when they are
    created.
    `asked_until`: the second of the newest Asked that was Kept; 0: none.
    """

    job_id: int
    start: Position
    first_epoch: int
    last_seq: int
    channels: tuple[WorkerChannel, ...]
    limits: Limits
    folder: str
    prepared: Mapping[str, Prepared] = field(default_factory=dict)
    families: tuple[Pattern, ...] = ()
    asked_until: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Staged:
    """An epoch is closed and durable. At most one open epoch is staged after it until it is Committed."""

    epoch: Epoch


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far reading is. `heard_at`: unix time of the last sign of life of the source, including heartbeats.

    `caught_up_at`: source time at which the source had nothing beyond what was read, 0.0 if unknown. `read_time`:
    source time of the newest event that was read, 0.0 if unknown.
    `drained`: everything that was read is in epochs that were sent, `sent`: the number of the last. `full`: reading
    waits for commits. `open_since`: source time of the oldest row that is staged and not yet sent, None if there is
    none, or it is not known. `server`: `host:port` of the server that is read now, "" if none is.
    """

    rows: int
    bytes: int
    heard_at: float
    caught_up_at: float
    read_time: float
    drained: bool
    sent: int
    full: bool
    open_since: float | None
    server: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaLearned:
    """The first rows of a channel have shown the source's columns, or a statement before them has changed some. Sent
    before the epoch that holds them.
    """

    token: str
    learned: SourceTable | Reshaped


@dataclass(frozen=True, kw_only=True, slots=True)
class Nameless:
    """The channels whose rows arrived without column names, and which have not been compared since. Sent before an
    epoch that holds such rows.
    """

    tokens: frozenset[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class UnloggedTables:
    """Tables of the families that are not read, and of which rows or an ALTER came: no statement that was read has
    created them.
    """

    tables: frozenset[tuple[str, str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class DdlMet:
    """A DDL statement that concerns channels, after all epochs sent. The worker waits for Altered.

    `epoch`: that of the statement alone; it ends after it. `table`: one that it concerns.
    """

    epoch: Epoch
    statement: DdlStatement
    table: tuple[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """The source has answered, in this second of its clock, about objects that are not read; the worker waits for Kept
    before it uses the answer.
    """

    second: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceTrouble:
    """A transient error that the worker retries; None: it has passed."""

    error: SyncError | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed:
    """The worker cannot go on and ends."""

    error: SyncError


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """The worker ended as requested; whatever it staged has been sent."""


FromWorker = (
    Staged | SchemaLearned | Nameless | UnloggedTables | DdlMet | Asked | Progress | SourceTrouble | Failed | Finished
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Committed:
    """An epoch is in the lake: its end can be acked."""

    number: int
    end: Position


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelsAltered:
    """The epoch of a DDL statement is in the lake; after it the channels are these."""

    channels: tuple[WorkerChannel, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """The second of the oldest unanswered Asked is stored so that it survives the worker and the frontend."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Retune:
    """Limits were changed while the job runs."""

    limits: Limits


@dataclass(frozen=True, kw_only=True, slots=True)
class Finish:
    """Stop reading; stage what is whole, drop the rest, and end."""


ToWorker = Committed | ChannelsAltered | Kept | Retune | Finish
