"""The exact point of a table without a key: a read, and the place in the binlog that continues from exactly there.

Owns: the handshake of our session, which locks the table, with the one that reads, and how long writers wait for it.
Must not know: how the rows are read, what is done with them.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final

from pymysql import err

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.position import Position
from syncmgr.job.snapshot.handshake import begun, closed, go, ready, sealed, stored
from syncmgr.job.types.schema import SourceTable
from syncmgr.sources.mysql.address import Connection, MysqlAddress, connect, naming_failures, query
from syncmgr.sources.mysql.server.grants import (
    LOCK_DENIED,
    LOCK_TABLES,
    LOCK_TIMEOUT,
    SELECT,
    Lacking,
    grants_missing,
    unlockable,
    unreadable,
)
from syncmgr.sources.mysql.server.server import Server
from syncmgr.sources.mysql.server.tables import quoted

NO_KEY: Final = "it has no key"
NO_GTIDS: Final = "the server has no GTIDs"
WITH_VIEWS: Final = frozenset({"InnoDB", "ROCKSDB"})
PAUSE_SECOND: Final = 1.0  # between two tries, in which writers go on
BEGUN_SECOND: Final = 2.0  # the reader's answer, while the table is locked
POLL_SECOND: Final = 0.002
IDLE_SECOND: Final = 0.05


class ExactPoint:
    """Of one read. All raise SOURCE_UNREACHABLE."""

    def __init__(self, address: MysqlAddress, connection: Connection, table: SourceTable, name: str) -> None:
        """`connection`: a separate session, ended with it. `name`: of the read, random; its session has it, too."""
        self._address = address
        self._connection = connection
        self._table = table
        self._name = name
        with naming_failures(address):
            for lock in (go(name), stored(name)):
                self._take(lock)

    def _take(self, lock: str) -> None:
        """An earlier session of this name may need a moment to end."""
        if not query(self._connection, "SELECT GET_LOCK(%s, 10) got", lock)[0]["got"]:
            raise self._waits(f"another session holds {lock}")

    def _waits(self, reason: str) -> SyncError:
        return SyncError(Code.SNAPSHOT_WAITS, table=self._table.label, reason=reason)

    def find(self, ended: Callable[[], bool]) -> Position | None:
        """The end of the binlog at which the reader's view of the table begins; None: it `ended` without reading.

        Writers of the table wait for milliseconds. Raises SNAPSHOT_WAITS, SNAPSHOT_REFUSED.
        """
        with naming_failures(self._address):
            while not self._is_held(ready(self._name)):
                if ended():
                    return None
                time.sleep(IDLE_SECOND)
            self._take(closed(self._name))
            server = Server(self._address, self._connection)
            lock(self._address, self._connection, self._table, NO_KEY)
            try:
                query(self._connection, "DO RELEASE_LOCK(%s)", go(self._name))
                self._await_begun(ended)
                return server.latest()
            finally:
                query(self._connection, "UNLOCK TABLES")

    def release(self) -> None:
        """The point is stored: rows may be read."""
        with naming_failures(self._address):
            self._take(sealed(self._name))
            query(self._connection, "DO RELEASE_LOCK(%s)", stored(self._name))

    def _await_begun(self, ended: Callable[[], bool]) -> None:
        deadline = time.monotonic() + BEGUN_SECOND
        while not self._is_held(begun(self._name)):
            if ended() or time.monotonic() > deadline:
                raise SyncError(
                    Code.SNAPSHOT_BROKEN, table=self._table.label, reason="its reader did not begin in time"
                )
            time.sleep(POLL_SECOND)

    def _is_held(self, lock: str) -> bool:
        return query(self._connection, "SELECT IS_USED_LOCK(%s) who", lock)[0]["who"] is not None


def lock(address: MysqlAddress, connection: Connection, table: SourceTable, why: str) -> None:
    """LOCK TABLES ... READ: granted once no transaction that has written the table is open. Other writers go on while
    it waits, so a table that always has an open writer is never locked.

    Raises SNAPSHOT_REFUSED, in which `why` says what it is for; SNAPSHOT_WAITS.
    """
    query(connection, f"SET SESSION lock_wait_timeout = {address.locking.wait}")
    for _ in range(address.locking.tries):
        try:
            query(connection, f"LOCK TABLES {quoted((table.db, table.name))} READ")
        except err.MySQLError as error:
            number = error.args[0] if error.args else 0
            if number in LOCK_DENIED:
                raise _refused(address, connection, [(table.db, table.name)], why) from error
            if number != LOCK_TIMEOUT:
                raise
        else:
            return
        time.sleep(PAUSE_SECOND)
    raise SyncError(Code.SNAPSHOT_WAITS, table=table.label, reason="a transaction keeps it locked")


def await_writers(address: MysqlAddress, connection: Connection, table: SourceTable) -> None:
    """Waits until a SELECT shows everything of a table that is in the binlog: a transaction is in the binlog before it
    ends in the engine, and prevents others from locking its tables until then. Raises as `lock` does.
    """
    lock(address, connection, table, NO_GTIDS)
    query(connection, "UNLOCK TABLES")


def why_unended(address: MysqlAddress, connection: Connection, tables: Sequence[SourceTable]) -> SyncError | None:
    """None: each later SELECT shows every transaction on these tables that the binlog had at the time of the call.
    Otherwise why that is not known: one may not be locked, or is locked by a session that does not end.
    """
    try:
        for table in tables:
            await_writers(address, connection, table)
    except SyncError as error:
        if error.code not in {Code.SNAPSHOT_REFUSED, Code.SNAPSHOT_WAITS}:
            raise
        return error
    finally:
        query(connection, "SET SESSION lock_wait_timeout = DEFAULT")
    return None


def check_exact(address: MysqlAddress, tables: Sequence[SourceTable]) -> None:
    """Whether these tables can be read at an exact point. Raises SNAPSHOT_REFUSED, SOURCE_GRANT_MISSING."""
    connection = connect(address)
    try:
        with naming_failures(address):
            _refuse_hidden(address, connection, [(table.db, table.name) for table in tables])
            for table in tables:
                _check_engine(connection, table)
            check_locks(address, connection, tables, NO_KEY)
    finally:
        connection.close()


def _refuse_hidden(address: MysqlAddress, connection: Connection, tables: Sequence[Table]) -> None:
    """A table without SELECT has no engine to see, and the grant of its lock is reported along with it."""
    hidden = unreadable(connection, tables)
    if hidden:
        locks = unlockable(address, connection, tables)
        lacking = [*(Lacking(SELECT, table) for table in hidden), *(Lacking(LOCK_TABLES, table[:1]) for table in locks)]
        raise grants_missing(address, connection, lacking)


def _check_engine(connection: Connection, table: SourceTable) -> None:
    rows = query(
        connection,
        "SELECT ENGINE engine FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
        *(table.db, table.name),
    )
    engine = str(rows[0]["engine"]) if rows else ""
    if engine not in WITH_VIEWS:
        reason = f"it has no key, and {engine or 'its engine'} has no consistent reading"
        raise SyncError(Code.SNAPSHOT_REFUSED, table=table.label, reason=reason)


def check_locks(address: MysqlAddress, connection: Connection, tables: Sequence[SourceTable], why: str) -> None:
    """Raises SNAPSHOT_REFUSED for all that may not be locked."""
    denied = unlockable(address, connection, [(table.db, table.name) for table in tables])
    if denied:
        raise _refused(address, connection, denied, why)


def _refused(address: MysqlAddress, connection: Connection, tables: Sequence[Table], why: str) -> SyncError:
    grant = grants_missing(address, connection, [Lacking(LOCK_TABLES, table[:1]) for table in tables])
    reason = f"{why}, so that it is locked for a moment: {grant}"
    return SyncError(Code.SNAPSHOT_REFUSED, table=", ".join(map(".".join, tables)), reason=reason)
