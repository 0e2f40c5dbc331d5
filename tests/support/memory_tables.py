"""The databases and tables of a lake in memory.

Owns: what `lake.port.LakeTables` promises, without files.
Must not know: rows, commits, Iceberg.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.channel.shard import Part
from syncmgr.job.targets.target_change import TargetChange
from syncmgr.job.types.schema import TargetTable


@dataclass
class MemoryTables:
    """`away`: it does not answer. `full_after`: how many tables it has room for. `second_names`: the tables that they
    are names of, by label. `committed`: the snapshots of each table, oldest first.
    """

    there: dict[tuple[str, str], TargetTable] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)
    numbered: int = 0
    away: SyncError | None = None
    full_after: int = 99
    second_names: dict[str, tuple[str, str]] = field(default_factory=dict)
    committed: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def ready(self) -> None:
        if self.away is not None:
            raise self.away

    def namespaces(self) -> list[str]:
        return sorted(self.made)

    def create_namespace(self, db: str) -> None:
        self.made.add(db)

    def drop_namespace(self, db: str) -> None:
        self.made.remove(db)

    def tables(self, db: str) -> list[str]:
        return [name for schema, name in self.there if schema == db]

    def views(self, db: str) -> list[str]:
        return []

    def describe(self, db: str, table: str) -> TargetTable:
        if (db, table) not in self.there:
            raise SyncError(Code.NO_SUCH_TABLE, db=db, table=table)
        return self.there[db, table]

    def snapshots(self, db: str, table: str) -> frozenset[int]:
        self.describe(db, table)
        return frozenset(self.committed.get((db, table), ()))

    def is_other(self, db: str, table: str, token: str, last_snapshot: int) -> bool:
        self.describe(db, table)
        return False

    def create_table(self, table: TargetTable, *, for_job: bool) -> str:
        if (table.db, table.name) in self.there:
            raise SyncError(Code.TABLE_EXISTS, table=f"{table.db}.{table.name}")
        if len(self.there) == self.full_after:
            raise SyncError(Code.LAKE_FULL, reason="no space")
        self.numbered += 1
        made = replace(table, uuid=f"u{self.numbered}", is_unused=True, is_spare=for_job)
        self.there[table.db, table.name] = made
        return made.uuid

    def alter_table(self, db: str, table: str, decide: Callable[[TargetTable], TargetChange]) -> None:
        self.there[db, table] = decide(self.describe(db, table)).result

    def drop_table(self, db: str, table: str) -> str | None:
        del self.there[db, table]
        return next((label for label, of in self.second_names.items() if of == (db, table)), None)

    def is_empty(self, db: str, table: str, part: Part | None = None) -> bool:
        return self.describe(db, table).is_unused

    def writers(self, db: str, table: str, second: float) -> frozenset[str]:
        self.describe(db, table)
        return frozenset()

    def check_channel(self, channel: ChannelDescription) -> None:
        self.describe(channel.target_db, channel.target)


def databases(*names: str) -> MemoryTables:
    """A lake that has these, and no table."""
    return MemoryTables(made=set(names))
