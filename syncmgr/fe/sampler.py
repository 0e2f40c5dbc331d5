"""The thread that measures.

Owns: how often is measured, and the last sample.
Must not know: what a sample has, who reads it.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from syncmgr.job.metrics.sample import Sample

PERIOD_SECOND: Final = 1.0
MOST_SHARE: Final = 0.05  # of a core is spent on measuring, however many jobs there are
MOST_PAUSE_SECOND: Final = 10.0  # a sample that is older than 15 s says that the frontend is not alive

log = logging.getLogger(__name__)


def pause_after(cost_second: float) -> float:
    """Seconds until the next measurement begins. `cost_second`: CPU time of the last one: what it has waited for,
    metadata or a busy machine, says nothing of how many jobs there are.
    """
    return max(PERIOD_SECOND - cost_second, min(cost_second * (1 / MOST_SHARE - 1), MOST_PAUSE_SECOND))


class Sampler:
    """start() and stop() once each. No client causes a measurement."""

    def __init__(self, measure: Callable[[], Sample], heard: Callable[[Sample], None]) -> None:
        """`heard`: gets each sample, in the thread that measures."""
        self._measure, self._heard = measure, heard
        self._last: Sample | None = None
        self._stopping = threading.Event()
        self._fails = False
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def last(self) -> Sample | None:
        """None: nothing was measured yet."""
        return self._last

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        pause = 0.0
        while not self._stopping.wait(pause):
            begun = time.thread_time()
            self._sample()
            pause = pause_after(time.thread_time() - begun)

    def _sample(self) -> None:
        """One that fails leaves the last one, whose age says so."""
        try:
            self._last = self._measure()
            self._heard(self._last)
            self._fails = False
        except Exception:
            if not self._fails:
                log.exception("nothing could be measured; the last sample stays")
            self._fails = True
