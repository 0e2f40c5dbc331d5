"""The connections there are.

Owns: the table of connections, counts over all former ones, KILL. Used only on the event loop.
Must not know: how connections are accepted, statements.
"""

import time
from typing import Protocol

from syncmgr.accounts.user import Account
from syncmgr.console.commands.client import Client
from syncmgr.console.commands.running import Interrupt, RunningCommand
from syncmgr.console.wire.results import Row
from syncmgr.errors import Code, SyncError


class Connection(Protocol):
    """A client of whatever protocol."""

    @property
    def id(self) -> int: ...

    @property
    def client(self) -> Client: ...

    @property
    def running(self) -> RunningCommand: ...

    def leave(self) -> None:
        """End after the command that runs."""


class Registry:
    """The connections by id, and counts over all former ones."""

    def __init__(self, *, port: int) -> None:
        self.port = port
        self.connections: dict[int, Connection] = {}
        self.started_at = time.monotonic()
        self._past_commands = 0

    def remove(self, connection: Connection) -> None:
        self.connections.pop(connection.id, None)
        self._past_commands += connection.client.commands

    @property
    def logged_in(self) -> int:
        return sum(connection.client.user is not None for connection in self.connections.values())

    def of(self, account: Account) -> int:
        """How many connections it has."""
        return sum(c.client.user is not None and c.client.account == account for c in self.connections.values())

    @property
    def questions(self) -> int:
        return self._past_commands + sum(c.client.commands for c in self.connections.values())

    @property
    def uptime(self) -> int:
        return int(time.monotonic() - self.started_at)

    def kill(self, connection_id: int, *, query: bool, of: Account | None = None) -> None:
        """`of`: the required owner of the connection, if any. Raises NO_SUCH_THREAD."""
        connection = self.connections.get(connection_id)
        if connection is None or of not in {None, connection.client.account}:
            raise SyncError(Code.NO_SUCH_THREAD, id=connection_id)
        connection.running.interrupt(Interrupt.QUERY if query else Interrupt.CONNECTION)

    def end_all(self, of: Account, *, but: int) -> None:
        """End the connections of an account, except that one."""
        for connection in list(self.connections.values()):
            if connection.id != but and connection.client.user is not None and connection.client.account == of:
                connection.running.interrupt(Interrupt.CONNECTION)

    def processlist(self, of: Account | None = None) -> list[Row]:
        """Id, User, Host, db, Command, Time, State, Info of every connection, or of those of one account."""
        now = time.monotonic()
        clients = (connection.client for connection in self.connections.values())
        return [client.row(now) for client in clients if of in {None, client.account}]

    def statistics(self) -> str:
        """What COM_STATISTICS answers, in MySQL's words."""
        uptime = self.uptime
        rate = self.questions / max(uptime, 1)
        return (
            f"Uptime: {uptime}  Threads: {len(self.connections)}  Questions: {self.questions}  Slow queries: 0  "
            f"Opens: 0  Flush tables: 0  Open tables: 0  Queries per second avg: {rate:.3f}"
        )
