"""One client: who it is, what it runs, and how answers are written to it.

Owns: the facts that PROCESSLIST and sessions read, the form of every answer.
Must not know: logins, which commands there are, SQL.
"""

import asyncio
import time
from contextlib import aclosing
from typing import Final

from syncmgr.accounts.user import Account
from syncmgr.console.audit import audit
from syncmgr.console.audit.mask import mask
from syncmgr.console.commands.running import Interrupt, RunningCommand
from syncmgr.console.limits import Limits, too_long
from syncmgr.console.memory import Memory, Share
from syncmgr.console.wire.charset import UTF8MB4, Charset
from syncmgr.console.wire.messages import end_of_rows, err, ok, tracked
from syncmgr.console.wire.packet import lenenc
from syncmgr.console.wire.prepared import PreparedStatements
from syncmgr.console.wire.protocol import Capability, Status
from syncmgr.console.wire.results import Column, Done, Result, Row, Rows, column_definition, row_encoder
from syncmgr.console.wire.stream import PacketStream
from syncmgr.console.wire.tracking import Tracker
from syncmgr.errors import SyncError

INFO_SIZE: Final = 4096  # characters of a statement that PROCESSLIST shows
OK: Final = Done()
NOBODY: Final = Account(name="")  # before the login


class Client:
    """All of it is on the event loop. `since` is of time.monotonic(), of the command that runs or of its end."""

    def __init__(
        self, client_id: int, stream: PacketStream, *, peer: tuple[str, int], limits: Limits, memory: Memory
    ) -> None:
        self.id = client_id
        self.host, self.port = peer
        self.user: str | None = None
        self.account = NOBODY
        self.db: str | None = None
        self.command = "Connect"
        self.info: str | None = None
        self.since = time.monotonic()
        self.charset: Charset = UTF8MB4
        self.result_charset: Charset = UTF8MB4
        self.autocommit = True
        self.commands = 0
        self.capabilities = 0
        self.changes = Tracker()
        self.stream, self.limits = stream, limits
        self.share = Share(memory)
        self.prepared = PreparedStatements(limits, self.share)
        self.running = RunningCommand(stream)
        self.error: int | None = None  # of the last command
        self._rows = 0

    def speak(self, charset: Charset) -> None:
        """What the client writes and reads from now on."""
        self.charset = self.result_charset = charset

    def limit_time(self, seconds: float, why: Interrupt = Interrupt.TIMEOUT, *, since: float | None = None) -> None:
        """The command that runs is interrupted after so long from now, or from `since` on; 0: never."""
        self.running.limit_time(seconds, why, since=since)

    def rests(self) -> None:
        """No command runs."""
        self.command, self.info, self.since = "Sleep", None, time.monotonic()

    def begins(self) -> None:
        """A command has come."""
        self.commands += 1
        self.since = time.monotonic()
        self.error, self._rows = None, 0

    def show(self, command: str, sql: str) -> None:
        """What PROCESSLIST and the audit show of the command that runs."""
        self.command, self.info = command, mask(sql[:INFO_SIZE])

    def audit(self) -> None:
        """A command that has shown what it runs has ended."""
        if self.info is None:
            return
        ended = audit.Audited(
            connection=self.id,
            user=str(self.account),
            host=self.host,
            db=self.db,
            command=self.command,
            statement=self.info,
            second=time.monotonic() - self.since,
            rows=self._rows,
            error=self.error,
        )
        audit.statement(ended)

    def text(self, body: bytes) -> str:
        """Raises STATEMENT_TOO_LARGE, INVALID_TEXT."""
        if len(body) > self.limits.max_statement:
            raise too_long(self.limits.max_statement)
        return self.charset.decode(body)

    def can(self, capability: Capability) -> bool:
        return bool(self.capabilities & capability)

    def put_ok(self, done: Done = OK, *, more: bool = False) -> None:
        status, info = self._status(more=more), self.result_charset.encode(done.info)
        if self.can(Capability.SESSION_TRACK):
            status, info = tracked(status, info, self.changes.told(self.result_charset))
        self.stream.put(ok(status, affected=done.affected, warnings=done.warnings, info=info))

    def put_error(self, error: SyncError) -> None:
        self.error = error.code.number
        self.stream.put(err(error, self.result_charset))

    async def send(self, result: Result, more: bool = False) -> None:  # noqa: FBT001, FBT002 - the flag of the wire
        """In text, as COM_QUERY answers."""
        await self._send(result, more=more, binary=False)

    async def send_binary(self, result: Result, more: bool) -> None:  # noqa: FBT001 - the same
        """As COM_STMT_EXECUTE answers."""
        await self._send(result, more=more, binary=True)

    async def _send(self, result: Result, *, more: bool, binary: bool) -> None:
        match result:
            case Done():
                self.put_ok(result, more=more)
            case Rows():
                await self._send_rows(result, more=more, binary=binary)

    async def _send_rows(self, result: Rows, *, more: bool, binary: bool) -> None:
        self.put_columns(result)
        if not self.can(Capability.DEPRECATE_EOF):
            self.put_end()
        encode = row_encoder(result.columns, self.result_charset, binary=binary)
        async with aclosing(result.batches) as batches:
            async for batch in batches:
                for row in batch:
                    if await self.put_row(encode(row)):
                        await asyncio.sleep(0)  # others are answered in between, however fast the client reads
        self.put_end(more=more, warnings=result.warnings)

    async def put_row(self, row: bytes) -> bool:
        """Whether what was put had to be written first."""
        self._rows += 1
        self.stream.put(row)
        if self.stream.pending <= self.limits.high_water:
            return False
        await self.stream.flush()
        return True

    def put_columns(self, result: Rows) -> None:
        """How many, and each."""
        self.stream.put(lenenc(len(result.columns)))
        for column in result.columns:
            self.put_column(column)

    def put_column(self, column: Column, rest: bytes = b"") -> None:
        self.stream.put(column_definition(column, self.result_charset) + rest)

    def put_end(self, status: Status = Status.NONE, *, more: bool = False, warnings: int = 0) -> None:
        """Of columns, or of rows."""
        self.stream.put(end_of_rows(self._status(more=more) | status, self.capabilities, warnings=warnings))

    def _status(self, *, more: bool = False) -> Status:
        status = Status.AUTOCOMMIT if self.autocommit else Status.NONE
        return status | Status.MORE_RESULTS if more else status

    def row(self, now: float) -> Row:
        """That of PROCESSLIST: Id, User, Host, db, Command, Time, State, Info."""
        user, address = self.user or "unauthenticated user", f"{self.host}:{self.port}"
        return (self.id, user, address, self.db, self.command, int(now - self.since), "", self.info)
