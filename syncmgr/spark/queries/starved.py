"""For how long a process wanted a core and had none.

Owns: what the kernel says of the waits of its threads.
Must not know: what the process does, what follows from it.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

KEPT: Final = 2_000  # looks
_NS: Final = 1e-9


def waits_of(pid: int) -> dict[str, float]:
    """Seconds that each thread has waited for a core, as Linux counts them in schedstat; empty where nothing does."""
    found = {}
    for file in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            found[file.parent.name] = int(file.read_text().split()[1]) * _NS
        except (OSError, IndexError):  # the thread has ended
            continue
    return found


class Starved:
    """As much as the thread that had to wait most, between each two looks. One thread looks, any may ask."""

    def __init__(self, waits: Callable[[], Mapping[str, float]], clock: Callable[[], float] = time.monotonic) -> None:
        self._waits, self._clock = waits, clock
        self._last = waits()
        self._looks = deque([(clock(), 0.0)], KEPT)  # when, and how much in all until then

    def look(self) -> None:
        """Now and then; what lies between two looks cannot be told apart."""
        before, total = self._looks[-1]
        waits, now = self._waits(), self._clock()
        longest = max((wait - self._last.get(thread, 0.0) for thread, wait in waits.items()), default=0.0)
        self._last = waits
        self._looks.append((now, total + min(max(longest, 0.0), now - before)))

    def since(self, moment: float) -> float:
        """Seconds, at the last look; too many rather than too few."""
        until_then = [total for when, total in list(self._looks) if when <= moment]
        return self._looks[-1][1] - (until_then[-1] if until_then else self._looks[0][1])
