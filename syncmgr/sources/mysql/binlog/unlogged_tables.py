"""Tables that a job's patterns match, and that it does not have although no statement that it read has created them.

Owns: which tables belong to the patterns, and of which of them something has arrived that was not reported yet.
Must not know: events, which tables a job has, whether a table still exists.
"""

import math
import time
from collections.abc import Callable, Collection
from typing import Final

from syncmgr.job.channel.patterns import Pattern
from syncmgr.job.ddl.ddl import Table

AGAIN_SECOND: Final = 300.0  # one that had gone when the server was asked may have been created again, unlogged


class UnloggedTables:
    """Used by one thread, through the whole life of a source."""

    def __init__(self, families: Collection[Pattern] = (), clock: Callable[[], float] = time.monotonic) -> None:
        self.families = families
        self._clock = clock
        self._met: dict[Table, float] = {}  # when each was last reported
        self._untold: set[Table] = set()

    def has(self, table: Table) -> bool:
        """Whether it belongs to one of the families."""
        return any(family.has(table) for family in self.families)

    def heed(self, table: Table) -> bool:
        """Something of a table arrives that the job does not have. Whether it matters, also if more of it does.

        It is reported only now and then: the report leads to a look at all tables of the server.
        """
        if table not in self._met and not self.has(table):
            return False
        now = self._clock()
        if now - self._met.get(table, -math.inf) >= AGAIN_SECOND:
            self._met[table] = now
            self._untold.add(table)
        return True

    def take(self) -> frozenset[Table]:
        """Those that were not taken yet."""
        if not self._untold:
            return frozenset()
        taken, self._untold = frozenset(self._untold), set()
        return taken
