"""How long to wait before the next attempt.

Owns: the one table of back-offs.
Must not know: clocks, what is tried.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class Retry:
    """How a transient error is retried. Times in seconds.

    `first` and `most`: the shortest and the longest wait between two attempts. Retrying stops after more than `times`
    failures in a row, but not before the error has lasted for `patience`; `times` None: never.
    """

    first: float = 0.5
    most: float = 30.0
    times: int | None = None
    patience: float = 0.0

    def wait(self, failures: int) -> float:
        """Seconds after the n-th failure in a row, n from 1."""
        return min(self.first * 2.0 ** min(failures - 1, 16), self.most)


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """Failures in a row: how many, and when (monotonic) the first one was."""

    failures: int = 0
    since: float = 0.0

    def failed(self, now: float) -> "Series":
        return Series(failures=self.failures + 1, since=self.since if self.failures else now)

    def wait(self, retry: Retry) -> float:
        """Seconds until the next attempt."""
        return retry.wait(self.failures)

    def is_over(self, retry: Retry, now: float) -> bool:
        """Whether the limits on both attempts and duration are exceeded."""
        tried = retry.times is not None and self.failures > retry.times
        return tried and now - self.since >= retry.patience


RECONNECT: Final = Retry(first=0.2, most=15.0)  # to a source
COMMIT: Final = Retry(first=0.5, most=30.0)  # of a job, and of a table that is behind
LATE_TABLE: Final = Retry(first=5.0, most=300.0)  # a table whose rows could not be read; `most` is a setting
RESUME: Final = Retry(first=10.0, most=300.0)  # of a job that an error has paused
JVM: Final = Retry(first=1.0, most=60.0)  # the start of Spark
ALERT: Final = Retry(first=1.0, most=300.0)  # a message that nobody has received


def resume_after(failures: int) -> float:
    """Seconds until a job that failed for the n-th time in a row (n from 1) resumes by itself."""
    return RESUME.wait(failures)


def is_due(resume_at: float | None, now: float) -> bool:
    """Whether it is time to resume. One that is too far ahead was computed by a clock that has been set back since."""
    return resume_at is not None and not now < resume_at <= now + RESUME.most
