"""Tables whose snapshot fails alone.

Owns: which error concerns one table.
Must not know: what is read, when it is retried.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription

# They concern one table: the others go on without it.
OF_ONE_TABLE: Final = frozenset(
    {
        Code.SNAPSHOT_BROKEN,
        Code.SNAPSHOT_WAITS,
        Code.SNAPSHOT_REFUSED,
        Code.SOURCE_VALUE,
        Code.TARGET_REPLACED,
        Code.TARGET_SET_BACK,
        Code.TABLE_BROKEN,
        Code.WRITES_LOST,
        Code.NO_SUCH_TABLE,
        Code.UNKNOWN_COLUMN,
        Code.COLUMN_REPLACED,
        Code.FOREIGN_CHANGE,
        Code.COLUMN_NOT_COVERED,
        Code.BAD_EXPRESSION,
        Code.TYPE_DOES_NOT_FIT,
    }
)

log = logging.getLogger(__name__)


@contextmanager
def isolated(channel: ChannelDescription, failed: dict[str, SyncError]) -> Iterator[None]:
    """An error that concerns only one table is noted, and the others go on."""
    try:
        yield
    except SyncError as error:
        if error.code not in OF_ONE_TABLE:
            raise
        log.warning("the snapshot of %s fails alone: %s", channel.source.label, error)
        failed.setdefault(channel.token, error)
