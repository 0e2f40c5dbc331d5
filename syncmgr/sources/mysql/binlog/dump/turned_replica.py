"""Whether the server of a stream has begun to replicate from another one since the stream was opened.

Owns: when a server is asked that again, and which servers are.
Must not know: events, how a stream is read, what is refused.
"""

import time
from contextlib import closing

from syncmgr.errors import SyncError
from syncmgr.sources.cancellation import Opened
from syncmgr.sources.mysql.address import MysqlAddress, connect, naming_failures
from syncmgr.sources.mysql.binlog.dump.stream import BinlogStream
from syncmgr.sources.mysql.binlog.unlogged_alter import PASSING
from syncmgr.sources.mysql.server.server import Server


class TurnedReplica:
    """Of one stream after the other; belongs to the thread that reads. `period`: seconds between two questions.

    A primary that is replaced often becomes a replica of the new one while jobs are connected to it. With
    log_replica_updates = OFF, MariaDB's default, nothing of what it replicates is in the stream, and no event says so.
    """

    def __init__(self, period: float, opened: Opened) -> None:
        self._period = period
        self._opened = opened
        self._due: float | None = None  # monotonic; None: the server logs all that it replicates

    def begin(self, stream: BinlogStream) -> None:
        """A connection, which was not refused."""
        self._due = None if stream.settings.logs_replicated else time.monotonic() + self._period

    def look(self, stream: BinlogStream, address: MysqlAddress) -> None:
        """Raises SOURCE_UNLOGGED. A server that gives no answer is asked the next time; the stream reports it."""
        if self._due is None or time.monotonic() < self._due:
            return
        self._due = time.monotonic() + self._period
        try:
            with closing(connect(address, self._opened)) as connection, naming_failures(address):
                server = Server(address, connection)
                if server.id == stream.settings.id:  # a proxy may lead to another one
                    server.refuse_incomplete()
        except SyncError as error:
            if error.code not in PASSING:
                raise
        finally:
            self._opened(stream.connected)
