"""What is reported of a run's errors, and how long they last.

Owns: when a listener is told of which error, the series of attempts, what ends a run.
Must not know: what is retried, the worker's process.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry, Series
from syncmgr.job.failure import FailType

SLOW_SECOND: Final = 60.0  # a commit that takes longer is reported


class GaveUpError(Exception):
    """Ends a run; `kind` as SHOW has it."""

    def __init__(self, error: SyncError, kind: FailType) -> None:
        super().__init__(str(error))
        self.error = error
        self.kind = kind


def _identity(error: SyncError) -> tuple[str, ...]:
    """Of a table and a reason, however much waits by now."""
    return str(error.code.number), *(str(error.context.get(part)) for part in ("table", "reason"))


class Health:
    """Of one run. `report`, `heard`, `mended`, `read` and `committing` may be called from any thread."""

    def __init__(
        self, on_trouble: Callable[[SyncError | None], None], standstill: Callable[[], SyncError | None]
    ) -> None:
        """`standstill`: of one table, while the others go on."""
        self._on_trouble, self._standstill = on_trouble, standstill
        self._reporting = threading.Lock()  # held from the check until the report: so reports come in order
        self._standing: tuple[str, ...] | None = None  # what was reported last of a table that stands still
        self._has_heard = self._is_slow = False  # the last: a slow commit was reported
        self._series = Series()

    def report(self, error: SyncError | None) -> None:
        """Msg: what is being retried, otherwise the table that stands still, otherwise nothing."""
        with self._reporting:
            self._on_trouble(error or self._standstill())

    def tend(self) -> None:
        """Msg says so as long as a table stands still, and why it does now."""
        error = self._standstill()
        stands = None if error is None else _identity(error)
        if stands != self._standing:
            self._standing = stands
            self.report(None)

    def heard(self) -> None:
        """Of the source. Intents are done before a worker starts: a run that receives this is past every old error."""
        if not self._has_heard:
            self._has_heard = True
            self.report(None)

    def committing(self, epoch: int, second: float) -> None:
        """The commit of an epoch has taken so long by now."""
        if not self._is_slow and second > SLOW_SECOND:
            self._is_slow = True
            self.report(SyncError(Code.LAKE_SLOW, epoch=epoch, second=int(second)))

    def mended(self) -> None:
        """Something was committed, or there is nothing left to commit."""
        if self._series.failures or self._is_slow:
            self._series, self._is_slow = Series(), False
            self.report(None)

    def read(self) -> None:
        """Rows that were there before are in the lake: old errors are past, and no worker may report that for hours."""
        self.heard()
        self.mended()
        self.tend()

    def failed(self, retry: Retry) -> float | None:
        """How many seconds to wait before the next attempt; None: there were enough attempts."""
        now = time.monotonic()
        self._series = self._series.failed(now)
        return None if self._series.is_over(retry, now) else self._series.wait(retry)
