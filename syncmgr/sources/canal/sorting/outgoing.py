"""What is handed on: rows of whole transactions that wait for it, and the batches of any rows.

Owns: which ALTER the next rows of a table come after, the times of a batch.
Must not know: entries, positions, acknowledgements, when something is handed on.
"""

from collections.abc import Iterable, Mapping

from syncmgr.job.ddl.ddl import Table
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import Batch, Ddl
from syncmgr.sources.canal.synced import Altered, Truth, Waiting


class Outgoing:
    """Used by one thread. `moved`: whole transactions have arrived since the last were taken."""

    def __init__(self, tables: Mapping[Table, Truth]) -> None:
        self._tables = tables
        self._whole = Waiting()
        self._altered: dict[Table, Altered] = {}
        self._source_time = self._first_time = 0.0
        self.moved = False

    def end_transaction(self, rows: Waiting, time: float) -> None:
        self._source_time = time
        self._first_time = self._first_time or time
        self._whole.absorb(rows)
        self.moved = True

    def take_whole(self) -> Waiting:
        """The rows of all whole transactions."""
        whole, self._whole = self._whole, Waiting()
        self.moved = False
        return whole

    def alter(self, tables: Iterable[Table], altered: Altered) -> None:
        """Rows that are handed on from now on are after this."""
        self._altered |= dict.fromkeys(tables, altered)

    def batch(
        self, waiting: Waiting, *, end: Position | None, is_open: bool, met: Ddl | None = None, starved: bool = False
    ) -> Batch:
        rows = {table: list[bytes]() for table in self._altered} | waiting.rows  # an ALTER is judged without rows
        changes = tuple(self._tables[t].changes(parts, self._altered.pop(t, None)) for t, parts in rows.items())
        first, self._first_time = self._first_time, 0.0
        return Batch(
            changes=changes,
            end=end,
            open=is_open,
            events=waiting.events,
            bytes=waiting.bytes,
            source_time=self._source_time,
            first_time=first,
            ddl=met,
            starved=starved,
        )
