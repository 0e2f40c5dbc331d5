"""The lake as one job commits to it: who has written an epoch that is newer than the present one.

Owns: distinguishing metadata that are older than the lake from a frontend that has taken over.
Must not know: how a table is marked, how an epoch is stored.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from syncmgr.errors import Code, SyncError
from syncmgr.job.epoch import ChannelAlter, ChannelCommit, ChannelCommitted, Epoch, LastCommit
from syncmgr.job.snapshot.chunk import ChunkPlan
from syncmgr.job.snapshot.chunk_rows import ChunkRows
from syncmgr.lake.port import Chunks


class Progressed(Protocol):
    """How far a channel's table is."""

    @property
    def last(self) -> LastCommit: ...


class Waiting(Protocol):
    """The epochs of a job that are to be committed."""

    def intents(self) -> Sequence[Epoch]: ...
    def backlog(self) -> Sequence[Epoch]: ...


class KnownEpochs(Waiting, Protocol):
    """The memory of the job's epochs, as it is now."""

    def progress(self) -> Mapping[str, Progressed]:
        """By channel token."""


class KnownHistory:
    """Of one job. A frontend that has taken over has written the table's epoch into the same metadata; if it is not in
    them, they are older than it.
    """

    def __init__(self, lake: Chunks, ledger: KnownEpochs) -> None:
        self._lake, self._ledger = lake, ledger

    def check_integrity(self, db: str, table: str, *, replaced: bool = False) -> None:
        self._lake.check_integrity(db, table, replaced=replaced)

    def commit(self, commit: ChannelCommit) -> ChannelCommitted:
        with self._with_known_outcome(commit):
            return self._lake.commit(commit)

    def check_chunks(self, db: str, table: str, plan: ChunkPlan) -> None:
        self._lake.check_chunks(db, table, plan)

    def give_up(self, chunk: ChunkRows) -> None:
        self._lake.give_up(chunk)

    def alter(self, alter: ChannelAlter) -> ChannelCommitted:
        with self._with_known_outcome(alter):
            return self._lake.alter(alter)

    @contextmanager
    def _with_known_outcome(self, commit: ChannelCommit | ChannelAlter) -> Iterator[None]:
        try:
            yield
        except SyncError as error:
            found = error.context.get("found")
            if error.code is not Code.FENCED or not isinstance(found, int) or self._knows(commit.token, found):
                raise
            raise SyncError(Code.OTHER_HISTORY, table=f"{commit.db}.{commit.table}", epoch=found) from error

    def _knows(self, token: str, epoch: int) -> bool:
        """Whether a channel has committed an epoch, or is about to: it commits what waits for it one after the other,
        and stores each. A table that is marked with one after the first waiting one has it from later metadata.
        """
        stored = self._ledger.progress()[token].last.epoch
        return epoch <= stored or epoch == first_waiting(self._ledger, token)


def first_waiting(ledger: Waiting, token: str) -> int | None:
    """The epoch that a channel commits next, or has committed without a stored answer; None: none waits."""
    waiting = [each.number for each in (*ledger.intents(), *ledger.backlog()) if _concerns(each, token)]
    return min(waiting, default=None)


def _concerns(epoch: Epoch, token: str) -> bool:
    return token in epoch.files or (epoch.ddl is not None and token in epoch.ddl.changes)
