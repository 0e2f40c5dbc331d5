"""How long a server keeps the files of its binlog that a job has not read yet, and how large they are.

Owns: what is queried for that.
Must not know: jobs, how often it is asked.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing

from syncmgr.errors import SyncError
from syncmgr.job.position import Position
from syncmgr.job.source_history.retained import HOUR, Retained, lag_bytes, left_second
from syncmgr.sources.mysql.address import Connection, MysqlAddress, connect, naming_failures, query
from syncmgr.sources.mysql.binlog.continuation.first_events import made_at
from syncmgr.sources.mysql.binlog.dump.stream import BinlogStream, StreamLostError, StreamOptions
from syncmgr.sources.mysql.new_server import PROBE_SECOND, random_id
from syncmgr.sources.mysql.server.server import Server
from syncmgr.sources.mysql.server.snapshot import kept_hours, purged
from syncmgr.sources.mysql.wire import FIRST_OFFSET


def retained_on(address: MysqlAddress, starts: Sequence[Position], read_timeout: float) -> list[Retained]:
    """Nothing is known of a place in the files of another server. Raises SyncError."""
    with closing(connect(address)) as connection, naming_failures(address):
        return list(_Files(address, connection, read_timeout).retained(starts))


class _Files:
    """One connection's queries."""

    def __init__(self, address: MysqlAddress, connection: Connection, read_timeout: float) -> None:
        self._address, self._connection, self._read_timeout = address, connection, read_timeout
        self._server = Server(address, connection)

    def retained(self, starts: Sequence[Position]) -> Iterator[Retained]:
        hours = kept_hours(self._connection)
        kept, sizes = None if hours is None else hours * HOUR, self._server.binlog_files()
        for start in starts:
            left = self._left(start, list(sizes), kept)
            lag = lag_bytes(start.file, start.offset, sizes) if start.server == self._server.id else None
            yield Retained(left_second=left, lag_bytes=lag, at=time.time())

    def _left(self, start: Position, files: Sequence[str], kept: float | None) -> float | None:
        if start.server != self._server.id or not start.file:
            return None
        if start.file not in files:
            return 0.0 if purged(self._connection, self._server, start) else None
        if kept is None:
            return None
        after = files[files.index(start.file) + 1 :]
        [now] = query(self._connection, "SELECT UNIX_TIMESTAMP() at")
        return left_second(kept, self._made_at(after[0]) if after else None, float(now["at"]))

    def _made_at(self, file: str) -> int | None:
        """When a file was created, which a dump of it begins with; None: it is gone by now."""
        options = StreamOptions(server_id=random_id(), heartbeat=PROBE_SECOND, read_timeout=self._read_timeout)
        try:
            with closing(BinlogStream(self._address, options, Position(file=file, offset=FIRST_OFFSET))) as stream:
                return made_at(stream, self._read_timeout)
        except StreamLostError as error:
            raise error.cause_for_user from error
        except SyncError:
            if file in self._server.binlog_files():
                raise
            return None
