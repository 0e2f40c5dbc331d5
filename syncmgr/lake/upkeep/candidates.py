"""Which files of a table are worth rewriting together.

Owns: the rule.
Must not know: what a file holds, how it is rewritten. Sizes in bytes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

SMALL_BYTES: Final = 32 * 1024 * 1024
TOGETHER_BYTES: Final = 256 * 1024 * 1024  # of one rewrite
TINY_BYTES: Final = 1024 * 1024
DEAD_SHARE: Final = 0.1  # a file with more is rewritten even alone: readers of few columns already notice a tenth
IDLE_BYTES: Final = 32 * 1024 * 1024  # of an idle partition's small files: less is a second's work at most
IDLE_SHARE: Final = 1 / 64  # of them that has to be new or dead, so that no byte is rewritten too often


class IdleTime(Enum):
    """How long there was no commit to the table."""

    BUSY = "busy"
    QUIET = "quiet"  # for seconds
    IDLE = "idle"  # for longer than a commit interval


# opening a file costs a reader some milliseconds, rewriting eight a tenth of a second
FEWEST_FILES: Final[Mapping[IdleTime, int]] = {IdleTime.BUSY: 8, IdleTime.QUIET: 4, IdleTime.IDLE: 4}


@dataclass(frozen=True, kw_only=True, slots=True)
class CompactionCandidate:
    """A data file: `partition` separates those that must not be joined; `dead` of its `rows` are deleted."""

    number: int
    partition: str
    bytes: int
    rows: int
    dead: int

    @property
    def live_bytes(self) -> int:
        return self.bytes * (self.rows - self.dead) // max(self.rows, 1)


def groups(files: Sequence[CompactionCandidate], calm: IdleTime = IdleTime.BUSY) -> list[list[CompactionCandidate]]:
    """Files to be rewritten as one each, by partition.

    A file joins only if the smaller ones together are as big, so that a big one is not rewritten again and again for a
    few small ones: each row moves a logarithmic number of times.
    """
    found = []
    for partition in sorted({file.partition for file in files}):
        here = [file for file in files if file.partition == partition]
        small = [file for file in here if file.bytes < SMALL_BYTES]
        if calm is IdleTime.IDLE and _is_dirty(small):
            found.append(small)
            here = [file for file in here if file.bytes >= SMALL_BYTES]
        found += [group for group in _groups(here) if len(group) >= FEWEST_FILES[calm] or _is_wasteful(group)]
    return found


def _is_dirty(files: Sequence[CompactionCandidate]) -> bool:
    """Whether few bytes would be one clean file that are now in several files, or partly dead."""
    live = [file.live_bytes for file in files]
    if not files or sum(file.bytes for file in files) > IDLE_BYTES:
        return False
    dead, rows = sum(file.dead for file in files), sum(file.rows for file in files)
    return sum(live) - max(live) > IDLE_SHARE * sum(live) or dead > IDLE_SHARE * rows


def _groups(files: Sequence[CompactionCandidate]) -> list[list[CompactionCandidate]]:
    small = sorted((file for file in files if file.bytes < SMALL_BYTES), key=lambda file: file.live_bytes)
    result: list[list[CompactionCandidate]] = [[]]
    weight = 0
    for file in small:
        if file.live_bytes > max(weight, TINY_BYTES) and not _is_wasteful([file]):
            break
        if weight + file.live_bytes > TOGETHER_BYTES:
            result.append([])
            weight = 0
        result[-1].append(file)
        weight += file.live_bytes
    return result + [[file] for file in files if file.bytes >= SMALL_BYTES]


def _is_wasteful(group: Sequence[CompactionCandidate]) -> bool:
    return sum(file.dead for file in group) > DEAD_SHARE * sum(file.rows for file in group)
