"""Epochs: when one is cut, and what is recorded about it.

Owns: the thresholds of fe.conf, the values that travel from the cut to the commit.
Must not know: where rows come from, or how they are committed. Sizes in bytes, times in seconds.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import astuple, dataclass, field, replace
from typing import TYPE_CHECKING, Final

from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.channel.shard import Part
from syncmgr.job.position import Position
from syncmgr.job.rows.dead_letter import DeadLetter
from syncmgr.job.snapshot.chunk_rows import ChunkRows

if TYPE_CHECKING:
    from syncmgr.job.ddl.ddl_step import DdlStep
    from syncmgr.job.ddl.lake_change import LakeChange

FINGERPRINTED: Final = 9  # fields of a position that identify an epoch: those that the first version had


@dataclass(frozen=True, kw_only=True, slots=True)
class Thresholds:
    """When an epoch is big or old enough, as fe.conf and PROPERTIES say."""

    interval_second: float
    min_events: int
    min_bytes: int
    max_bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenEpoch:
    """What has been staged since the last cut."""

    events: int = 0
    bytes: int = 0
    first_row_at: float | None = None  # None: nothing staged


def should_cut(
    epoch: OpenEpoch,
    at: Thresholds,
    *,
    now: float,
    queue_empty: bool,
    in_transaction: bool,
) -> bool:
    """A source transaction is never split, so nothing is cut inside one, however large it grows."""
    if in_transaction or epoch.first_row_at is None:
        return False
    if epoch.bytes >= at.max_bytes or now - epoch.first_row_at >= at.interval_second:
        return True
    return queue_empty and (epoch.events >= at.min_events or epoch.bytes >= at.min_bytes)


@dataclass(frozen=True, kw_only=True, slots=True)
class StagedFile:
    """A closed, fsynced Parquet file of one channel's segment: `path` is absolute, `rows` are change rows."""

    path: str
    rows: int
    bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """An XA transaction that was prepared and has not ended: its rows belong to no epoch yet.

    `files`: its rows by channel token, without `_seq`; none: it touched no synced table. `bytes`: as they were read.
    `dead`: the dead letters of its rows that no target holds.
    """

    files: Mapping[str, tuple[StagedFile, ...]] = field(default_factory=dict)
    bytes: int = 0
    dead: tuple[DeadLetter, ...] = ()

    def without(self, tokens: Collection[str]) -> "Prepared":
        """Nothing of these channels."""
        files = {token: segment for token, segment in self.files.items() if token not in tokens}
        return replace(self, files=files, dead=tuple(letter for letter in self.dead if letter.token not in tokens))


@dataclass(frozen=True, kw_only=True, slots=True)
class Epoch:
    """A stretch of the source's history, cut at a transaction boundary."""

    number: int
    end: Position
    last_seq: int
    #: what was staged, by channel token; none: an empty epoch, only the position moves
    files: Mapping[str, tuple[StagedFile, ...]] = field(default_factory=dict)  # by channel token
    rows: int = 0
    bytes: int = 0
    #: when the newest of its transactions was committed, unix seconds
    source_time: float = 0.0
    #: the same of the first with rows in it; 0.0: not known
    oldest_time: float = 0.0
    #: by xid, all XA transactions that are open at `end`; a reader that continues from there needs them
    prepared: Mapping[str, Prepared] = field(default_factory=dict)
    #: its changes that no target holds; they are stored with the intent, and not read back with it
    dead: tuple[DeadLetter, ...] = ()
    #: a statement between two epochs of rows; such an epoch has no files
    ddl: "DdlStep | None" = None

    @property
    def since(self) -> float:
        """The source time up to which everything precedes the epoch, unix seconds."""
        return self.oldest_time or self.source_time

    @property
    def prepared_files(self) -> frozenset[str]:
        """Paths of files with rows that wait for the end of an XA transaction."""
        return frozenset(
            file.path for one in self.prepared.values() for segment in one.files.values() for file in segment
        )

    def passing_over(self, tokens: Collection[str]) -> "Epoch":
        """Its statement no longer concerns these channels; their tables are only marked with the epoch."""
        if self.ddl is None or not tokens:
            return self
        borne: dict[str, tuple[StagedFile, ...]] = dict.fromkeys(self.ddl.changes.keys() & tokens, ())
        return replace(self, files={**self.files, **borne}, ddl=self.ddl.passed_over(tokens))

    @property
    def empty(self) -> bool:
        return not any(self.files.values())

    @property
    def fingerprint(self) -> str:
        """Distinguishes two epochs of one number: the same stretch of history has the same one.

        In every version of this program: a table may be marked with an epoch that an earlier version began to commit.
        """
        place = astuple(self.end)[:FINGERPRINTED]
        text = f"{self.number} {self.last_seq} {place}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True, slots=True)
class Backlog:
    """What one channel has not committed. `since`: source time of the oldest part of it, unix seconds."""

    epochs: int
    bytes: int
    since: float


def backlogs(epochs: Iterable[Epoch]) -> dict[str, Backlog]:
    """By channel token, of epochs in their order."""
    found: dict[str, Backlog] = {}
    for epoch in epochs:
        for token, files in epoch.files.items():
            before = found.get(token, Backlog(epochs=0, bytes=0, since=epoch.since))
            size = before.bytes + sum(file.bytes for file in files)
            found[token] = replace(before, epochs=before.epochs + 1, bytes=size)
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class LastCommit:
    """What a channel has committed last, as far as the answer is known. `epoch`: 0 if none yet; the table must be
    marked with it, or already with the next. `snapshot`: of that, or a later one of a chunk, None if none yet; it must
    still be an ancestor. `sequence`: its sequence number in the table, 0 if not known.
    """

    epoch: int = 0
    snapshot: int | None = None
    sequence: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelCommit:
    """What the lake needs to commit one channel's segment of one epoch into one table, exactly once.

    `keys`: target key columns; empty: rows are appended. `where`: Spark SQL over source columns or None; judged on the
    last image after netting; anything but TRUE becomes a delete.
    `fingerprint`: the epoch's; a table marked with the epoch under another one was written by another history.
    `settled` False: the rows so far were not a state of the source, so a change may already be in its row, or the row
    missing.
    `chunk`: of a snapshot, instead of `files`: its rows are committed after `epoch`, which remains the mark of the
    table.
    `part`: if other channels commit to the table, too: the rows that belong to this one.
    `renews`: what the table has had of the channel does not matter: all of its rows are replaced, now or next.
    `unanswered`: the epoch after `epoch` that the table may be marked with, since no answer to its commit was stored; a
    commit that renews the table undoes it, and it is committed again.
    """

    token: str
    epoch: int
    fingerprint: str
    db: str
    table: str
    files: tuple[StagedFile, ...]
    columns: tuple[MappedColumn, ...]
    keys: tuple[str, ...]
    where: str | None
    last: LastCommit
    settled: bool = True
    chunk: ChunkRows | None = None
    part: Part | None = None
    renews: bool = False
    unanswered: int | None = None

    @property
    def empty(self) -> bool:
        """Whether there is nothing to read."""
        return not self.files and self.chunk is None


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelAlter:
    """What the lake needs to change one channel's table for one epoch, exactly once; fields as in ChannelCommit."""

    token: str
    epoch: int
    fingerprint: str
    db: str
    table: str
    changes: "tuple[LakeChange, ...]"
    last: LastCommit
    part: Part | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelCommitted:
    """`snapshot`: the table's snapshot that holds the epoch, None if nothing had to be written. `rows`, `bytes`: of
    the files of a chunk.

    `passed_over`: the table was already marked with the epoch. `dead`: of a chunk, the rows that were kept out.
    `sequence`: of the snapshot. `shared`: other channels commit to the table, too.
    `read`: of an exact chunk, the id of the read whose rows the table has, perhaps of an earlier attempt; None: it does
    not say.
    """

    snapshot: int | None
    passed_over: bool = False
    rows: int = 0
    bytes: int = 0
    dead: tuple[DeadLetter, ...] = ()
    sequence: int = 0
    shared: bool = False
    read: str | None = None
