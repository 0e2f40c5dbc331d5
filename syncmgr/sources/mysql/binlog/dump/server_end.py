"""Whether a stream that is quiet is at the end of what its server has.

Owns: the connection on which the server is asked, and how long it may be ahead of the stream.
Must not know: events, how a stream is read.
"""

import contextlib
import time

from syncmgr.errors import SyncError
from syncmgr.job.position import Position
from syncmgr.job.source_history.server_end import Quiet, meaning
from syncmgr.sources.cancellation import Opened
from syncmgr.sources.mysql.address import Connection, MysqlAddress, connect, naming_failures
from syncmgr.sources.mysql.binlog.dump.stream import BinlogStream
from syncmgr.sources.mysql.binlog.unlogged_alter import PASSING
from syncmgr.sources.mysql.server.server import Server


class ServerEnd:
    """Of one stream after the other; belongs to the thread that reads. `silence`: for how many seconds a stream may be
    quiet at a place while the server has more; heartbeats of before that may be on their way as long. `opened` gets
    each socket that is waited on.
    """

    def __init__(self, silence: float, opened: Opened) -> None:
        self._silence = silence
        self._opened = opened
        self._connection: Connection | None = None
        self._server: Server | None = None
        self._ahead_since: float | None = None  # monotonic
        self._quiet_at = ("", 0)

    def agrees(self, stream: BinlogStream, address: MysqlAddress, file: str, place: int) -> bool:
        """Whether the server has nothing after the place at which the stream is quiet; False: not known, such as while
        the server is not answering. Raises StreamLostError if the stream no longer reads what the server writes.

        Files of Galera's nodes prove nothing, nor does the server that a proxy leads to instead.
        """
        if stream.settings.in_galera:
            return True
        try:
            with naming_failures(address):
                server = self._asking(address)
                end = server.end() if server.id == stream.settings.id else None
        except SyncError as error:
            self.close()
            if error.code not in PASSING:
                raise
            return False
        finally:
            self._opened(stream.connected)
        return end is None or self._judged(stream, file, place, end)

    def _judged(self, stream: BinlogStream, file: str, place: int, end: Position) -> bool:
        found = meaning(file, place, end)
        if found is Quiet.ANOTHER:
            raise stream.lost(f"its binlog was read to {file}:{place}, and ends at {end.file}:{end.offset}")
        now = time.monotonic()
        if found is not Quiet.BEHIND or self._ahead_since is None or self._quiet_at != (file, place):
            self._ahead_since, self._quiet_at = (now if found is Quiet.BEHIND else None), (file, place)
        elif now - self._ahead_since > self._silence:
            raise stream.lost(
                f"it sends nothing after {file}:{place}, while its binlog ends at {end.file}:{end.offset}"
            )
        return found is Quiet.AT_END

    def _asking(self, address: MysqlAddress) -> Server:
        if self._connection is None or self._server is None:
            self._connection = connect(address, self._opened)
            self._server = Server(address, self._connection)
        else:
            self._opened(self._connection._sock)  # noqa: SLF001
        return self._server

    def close(self) -> None:
        """The stream is lost, or the connection is."""
        connection, self._connection, self._server, self._ahead_since = self._connection, None, None, None
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.drop()
