"""From a rows event to the table that it is for.

Owns: the table ids of the stream, rows events that are wanted and those that were already delivered.
Must not know: where transactions end, statements, how rows are decoded.
"""

import struct
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.source_history.logged import WHOLE_JSON
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.binlog import compressed
from syncmgr.sources.mysql.binlog.routing.coordinates import log_pos
from syncmgr.sources.mysql.binlog.routing.transactions import Transactions
from syncmgr.sources.mysql.binlog.subscriptions import Subscribed, Subscriptions
from syncmgr.sources.mysql.binlog.undelivered import RowBuffer
from syncmgr.sources.mysql.wire import MalformedEventError

MAX_ROUTES: Final = 4096  # table ids remembered; a statement declares all of its own before its first row
PLACEHOLDER: Final = 0xFFFFFF  # the table id of rows events that only end a statement
_U64 = struct.Struct("<Q").unpack_from


class TableRoutes:
    """Used by one thread."""

    def __init__(
        self,
        subscriptions: Subscriptions,
        transactions: Transactions,
        waiting: RowBuffer,
        event_bytes: int,
        address: str,
    ) -> None:
        """`event_bytes`: how large the plain form of a compressed event may be."""
        self._subscriptions = subscriptions
        self._coordinates = transactions.coordinates
        self._gtids = transactions.gtids
        self._open = transactions.open
        self._waiting = waiting
        self._event_bytes = event_bytes
        self._address = address
        self._routes: dict[int, Subscribed | None] = {}

    def forget(self) -> None:
        """The table ids declared so far are no longer valid."""
        self._routes.clear()

    def follow(self, subscriptions: Subscriptions) -> None:
        self._subscriptions = subscriptions
        self.forget()

    def table_map(self, data: memoryview, start: int, end: int) -> None:
        table_id = _table_id(data, start)
        self._routes.pop(table_id, None)  # the last one declared is the last one forgotten
        if len(self._routes) >= MAX_ROUTES:
            del self._routes[next(iter(self._routes))]
        body, known = bytes(data[start + 27 : end]), self._subscriptions
        early = False
        if known.begin_later and self._open.branch is None:  # rows of an XA transaction count at its end
            early = known.is_early(body, self._gtids.open, self._coordinates.after(data, start))
        self._routes[table_id] = None if early else known.of(body)

    def rows(self, data: memoryview, start: int, end: int) -> bool:
        """Whether no more rows are to be taken."""
        table, now = self._route(data, start), self._open
        if table is None:
            return False
        now.taken += 1
        file = self._coordinates.file
        if now.skip is not None and now.was_delivered(now.skip, file, log_pos(data, start)):
            return False
        event = data[start:end]
        if event[4] in wire.PLAIN_OF:
            event = memoryview(compressed.rows(bytes(event), self._event_bytes))
        self._waiting.add(table, now.branch, file, event)
        now.log_pos = log_pos(data, start)
        return self._waiting.full

    def _route(self, data: memoryview, start: int) -> Subscribed | None:
        table_id = _table_id(data, start)
        try:
            return self._routes[table_id]
        except KeyError:
            if table_id == PLACEHOLDER:
                return None
            raise MalformedEventError(f"rows of table id {table_id} without a table map") from None

    def partial(self, data: memoryview, start: int, _end: int) -> None:
        if (of := self._route(data, start)) is not None:
            label = ".".join(of.table)
            reason = f"partial JSON updates of {label}; {WHOLE_JSON}"
            raise SyncError(Code.SOURCE_UNSUPPORTED, address=self._address, reason=reason, table=label)


def _table_id(data: memoryview, start: int) -> int:
    return int(_U64(data, start + 19)[0]) & 0xFFFFFFFFFFFF
