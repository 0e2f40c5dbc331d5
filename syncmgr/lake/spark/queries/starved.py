"""For how long a process waited for a core.

Owns: what the kernel reports of the times of its threads.
Must not know: what the process does, what follows from it.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

KEPT: Final = 2_000  # looks
_NS: Final = 1e-9


class ThreadTimes(NamedTuple):
    """Seconds of a thread, since it began: on a core, and waiting for one."""

    ran: float
    waited: float


NO_TIME: Final = ThreadTimes(0.0, 0.0)


def times_of(pid: int) -> dict[str, ThreadTimes]:
    """Of each thread, as Linux counts them in schedstat; empty if not available."""
    found = {}
    for file in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            ran, waited = file.read_text().split()[:2]
        except (OSError, ValueError):  # the thread has ended
            continue
        found[file.parent.name] = ThreadTimes(int(ran) * _NS, int(waited) * _NS)
    return found


def cores() -> int:
    """The cores that a process of ours may run on."""
    return len(os.sched_getaffinity(0))


class CpuStarvation:
    """The wait of the thread that had to wait most, between each two looks, minus what the process itself has taken:
    threads that keep each other from the cores are not starved. One thread looks, any may ask.
    """

    def __init__(
        self, times: Callable[[], Mapping[str, ThreadTimes]], cores: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._times, self._cores, self._clock = times, cores, clock
        self._last = times()
        self._looks = deque([(clock(), 0.0)], KEPT)  # when, and how much in all until then

    def look(self) -> None:
        """To be called repeatedly; what happens between two looks cannot be distinguished."""
        before, total = self._looks[-1]
        times, now = self._times(), self._clock()
        known = [(each, self._last.get(thread, NO_TIME)) for thread, each in times.items()]
        longest = max((each.waited - last.waited for each, last in known), default=0.0)
        ran = sum(each.ran - last.ran for each, last in known)
        others = max(now - before - max(ran, 0.0) / self._cores, 0.0)
        self._last = times
        self._looks.append((now, total + min(max(longest, 0.0), others)))

    def since(self, moment: float) -> float:
        """Seconds, at the last look; too many rather than too few."""
        until_then = [total for when, total in list(self._looks) if when <= moment]
        return self._looks[-1][1] - (until_then[-1] if until_then else self._looks[0][1])
