"""Upkeep of the tables of a lake in memory.

Owns: what `lake.port.Upkeep` promises, without files.
Must not know: rows, what a table format does, when upkeep is due.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from syncmgr.job.snapshot.retention import Kept
from tests.support.memory_tables import MemoryTables


@dataclass(frozen=True, kw_only=True)
class MemoryRan:
    kind: str
    at: float


@dataclass(frozen=True, kw_only=True)
class MemoryStanding:
    state: str = "ready"
    reason: str | None = None
    rows: int = 0
    bytes: int = 0
    snapshot: int | None = None
    equality_deletes: int = 0
    missing: int = 0


@dataclass
class MemoryUpkeep:
    """`due`: the tables whose files need something. `failing`: those at which it fails. `done`: those at which it did
    not, in order.
    """

    tables: MemoryTables
    serves: bool = True
    due: set[tuple[str, str]] = field(default_factory=set)
    failing: dict[str, Exception] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    log: dict[tuple[str, str], list[MemoryRan]] = field(default_factory=dict)

    def upkeep(self, db: str, table: str) -> Sequence[MemoryRan]:
        self._visit(db, table)
        if (db, table) not in self.due:
            return ()
        self.due.remove((db, table))
        return self._ran(db, table, "compact")

    def expire(self, db: str, table: str, kept: Kept) -> Sequence[MemoryRan]:
        self._visit(db, table)
        known = self.tables.committed.get((db, table), [])
        stays = [each for each in known if kept.point is None or each >= kept.point or each in kept.last]
        if stays == known:
            return ()
        self.tables.committed[db, table] = stays
        return self._ran(db, table, "expire")

    def _visit(self, db: str, table: str) -> None:
        self.tables.describe(db, table)
        if table in self.failing:
            raise self.failing[table]
        self.done.append(table)

    def _ran(self, db: str, table: str, kind: str) -> Sequence[MemoryRan]:
        ran = MemoryRan(kind=kind, at=time.time())
        self.log.setdefault((db, table), []).append(ran)
        return (ran,)

    def upkeep_log(self, db: str, table: str) -> Sequence[MemoryRan]:
        return tuple(self.log.get((db, table), ()))

    def index(self, db: str, table: str) -> MemoryStanding:
        """One key for each commit."""
        known = self.tables.committed.get((db, table), [])
        return MemoryStanding(rows=len(known), snapshot=known[-1]) if known else MemoryStanding(state="building")
