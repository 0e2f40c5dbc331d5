"""The request that a run ends.

Owns: whether it was made, and whether to end at once.
Must not know: what it has to do before it ends.
"""

import threading


class StopRequest:
    """Of one run. Safe to use from any thread; it cannot be withdrawn. `ending`: it is to end, at once or not."""

    def __init__(self) -> None:
        self.ending = threading.Event()
        self._abandoned = False

    def finish(self) -> None:
        """What is staged is committed first."""
        self.ending.set()

    def abandon(self) -> None:
        """What is only staged is dropped."""
        self._abandoned = True
        self.ending.set()

    def is_ending(self) -> bool:
        return self.ending.is_set()

    def is_abandoned(self) -> bool:
        return self._abandoned
