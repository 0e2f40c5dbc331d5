"""A DDL statement in the binlog, and what a job says of such statements.

Owns: what is known of its session and its server; the words of one that is not followed.
Must not know: channels, what a statement says.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from mysqlddl.nodes import Table
from mysqlddl.reading import Modes
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.default_value import Moment
from syncmgr.job.ddl.stopped_table import UNRENEWABLE
from syncmgr.job.ddl_policy import RULES, Action, Kind, OnDdl, OnDdlStop
from syncmgr.job.job_properties import AppendOnChange, OnValueError
from syncmgr.job.types.schema import SourceTable, TargetTable

SHOWN_STATEMENT: Final = 500
DOUBTFUL: Final = (
    "its session has used temporary tables, and may have made one of this name before the job was connected, so that it"
    " may be about that one; SKIP DDL if it was, APPLY DDL with its text if it was about the synced table, or RESYNC"
    " TABLE, which reads that as it is"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class DdlStatement:
    """A statement in the binlog, with the session state that it depends on. `db`: the one in use.

    `seen`: tables as the rows before it described them. `unknown`: those whose stored schema is of a later place.
    `logs_cascades`: whether rows that a foreign key changes have events on that server. `own`: temporary tables of its
    session, which hide others of the same names. `doubtful`: it may be about one whose creation was not seen.
    """

    text: str
    db: str
    modes: Modes
    moment: Moment
    seen: Mapping[Table, SourceTable] = field(default_factory=dict)
    unknown: frozenset[Table] = frozenset()
    logs_cascades: bool = False
    own: frozenset[Table] = frozenset()
    doubtful: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """What a job specifies about DDL, its targets, and values that do not fit them (None: nothing).

    `describe` returns a target table. `forced`: nothing stops. `deeds`: what applies to one kind whatever the policy.
    `stop`: what a statement stops. `unlogged`: what foreign keys change may be missed.
    `held`: the tables under which channels are known that a statement does not reach, since they are stopped.
    `unrenewable`: why RESYNC would refuse to load a table with those columns into that target; None: it would not.
    """

    policy: OnDdl
    append_on_change: AppendOnChange
    describe: Callable[[ChannelDescription], TargetTable]
    forced: bool = False
    deeds: Mapping[Kind, Action] = field(default_factory=dict)
    stop: OnDdlStop = OnDdlStop.TABLE
    unlogged: bool = False
    on_value_error: OnValueError | None = None
    held: frozenset[Table] = frozenset()
    unrenewable: Callable[[ChannelDescription, SourceTable, TargetTable], str | None] = lambda *_: None

    def deed(self, kind: Kind) -> Action:
        """What is done with DDL of that kind."""
        return self.deeds.get(kind, RULES[kind][self.policy])

    @property
    def keeps_out(self) -> bool:
        """Whether rows that a target cannot hold are missing there."""
        return self.on_value_error is OnValueError.DEAD_LETTER


def not_followed(table: Table, reason: str, statement: str, unrenewable: str | None = None) -> SyncError:
    """The error of a statement that stops its table or its job. `unrenewable`: why RESYNC does not restore it."""
    facts = {} if unrenewable is None else {UNRENEWABLE: unrenewable}
    return SyncError(Code.SOURCE_DDL, table=".".join(table), reason=reason, statement=shown(statement), **facts)


def shown(statement: str) -> str:
    """Long ones are truncated."""
    return statement if len(statement) <= SHOWN_STATEMENT else statement[:SHOWN_STATEMENT] + "..."
