"""Which files of a table are worth rewriting together.

Owns: the rule.
Must not know: what a file holds, how it is rewritten. Sizes in bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

SMALL_BYTES: Final = 32 * 1024 * 1024
TOGETHER_BYTES: Final = 256 * 1024 * 1024  # of one rewrite
FEWEST_FILES: Final = 8  # opening one costs a reader some milliseconds, rewriting so many a tenth of a second
FEWEST_FILES_AT_REST: Final = 4  # the same while nobody commits
DEAD_SHARE: Final = 0.1  # a file with more is rewritten even alone: readers of few columns feel a tenth already
TINY_BYTES: Final = 1024 * 1024


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


def groups(files: Sequence[Candidate], *, at_rest: bool = False) -> list[list[Candidate]]:
    """Files to be rewritten as one each, by partition. `at_rest`: nobody commits to the table.

    A file joins only where the smaller ones together weigh as much, so that a big one is not rewritten again and again
    for the sake of some crumbs: each row moves a logarithmic number of times.
    """
    fewest = FEWEST_FILES_AT_REST if at_rest else FEWEST_FILES
    found = []
    for partition in sorted({file.partition for file in files}):
        here = [file for file in files if file.partition == partition]
        found += [group for group in _groups(here) if len(group) >= fewest or _is_wasteful(group)]
    return found


def _groups(files: Sequence[Candidate]) -> list[list[Candidate]]:
    small = sorted((file for file in files if file.bytes < SMALL_BYTES), key=lambda file: file.live_bytes)
    result: list[list[Candidate]] = [[]]
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


def _is_wasteful(group: Sequence[Candidate]) -> bool:
    return sum(file.dead for file in group) > DEAD_SHARE * sum(file.rows for file in group)
