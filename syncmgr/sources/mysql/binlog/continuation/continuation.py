"""Whether a server can go on from a job's position.

Owns: what is queried from it for that, and which errors a gap, another history or another transaction are.
Must not know: how a dump is read.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import GtidSet, MariadbGtids, Position
from syncmgr.job.source_history.last_read import LastRead, nothing_there, other_transaction
from syncmgr.job.source_history.resumability import WITHOUT_GTID, left_out_for_good, other_history, why_not_resumable
from syncmgr.sources.mysql.address import Connection, MysqlAddress, query
from syncmgr.sources.mysql.binlog.continuation.first_events import (
    Stream,
    made_at,
    place_before,
    transaction_at_begin,
    transaction_in_place,
)
from syncmgr.sources.mysql.binlog.continuation.left_out import left_out
from syncmgr.sources.mysql.server.server import Server
from syncmgr.sources.mysql.wire import FIRST_OFFSET, MOST_OFFSET

PLACE_WITHOUT_GTIDS: Final = "the place of the job is known by file and offset alone"


class LeftOutError(SyncError):
    """The server has data that it would not send. No other one is known to have it, so switching does not help."""


def position_lost(address: MysqlAddress, start: Position, reason: str) -> SyncError:
    shown = start.gtids or f"{start.file}:{start.offset}"
    return SyncError(Code.SOURCE_POSITION_LOST, position=shown, address=address.label, reason=reason)


class Continuation:
    """Of one server, by one connection, before its dump begins."""

    def __init__(
        self,
        address: MysqlAddress,
        server: Server,
        connection: Connection,
        start: Position,
        read_timeout: float,
        another: Callable[[Position], AbstractContextManager[Stream]],
    ) -> None:
        """`another`: a dump of the same server from a place, besides the one to come. Time in seconds."""
        self._address, self._server = address, server
        self._connection, self._start = connection, start
        self._read_timeout, self._another = read_timeout, another
        self._files: Mapping[str, int] = {}  # of the server that was read; empty if it is another one

    def check(self, gtids: GtidSet | MariadbGtids | None) -> None:
        """`gtids`: of the place, if it is found by them. Raises SOURCE_POSITION_LOST, SOURCE_UNSUPPORTED."""
        if not gtids:
            self._refuse_foreign_coordinate()
        elif self._server.why_not_shared is not None and self._start.server not in {"", self._server.id}:
            raise self._position_lost(f"it was read from server {self._start.server}; {self._server.why_not_shared}")
        if isinstance(gtids, GtidSet) and gtids:
            self._refuse_gap(gtids)
        self._files = self._server.binlog_files() if self._was_read_from() else {}
        self._refuse_other_history()
        last = LastRead.parse(self._start.last)
        if last is not None and last.file in self._files:
            self._refuse_other_in_place(last)
        elif last is not None and last.gtid and gtids:
            self._refuse_other_transaction(last)

    def _refuse_foreign_coordinate(self) -> None:
        """Without GTIDs on both sides only file and offset determine the place, and those belong to one server."""
        if self._start.server and self._start.server != self._server.id:
            without = PLACE_WITHOUT_GTIDS if self._server.by_gtid else "it has no GTIDs"
            reason = f"it was read from server {self._start.server}, this is {self._server.id}, and {without}"
            raise self._position_lost(reason)
        if self._start.gtids and not self._start.file:
            reason = "gtid_mode is not ON, and the place of the job is known by GTIDs alone; set it ON"
            raise SyncError(Code.SOURCE_UNSUPPORTED, address=self._address.label, reason=reason)

    def _refuse_gap(self, read: GtidSet) -> None:
        """The server itself compares only the GTIDs with its own uuid: of any others it would leave out rows."""
        gtids = query(self._connection, "SELECT @@global.gtid_executed executed, @@global.gtid_purged purged")[0]
        reason = why_not_resumable(read, GtidSet.parse(gtids["executed"]), GtidSet.parse(gtids["purged"]))
        if reason is not None:
            raise self._position_lost(reason)

    def _was_read_from(self) -> bool:
        """Files of another one prove nothing. Nodes of Galera may share one id."""
        return bool(self._start.file) and self._start.server == self._server.id and not self._server.in_galera

    def _refuse_other_history(self) -> None:
        at, sizes = self._start, self._files
        if not at.created or not sizes:
            return
        reason = other_history(at, sizes, self._made_at(at.file) if at.file in sizes else 0)
        if reason is not None:
            raise self._position_lost(reason)

    def refuse_leaving_out(self, read: GtidSet) -> None:
        """Only for the server that was read does the place show what follows it without a GTID. Raises LeftOutError."""
        at, files = self._start, list(self._files)
        if not files:
            return
        passed = left_out(self._connection, at, read, files)
        if passed is not None and at.file in files:
            raise LeftOutError(Code.SOURCE_UNSUPPORTED, address=self._address.label, reason=WITHOUT_GTID)
        if passed is not None:
            lost = self._position_lost(left_out_for_good(passed))
            raise LeftOutError(lost.code, **lost.context)

    def _refuse_other_in_place(self, last: LastRead) -> None:
        """For the server that was read: set back with its memory, it has the same files with other contents.

        If its gtid_mode now excludes that transaction, it does not send it, and is trusted.
        """
        if last.begin >= MOST_OFFSET:
            return
        try:
            with self._another(Position(file=last.file, offset=last.begin)) as stream:
                found = transaction_at_begin(stream, self._read_timeout)
        except SyncError as error:
            if error.code is not Code.SOURCE_UNSUPPORTED:
                raise
            return
        if found is None and last.file not in self._server.binlog_files():
            return  # it was purged meanwhile
        reason = nothing_there(last) if found is None else other_transaction(last, found)
        if reason is not None:
            raise self._position_lost(reason)

    def _refuse_other_transaction(self, last: LastRead) -> None:
        """For a server that was not itself read up to here: GTIDs say that it has these numbers, not the same
        transactions.

        It cannot show what it has purged, nor show anything if nothing arrives: then it is trusted.
        """
        if self._server.in_galera or self._start.file in self._files:
            return
        begin = place_before(self._connection, last, mariadb=self._server.mariadb)
        if begin is None:
            return
        with self._another(begin) as stream:
            found = transaction_in_place(stream, last, self._read_timeout)
        reason = None if found is None else other_transaction(last, found)
        if reason is not None:
            raise self._position_lost(reason)

    def _made_at(self, file: str) -> int:
        """The unix second in which a binlog file was created: only its own beginning shows that, which a dump of it
        contains.
        """
        with self._another(Position(file=file, offset=FIRST_OFFSET)) as stream:
            return made_at(stream, self._read_timeout)

    def _position_lost(self, reason: str) -> SyncError:
        return position_lost(self._address, self._start, reason)
