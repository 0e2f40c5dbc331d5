"""Tables that cannot be read on, while the others of their job can.

Owns: which error stops one table alone, and what an operator can do about it.
Must not know: who reads, what is staged, how a table comes back.
"""

from collections.abc import Sequence
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_state import Stop
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl_policy import OnDdlStop

OF_ONE_TABLE: Final = frozenset(  # if they name it
    {Code.SOURCE_ROW_IMAGE, Code.SOURCE_SCHEMA, Code.SOURCE_UNSUPPORTED, Code.SOURCE_VALUE}
)
NAMED: Final = 5  # tables that Msg names; the others are in Status
PASSED_WHOLE: Final = frozenset(  # of those that pause a job: reading on needs all rows of a table, as of a later place
    {Code.SOURCE_NOT_ROW, Code.SOURCE_ROW_IMAGE, Code.SOURCE_SCHEMA}
)
RESYNC: Final = "ALTER SYNC JOB ... RESYNC TABLE brings it back, with the columns that it has by then"
SETTLE: Final = "settle it with ALTER SYNC JOB ... RESYNC TABLE, SKIP DDL or APPLY DDL 'statement', and RESUME"
RESUME: Final = "ALTER SYNC JOB ... RESYNC TABLE, and RESUME"
ANEW: Final = "a job on canal cannot go past it; the advice in Status says how to begin anew"


def concerned(error: SyncError, channels: Sequence[ChannelDescription]) -> list[ChannelDescription]:
    """The channels that are read, and whose table an error names."""
    return [each for each in channels if each.is_read and each.source.label == error.context.get("table")]


def stopped_by(
    error: SyncError, channels: Sequence[ChannelDescription], on_ddl: OnDdlStop
) -> ChannelDescription | None:
    """The channel that an error concerns, where others are left to go on."""
    stops = error.code in OF_ONE_TABLE or (error.code is Code.SOURCE_DDL and on_ddl is OnDdlStop.TABLE)
    if not stops:
        return None
    found = concerned(error, channels)
    return found[0] if found and sum(channel.is_read for channel in channels) > 1 else None


def needs_all_rows(number: int | None) -> bool:
    """Whether a job that this error has paused meets it again where a table is read anew in part."""
    return any(code.number == number for code in PASSED_WHOLE)


def advised(error: SyncError, *, alone: bool, has_rows: bool) -> SyncError:
    """With the way out. `alone`: it stops a table alone; `has_rows`: the source can be asked for rows."""
    if error.code not in {Code.SOURCE_DDL, Code.SOURCE_SCHEMA}:
        return error
    job = SETTLE if error.code is Code.SOURCE_DDL else RESUME
    way = ANEW if not has_rows else RESYNC if alone else job
    return SyncError(error.code, **(error.context | {"reason": f"{error.context['reason']}; {way}"}))


def stop_of(error: SyncError, *, since: float, synced_until: float | None) -> Stop:
    """What is remembered of a table that an error stops; times as Stop has them."""
    return Stop(reason=str(error), error=error.code.number, since=since, synced_until=synced_until)


def standstill(channels: Sequence[ChannelDescription]) -> SyncError | None:
    """What Msg says of tables that are not read any more."""
    found = [(channel.source.label, channel.stopped) for channel in channels if channel.stopped is not None]
    if not found:
        return None
    (table, stop), *others = found
    if not others:
        return SyncError(Code.TABLE_STOPPED, table=table, reason=stop.reason)
    named = ", ".join(f"'{label}'" for label, _ in found[:NAMED])
    left = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return SyncError(Code.TABLES_STOPPED, count=len(found), tables=named + left, table=table, reason=stop.reason)
