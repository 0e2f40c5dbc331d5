"""What the first events of a dump say of the server: when a file was created, which transaction is at a place.

Owns: from where a server sends one transaction first, and how long its first events are waited for.
Must not know: how a stream is opened, what happens to a job whose server has another history.
"""

import time
from collections.abc import Iterator
from typing import Final, Protocol

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import GtidSet, MariadbGtids, Position, parse_gtids
from syncmgr.job.source_history.last_read import LastRead
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.address import Connection, query
from syncmgr.sources.mysql.binlog.continuation import gtid_events

MARIADB_HAS: Final = "SELECT @@global.gtid_binlog_pos executed, '' purged"
BEFORE_ALL: Final = frozenset({wire.ROTATE, wire.FORMAT_DESCRIPTION, wire.HEARTBEAT, wire.HEARTBEAT_V2})
UNREADABLE: Final = frozenset({Code.SOURCE_PROTOCOL, Code.SOURCE_POSITION_LOST})  # an event does not begin there
MYSQL_HAS: Final = "SELECT @@global.gtid_executed executed, @@global.gtid_purged purged"


class Chunk(Protocol):
    """Some events: each span is where one begins and ends."""

    @property
    def data(self) -> memoryview: ...

    @property
    def spans(self) -> list[tuple[int, int]]: ...


class Stream(Protocol):
    """A dump that has just begun."""

    def read(self, timeout: float) -> Chunk | None: ...

    def silent(self, seconds: float) -> Exception: ...

    def lost(self, reason: str) -> Exception: ...


def made_at(stream: Stream, timeout: float) -> int:
    """The unix second in which the file was created with which the stream begins."""
    try:
        for event in _events(stream, timeout):
            if event[4] == wire.FORMAT_DESCRIPTION:
                return int.from_bytes(event[:4], "little")
    except SyncError as error:  # it may have been purged since it was listed
        raise stream.lost(str(error)) from error
    raise stream.silent(timeout)


def place_before(connection: Connection, last: LastRead, *, mariadb: bool) -> Position | None:
    """From where the server sends that transaction first; None: it has purged it, or sends nothing that fits."""
    gtids = query(connection, MARIADB_HAS if mariadb else MYSQL_HAS)[0]
    executed, wanted = parse_gtids(gtids["executed"]), parse_gtids(last.gtid)
    if isinstance(executed, MariadbGtids) is not mariadb or isinstance(wanted, MariadbGtids) is not mariadb:
        return None
    purged = parse_gtids(gtids["purged"])
    if isinstance(purged, GtidSet) and isinstance(wanted, GtidSet) and purged.contains(wanted):
        return None
    return Position(gtids=str(last.place_before(executed)))


def transaction_in_place(stream: Stream, last: LastRead, timeout: float) -> LastRead | None:
    """The transaction that the server has at the place of `last`; None: it does not show one."""
    try:
        for event in _events(stream, timeout):
            found = gtid_events.begun(event)
            if found is not None and found.gtid and (found.gtid == last.gtid or last.replaces(found.gtid)):
                return found
    except SyncError:  # only now does MariaDB say that it has purged it
        return None
    return None


def transaction_at_begin(stream: Stream, timeout: float) -> LastRead | None:
    """The transaction with which the stream begins, at a place in a file; None: none begins there.

    Raises what `silent` gives if nothing arrives in time, and SOURCE_UNSUPPORTED if the server does not send it.
    """
    try:
        for event in _events(stream, timeout):
            if not (event[4] in BEFORE_ALL or event[17] & wire.FLAG_ARTIFICIAL):
                return gtid_events.begun(event)
    except SyncError as error:
        if error.code in UNREADABLE:
            return None
        raise
    raise stream.silent(timeout)


def _events(stream: Stream, timeout: float) -> Iterator[memoryview]:
    """Those that arrive in time, in seconds."""
    until = time.monotonic() + timeout
    while (chunk := stream.read(max(until - time.monotonic(), 0.0))) is not None:
        yield from (chunk.data[start:end] for start, end in chunk.spans)
        if time.monotonic() > until:
            return
