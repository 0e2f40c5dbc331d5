"""When the frontend hears how far a worker has come.

Owns: how often it is told, and what it was told last.
Must not know: what is told, epochs, sources.
"""

import time
from collections.abc import Callable
from typing import Final

from syncmgr.pipeline.messages import Progress

PROGRESS_SECOND: Final = 0.5
SAME_SECOND: Final = 2.0  # so often the frontend hears that nothing has changed: hundreds of quiet jobs cost it little


class Reports:
    """Used by one thread."""

    def __init__(self, send: Callable[[Progress], None]) -> None:
        self._send = send
        self._looked_at = self._told_at = time.monotonic()
        self._told: Progress | None = None

    @property
    def due_at(self) -> float:
        """On the monotonic clock."""
        return self._looked_at + PROGRESS_SECOND

    def tell(self, progress: Callable[[], Progress]) -> None:
        """If it is due."""
        now = time.monotonic()
        if now < self.due_at:
            return
        self._looked_at = now
        current = progress()
        if current != self._told or now - self._told_at >= SAME_SECOND:
            self._told, self._told_at = current, now
            self._send(current)
