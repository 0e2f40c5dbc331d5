"""How long a source still has what a job reads next, and how much that is.

Owns: the rule, and the words of the warning.
Must not know: connections, how often a source is asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from syncmgr.errors import Code, SyncError

HOUR: Final = 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Retained:
    """What a source has after a place. `left_second`: until what follows it may be purged, at least; None: never by
    time alone, or it is not known. `lag_bytes`: its size; None: not known. `at`: the unix second of the answer.
    """

    left_second: float | None
    lag_bytes: int | None
    at: float

    @property
    def is_known(self) -> bool:
        return self.left_second is not None or self.lag_bytes is not None

    def left(self, now: float) -> float | None:
        """By now, if the job has not read on since; 0.0: it may be gone."""
        return None if self.left_second is None else max(0.0, self.left_second - max(0.0, now - self.at))


def left_second(kept: float | None, next_made: float | None, now: float) -> float | None:
    """A server purges a file when it was not written for `kept` seconds (None: it purges none), which is when the next
    one was made; `next_made` None: it is the newest, which another one will follow at the earliest now. `now`: of the
    server's clock.
    """
    if kept is None:
        return None
    return max(0.0, kept - (0.0 if next_made is None else now - next_made))


def lag_bytes(file: str, offset: int, sizes: Mapping[str, int]) -> int | None:
    """From a place to the end of the binlog. `sizes`: of its files, the oldest first; None: that one is not among
    them.
    """
    if file not in sizes:
        return None
    names = list(sizes)
    return max(0, sizes[file] - offset) + sum(sizes[name] for name in names[names.index(file) + 1 :])


def short_notice(left: float | None, least: float, address: str) -> SyncError | None:
    """The warning if less than `least` seconds are left."""
    if left is None or left >= least:
        return None
    return SyncError(Code.SOURCE_PURGES_SOON, address=address, left=_shown(left))


def _shown(second: float) -> str:
    return f"{second / HOUR:.1f} hours" if second >= HOUR else f"{second:.0f} seconds"
