"""Who kills, again and again, as soon as the lake has come back.

Owns: in which order, and how often before it has come back.
Must not know: how a process is killed, what is right.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from tests.torture.adversary import Adversary
from tests.torture.victims import Victims

DEED_SHARE: Final = 0.2  # so often something else is broken and mended before
AGAIN_SECOND: Final = 8.0  # at most so long after the kill before comes one in its recovery


class Killer:
    """Kills as many as are `wanted`, by kind. `again`: how often the next kill comes in the recovery from the one
    before.
    """

    def __init__(
        self, victims: Victims, adversary: Adversary, dice: random.Random, wanted: Mapping[str, int], again: float
    ) -> None:
        self._victims, self._adversary, self._dice, self._again = victims, adversary, dice, again
        self._wanted = Counter(wanted)
        self._kill: dict[str, Callable[[], int]] = {
            "worker": victims.kill_workers,
            "frontend": victims.kill_frontend,
            "JVM": victims.kill_spark,
        }

    def also(self, kills: Mapping[str, Callable[[], int]]) -> None:
        """Kills these, too, where they are wanted; each returns how many died."""

        def noted(kill: Callable[[], int]) -> int:
            self._victims.note_death()
            return kill()

        self._kill |= {kind: partial(noted, kill) for kind, kill in kills.items()}

    @property
    def has_done(self) -> bool:
        return self._wanted.total() == 0

    def act(self) -> None:
        """One kill, or one with others in its recovery; returns when all is committed that was at the source then."""
        if self._dice.random() < DEED_SHARE:
            self._adversary.break_something()
        time.sleep(self._dice.uniform(0, 1))
        kind = self._kill_one()
        before = self._victims.figures.kills.copy()
        while not self.has_done and self._dice.random() < self._again:
            time.sleep(self._dice.uniform(0, AGAIN_SECOND))
            kind = f"{self._kill_one()} in a recovery"
        self._victims.figures.in_recovery.update(self._victims.figures.kills - before)
        self._victims.recover(kind)

    def _kill_one(self) -> str:
        """Of a kind that is still wanted, more likely of one that is wanted often."""
        kind = self._dice.choices(list(self._wanted), weights=list(self._wanted.values()))[0]
        died = self._kill[kind]()
        self._wanted[kind] = max(0, self._wanted[kind] - died)
        return kind
