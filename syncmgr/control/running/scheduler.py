"""The clock of the frontend.

Owns: the ticks: jobs, and each kind of upkeep, by the time that passes, whatever the machine's clock is set to.
Must not know: what a tick does.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

JOBS: Final = "jobs"

log = logging.getLogger(__name__)


class Scheduler:
    """Calls `tick` every `period_second` and at once on `wake`, each kind of upkeep with its own period.

    None overlaps itself, and none waits for another.
    """

    def __init__(
        self,
        tick: Callable[[], None],
        period_second: float,
        upkeep: Mapping[str, Callable[[], None]],
        upkeep_second: float,
    ) -> None:
        self._jobs = _Ticks(JOBS, tick, period_second, first_second=0.0)
        self._all = [self._jobs, *(_Ticks(name, kind, upkeep_second) for name, kind in upkeep.items())]

    def start(self) -> None:
        for ticks in self._all:
            ticks.start()

    def wake(self) -> None:
        """A state has changed: tick now, on the thread of the ticks, and once more if one is under way that may have
        missed it. Never waits; after stop it does nothing.
        """
        self._jobs.wake()

    def stop(self) -> None:
        """No further tick; one that is under way ends by itself."""
        for ticks in self._all:
            ticks.stop()


class _Ticks:
    """Of one kind, on a thread of their own: a long upkeep must not delay the start of a job."""

    def __init__(
        self, name: str, call: Callable[[], None], period_second: float, first_second: float | None = None
    ) -> None:
        self._call = call
        self._period = period_second
        self._first = period_second if first_second is None else first_second
        self._wanted = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=f"tick-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._wanted.set()

    def stop(self) -> None:
        self._stopped = True
        self._wanted.set()

    def _run(self) -> None:
        due = time.monotonic() + self._first
        while True:
            woken = self._wanted.wait(max(0.0, due - time.monotonic()))
            self._wanted.clear()
            if self._stopped:
                return
            if not woken:  # a tick that still ran when the next was due is not made up for
                due = max(due + self._period, time.monotonic())
            try:
                self._call()
            except Exception:
                log.exception("a tick has failed")
