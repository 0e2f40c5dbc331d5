"""How answers are written to one client.

Owns: the form of every answer, what it depends on: capabilities, charset, autocommit, what has changed.
Must not know: who the client is, which commands there are, SQL.
"""

import asyncio
from contextlib import aclosing
from typing import Final

from syncmgr.console.limits import Limits
from syncmgr.console.wire.charset import UTF8MB4, Charset
from syncmgr.console.wire.messages import end_of_rows, err, ok, tracked
from syncmgr.console.wire.packet import lenenc
from syncmgr.console.wire.port import Wire
from syncmgr.console.wire.protocol import Capability, Status
from syncmgr.console.wire.results import Column, Done, Result, Rows, column_definition, row_encoder
from syncmgr.console.wire.tracking import Tracker
from syncmgr.errors import SyncError

OK: Final = Done()


class Answers:
    """Used only on the event loop. `rows`: how many of the last command were put."""

    def __init__(self, stream: Wire, limits: Limits) -> None:
        self.stream, self.limits = stream, limits
        self.capabilities = 0
        self.charset: Charset = UTF8MB4
        self.autocommit = True
        self.changes = Tracker()
        self.rows = 0

    def can(self, capability: Capability) -> bool:
        return bool(self.capabilities & capability)

    def put_ok(self, done: Done = OK, *, more: bool = False) -> None:
        status, info = self._status(more=more), self.charset.encode(done.info)
        if self.can(Capability.SESSION_TRACK):
            status, info = tracked(status, info, self.changes.packet(self.charset))
        self.stream.put(ok(status, affected=done.affected, warnings=done.warnings, info=info))

    def put_error(self, error: SyncError) -> None:
        self.stream.put(err(error, self.charset))

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
        encode = row_encoder(result.columns, self.charset, binary=binary)
        async with aclosing(result.batches) as batches:
            async for batch in batches:
                for row in batch:
                    if await self.put_row(encode(row)):
                        await asyncio.sleep(0)  # others are answered in between, however fast the client reads
        self.put_end(more=more, warnings=result.warnings)

    async def put_row(self, row: bytes) -> bool:
        """Whether what was put had to be written first."""
        self.rows += 1
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
        self.stream.put(column_definition(column, self.charset) + rest)

    def put_end(self, status: Status = Status.NONE, *, more: bool = False, warnings: int = 0) -> None:
        """Of columns, or of rows."""
        self.stream.put(end_of_rows(self._status(more=more) | status, self.capabilities, warnings=warnings))

    def _status(self, *, more: bool = False) -> Status:
        status = Status.AUTOCOMMIT if self.autocommit else Status.NONE
        return status | Status.MORE_RESULTS if more else status
