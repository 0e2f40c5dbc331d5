"""Tables that cannot be read on, while the others of their job can.

Owns: which error stops one table alone, and what an operator can do about it.
Must not know: who reads, what is staged, how a table comes back.
"""

from collections.abc import Sequence
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.description import ChannelDescription
from syncmgr.job.policy import OnDdlStop

OF_ONE_TABLE: Final = frozenset(  # if they name it
    {Code.SOURCE_ROW_IMAGE, Code.SOURCE_SCHEMA, Code.SOURCE_UNSUPPORTED, Code.SOURCE_VALUE}
)
RESYNC: Final = "ALTER SYNC JOB ... RESYNC TABLE brings it back, with the columns that it has by then"
SETTLE: Final = "settle it with ALTER SYNC JOB ... RESYNC TABLE, SKIP DDL or APPLY DDL 'statement', and RESUME"
RESUME: Final = "ALTER SYNC JOB ... RESYNC TABLE, and RESUME"
ANEW: Final = "bring the target in line by STOP SYNC JOB, DROP TABLE, CREATE TABLE and CREATE SYNC"


def stopped_by(
    error: SyncError, channels: Sequence[ChannelDescription], on_ddl: OnDdlStop
) -> ChannelDescription | None:
    """The channel that an error concerns, where others are left to go on."""
    stops = error.code in OF_ONE_TABLE or (error.code is Code.SOURCE_DDL and on_ddl is OnDdlStop.TABLE)
    if not stops:
        return None
    read = [channel for channel in channels if channel.is_read]
    found = [channel for channel in read if channel.source.label == error.context.get("table")]
    return found[0] if found and len(read) > 1 else None


def advised(error: SyncError, *, alone: bool, has_rows: bool) -> SyncError:
    """With the way out. `alone`: it stops a table alone; `has_rows`: the source can be asked for rows."""
    if error.code not in {Code.SOURCE_DDL, Code.SOURCE_SCHEMA}:
        return error
    job = SETTLE if error.code is Code.SOURCE_DDL else RESUME
    way = ANEW if not has_rows else RESYNC if alone else job
    return SyncError(error.code, **(error.context | {"reason": f"{error.context['reason']}; {way}"}))


def standstill(channels: Sequence[ChannelDescription]) -> SyncError | None:
    """What Msg says of tables that are not read any more."""
    found = next((channel for channel in channels if channel.stopped), None)
    return None if found is None else SyncError(Code.TABLE_STOPPED, table=found.source.label, reason=found.stopped)
