"""Where transactions begin and end, and the position after the last whole one.

Owns: what events of GTIDs, commits and XA say of the open transaction, and what its end does.
Must not know: statements, table maps, files that begin, batches.
"""

from typing import TYPE_CHECKING

from syncmgr.job.position import Position
from syncmgr.sources.mysql.binlog import events
from syncmgr.sources.mysql.binlog.continuation import gtid_events
from syncmgr.sources.mysql.binlog.routing.coordinates import Coordinates
from syncmgr.sources.mysql.binlog.routing.executed_gtids import ExecutedGtids
from syncmgr.sources.mysql.binlog.routing.open_transaction import OpenTransaction
from syncmgr.sources.mysql.binlog.routing.xa import Branches
from syncmgr.sources.mysql.binlog.subscriptions import Subscriptions
from syncmgr.sources.mysql.binlog.undelivered import RowBuffer

if TYPE_CHECKING:
    from syncmgr.job.ddl.ddl import Table


class Transactions:
    """Used by one thread. `moved`: the position after the last whole transaction was not delivered yet.

    `source_time`: of that transaction; `first_time`: of the first one since it was set to 0.0. `passed`: the tables
    whose rows were read after the XA transaction that was committed last. `followed_inside`: the open one begins with a
    DDL that is read, and its rows follow.
    """

    def __init__(
        self,
        subscriptions: Subscriptions,
        start: Position,
        waiting: RowBuffer,
        branches: Branches,
        address: str,
    ) -> None:
        self.coordinates = Coordinates(start)
        self.gtids = ExecutedGtids(start, address)
        self.open = OpenTransaction(address)
        self._subscriptions = subscriptions
        self._waiting = waiting
        self._branches = branches
        self.passed: frozenset[Table] = frozenset()
        self.followed_inside = start.ordinal > 0
        self.moved = False
        self.source_time = self.first_time = 0.0

    def restart(self) -> None:
        """A new stream from `position` follows."""
        self._waiting.forget_open()
        self.coordinates.restart()
        self.open.restart()
        self.gtids.begin()

    def follow(self, subscriptions: Subscriptions) -> None:
        self._subscriptions = subscriptions

    def position(self) -> Position:
        """After the last whole transaction that was fed, or after the DDL that the open one begins with.

        Raises OversizeError if the server has scattered its GTIDs so that its size would be unbounded.
        """
        return Position(
            ordinal=int(self.followed_inside),
            whole=not self.followed_inside,
            gtids=self.gtids.text(),
            file=self.coordinates.end_file,
            offset=self.coordinates.end_offset,
            server=self.coordinates.server,
            created=self.coordinates.end_created,
            last=self.gtids.last_read(),
        )

    @property
    def none_open(self) -> bool:
        return self.gtids.open is None and not self.open.is_any

    def gtid(self, data: memoryview, start: int, end: int) -> None:
        self.gtids.open_uuid(data, start, end)
        self._begins(data, start)
        self.open.committed_at = gtid_events.committed_at(data[start:end])
        self.open.has_begun = False

    def tagged(self, data: memoryview, start: int, end: int) -> None:
        event = bytes(data[start:end])
        self.gtids.open_tagged(event)
        self._begins(data, start)
        self.open.committed_at = gtid_events.tagged_committed_at(event)
        self.open.has_begun = False

    def anonymous(self, data: memoryview, start: int, end: int) -> None:
        self.gtids.open_nameless(bytes(data[start:end]))
        self._begins(data, start)
        self.open.committed_at = gtid_events.committed_at(data[start:end])
        self.open.has_begun = False

    def mariadb_gtid(self, data: memoryview, start: int, end: int) -> None:
        event = bytes(data[start:end])
        domain, server, seq, flags = gtid_events.mariadb_gtid(event)
        self.gtids.open_mariadb((domain, server, seq), event)
        self._begins(data, start)
        self.coordinates.pass_event(data, start)  # from 11.8 on events inside of the transaction have no place
        self.open.has_begun = not flags & events.MARIADB_STANDALONE
        self.open.alters_nothing = events.mariadb_alters_nothing(event)
        if flags & events.MARIADB_PREPARED_XA:
            self.begin_xa(events.mariadb_xid(event))

    def _begins(self, data: memoryview, start: int) -> None:
        """The transaction of this event; where nodes share an id, nobody knows whose files they are."""
        if not self.coordinates.shares_id:
            self.gtids.begins_at(self.coordinates.file, self.coordinates.begin_of(data, start))

    def xid(self, data: memoryview, start: int, _end: int) -> None:
        self.end(data, start)

    def end(self, data: memoryview, start: int) -> None:
        self.open.check_whole()
        self.gtids.add_open()
        self.coordinates.pass_event(data, start)
        self.open.forget_delivered()
        self.followed_inside = False
        self._waiting.end_transaction()
        self.coordinates.end_transaction()
        self.moved = True
        logged_at = float(int.from_bytes(data[start : start + 4], "little"))
        self.source_time = min(logged_at, self.open.committed_at or logged_at)  # a session may have set its time ahead
        self.first_time = self.first_time or self.source_time
        self._none()

    def undo_open(self) -> None:
        """The open one is discarded: it never existed."""
        self._waiting.forget_open()
        self.open.undo()
        self.gtids.begin()

    def _none(self) -> None:
        self.open.begin()
        self.gtids.begin()

    def begin_xa(self, xid: str) -> None:
        self.open.branch = xid
        if self.open.skip is None:
            self._branches.begin(xid)
            self._waiting.drop(xid)

    def prepare_xa(self, data: memoryview, start: int, end: int) -> None:
        xid, one_phase = events.xa_prepare(bytes(data[start:end]))
        self._branches.prepare(xid)
        if one_phase:
            self.commit_xa(xid, data, start)
        self.end(data, start)

    def commit_xa(self, xid: str, data: memoryview, start: int) -> None:
        """Tables whose rows were read after it contain its changes."""
        passed = self._subscriptions.passed(self.gtids.open, self.coordinates.after(data, start))
        if self._branches.commit(xid):
            self._waiting.release(xid, passed)
        self.passed = passed

    def roll_back_xa(self, xid: str) -> None:
        self._branches.roll_back(xid)
        self._waiting.drop(xid)
