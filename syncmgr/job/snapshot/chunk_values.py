"""The values of a chunk's rows that no target holds.

Owns: which rows go on, what a job that stops at such a value says, the dead letters of a snapshot.
Must not know: connections, processes, where the rows go.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from syncmgr.errors import Code, SyncError
from syncmgr.job.job_properties import OnValueError
from syncmgr.job.rows.batch import FILE, OFFSET, OP, WHEN, ChangeKind
from syncmgr.job.rows.dead_letter import DeadLetter
from syncmgr.job.rows.value_error import ValueRules, beyond_bounds, settled, shown_text
from syncmgr.job.snapshot.chunk_rows import ChunkRows, ReadRows
from syncmgr.job.types.cells import Unheld

KEY: Final = " in the row with "


@dataclass(frozen=True, kw_only=True, slots=True)
class ChunkRules:
    """What becomes of those values. `token`, `table`: of the channel, of its target. `keys`: source columns that
    distinguish rows.
    """

    token: str
    table: str
    values: ValueRules
    keys: tuple[str, ...]

    @classmethod
    def of(cls, chunk: ChunkRows) -> "ChunkRules":
        return cls(
            token=chunk.token,
            table=chunk.target,
            values=chunk.values or ValueRules(policy=OnValueError.STOP),
            keys=chunk.keys,
        )

    def settled(self, read: ReadRows, now: float) -> tuple[pa.Table, tuple[DeadLetter, ...]]:
        """The rows that go on, in the columns of the chunk, and the others, met `now`, in unix seconds. A row
        of a snapshot has no place in a binlog. Raises SOURCE_VALUE.
        """
        rows = _as_changes(read.rows, now)
        found = [*read.unheld, *beyond_bounds(rows, self.values)]
        if not found:
            return read.rows, ()
        if self.values.policy is OnValueError.STOP:
            raise self._stopped(read, found)
        kept, letters = settled(rows, read.unheld, self.values, token=self.token, table=self.table)
        return kept.filter(pc.equal(kept[OP], int(ChangeKind.INSERT))).drop_columns([OP]), letters

    def _stopped(self, read: ReadRows, found: Sequence[Unheld]) -> SyncError:
        one = found[0]
        others = [name for name in self.keys if name != one.column and name in read.rows.column_names]
        row = ", ".join(f"{name} = {shown_text(read.rows[name][one.row].as_py())}" for name in others)
        value = f"{one.shown}{KEY}{row}" if row else one.shown
        return SyncError(Code.SOURCE_VALUE, column=one.column, table=self.table, value=value, reason=one.reason)


def _as_changes(rows: pa.Table, now: float) -> pa.Table:
    """As rows of a stream are judged: inserts, each with a place."""
    count = len(rows)
    for name, value in {
        OP: pa.scalar(int(ChangeKind.INSERT), pa.int8()),
        WHEN: pa.scalar(now, pa.float64()),
        FILE: pa.scalar("", pa.string()),
        OFFSET: pa.scalar(0, pa.int64()),
    }.items():
        rows = rows.append_column(name, pa.repeat(value, count))
    return rows
