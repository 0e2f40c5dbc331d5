"""Tables that cannot be read further, while the others of their job can.

Owns: which table an error stops alone, and what an operator can do about it.
Must not know: who reads, what is staged, how a table is restored.
"""

from collections.abc import Sequence
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.errors.concern import Phase, is_of_one_table
from syncmgr.job.advice.treatment import JobKind
from syncmgr.job.channel.channel_state import Stop
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl_policy import OnDdlStop
from syncmgr.job.failure import advice

NAMED: Final = 5  # tables that Msg names; the others are in Status
PASSED_WHOLE: Final = frozenset(  # of those that pause a job: reading on takes all rows of a table, as of a later place
    {Code.SOURCE_NOT_ROW, Code.SOURCE_ROW_IMAGE, Code.SOURCE_SCHEMA}
)
RESYNC: Final = "ALTER SYNC JOB ... RESYNC TABLE brings it back, with the columns that it has by then"
SETTLE: Final = "settle it with ALTER SYNC JOB ... RESYNC TABLE, SKIP DDL or APPLY DDL 'statement', and RESUME"
RESUME: Final = "ALTER SYNC JOB ... RESYNC TABLE, and RESUME"
ANEW: Final = "a job on canal cannot go past it; the advice in Status says how to start again"
UNRENEWABLE: Final = "unrenewable"  # what an error carries besides its text: why RESYNC does not restore the table
REFUSED: Final = "RESYNC TABLE does not bring it back ({why}): {way}"
JOB_ANEW: Final = "STOP the job, create the target again, and create the job again"


def concerned(error: SyncError, channels: Sequence[ChannelDescription]) -> list[ChannelDescription]:
    """The channels that are read, and whose table an error names."""
    return [each for each in channels if each.history.is_read and each.source.label == error.context.get("table")]


def stopped_by(
    error: SyncError, channels: Sequence[ChannelDescription], on_ddl: OnDdlStop
) -> ChannelDescription | None:
    """The channel whose table an error names, if it concerns that one alone and other channels remain that go on."""
    if not is_of_one_table(error.code, Phase.READ) or (error.code is Code.SOURCE_DDL and on_ddl is OnDdlStop.JOB):
        return None
    found = concerned(error, channels)
    return found[0] if found and sum(channel.history.is_read for channel in channels) > 1 else None


def needs_all_rows(number: int | None) -> bool:
    """Whether a job that this error has paused meets it again if only a part of a table is read again."""
    return any(code.number == number for code in PASSED_WHOLE)


def made_anew(kind: JobKind) -> str:
    """What restores a table whose columns the target cannot take."""
    if kind.shares or not kind.has_others:
        return JOB_ANEW
    resumed = "" if kind.runs else ", and RESUME"
    return (
        f"ALTER SYNC JOB ... DROP TABLE it{resumed}; once no row of it in information_schema.sync_channels has a "
        "STATE, recreate the target, and ALTER SYNC JOB ... ADD TABLE it"
    )


def advised(error: SyncError, kind: JobKind) -> SyncError:
    """With the way out. `kind`: of the job, which goes on if the error stops one table alone."""
    if error.code is Code.BACKLOG_STUCK:
        return _by_its_cause(error, kind)
    if error.code not in {Code.SOURCE_DDL, Code.SOURCE_SCHEMA}:
        return error
    way, refused = _way(error, kind), error.context.get(UNRENEWABLE)
    if refused is not None and kind.has_rows:
        way = REFUSED.format(why=refused, way=made_anew(kind))
    return SyncError(error.code, **(error.context | {"reason": f"{error.context['reason']}; {way}"}))


def _by_its_cause(error: SyncError, kind: JobKind) -> SyncError:
    """The cure of the cause is included: nothing else shows it while the job is paused."""
    cause = error.context["reason"]
    way = advice(cause.code.number, kind) if isinstance(cause, SyncError) else None
    return error if way is None else SyncError(error.code, **(error.context | {"reason": f"{cause}; {way}"}))


def _way(error: SyncError, kind: JobKind) -> str:
    """The way out if RESYNC restores the table."""
    if not kind.has_rows:
        return ANEW
    if kind.runs:
        return RESYNC
    return SETTLE if error.code is Code.SOURCE_DDL else RESUME


def stop_of(error: SyncError, *, since: float, synced_until: float | None) -> Stop:
    """What is remembered of a table that an error stops; times as Stop has them."""
    return Stop(reason=str(error), error=error.code.number, since=since, synced_until=synced_until)


def standstill(channels: Sequence[ChannelDescription]) -> SyncError | None:
    """What Msg says of tables that are no longer read."""
    stops = ((channel.source.label, channel.history.stopped) for channel in channels)
    found = [(label, stop) for label, stop in stops if stop is not None]
    if not found:
        return None
    (table, stop), *others = found
    if not others:
        return SyncError(Code.TABLE_STOPPED, table=table, reason=stop.reason)
    named = ", ".join(f"'{label}'" for label, _ in found[:NAMED])
    left = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return SyncError(Code.TABLES_STOPPED, count=len(found), tables=named + left, table=table, reason=stop.reason)
