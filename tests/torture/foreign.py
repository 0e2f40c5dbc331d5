"""When another engine works on the tables of the shop: all the time, whatever else happens.

Owns: the pauses between its operations, and their count.
Must not know: what an operation is.
"""

import random
import threading
from collections.abc import Callable
from typing import Final

from tests.torture.engine import Engine, Operation

PAUSE_SECOND: Final = 1.0  # between two operations, on average


class Foreign(threading.Thread):
    """One operation after the other until it is stopped. `turn`: who holds it sees none of them under way."""

    def __init__(self, engine: Engine, dice: random.Random, count: Callable[[Operation], None]) -> None:
        super().__init__(daemon=True, name="foreign engine")
        self._engine, self._dice, self._count = engine, dice, count
        self._stopped = threading.Event()
        self.turn = threading.Lock()

    def run(self) -> None:
        while not self._stopped.wait(self._dice.expovariate(1 / PAUSE_SECOND)):
            with self.turn:
                self._count(self._engine.act())

    def stop(self) -> None:
        self._stopped.set()
        self.join()
