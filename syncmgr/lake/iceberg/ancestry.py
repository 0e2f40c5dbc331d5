"""What happened to a table since a channel's last commit, as its snapshots show it.

Owns: the marks we leave in snapshot summaries and table properties, and the rules for what is ours and what is missing.
Must not know: Iceberg's API; it judges values.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Final

from syncmgr.job.channel.shard import Part
from syncmgr.lake.iceberg.layout import Snapshot

EPOCH_MARK: Final = "syncmgr.epoch"  # "token:epoch" in the summary of an epoch's snapshot
CHUNK_MARK: Final = "syncmgr.chunk"  # "plan:number" next to it, if the snapshot is that of a chunk
FILES_MARK: Final = "syncmgr.files"  # the folder of its files
PART_MARK: Final = "syncmgr.part"  # of a snapshot that changes rows of only one part: its value
UPKEEP_MARK: Final = "syncmgr.upkeep"  # "fold", "compact": rows are the same before and after
MARKS: Final = (EPOCH_MARK, CHUNK_MARK, FILES_MARK, PART_MARK, UPKEEP_MARK)
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


def part_marks(part: Part | None) -> dict[str, str]:
    """In the summary of a snapshot that changes rows of only a part, None: of the whole table."""
    return {} if part is None else {PART_MARK: part.value}


def is_replaced(
    history: Iterable[Snapshot],
    *,
    token: str,
    epoch: int,
    last_snapshot: int | None,
    remains: Callable[[], bool] = bool,
) -> bool:
    """Whether a channel's last commit is missing from the table's history, newest first. `epoch`: from the table's
    token, which survives a rollback.

    A history that is known from its beginning must have `last_snapshot`. If expiry cut it off, the newest remaining
    snapshot of the channel must be that of `epoch`, and `last_snapshot` must not remain in the table outside of its
    history (`remains`), as a rollback leaves it.
    """
    if last_snapshot is None:
        return False
    oldest, newest_own = None, None
    for snapshot in history:
        if snapshot.id == last_snapshot:
            return False
        own = snapshot.marks.get(EPOCH_MARK, "").rpartition(":")
        if newest_own is None and own[0] == token:
            newest_own = int(own[2])
        oldest = snapshot
    if oldest is None or oldest.parent is None:
        return True
    return (newest_own is not None and newest_own != epoch) or remains()


def has_gone(history: Iterable[Snapshot], *, token: str, epoch: int) -> bool:
    """Whether the snapshot of the epoch in the table's token is missing from its history, newest first: the id is not
    known if the answer was lost. A history that was cut off before any snapshot of ours does not show it.
    """
    oldest = None
    for snapshot in history:
        own = snapshot.marks.get(EPOCH_MARK, "").rpartition(":")
        if own[0] == token:
            return int(own[2]) != epoch
        oldest = snapshot
    return oldest is None or oldest.parent is None


def lost_chunks(history: Iterable[Snapshot], *, plan: str, numbers: Collection[int]) -> frozenset[int]:
    """Chunks of a plan whose commits are missing from the table's history, newest first; none if expiry cut that off,
    so that it does not show it.
    """
    missing, oldest = {f"{plan}:{number}": number for number in numbers}, None
    for snapshot in history:
        missing.pop(snapshot.marks.get(CHUNK_MARK, ""), None)
        if not missing:
            break
        oldest = snapshot
    is_cut_off = oldest is not None and oldest.parent is not None
    return frozenset(() if is_cut_off else missing.values())


def has_others_rows(
    history: Iterable[Snapshot], *, token: str, last_snapshot: int | None, part: Part | None = None
) -> bool:
    """Whether another writer may have put rows into the table since `last_snapshot`, None: ever. Newest first.
    What changes another part is not foreign to a `part`.
    """
    oldest = None
    for snapshot in history:
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
