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
DEAD_SHARE: Final = 0.1  # a file with more is rewritten even alone: readers of few columns feel a tenth already


class Calm(Enum):
    """How long nobody has committed to the table."""

    BUSY = "busy"
    QUIET = "quiet"  # for seconds
    IDLE = "idle"  # for longer than a commit interval


@dataclass(frozen=True, slots=True)
class Worth:
    """What a rewrite is for: so many files, or files of less than `tiny` bytes with more than this share of dead rows.

    A tiny file may join any others.
    """

    files: int
    tiny: int
    dead_share: float


WORTH: Final[Mapping[Calm, Worth]] = {
    # opening a file costs a reader some milliseconds, rewriting eight a tenth of a second
    Calm.BUSY: Worth(files=8, tiny=1024 * 1024, dead_share=DEAD_SHARE),
    Calm.QUIET: Worth(files=4, tiny=1024 * 1024, dead_share=DEAD_SHARE),
    # nobody knows for how long it will be read as it is now, and half a second is there to be spent
    Calm.IDLE: Worth(files=2, tiny=16 * 1024 * 1024, dead_share=0.01),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A data file: `partition` tells those apart that must not be joined; `dead` of its `rows` are deleted."""

    number: int
    partition: str
    bytes: int
    rows: int
    dead: int

    @property
    def live_bytes(self) -> int:
        return self.bytes * (self.rows - self.dead) // max(self.rows, 1)


def groups(files: Sequence[Candidate], calm: Calm = Calm.BUSY) -> list[list[Candidate]]:
    """Files to be rewritten as one each, by partition.

    A file joins only where the smaller ones together weigh as much, so that a big one is not rewritten again and again
    for the sake of some crumbs: each row moves a logarithmic number of times.
    """
    worth = WORTH[calm]
    found = []
    for partition in sorted({file.partition for file in files}):
        here = [file for file in files if file.partition == partition]
        found += [group for group in _groups(here, worth) if len(group) >= worth.files or _is_wasteful(group, worth)]
    return found


def _groups(files: Sequence[Candidate], worth: Worth) -> list[list[Candidate]]:
    small = sorted((file for file in files if file.bytes < SMALL_BYTES), key=lambda file: file.live_bytes)
    result: list[list[Candidate]] = [[]]
    weight = 0
    for file in small:
        if file.live_bytes > max(weight, worth.tiny) and not _is_wasteful([file], worth):
            break
        if weight + file.live_bytes > TOGETHER_BYTES:
            result.append([])
            weight = 0
        result[-1].append(file)
        weight += file.live_bytes
    return result + [[file] for file in files if file.bytes >= SMALL_BYTES]


def _is_wasteful(group: Sequence[Candidate], worth: Worth) -> bool:
    is_tiny = all(file.bytes < worth.tiny for file in group)
    share = worth.dead_share if is_tiny else DEAD_SHARE
    return sum(file.dead for file in group) > share * sum(file.rows for file in group)
