"""What jobs did in the last minutes, from the samples.

Owns: which points are kept, and for how long.
Must not know: HTTP, who measures, who looks.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from syncmgr.job.metrics.sample import JobSample, Sample
from syncmgr.job.state import JobState

KEPT: Final = 900  # points of a job, one a second
SHORT: Final = 90  # of them in the overview
RATE_SECOND: Final = 5.0  # over which rows a second are counted

Point = tuple[float, float | None, float | None]


@dataclass(frozen=True, slots=True)
class _Seen:
    at: float
    rows: int
    lag: float | None
    runs: bool


class Recent:
    """Told of each sample in one thread, read in others."""

    def __init__(self) -> None:
        self._of: Mapping[int, deque[_Seen]] = {}

    def heard(self, sample: Sample) -> None:
        kept = dict[int, deque[_Seen]]()
        for job in sample.jobs:
            seen = self._of.get(job.id) or deque(maxlen=KEPT)
            runs = job.state is JobState.RUNNING
            seen.append(_Seen(sample.at, job.figures.rows, job.lag_second if runs else None, runs))
            kept[job.id] = seen
        self._of = kept

    def rate(self, job: JobSample) -> float | None:
        """Rows a second now; None: not known yet, or it does not run."""
        seen = list(self._of.get(job.id, ()))
        return _rate(seen, len(seen) - 1) if seen else None

    def points(self, job_id: int, most: int = KEPT) -> Sequence[Point]:
        """Time, lag and rows a second, the oldest first."""
        seen = list(self._of.get(job_id, ()))
        first = max(0, len(seen) - most)
        return [(each.at, each.lag, _rate(seen, first + n)) for n, each in enumerate(seen[first:])]


def _rate(seen: Sequence[_Seen], at: int) -> float | None:
    """Over the last RATE_SECOND."""
    last = seen[at]
    if not last.runs:
        return None
    first = at
    while first > 0 and seen[first - 1].runs and last.at - seen[first - 1].at <= RATE_SECOND:
        first -= 1
    if first == at:
        return None
    return max(0.0, (last.rows - seen[first].rows) / (last.at - seen[first].at))


def both(*heard: Callable[[Sample], None]) -> Callable[[Sample], None]:
    """Several are told of each sample."""

    def all_of_them(sample: Sample) -> None:
        for each in heard:
            each(sample)

    return all_of_them
