"""What events outside of transactions mean: a file that begins or ends, a server that does, the GTIDs before a file.

Owns: when the position moves without a transaction, what a crash of the server has undone.
Must not know: statements, rows, what transactions are made of.
"""

from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.binlog import events
from syncmgr.sources.mysql.binlog.continuation import gtid_events
from syncmgr.sources.mysql.binlog.routing.table_routes import TableRoutes
from syncmgr.sources.mysql.binlog.routing.transactions import Transactions
from syncmgr.sources.mysql.binlog.sessions import Begun
from syncmgr.sources.mysql.binlog.unlogged import Unlogged

FILE_HEAD: Final = 4  # offset of a file's first event


class FileEvents:
    """Used by one thread."""

    def __init__(self, unlogged: Unlogged, transactions: Transactions, routes: TableRoutes, address: str) -> None:
        self._unlogged = unlogged
        self._transactions = transactions
        self._coordinates = transactions.coordinates
        self._gtids = transactions.gtids
        self._routes = routes
        self._address = address
        self._by_gtid = False

    def connected(self, server: str, *, by_gtid: bool, shares_id: bool) -> None:
        self._by_gtid = by_gtid
        if not by_gtid:
            self._gtids.forget()
        if self._coordinates.server and self._coordinates.server != server:
            self._unlogged.sessions_ended()  # of the other one
            self._gtids.forget_files()
        self._coordinates.connected(server, shares_id=shares_id)

    def rotate(self, data: memoryview, start: int, end: int) -> None:
        place = self._coordinates
        place.file, place.offset = events.rotate(bytes(data[start:end]))
        artificial = data[start + 17] & wire.FLAG_ARTIFICIAL  # where a dump begins, which by GTID may be far back
        if artificial and place.end_file not in {"", place.file}:
            self._unlogged.forget_sessions()  # the server may have begun one that is skipped
        if self._transactions.none_open and not (artificial and place.end_file and not place.is_later()):
            if place.file != place.end_file:
                place.end_created = 0  # its head follows
            place.end_file, place.end_offset = place.file, place.offset
            self._transactions.moved = self._transactions.moved or not artificial

    def format_description(self, data: memoryview, start: int, end: int) -> None:
        place = self._coordinates
        place.created = int.from_bytes(data[start : start + 4], "little")
        self._routes.forget()
        begins = events.begins_server(data[start:end])
        if begins and place.is_later():
            self._undo_open()
        if self._transactions.none_open and place.file == place.end_file:
            if not place.end_created and begins:
                self._server_began(data[start:end])
            place.end_created = place.created

    def _undo_open(self) -> None:
        """As the server has, which wrote only its beginning before it crashed."""
        if tables := self._transactions.open.delivered_tables:
            label = ".".join(min(tables))
            reason = f"the begin of a transaction that a crash has undone, with rows of {label}"
            raise SyncError(Code.SOURCE_UNSUPPORTED, address=self._address, reason=reason, table=label)
        self._transactions.undo_open()
        place = self._coordinates
        place.end_file, place.end_offset, place.end_created = place.file, place.offset, 0

    def _server_began(self, head: memoryview) -> None:
        origin = int.from_bytes(head[events.ORIGIN], "little")
        self._unlogged.sessions_ended(None if self._coordinates.shares_id else Begun(origin=origin))

    def previous_gtids(self, data: memoryview, start: int, end: int) -> None:
        if self._by_gtid and self._gtids.executed is None and self._coordinates.offset <= FILE_HEAD:
            self._gtids.executed = gtid_events.previous_gtids(bytes(data[start:end]))
        self.outside(data, start, end)

    def mariadb_gtid_list(self, data: memoryview, start: int, end: int) -> None:
        artificial = data[start + 17] & wire.FLAG_ARTIFICIAL
        if self._gtids.executed is None and not artificial and self._coordinates.offset <= FILE_HEAD:
            self._gtids.executed = gtid_events.mariadb_gtid_list(bytes(data[start:end]))
        self.outside(data, start, end)

    def outside(self, data: memoryview, start: int, _end: int) -> None:
        """An event outside of transactions: after it the server may end, and nothing may be written for long.

        If no GTID is known yet, a reader that goes on from here must see the head of the file again, which contains
        them.
        """
        place = self._coordinates
        stands_in_file = not data[start + 17] & wire.FLAG_ARTIFICIAL and place.file == place.end_file
        if not stands_in_file or not self._transactions.none_open or (self._by_gtid and not self._gtids.executed):
            return
        after = place.end_of(data, start)
        if after > place.end_offset:
            place.end_offset, self._transactions.moved = after, True
