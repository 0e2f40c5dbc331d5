"""What happened to a table since a channel committed last, as its snapshots tell it.

Owns: the marks we leave in snapshot summaries and table properties, and the rule what counts as foreign.
Must not know: Iceberg's API; it judges values.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from syncmgr.job.shard import Part
from syncmgr.spark.layout import Snapshot

EPOCH_MARK: Final = "syncmgr.epoch"  # "token:epoch" in the summary of an epoch's snapshot
CHUNK_MARK: Final = "syncmgr.chunk"  # "plan:number" beside it, where the snapshot is that of a chunk
FILES_MARK: Final = "syncmgr.files"  # the folder of its files
PART_MARK: Final = "syncmgr.part"  # of a snapshot that changes rows of one part alone: its value
UPKEEP_MARK: Final = "syncmgr.upkeep"  # "fold", "compact": rows are the same before and after
MARKS: Final = (EPOCH_MARK, CHUNK_MARK, FILES_MARK, PART_MARK, UPKEEP_MARK)
REWRITES: Final = "replace"  # Iceberg's own word for a snapshot that leaves the rows as they were


def token_property(token: str) -> str:
    return f"syncmgr.token.{token}"


def fingerprint_property(token: str) -> str:
    return f"syncmgr.fingerprint.{token}"


def chunks_property(token: str) -> str:
    return f"syncmgr.chunks.{token}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """`replaced`: what the channel committed last is no longer in the table's history."""

    replaced: bool
    foreign: bool


def part_marks(part: Part | None) -> dict[str, str]:
    """In the summary of a snapshot that changes rows of a part alone, None: of the whole table."""
    return {} if part is None else {PART_MARK: part.value}


def standing(
    history: Iterable[Snapshot], *, token: str, epoch: int, last_snapshot: int | None, part: Part | None = None
) -> Standing:
    """Judges the snapshots, newest first, since `last_snapshot` (None: all). `epoch`: what the table's token says.
    What changes another part is not foreign to a `part`.

    Where `last_snapshot` itself was expired, the newest snapshot of the channel that is left must be that of `epoch`;
    where none is left, the history must have been cut off by the expiry, not begun anew.
    """
    foreign, oldest, newest_own = False, None, None
    for snapshot in history:
        if snapshot.id == last_snapshot:
            return Standing(replaced=False, foreign=foreign)
        own = snapshot.marks.get(EPOCH_MARK, "").rpartition(":")
        if own[0] == token and newest_own is None:
            newest_own = int(own[2])
        foreign = foreign or not (_ours(snapshot, token) or _is_elsewhere(snapshot, part))
        oldest = snapshot
        if foreign and last_snapshot is None:
            break
    if last_snapshot is None:
        return Standing(replaced=False, foreign=foreign)
    if newest_own is not None:
        return Standing(replaced=newest_own != epoch, foreign=foreign)
    return Standing(replaced=oldest is None or oldest.parent is None, foreign=foreign)


def _is_elsewhere(snapshot: Snapshot, part: Part | None) -> bool:
    return part is not None and snapshot.marks.get(PART_MARK) not in {None, part.value}


def _ours(snapshot: Snapshot, token: str) -> bool:
    mark = snapshot.marks.get(EPOCH_MARK)
    if mark is not None:
        return mark.rpartition(":")[0] == token
    return UPKEEP_MARK in snapshot.marks or snapshot.operation == REWRITES
