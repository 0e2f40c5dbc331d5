"""What the commands need from the part that runs statements.

Owns: the interface of a session to the commands of the protocol.
Must not know: statements, jobs, the lake, who implements it.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Protocol

from syncmgr.console.commands.running import Interrupt
from syncmgr.console.wire.results import Column, Result, Rows
from syncmgr.errors import SyncError


class Session(Protocol):
    """What runs the statements of one connection. Every method may raise SyncError."""

    def greeted(self, attributes: Mapping[str, str]) -> None: ...
    async def use(self, db: str) -> None: ...

    def execute(self, sql: str, *, multi: bool) -> AsyncGenerator[tuple[Result, bool], None]:
        """The result of each statement in `sql`, and whether more follow; a statement runs when its result is
        requested.

        Limits the time of each by `Client.limit_time`, that of the first from its packet on.
        """
        ...

    async def fields(self, table: str) -> Sequence[Column]: ...

    async def placeholders(self, sql: str) -> tuple[int, ...]:
        """Offsets of the '?' in a statement to be prepared."""
        ...

    def statement_timeout(self, text: str) -> float:
        """Seconds this statement may run; 0: forever."""
        ...

    def query_timeout(self, text: str) -> tuple[float, Interrupt]:
        """The same for a query, and what ends it then."""
        ...

    def wait_timeout(self) -> float: ...

    def processlist(self) -> Rows: ...

    def kill(self, connection_id: int, *, query: bool) -> None: ...

    def statistics(self) -> str: ...

    def failed(self, error: SyncError) -> None:
        """What the last command was answered with, for SHOW WARNINGS."""
        ...

    def reset(self) -> None: ...
