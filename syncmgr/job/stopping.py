"""Tables that cannot be read on, while the others of their job can.

Owns: which error stops one table alone.
Must not know: who reads, what is staged, how a table comes back.
"""

from collections.abc import Sequence
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.description import ChannelDescription

OF_ONE_TABLE: Final = frozenset({Code.SOURCE_ROW_IMAGE, Code.SOURCE_SCHEMA, Code.SOURCE_UNSUPPORTED})  # if they name it
UNREAD: Final = "unread"  # in the context of SOURCE_DDL: nobody knows what the statement says


def stopped_by(error: SyncError, channels: Sequence[ChannelDescription]) -> ChannelDescription | None:
    """The channel that an error concerns, where others are left to go on."""
    if error.code not in OF_ONE_TABLE and not error.context.get(UNREAD):
        return None
    read = [channel for channel in channels if channel.is_read]
    found = [channel for channel in read if channel.source.label == error.context.get("table")]
    return found[0] if found and len(read) > 1 else None


def standstill(channels: Sequence[ChannelDescription]) -> SyncError | None:
    """What Msg says of tables that are not read any more."""
    found = next((channel for channel in channels if channel.stopped), None)
    return None if found is None else SyncError(Code.TABLE_STOPPED, table=found.source.label, reason=found.stopped)
