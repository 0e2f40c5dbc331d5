"""How a table shows that it contains a commit: an epoch of a channel, or a chunk of its snapshot.

Owns: the token and the done-set in a table's properties, the marks of a commit in its snapshot's summary.
Must not know: files, indexes, when something is committed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from syncmgr.errors import Code, SyncError
from syncmgr.job.epoch import ChannelAlter, ChannelCommit
from syncmgr.job.snapshot.chunk import is_older, numbers_of, numbers_text
from syncmgr.job.snapshot.chunk_rows import ChunkRows
from syncmgr.lake.iceberg.ancestry import (
    CHUNK_MARK,
    DATA_FILES,
    EPOCH_MARK,
    FILES_MARK,
    MARKS,
    chunks_property,
    fingerprint_property,
    has_gone,
    has_others_rows,
    is_replaced,
    others_property,
    part_marks,
    token_property,
)
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import Snapshot
from syncmgr.lake.spark.jvm import JAVA_ERRORS, Java

ADDED_ROWS: Final = "added-records"  # Iceberg's own words in a snapshot's summary
ADDED_BYTES: Final = "added-files-size"


class CommitMarker(Protocol):
    """What a commit brings, as far as its table shows it."""

    @property
    def name(self) -> str:
        """Of the folder of its files."""

    @property
    def marks(self) -> Mapping[str, str]:
        """For the summary of its snapshot."""

    def is_in(self, table: Java) -> bool:
        """Raises FENCED, OTHER_HISTORY, TARGET_SET_BACK."""

    def may_meet(self, table: Java) -> bool:
        """Whether a key that it brings may already be in the table."""

    def properties(self, table: Java) -> Mapping[str, str]:
        """The properties that the table must have when it is committed."""

    def found(self, table: Java) -> Snapshot | None:
        """The snapshot that committed it, even an expired one that older metadata list; None if there was none, or it
        is not known.
        """


def bearing_of(iceberg: Iceberg, channel: ChannelCommit) -> CommitMarker:
    if channel.chunk is None:
        return EpochBearing(iceberg, channel)
    return ChunkBearing(iceberg, channel, channel.chunk)


def check_token(
    found: int, commit: ChannelCommit | ChannelAlter, *, renews: bool = False, unanswered: int | None = None
) -> None:
    """Whether an epoch may follow the one that a table is marked with, or is that one. One that renews the table may
    follow any older one, or none, and undoes the one that is `unanswered`.

    Raises FENCED if another writer has gone on from there, OTHER_HISTORY if the metadata are older than the table,
    TARGET_SET_BACK if it is the other way round, or the table was recreated.
    """
    table, last = f"{commit.db}.{commit.table}", commit.last_epoch
    if found > commit.epoch and not (renews and found == unanswered):
        raise SyncError(Code.FENCED, table=table, found=found, epoch=commit.epoch)
    if last < found < commit.epoch:
        raise SyncError(Code.OTHER_HISTORY, table=table, epoch=found)
    if found < last and not renews:
        raise SyncError(Code.TARGET_SET_BACK, table=table, found=found, epoch=last)


def refuse_replaced(iceberg: Iceberg, table: Java, commit: ChannelCommit | ChannelAlter) -> None:
    """Raises TARGET_REPLACED if the channel's last commit is missing from the table's history."""
    token, last = commit.token, commit.last_snapshot
    epoch = iceberg.token(table, token_property(token))
    history = iceberg.history(table, MARKS, expired=True)

    def remains() -> bool:
        return last in iceberg.snapshots(table)

    if is_replaced(history, token=token, epoch=epoch, last_snapshot=last, remains=remains):
        raise SyncError(Code.TARGET_REPLACED, table=f"{commit.db}.{commit.table}", snapshot=last, epoch=epoch)


def refuse_gone(iceberg: Iceberg, table: Java, commit: ChannelCommit | ChannelAlter) -> None:
    """Raises TARGET_REPLACED if the table is marked with the epoch, but its snapshot is missing."""
    if has_gone(iceberg.history(table, MARKS, expired=True), token=commit.token, epoch=commit.epoch):
        label = f"{commit.db}.{commit.table}"
        raise SyncError(Code.TARGET_REPLACED, table=label, snapshot="number unknown", epoch=commit.epoch)


@dataclass(frozen=True, slots=True)
class EpochBearing:
    """The table stores token -> epoch."""

    iceberg: Iceberg
    channel: ChannelCommit

    @property
    def name(self) -> str:
        return f"{self.channel.token}-{self.channel.epoch}"

    @property
    def marks(self) -> Mapping[str, str]:
        return {EPOCH_MARK: f"{self.channel.token}:{self.channel.epoch}", **part_marks(self.channel.part)}

    def is_in(self, table: Java) -> bool:
        channel = self.channel
        found = self.iceberg.token(table, token_property(channel.token))
        check_token(found, channel, renews=channel.renews)
        if found == channel.epoch:
            self._refuse_other_history(table)
        return found == channel.epoch

    def _refuse_other_history(self, table: Java) -> None:
        """Metadata restored from before its last commit continue to count from there: the same number, but other
        rows.
        """
        channel = self.channel
        found = self.iceberg.property(table, fingerprint_property(channel.token))
        if found is not None and found != channel.fingerprint:
            raise SyncError(Code.OTHER_HISTORY, table=f"{channel.db}.{channel.table}", epoch=channel.epoch)

    def may_meet(self, table: Java) -> bool:  # noqa: ARG002 - an insert may be repeated, and follow another writer's
        return True

    def properties(self, table: Java) -> Mapping[str, str]:  # noqa: ARG002 - the table does not matter
        token = self.channel.token
        return {token_property(token): str(self.channel.epoch), fingerprint_property(token): self.channel.fingerprint}

    def found(self, table: Java) -> Snapshot | None:
        """A chunk after the epoch has its mark, too, and names other files."""
        history = self.iceberg.history(table, MARKS, expired=True)
        return _by_marks((s for s in history if CHUNK_MARK not in s.marks), self.marks)


@dataclass(frozen=True, slots=True)
class ChunkBearing:
    """The table stores token -> plan and the numbers of its chunks. Their snapshots count as those of the epoch that
    the table is already marked with.
    """

    iceberg: Iceberg
    channel: ChannelCommit
    chunk: ChunkRows

    @property
    def name(self) -> str:
        return f"{self.channel.token}-chunk{self.chunk.number}"

    @property
    def marks(self) -> Mapping[str, str]:
        return {
            EPOCH_MARK: f"{self.channel.token}:{self.channel.epoch}",
            CHUNK_MARK: f"{self.chunk.plan}:{self.chunk.number}",
            **part_marks(self.channel.part),
        }

    def is_in(self, table: Java) -> bool:
        channel = self.channel
        found = self.iceberg.token(table, token_property(channel.token))
        check_token(found, channel, renews=channel.renews, unanswered=channel.unanswered)
        return self.chunk.number in self._done(table)

    def _done(self, table: Java) -> frozenset[int]:
        """Raises OTHER_HISTORY if another read has begun, after this one or in parallel: the writer of this chunk does
        not know of it, like a frontend that was replaced, or metadata that are older than the table.
        """
        plan, _, numbers = (self.iceberg.property(table, chunks_property(self.channel.token)) or "").partition(":")
        begins = not plan or (self.chunk.replaces and not is_older(self.chunk.plan, plan))
        if plan != self.chunk.plan and begins:
            return frozenset()
        if plan != self.chunk.plan:
            label = f"{self.channel.db}.{self.channel.table}"
            raise SyncError(Code.OTHER_HISTORY, table=label, epoch=self.channel.epoch)
        return numbers_of(numbers)

    def may_meet(self, table: Java) -> bool:
        """Rows of other chunks have other keys. A chunk that has found foreign rows reports it to those that follow."""
        channel = self.channel
        if self.iceberg.property(table, others_property(channel.token)) == self.chunk.plan:
            return True
        history = self.iceberg.history(table, (*MARKS, DATA_FILES))
        return has_others_rows(history, token=channel.token, last_snapshot=channel.last_snapshot, part=channel.part)

    def properties(self, table: Java) -> Mapping[str, str]:
        token, numbers = self.channel.token, numbers_text(self._done(table) | {self.chunk.number})
        others = {others_property(token): self.chunk.plan} if self.may_meet(table) else {}
        epoch = {token_property(token): str(self.channel.epoch)} if self.channel.renews else {}
        return {chunks_property(token): f"{self.chunk.plan}:{numbers}", **others, **epoch}

    def found(self, table: Java) -> Snapshot | None:
        return _by_marks(self.iceberg.history(table, (*MARKS, ADDED_ROWS, ADDED_BYTES)), self.marks)


def may_have(iceberg: Iceberg, db: str, table: str, folder: str, since: int | None) -> bool:
    """Whether the table, checked now, may name files of a folder: a catalog that has refused a commit may nevertheless
    have accepted it, if the answer was lost and the request repeated. `since`: the snapshot before that commit.
    """
    try:
        for snapshot in iceberg.history(iceberg.load(db, table), (FILES_MARK,)):
            if snapshot.id == since:
                return False
            if snapshot.marks.get(FILES_MARK) == folder:
                return True
    except (SyncError, *JAVA_ERRORS):  # its caller is to see the refusal
        return True
    return since is not None


def _by_marks(history: Iterator[Snapshot], marks: Mapping[str, str]) -> Snapshot | None:
    return next((each for each in history if marks.items() <= each.marks.items()), None)
