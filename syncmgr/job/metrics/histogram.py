"""How long something took, as a histogram.

Owns: the bounds of buckets, and how one observation changes them.
Must not know: what was measured. Times are seconds.
"""

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Self

BOUNDS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Histogram:
    """`counts`: of each bucket alone, the last one is that above all BOUNDS."""

    counts: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)
    sum: float = 0.0

    def with_one(self, second: float) -> Self:
        """A bound belongs to the bucket below it, as in Prometheus."""
        at = bisect_left(BOUNDS, second)
        counts = (*self.counts[:at], self.counts[at] + 1, *self.counts[at + 1 :])
        return type(self)(counts=counts, sum=self.sum + second)

    def buckets(self) -> list[tuple[str, int]]:
        """Upper bounds and how many were not above, ascending, as Prometheus has them."""
        return list(zip((*map(str, BOUNDS), "+Inf"), accumulate(self.counts), strict=True))


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitTimes:
    """Of the commits of one job since the frontend started. `duration`: from the stored intent to the stored commit.
    `delay`: from the source's commit until readers of the targets see it.
    """

    duration: Histogram = Histogram()
    delay: Histogram = Histogram()

    def with_commit(self, *, intent_at: float | None, source_time: float, now: float) -> Self:
        """`intent_at` None: an earlier process stored it, and how long it was down is no duration of a commit.
        `source_time` 0: the epoch has none. The source's clock may be ahead.
        """
        duration = self.duration if intent_at is None else self.duration.with_one(max(0.0, now - intent_at))
        delay = self.delay if not source_time else self.delay.with_one(max(0.0, now - source_time))
        return type(self)(duration=duration, delay=delay)


NO_COMMITS: Final = CommitTimes()
