"""What canal's answers show about time: when it last answered, until when nothing is missing.

Owns: the times of requests and answers.
Must not know: entries, sockets, acknowledgements.
"""

import time
from typing import Final

NEVER: Final = 0.0


class Liveness:
    """Unix times, or NEVER. Read by any thread, set by the one that reads the source."""

    def __init__(self) -> None:
        self._asked_at = NEVER
        self.heard_at = NEVER
        self.caught_up_at = NEVER

    def asks(self, *, has_room: bool) -> None:
        """`has_room`: an answer without rows then says that there are none."""
        self._asked_at = time.time() if has_room else NEVER

    def heard(self) -> float:
        """An answer, and the time of its request, NEVER if it may have been empty for lack of room."""
        self.heard_at = time.time()
        return self._asked_at

    def had_all(self, asked_at: float) -> None:
        """Canal had nothing more when it was asked. How long its answer was in transit is not known."""
        self.caught_up_at = max(self.caught_up_at, asked_at)
