"""What happened to a table since a channel's last commit, as its snapshots show it.

Owns: the marks we leave in snapshot summaries and table properties, and the rules for what is ours and what is missing.
Must not know: Iceberg's API; it judges values.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Final

from syncmgr.job.channel.shard import Part
from syncmgr.job.epoch import LastCommit
from syncmgr.job.snapshot.chunk import numbers_of
from syncmgr.lake.iceberg.layout import Snapshot

EPOCH_MARK: Final = "syncmgr.epoch"  # "token:epoch" in the summary of an epoch's snapshot
CHUNK_MARK: Final = "syncmgr.chunk"  # "plan:number" next to it, if the snapshot is that of a chunk
READ_MARK: Final = "syncmgr.read"  # next to it: the id of the read, if each read has a point of its own
DONE_MARK: Final = "syncmgr.chunks"  # "plan:numbers" next to it: every chunk that is in the table from then on
FILES_MARK: Final = "syncmgr.files"  # the folder of its files
PART_MARK: Final = "syncmgr.part"  # of a snapshot that changes rows of only one part: its value
OTHERS_MARK: Final = "syncmgr.others"  # the plan next to it, if a chunk of it has found rows of others before
UPKEEP_MARK: Final = "syncmgr.upkeep"  # "fold", "compact": rows are the same before and after
MARKS: Final = (EPOCH_MARK, CHUNK_MARK, DONE_MARK, FILES_MARK, PART_MARK, OTHERS_MARK, UPKEEP_MARK)
COLUMNS: Final = "syncmgr.columns."
DATA_FILES: Final = "total-data-files"  # Iceberg's own count in the summary of a snapshot
REWRITES: Final = "replace"  # Iceberg's own word for a snapshot that leaves the rows as they were


def token_property(token: str) -> str:
    return f"syncmgr.token.{token}"


def fingerprint_property(token: str) -> str:
    return f"syncmgr.fingerprint.{token}"


def chunks_property(token: str) -> str:
    return f"syncmgr.chunks.{token}"


def others_property(token: str) -> str:
    return f"syncmgr.others.{token}"


def columns_property(token: str) -> str:
    """Of the ids of the columns that a channel fills."""
    return f"{COLUMNS}{token}"


def part_marks(part: Part | None) -> dict[str, str]:
    """In the summary of a snapshot that changes rows of only a part, None: of the whole table."""
    return {} if part is None else {PART_MARK: part.value}


def is_replaced(
    history: Iterable[Snapshot],
    *,
    token: str,
    epoch: int,
    last: LastCommit,
    done: str | None = None,
    remains: Callable[[], bool] = bool,
) -> bool | None:
    """Whether a channel's last commit is missing from the table's history, newest first. `epoch`: from the table's
    token, and `done`: the chunks in its properties, both of which survive a rollback. None: the history does not tell,
    since it was cut off before any snapshot of the channel.

    A history that is known from its beginning must have the snapshot of `last`, and so must one that reaches a snapshot
    with a lower sequence number. If expiry cut it off, the newest remaining snapshot of the channel must be that of
    `epoch`, and if of a chunk, of the last one; and the snapshot of `last` must not remain in the table outside of its
    history (`remains`), as a rollback leaves it.
    """
    if last.snapshot is None:
        return False
    oldest, own = None, None
    for snapshot in history:
        if snapshot.id == last.snapshot:
            return False
        if snapshot.sequence < last.sequence:
            return True
        if own is None and snapshot.marks.get(EPOCH_MARK, "").rpartition(":")[0] == token:
            own = snapshot
        oldest = snapshot
    if oldest is None or oldest.parent is None:
        return True
    if own is not None and (own.marks[EPOCH_MARK] != f"{token}:{epoch}" or own.marks.get(DONE_MARK, done) != done):
        return True
    return remains() or (None if own is None else False)


def lacks(history: Iterable[Snapshot], snapshot: int) -> bool:
    """Whether a history, newest first, is known from its beginning and has no such snapshot."""
    oldest = None
    for each in history:
        if each.id == snapshot:
            return False
        oldest = each
    return oldest is None or oldest.parent is None


def newest_epoch(history: Iterable[Snapshot], *, token: str, since: int | None) -> int:
    """The epoch in the mark of the channel's newest snapshot, no older than `since`, None: of all; 0 if there is none.
    Newest first. Another engine may have removed the token from the table's properties, and nothing changes a snapshot.
    """
    for snapshot in history:
        owner, _, epoch = snapshot.marks.get(EPOCH_MARK, "").rpartition(":")
        if owner == token:
            return int(epoch)
        if snapshot.id == since:
            break
    return 0


def newest_done(history: Iterable[Snapshot], *, token: str, since: int | None) -> str | None:
    """The same of the done-set; None if there is none."""
    for snapshot in history:
        if DONE_MARK in snapshot.marks and snapshot.marks.get(EPOCH_MARK, "").rpartition(":")[0] == token:
            return snapshot.marks[DONE_MARK]
        if snapshot.id == since:
            break
    return None


def has_gone(history: Iterable[Snapshot], *, token: str, epoch: int) -> bool | None:
    """Whether the snapshot of the epoch in the table's token is missing from its history, newest first: the id is not
    known if the answer was lost. None: a history that was cut off before any snapshot of ours does not tell.
    """
    oldest = None
    for snapshot in history:
        own = snapshot.marks.get(EPOCH_MARK, "").rpartition(":")
        if own[0] == token:
            return int(own[2]) != epoch
        oldest = snapshot
    return True if oldest is None or oldest.parent is None else None


def lost_chunks(history: Iterable[Snapshot], *, plan: str, numbers: Collection[int]) -> frozenset[int]:
    """Chunks of a plan whose commits are missing from the table's history, newest first. The newest snapshot of a chunk
    names those before it; where expiry cut off all that names one, it counts as missing.
    """
    missing = set(numbers)
    for snapshot in history:
        if not missing:
            break
        for mark in (CHUNK_MARK, DONE_MARK):
            of, _, those = snapshot.marks.get(mark, "").rpartition(":")
            if of == plan:
                missing -= numbers_of(those)
    return frozenset(missing)


def has_others_rows(
    history: Iterable[Snapshot],
    *,
    token: str,
    last_snapshot: int | None,
    part: Part | None = None,
    plan: str | None = None,
) -> bool:
    """Whether another writer may have put rows into the table since `last_snapshot`, None: ever. Newest first.
    What changes another part is not foreign to a `part`. `plan`: also what an earlier chunk of it has found.
    """
    oldest = None
    for snapshot in history:
        if plan is not None and snapshot.marks.get(OTHERS_MARK) == plan:
            return True
        if snapshot.id == last_snapshot or snapshot.marks.get(DATA_FILES) == "0":
            return False
        if not (_ours(snapshot, token) or _is_elsewhere(snapshot, part)):
            return True
        oldest = snapshot
    return oldest is not None and oldest.parent is not None  # what was before has been expired


def _is_elsewhere(snapshot: Snapshot, part: Part | None) -> bool:
    return part is not None and snapshot.marks.get(PART_MARK) not in {None, part.value}


def _ours(snapshot: Snapshot, token: str) -> bool:
    mark = snapshot.marks.get(EPOCH_MARK)
    if mark is not None:
        return mark.rpartition(":")[0] == token
    return UPKEEP_MARK in snapshot.marks or snapshot.operation == REWRITES
