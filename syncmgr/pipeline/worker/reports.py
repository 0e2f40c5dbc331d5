"""When a worker reports its progress to the frontend.

Owns: how often it reports, and the last report.
Must not know: the content of reports, epochs, sources.
"""

import time
from collections.abc import Callable
from typing import Final

from syncmgr.pipeline.messages import Progress

PROGRESS_SECOND: Final = 0.5
SAME_SECOND: Final = 2.0  # how often no change is reported to the frontend: hundreds of quiet jobs cost it little


class Reports:
    """Used by one thread."""

    def __init__(self, send: Callable[[Progress], None]) -> None:
        self._send = send
        self._looked_at = self._reported_at = time.monotonic()
        self._reported: Progress | None = None

    @property
    def due_at(self) -> float:
        """On the monotonic clock."""
        return self._looked_at + PROGRESS_SECOND

    def report(self, progress: Callable[[], Progress]) -> None:
        """If it is due."""
        now = time.monotonic()
        if now < self.due_at:
            return
        self._looked_at = now
        current = progress()
        if current != self._reported or now - self._reported_at >= SAME_SECOND:
            self._reported, self._reported_at = current, now
            self._send(current)
