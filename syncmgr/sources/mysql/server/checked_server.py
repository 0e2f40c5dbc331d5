"""What a check of the rows queries from a server.

Owns: which server that is, from when on it shows enough, and where its binlog ends.
Must not know: the questions, what follows from the answers.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

from syncmgr.errors import SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.check.compared_table import refused
from syncmgr.job.check.reached import Reached
from syncmgr.job.position import Position
from syncmgr.sources.mysql.address import (
    ALL_ROWS,
    ANY_TIME,
    Connection,
    MysqlAddress,
    naming_failures,
    query,
    unreachable,
)
from syncmgr.sources.mysql.server.server import Server
from syncmgr.sources.mysql.server.snapshot import MysqlSnapshot, await_shown
from syncmgr.sources.mysql.sessions import Sessions

ANSWER_SECOND: Final = 3600.0  # a sum over a large table comes at its end
SESSION: Final = (
    f"SET SESSION time_zone = '+00:00', sql_mode = '', {ALL_ROWS} {ANY_TIME}",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",  # what is not committed may never be
)
WITHOUT_GTIDS: Final = (
    "the server has no GTIDs, so it is not known which changes a SELECT shows; start it with gtid_mode = ON"
)


class CheckedMysql:
    """Each question has a connection of its own. All raise SOURCE_UNREACHABLE and SOURCE_ACCESS_DENIED."""

    def __init__(self, addresses: Sequence[MysqlAddress], replica: MysqlAddress | None = None) -> None:
        """`replica`: which is asked for rows instead of the source."""
        self._addresses, self._replica = tuple(addresses), replica
        self._source = self._addresses[0]
        self._planning = MysqlSnapshot(addresses, replica)
        self._sessions = Sessions()

    def give_up(self) -> None:
        """All present and future questions end with INTERRUPTED. Returns at once."""
        self._sessions.give_up()
        self._planning.give_up()

    def settle(self, channel: ChannelDescription, start: Position) -> None:
        """From now on the server that is read at `start` is asked, or its replica, which shows everything up to there.

        Raises CHECK_REFUSED.
        """
        if not start.gtids:
            raise refused(channel, WITHOUT_GTIDS)
        error: SyncError | None = None
        for address in self._addresses:
            try:
                with self._connected(address) as connection:
                    found = Server(address, connection).id
            except SyncError as failed:
                error = failed
                continue
            if found == start.server:
                self._source = address
                self._await_shown(start)
                return
            error = unreachable(address, f"it is server {found}, and the job reads {start.server}")
        assert error is not None, "there is at least one address"
        raise error

    def _await_shown(self, start: Position) -> None:
        with self._connected(self._asked) as connection:
            await_shown(self._asked, Server(self._asked, connection), start)

    def bounds(self, channel: ChannelDescription, wanted_rows: int) -> tuple[tuple[str, ...], int]:
        """The integers at which to cut a table whose key is one, and an estimate of its rows."""
        plan = self._planning.plan(channel.source, channel.source_keys, wanted_rows)
        return tuple(bound[0] for bound in plan.bounds if len(bound) == 1), plan.rows

    def ask(self, text: str) -> list[tuple[Any, ...]]:
        """The rows of one SELECT, which sees one moment. Its columns have names of their own."""
        with self._connected(self._asked) as connection:
            connection.waits(ANSWER_SECOND)
            for statement in SESSION:
                query(connection, statement)
            return [tuple(row.values()) for row in query(connection, text)]

    def end(self) -> Reached:
        """After everything that a SELECT has shown so far."""
        with self._connected(self._source) as connection:
            position = Server(self._source, connection).latest()
            clock = query(connection, "SELECT UNIX_TIMESTAMP(SYSDATE(6)) at")[0]["at"]
            return Reached(position=position, at=float(clock), server=self._source.label)

    @property
    def _asked(self) -> MysqlAddress:
        return self._replica or self._source

    @contextlib.contextmanager
    def _connected(self, address: MysqlAddress) -> Iterator[Connection]:
        with self._sessions.open(address) as connection, naming_failures(address):
            yield connection
