"""How a table shows that it contains a commit: an epoch of a channel, or a chunk of its snapshot.

Owns: the token and the done-set in a table's properties, the marks of a commit in its snapshot's summary.
Must not know: files, indexes, when something is committed.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from syncmgr.errors import Code, SyncError
from syncmgr.job.epoch import ChannelAlter, ChannelCommit
from syncmgr.job.snapshot.chunk import done_set, is_older, numbers_text
from syncmgr.job.snapshot.chunk_rows import ChunkRows
from syncmgr.lake.commit.filled_columns import column_marks
from syncmgr.lake.iceberg.ancestry import (
    CHUNK_MARK,
    DATA_FILES,
    DONE_MARK,
    EPOCH_MARK,
    FILES_MARK,
    MARKS,
    OTHERS_MARK,
    READ_MARK,
    chunks_property,
    fingerprint_property,
    has_gone,
    has_others_rows,
    is_replaced,
    lost_chunks,
    newest_done,
    newest_epoch,
    others_property,
    part_marks,
    token_property,
)
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import KEPT_VERSIONS, PREVIOUS_VERSIONS, Snapshot
from syncmgr.lake.spark.jvm import JAVA_ERRORS, Java
from syncmgr.lake.target.own_properties import as_written

ADDED_ROWS: Final = "added-records"  # Iceberg's own words in a snapshot's summary
ADDED_BYTES: Final = "added-files-size"


class CommitMarker(Protocol):
    """What a commit brings, as far as its table shows it."""

    @property
    def name(self) -> str:
        """Of the folder of its files."""

    def summary(self, table: Java) -> Mapping[str, str]:
        """What the summary of its snapshot must have when it is committed."""

    def is_applied(self, table: Java) -> bool:
        """Raises FENCED, OTHER_HISTORY, TARGET_SET_BACK, TARGET_REPLACED."""

    def may_meet(self, table: Java) -> bool:
        """Whether a key that it brings may already be in the table."""

    def properties(self, table: Java) -> Mapping[str, str]:
        """The properties that the table must have when it is committed."""

    def found(self, table: Java) -> Snapshot | None:
        """The snapshot that committed it, even an expired one that older metadata list; None if there was none, or it
        is not known.
        """


def marker_of(iceberg: Iceberg, channel: ChannelCommit) -> CommitMarker:
    if channel.chunk is None:
        return EpochMarker(iceberg, channel)
    return ChunkMarker(iceberg, channel, channel.chunk)


def check_token(
    found: int, commit: ChannelCommit | ChannelAlter, *, renews: bool = False, unanswered: int | None = None
) -> None:
    """Whether an epoch may follow the one that a table is marked with, or is that one. One that renews the table may
    follow any older one, or none, and undoes the one that is `unanswered`.

    Raises FENCED if another writer has gone on from there, OTHER_HISTORY if the metadata are older than the table,
    TARGET_SET_BACK if it is the other way round, or the table was recreated.
    """
    table, last = f"{commit.db}.{commit.table}", commit.last.epoch
    if found > commit.epoch and not (renews and found == unanswered):
        raise SyncError(Code.FENCED, table=table, found=found, epoch=commit.epoch)
    if last < found < commit.epoch:
        raise SyncError(Code.OTHER_HISTORY, table=table, epoch=found)
    if found < last and not renews:
        raise SyncError(Code.TARGET_SET_BACK, table=table, found=found, epoch=last)


def token_of(iceberg: Iceberg, table: Java, commit: ChannelCommit | ChannelAlter) -> int:
    """The last epoch that the table has, 0 if none: by its properties, which another engine may have changed, or by the
    snapshots from the last commit on whose answer is known. Raises FOREIGN_CHANGE.
    """
    key = token_property(commit.token)
    with as_written(commit.db, commit.table, key):
        found = iceberg.token(table, key)
    if not found and commit.fingerprint and commit.fingerprint == _fingerprint(iceberg, table, commit):
        return commit.epoch
    known = found == commit.epoch or iceberg.current_snapshot(table) in {None, commit.last.snapshot}
    if known and found >= commit.last.epoch:
        return found
    history = iceberg.history(table, MARKS, expired=True)
    return max(found, newest_epoch(history, token=commit.token, since=commit.last.snapshot))


def _fingerprint(iceberg: Iceberg, table: Java, commit: ChannelCommit | ChannelAlter) -> str | None:
    return iceberg.property(table, fingerprint_property(commit.token))


def refuse_replaced(iceberg: Iceberg, table: Java, commit: ChannelCommit | ChannelAlter) -> None:
    """Raises TARGET_REPLACED if the channel's last commit is missing from the table's history. Where that was cut off,
    the last commit is known by its files, unless others have rewritten them all; then it counts as expired only if
    nobody has shortened the list of older metadata.
    """
    token, last = commit.token, commit.last.snapshot
    epoch, done = token_of(iceberg, table, commit), iceberg.property(table, chunks_property(token))
    history = iceberg.history(table, MARKS, expired=True)

    def remains() -> bool:
        return last in iceberg.snapshots(table)

    doubt = ""
    replaced = is_replaced(history, token=token, epoch=epoch, last=commit.last, done=done, remains=remains)
    if replaced is None and last is not None:
        doubt = _doubt(iceberg, table)
        replaced = bool(doubt) and not iceberg.has_files_of(table, last)
    if replaced:
        label = f"{commit.db}.{commit.table}"
        raise SyncError(Code.TARGET_REPLACED, table=label, snapshot=f"{last}{doubt}", epoch=epoch)


def refuse_gone(iceberg: Iceberg, table: Java, commit: ChannelCommit | ChannelAlter) -> None:
    """Raises TARGET_REPLACED if the table is marked with the epoch, but its snapshot is missing."""
    gone, doubt = has_gone(iceberg.history(table, MARKS, expired=True), token=commit.token, epoch=commit.epoch), ""
    if gone is None:
        doubt = _doubt(iceberg, table)
    if gone or doubt:
        label = f"{commit.db}.{commit.table}"
        raise SyncError(Code.TARGET_REPLACED, table=label, snapshot=f"number unknown{doubt}", epoch=commit.epoch)


def _doubt(iceberg: Iceberg, table: Java) -> str:
    """Why nothing shows that a missing snapshot was only expired; "" if the table has as much of its older metadata as
    it keeps by itself.
    """
    if iceberg.older_versions(table) >= KEPT_VERSIONS:
        return ""
    return (
        f"; older metadata of the table, which would show whether it was only expired, were removed: keep "
        f"{PREVIOUS_VERSIONS} at {KEPT_VERSIONS} or more"
    )


def refuse_lost(iceberg: Iceberg, table: Java, label: str, plan: str, numbers: Collection[int]) -> None:
    """Raises TARGET_REPLACED if the table was rolled back after one of these chunks was committed: the done-set in its
    properties survives that.
    """
    lost = lost_chunks(iceberg.history(table, MARKS, expired=True), plan=plan, numbers=numbers)
    if lost:
        raise SyncError(Code.TARGET_REPLACED, table=label, snapshot=f"chunk {min(lost)}", epoch=0)


@dataclass(frozen=True, slots=True)
class EpochMarker:
    """The table stores token -> epoch."""

    iceberg: Iceberg
    channel: ChannelCommit

    @property
    def name(self) -> str:
        return f"{self.channel.token}-{self.channel.epoch}"

    def summary(self, table: Java) -> Mapping[str, str]:  # noqa: ARG002 - the table does not matter
        return self._marks

    @property
    def _marks(self) -> Mapping[str, str]:
        return {EPOCH_MARK: f"{self.channel.token}:{self.channel.epoch}", **part_marks(self.channel.part)}

    def is_applied(self, table: Java) -> bool:
        channel = self.channel
        found = token_of(self.iceberg, table, channel)
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

    def properties(self, table: Java) -> Mapping[str, str]:
        token, columns = self.channel.token, column_marks(self.iceberg, table, self.channel)
        fingerprint = {fingerprint_property(token): self.channel.fingerprint}
        return {token_property(token): str(self.channel.epoch), **fingerprint, **columns}

    def found(self, table: Java) -> Snapshot | None:
        """A chunk after the epoch has its mark, too, and names other files."""
        history = self.iceberg.history(table, MARKS, expired=True)
        return _by_marks((s for s in history if CHUNK_MARK not in s.marks), self._marks)


@dataclass(frozen=True, slots=True)
class ChunkMarker:
    """The table stores token -> plan and the numbers of its chunks. Their snapshots count as those of the epoch that
    the table is already marked with.
    """

    iceberg: Iceberg
    channel: ChannelCommit
    chunk: ChunkRows

    @property
    def name(self) -> str:
        return f"{self.channel.token}-chunk{self.chunk.number}"

    def summary(self, table: Java) -> Mapping[str, str]:
        others = {OTHERS_MARK: self.chunk.plan} if self.may_meet(table) else {}
        read = {READ_MARK: self.chunk.read} if self.chunk.read else {}
        return {**self._marks, DONE_MARK: self._done_with(table), **others, **read}

    @property
    def _marks(self) -> Mapping[str, str]:
        return {
            EPOCH_MARK: f"{self.channel.token}:{self.channel.epoch}",
            CHUNK_MARK: f"{self.chunk.plan}:{self.chunk.number}",
            **part_marks(self.channel.part),
        }

    def is_applied(self, table: Java) -> bool:
        channel = self.channel
        found = token_of(self.iceberg, table, channel)
        check_token(found, channel, renews=channel.renews, unanswered=channel.unanswered)
        done = self._done(table)
        refuse_lost(self.iceberg, table, f"{channel.db}.{channel.table}", self.chunk.plan, done)
        return self.chunk.number in done

    def _done(self, table: Java) -> frozenset[int]:
        """By the table's properties, which another engine may have changed, and its snapshots. Raises FOREIGN_CHANGE,
        and OTHER_HISTORY if another read has begun, after this one or in parallel: the writer of this chunk does not
        know of it, like a frontend that was replaced, or metadata that are older than the table.
        """
        token, key = self.channel.token, chunks_property(self.channel.token)
        stored = self.iceberg.property(table, key)
        since = self.channel.last.snapshot if stored else None
        marked = newest_done(self.iceberg.history(table, MARKS, expired=True), token=token, since=since)
        with as_written(self.channel.db, self.channel.table, key):
            sets = [done_set(text) for text in (stored, marked) if text]
            plan = sets[0][0] if sets else ""
            begins = not plan or (self.chunk.replaces and not is_older(self.chunk.plan, plan))
        if plan != self.chunk.plan and begins:
            return frozenset()
        if plan != self.chunk.plan:
            label = f"{self.channel.db}.{self.channel.table}"
            raise SyncError(Code.OTHER_HISTORY, table=label, epoch=self.channel.epoch)
        return frozenset().union(*(numbers for of, numbers in sets if of == plan))

    def may_meet(self, table: Java) -> bool:
        """Rows of other chunks have other keys. A chunk that has found foreign rows reports it to those that follow."""
        channel = self.channel
        if self.iceberg.property(table, others_property(channel.token)) == self.chunk.plan:
            return True
        return has_others_rows(
            self.iceberg.history(table, (*MARKS, DATA_FILES)),
            token=channel.token,
            last_snapshot=channel.last.snapshot,
            part=channel.part,
            plan=self.chunk.plan,
        )

    def properties(self, table: Java) -> Mapping[str, str]:
        token = self.channel.token
        others = {others_property(token): self.chunk.plan} if self.may_meet(table) else {}
        epoch = {token_property(token): str(self.channel.epoch)} if self.channel.renews else {}
        columns = column_marks(self.iceberg, table, self.channel)
        return {chunks_property(token): self._done_with(table), **others, **epoch, **columns}

    def _done_with(self, table: Java) -> str:
        return f"{self.chunk.plan}:{numbers_text(self._done(table) | {self.chunk.number})}"

    def found(self, table: Java) -> Snapshot | None:
        marks = (*MARKS, READ_MARK, ADDED_ROWS, ADDED_BYTES)
        return _by_marks(self.iceberg.history(table, marks, expired=self.chunk.exact), self._marks)


def may_have(iceberg: Iceberg, db: str, table: str, folder: str, since: int | None) -> bool:
    """Whether the table, checked now, may name files of a folder: a catalog that has refused a commit may nevertheless
    have accepted it, if the answer was lost and the request repeated. `since`: the snapshot before that commit. Where
    the catalog may answer with what was before, nothing shows that it has not.
    """
    if iceberg.may_be_old:
        return True
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
