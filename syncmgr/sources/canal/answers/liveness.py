"""What canal's answers say of the time: when it was heard, until when nothing is missing.

Owns: the moments of questions and answers.
Must not know: entries, sockets, acknowledgements.
"""

import time
from typing import Final

NEVER: Final = 0.0


class Liveness:
    """Unix times, or NEVER. Asked by any thread, told by the one that reads."""

    def __init__(self) -> None:
        self._asked_at = NEVER
        self.heard_at = NEVER
        self.caught_up_at = NEVER

    def asks(self, *, has_room: bool) -> None:
        """`has_room`: an answer without rows then says that there are none."""
        self._asked_at = time.time() if has_room else NEVER

    def heard(self) -> float:
        """An answer, and the moment of its question, NEVER where it may have been for want of room."""
        self.heard_at = time.time()
        return self._asked_at

    def had_all(self, asked_at: float) -> None:
        """Canal had nothing more when asked. How long its answer was under way nobody knows."""
        self.caught_up_at = max(self.caught_up_at, asked_at)
