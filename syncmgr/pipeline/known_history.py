"""The lake as one job commits to it: who has written an epoch that is newer than the one at hand.

Owns: telling metadata that are older than the lake from a frontend that has taken over.
Must not know: what a table bears, how an epoch is stored.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from syncmgr.errors import Code, SyncError
from syncmgr.job.chunk import ChunkPlan, ChunkRows
from syncmgr.job.epoch import ChannelAlter, ChannelCommit, ChannelCommitted, Epoch
from syncmgr.pipeline.snapshot import Lake


class Ledger(Protocol):
    """The memory of the job's epochs, as it is now."""

    def last_epoch(self) -> Epoch | None:
        """The newest, committed or intended."""


class KnownHistory:
    """Of one job. A frontend that has taken over has written into the same metadata what the table bears; where nothing
    of that is in them, they are from before it.
    """

    def __init__(self, lake: Lake, ledger: Ledger) -> None:
        self._lake, self._ledger = lake, ledger

    def check_whole(self, db: str, table: str) -> None:
        self._lake.check_whole(db, table)

    def commit(self, commit: ChannelCommit) -> ChannelCommitted:
        with self._told_apart(f"{commit.db}.{commit.table}"):
            return self._lake.commit(commit)

    def check_chunks(self, db: str, table: str, plan: ChunkPlan) -> None:
        self._lake.check_chunks(db, table, plan)

    def give_up(self, chunk: ChunkRows) -> None:
        self._lake.give_up(chunk)

    def alter(self, alter: ChannelAlter) -> ChannelCommitted:
        with self._told_apart(f"{alter.db}.{alter.table}"):
            return self._lake.alter(alter)

    @contextmanager
    def _told_apart(self, table: str) -> Iterator[None]:
        try:
            yield
        except SyncError as error:
            found = error.context.get("found")
            if error.code is not Code.FENCED or not isinstance(found, int) or found <= self._newest():
                raise
            raise SyncError(Code.OTHER_HISTORY, table=table, epoch=found) from error

    def _newest(self) -> int:
        newest = self._ledger.last_epoch()
        return 0 if newest is None else newest.number
