"""Rows events that were routed and not delivered yet.

Owns: their bytes by table and XA transaction, their numbers, which of them belong to whole transactions.
Must not know: what ends a transaction, positions, how rows are decoded.
"""

from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass, field

from syncmgr.job.ddl.ddl import Table
from syncmgr.sources.mysql.binlog.subscriptions import Subscribed
from syncmgr.sources.mysql.values.cells import PADDING
from syncmgr.sources.mysql.values.decoder import RowEvents


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """What was delivered of a transaction that is still open: its first `events` rows events, up to a coordinate.

    `tables`: of their rows.
    """

    events: int
    file: str
    log_pos: int
    tables: frozenset[Table]


@dataclass(slots=True)
class TableBuffer:
    """Rows events of one table map in one file: their bytes, where each ends, and its number among all.

    `xid`: of the XA transaction whose end they wait for; None: of ordinary transactions.
    """

    table: Subscribed
    xid: str | None = None
    file: str = ""
    data: bytearray = field(default_factory=bytearray)
    ends: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    def rows(self) -> RowEvents:
        self.data += bytes(PADDING)
        return RowEvents(data=self.data, ends=self.ends, file=self.file)

    def cut(self, number: int) -> "TableBuffer | None":
        """Remove the events below `number`; None if there are none."""
        count = bisect_left(self.numbers, number)
        if count == 0:
            return None
        size = self.ends[count - 1]
        taken = TableBuffer(self.table, self.xid, self.file, self.data, self.ends[:count], self.numbers[:count])
        rest = bytearray(memoryview(self.data)[size:])
        self.data, self.ends, self.numbers = rest, [end - size for end in self.ends[count:]], self.numbers[count:]
        del taken.data[size:]
        return taken

    def add(self, other: "TableBuffer", number: int) -> None:
        """The events of another, renumbered from `number` on."""
        size = len(self.data)
        self.data += other.data
        self.ends += [size + end for end in other.ends]
        self.numbers += range(number, number + len(other.ends))


class RowBuffer:
    """Used by one thread. `events`, `bytes`: how much waits, open transactions included.

    A lane is one stretch of its table's events: once another lane of the table has begun, no event joins it any more.
    So the lanes of a table one after the other, by their first events, are its events in order.
    """

    def __init__(self, most_events: int, most_bytes: int) -> None:
        self._most_events, self._most_bytes = most_events, most_bytes
        self._lanes: list[TableBuffer] = []
        self._newest: dict[tuple[Table, str | None], TableBuffer] = {}  # by table and xid
        self._next = 0  # number of the next event
        self._boundary = 0  # events below it belong to whole transactions
        self.events = self.bytes = 0

    @property
    def full(self) -> bool:
        return self.events >= self._most_events or self.bytes >= self._most_bytes

    @property
    def any_whole(self) -> bool:
        """Whether rows of whole transactions wait."""
        return any(lane.numbers[0] < self._boundary for lane in self._lanes)

    def add(self, table: Subscribed, xid: str | None, file: str, event: memoryview) -> None:
        lane = self._lane(table, xid, file)
        lane.data += event
        lane.ends.append(len(lane.data))
        lane.numbers.append(self._next)
        self._next += 1
        self.events += 1
        self.bytes += len(event)

    def _lane(self, table: Subscribed, xid: str | None, file: str) -> TableBuffer:
        """The lane for the next event of that table map."""
        lane = self._newest.get((table.table, xid))
        if lane is None or lane.table is not table or lane.file != file:
            lane = self._newest[table.table, xid] = TableBuffer(table, xid, file)
            self._lanes.append(lane)
        return lane

    def open_tables(self) -> frozenset[Table]:
        """The tables of which rows of the open transaction wait."""
        return frozenset(lane.table.table for lane in self._lanes if lane.numbers[-1] >= self._boundary)

    def end_transaction(self) -> None:
        """All that waits belongs to whole transactions."""
        self._boundary = self._next

    def take_whole(self) -> list[TableBuffer]:
        return self._cut(self._boundary)

    def take_all(self) -> list[TableBuffer]:
        return self._cut(self._next)

    def _cut(self, below: int) -> list[TableBuffer]:
        """In the order of their first events."""
        taken = [cut for lane in self._lanes if (cut := lane.cut(below)) is not None]
        self._keep([lane for lane in self._lanes if lane.ends])
        return sorted(taken, key=lambda lane: lane.numbers[0])

    def forget_open(self) -> None:
        """What waits of the open transaction will be sent again."""
        whole = (lane.cut(self._boundary) for lane in self._lanes)
        self._keep([lane for lane in whole if lane is not None])
        self._next = self._boundary

    def release(self, xid: str, passed: Collection[Table]) -> None:
        """What waits of an XA transaction joins the open ordinary one, except rows of tables in `passed`."""
        for lane in self.drop(xid):
            if lane.table.table in passed:
                continue
            self._lane(lane.table, None, lane.file).add(lane, self._next)
            self._next += len(lane.ends)
        self._count()

    def drop(self, xid: str) -> list[TableBuffer]:
        """What waited of an XA transaction."""
        dropped = [lane for lane in self._lanes if lane.xid == xid]
        self._keep([lane for lane in self._lanes if lane.xid != xid])
        return dropped

    def _keep(self, lanes: list[TableBuffer]) -> None:
        self._lanes = lanes
        self._newest = {(lane.table.table, lane.xid): lane for lane in lanes}
        self._count()

    def _count(self) -> None:
        self.events = sum(len(lane.ends) for lane in self._lanes)
        self.bytes = sum(len(lane.data) for lane in self._lanes)
