"""Tables whose snapshot fails alone.

Owns: that the others go on.
Must not know: which error concerns one table, what is read, when it is retried.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from syncmgr.errors import SyncError
from syncmgr.errors.concern import Phase, is_of_one_table
from syncmgr.job.channel.description import ChannelDescription

log = logging.getLogger(__name__)


@contextmanager
def isolated(channel: ChannelDescription, failed: dict[str, SyncError]) -> Iterator[None]:
    """An error that concerns only one table is noted, and the others go on."""
    try:
        yield
    except SyncError as error:
        if not is_of_one_table(error.code, Phase.COPY):
            raise
        log.warning("the snapshot of %s fails alone: %s", channel.source.label, error)
        failed.setdefault(channel.token, error)
