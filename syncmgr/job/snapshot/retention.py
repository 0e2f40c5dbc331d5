"""Which snapshots of a table must stay.

Owns: the rule.
Must not know: how a lake lists its snapshots, where points are stored.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from syncmgr.job.snapshot.chunk import Load


class Last(Protocol):
    """What a channel has committed last (LastCommit of job/epoch.py, which knows snapshots itself)."""

    @property
    def snapshot(self) -> int | None: ...


class Progressed(Protocol):
    """How far a channel's table is."""

    @property
    def last(self) -> Last: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """`point`: the snapshot at the oldest kept consistent point; all from there on stay. None: no kept point has one.

    Then the state of the table at `since`, unix seconds, stays, with all later ones, and so do the snapshots `last`, by
    which channels recognize their own table; if there are none of those, all stay.
    """

    point: int | None = None
    since: float = 0.0
    last: tuple[int, ...] = ()


def committed_last(
    tokens: Collection[str], progress: Mapping[str, Progressed], loads: Mapping[str, Load]
) -> tuple[int, ...]:
    """By the channels of one table; empty if one of them has committed nothing, or is read: then each chunk is searched
    for among the snapshots.
    """
    reads = any(token in loads and loads[token].upper is None for token in tokens)
    found = [progress[token].last.snapshot if token in progress else None for token in tokens]
    last = tuple(snapshot for snapshot in found if snapshot is not None)
    return () if reads or len(last) < len(found) else last
