"""One client: its login, its commands, its end.

Owns: the command loop, what a command answers, what interrupts one.
Must not know: SQL; a session of its own kind runs the statements.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing
from enum import Enum
from functools import partial
from typing import Final, Protocol

from syncmgr.accounts.user import Account
from syncmgr.console.audit import audit
from syncmgr.console.audit.mask import mask
from syncmgr.console.limits import KiB, too_long
from syncmgr.console.login.login import Gate, Login
from syncmgr.console.memory import Share
from syncmgr.console.wire.charset import UTF8MB4, Charset, by_collation
from syncmgr.console.wire.compression import agreed
from syncmgr.console.wire.cursor import Cursor
from syncmgr.console.wire.messages import Hello, end_of_rows, err, ok, parse_change_user, tracked
from syncmgr.console.wire.packet import ProtocolError, Reader, lenenc
from syncmgr.console.wire.prepared import PreparedStatement, PreparedStatements
from syncmgr.console.wire.protocol import OFFERED, Capability, Command, Status
from syncmgr.console.wire.results import Column, Done, Result, Rows, column_definition, row_encoder
from syncmgr.console.wire.stream import ConnectionLost, PacketStream, TooLongError
from syncmgr.console.wire.tracking import Tracker
from syncmgr.errors import Code, SyncError

log = logging.getLogger(__name__)

INFO_SIZE: Final = 4096  # characters of a statement that PROCESSLIST shows
SMALL_PACKET: Final = 64 * KiB
MORE_THAN_TEXT: Final = 1024  # bytes of a packet beside its text
LAST_WORDS: Final = 1.0  # seconds to tell a killed client why
READ_ONLY_CURSOR: Final = 1  # of the flags of EXECUTE
OK: Final = Done()
NOBODY: Final = Account(name="")  # before the login

Send = Callable[[Result, bool], Awaitable[None]]


class Interrupt(Enum):
    """Why a command is cancelled: what the client is told, and whether its connection ends too."""

    QUERY = Code.INTERRUPTED, False, ""
    TIMEOUT = Code.TIMED_OUT, False, ""
    CEILING = Code.TIMED_OUT, False, " (max_query_second in conf/fe.conf; ask for less at a time)"
    CONNECTION = Code.INTERRUPTED, True, ""
    SHUTDOWN = Code.SHUTTING_DOWN, True, ""

    @property
    def error(self) -> SyncError:
        code, _, more = self.value
        return SyncError(code, more=more)

    @property
    def ends_connection(self) -> bool:
        return self.value[1]


class Session(Protocol):
    """What runs the statements of one connection. Every method may raise SyncError."""

    async def use(self, db: str) -> None: ...

    def execute(self, sql: str, *, multi: bool) -> AsyncGenerator[tuple[Result, bool], None]:
        """The result of each statement in `sql`, and whether more follow; a statement runs when it is asked for.

        Limits the time of each by `Connection.limit_time`, that of the first from its packet on.
        """
        ...

    async def fields(self, table: str) -> Sequence[Column]: ...

    async def placeholders(self, sql: str) -> tuple[int, ...]:
        """Offsets of the '?' in a statement to be prepared."""
        ...

    def statement_timeout(self, text: str) -> float:
        """Seconds this statement may run; 0: for ever."""
        ...

    def query_timeout(self, text: str) -> tuple[float, Interrupt]:
        """The same of one that is a query, and what ends it then."""
        ...

    def wait_timeout(self) -> float: ...

    def processlist(self) -> Rows: ...

    def kill(self, connection_id: int, *, query: bool) -> None: ...

    def statistics(self) -> str: ...

    def failed(self, error: SyncError) -> None:
        """What the last command was answered with, for SHOW WARNINGS."""
        ...

    def reset(self) -> None: ...


class Connection:
    """A client from its greeting to its end. The public fields are what PROCESSLIST and sessions read."""

    def __init__(self, connection_id: int, stream: PacketStream, *, peer: tuple[str, int], gate: Gate) -> None:
        self.id = connection_id
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
        self._rows = 0
        self._error: int | None = None
        self.changes = Tracker()
        self.stream = stream
        self._gate = gate
        self._limits = gate.limits
        self._capabilities = 0
        self._login = Login(gate, stream, host=self.host)
        self.share = Share(gate.memory)
        self._prepared = PreparedStatements(gate.limits, self.share)
        self._of_packet = 0  # bytes of the share
        self._refusal = too_long(gate.limits.max_statement)  # why the last packet was not kept
        self._task: asyncio.Task[None] | None = None
        self._interrupt: Interrupt | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._leaving = False

    def speak(self, charset: Charset) -> None:
        """What the client writes and reads from now on."""
        self.charset = self.result_charset = charset

    def interrupt(self, why: Interrupt) -> None:
        """Cancel the command that runs. An idle connection is left alone, or ended if the reason says so."""
        if self._task is not None:
            self._interrupt = why
            self._task.cancel()
        elif why.ends_connection:
            self._interrupt = why
            self.stream.abort()

    @property
    def idle(self) -> bool:
        return self._task is None

    def leave(self) -> None:
        """End after the command that runs."""
        self._leaving = True

    async def run(self, session_for: Callable[["Connection"], Session]) -> None:
        """Log in, then answer commands until either side ends. Raises ConnectionLost, ProtocolError, TimeoutError."""
        try:
            async with asyncio.timeout(self._limits.connect_timeout):
                hello, self.account = await self._login.run(self.id)
            session = session_for(self)
            await self._enter(hello, session)
        except ProtocolError:
            await self.refuse(SyncError(Code.HANDSHAKE))
            raise
        except SyncError as error:
            await self.refuse(error)
            return
        try:
            await self._commands(session)
        finally:
            await self._prepared.clear()
            self.share.close()

    async def refuse(self, error: SyncError) -> None:
        """The last packet of a connection."""
        self.stream.put(err(error, self.result_charset))
        await self.stream.flush()
        await self.stream.linger()

    async def _enter(self, hello: Hello, session: Session) -> None:
        self.user = hello.user
        self._gate.places.leave(self.id)
        self._capabilities = hello.capabilities & OFFERED.value
        self.speak(by_collation(hello.collation))
        if hello.db:
            await session.use(hello.db)
        audit.login(user=str(self.account), host=self.host, error=None)
        self._ok()
        await self.stream.flush()
        if algorithm := agreed(self._capabilities):
            self.stream.compress(algorithm)

    async def _commands(self, session: Session) -> None:
        while not self._leaving:
            self.stream.restart_sequence()
            self.command, self.info, self.since = "Sleep", None, time.monotonic()
            cut = False
            try:
                packet = await self._read(session)
            except TooLongError as error:
                packet, cut = error.head, True
            except SyncError as error:
                await self.refuse(error)
                return
            if packet[:1] == bytes((Command.QUIT,)):
                return
            self.commands += 1
            self.since = time.monotonic()
            await self._answer(self._refuse_cut(packet) if cut else self._run_command(packet, session), session)

    async def _read(self, session: Session) -> bytes:
        self._hold_packet(0)
        return await self.stream.read(
            limit=self._limits.max_packet, idle=session.wait_timeout(), keeps=self._hold_packet
        )

    def _hold_packet(self, size: int) -> bool:
        """Whether there is room for a packet of this size; small ones always have some."""
        self.share.give_back(self._of_packet)
        self._of_packet = 0
        if size > self._limits.max_statement + MORE_THAN_TEXT:
            self._refusal = too_long(self._limits.max_statement)
            return False
        if size > SMALL_PACKET:
            try:
                self.share.hold(size)
            except SyncError as error:
                self._refusal = error
                return False
            self._of_packet = size
        return True

    async def _answer(self, command: Coroutine[object, object, None], session: Session) -> None:
        """Run a command in a task of its own, so that an interrupt cancels it and nothing else."""
        self._interrupt = self._error = None
        self._rows = 0
        self._task = asyncio.create_task(command)
        try:
            await self._watch(self._task)
        except asyncio.CancelledError:
            if self._interrupt is None:
                raise
            self._err(self._interrupt.error, session)
        except SyncError as error:
            self._err(error, session)
        except RecursionError:
            self._err(SyncError(Code.NESTED_TOO_DEEPLY), session)
        except (ConnectionLost, ProtocolError):
            self._error = Code.INTERRUPTED.number
            raise
        except Exception as error:
            log.exception("connection %d: a statement failed unexpectedly: %s", self.id, self.info)
            self._err(SyncError(Code.INTERNAL, message=f"Internal error: {type(error).__name__}: {error}"), session)
        finally:
            self._task = None
            self.limit_time(0)
            self._audit()
        await self._finish()

    def _audit(self) -> None:
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
            error=self._error,
        )
        audit.statement(ended)

    async def _finish(self) -> None:
        if self._interrupt is None or not self._interrupt.ends_connection:
            await self.stream.flush()
            return
        self._leaving = True
        try:
            async with asyncio.timeout(LAST_WORDS):
                await self.stream.flush()
        except TimeoutError:
            self.stream.abort()

    async def _watch(self, task: asyncio.Task[None]) -> None:
        """Wait for a command, and cancel it if its client goes away."""
        gone = asyncio.create_task(self.stream.gone.wait())
        try:
            await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
            if not task.done() and self._interrupt is None:
                task.cancel()
                await asyncio.wait((task,))
                raise ConnectionLost("the client went away during a command")
            await task
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            gone.cancel()

    async def _run_command(self, packet: bytes, session: Session) -> None:
        command = self._COMMANDS.get(packet[0]) if packet else None
        if command is None:
            raise SyncError(Code.UNKNOWN_COMMAND)
        await command(self, packet[1:], session)

    async def _refuse_cut(self, packet: bytes) -> None:
        """A command that could not be kept: the beginning of it."""
        number, body = packet[0], packet[1:]
        if number == Command.STMT_SEND_LONG_DATA:
            self._prepared.lose(Reader(body).uint(4))
            return
        if number in {Command.QUERY, Command.STMT_PREPARE}:
            self._show(Command(number).name.title(), body[:INFO_SIZE].decode(errors="replace"))
        raise self._refusal

    # what the commands answer

    def _text(self, body: bytes) -> str:
        """Raises STATEMENT_TOO_LARGE, INVALID_TEXT."""
        if len(body) > self._limits.max_statement:
            raise too_long(self._limits.max_statement)
        return self.charset.decode(body)

    async def _query(self, body: bytes, session: Session) -> None:
        sql = self._text(body)
        self._show("Query", sql)
        multi = bool(self._capabilities & Capability.MULTI_STATEMENTS)
        await self._run_sql(sql, session, self._send, multi=multi)

    def _show(self, command: str, sql: str) -> None:
        self.command, self.info = command, mask(sql[:INFO_SIZE])

    async def _run_sql(self, sql: str, session: Session, send: Send, *, multi: bool = False) -> None:
        async with aclosing(session.execute(sql, multi=multi)) as results:
            async for result, more in results:
                await send(result, more)

    def limit_time(self, seconds: float, why: Interrupt = Interrupt.TIMEOUT, *, since: float | None = None) -> None:
        """The command that runs is interrupted after so long from now, or from `since` on; 0: never."""
        if self._timer is not None:
            self._timer.cancel()
        past = 0.0 if since is None else time.monotonic() - since
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(seconds - past, self.interrupt, why) if seconds else None

    async def _send(self, result: Result, more: bool = False) -> None:  # noqa: FBT001, FBT002 - the flag of the wire
        match result:
            case Done():
                self._ok(result, more=more)
            case Rows():
                await self._send_rows(result, more=more, binary=False)

    async def _send_binary(self, result: Result, more: bool) -> None:  # noqa: FBT001 - the same
        match result:
            case Done():
                self._ok(result, more=more)
            case Rows():
                await self._send_rows(result, more=more, binary=True)

    async def _send_rows(self, result: Rows, *, more: bool, binary: bool) -> None:
        stream = self.stream
        self._put_columns(result)
        if not self._capabilities & Capability.DEPRECATE_EOF:
            stream.put(end_of_rows(self._status(), self._capabilities))
        encode = row_encoder(result.columns, self.result_charset, binary=binary)
        async with aclosing(result.batches) as batches:
            async for batch in batches:
                for row in batch:
                    self._rows += 1
                    stream.put(encode(row))
                    if stream.pending > self._limits.high_water:
                        await stream.flush()
                        await asyncio.sleep(0)  # others are answered in between, however fast the client reads
        stream.put(end_of_rows(self._status(more=more), self._capabilities, warnings=result.warnings))

    def _put_columns(self, result: Rows) -> None:
        self.stream.put(lenenc(len(result.columns)))
        for column in result.columns:
            self.stream.put(column_definition(column, self.result_charset))

    def _status(self, *, more: bool = False) -> Status:
        status = Status.AUTOCOMMIT if self.autocommit else Status.NONE
        return status | Status.MORE_RESULTS if more else status

    def _ok(self, done: Done = OK, *, more: bool = False) -> None:
        status, info = self._status(more=more), self.result_charset.encode(done.info)
        if self._capabilities & Capability.SESSION_TRACK:
            status, info = tracked(status, info, self.changes.told(self.result_charset))
        self.stream.put(ok(status, affected=done.affected, warnings=done.warnings, info=info))

    def _err(self, error: SyncError, session: Session) -> None:
        self._error = error.code.number
        session.failed(error)
        self.stream.put(err(error, self.result_charset))

    async def _init_db(self, body: bytes, session: Session) -> None:
        self.command = "Init DB"
        await session.use(self.charset.decode(body))
        self._ok()

    async def _ping(self, _body: bytes, _session: Session) -> None:
        self._ok()

    async def _field_list(self, body: bytes, session: Session) -> None:
        self.command = "Field List"
        for column in await session.fields(self.charset.decode(Reader(body).until_nul())):
            self.stream.put(column_definition(column, self.result_charset) + b"\xfb")
        self.stream.put(end_of_rows(self._status(), self._capabilities))

    async def _statistics(self, _body: bytes, session: Session) -> None:
        self.stream.put(session.statistics().encode())

    async def _process_info(self, _body: bytes, session: Session) -> None:
        await self._send(session.processlist())

    async def _process_kill(self, body: bytes, session: Session) -> None:
        session.kill(Reader(body).uint(4), query=False)
        await asyncio.sleep(0)  # where a connection has ended itself, that is its answer
        self._ok()

    async def _set_option(self, body: bytes, _session: Session) -> None:
        if Reader(body).uint(2) == 0:
            self._capabilities |= Capability.MULTI_STATEMENTS.value
        else:
            self._capabilities &= ~Capability.MULTI_STATEMENTS.value
        self.stream.put(end_of_rows(self._status(), self._capabilities))

    async def _reset_connection(self, _body: bytes, session: Session) -> None:
        await self._forget(session)
        self._ok()

    async def _forget(self, session: Session) -> None:
        await self._prepared.clear()
        session.reset()

    async def _change_user(self, body: bytes, session: Session) -> None:
        self.command = "Change user"
        hello = parse_change_user(body, self._capabilities)
        try:
            async with asyncio.timeout(self._limits.connect_timeout):
                self.account = await self._login.authenticate(hello, again=True)
        except SyncError as error:
            await self.refuse(error)
            raise ConnectionLost("change of user denied") from error
        audit.login(user=str(self.account), host=self.host, error=None)
        await self._forget(session)
        self.user, self.db = hello.user, None
        self.speak(by_collation(hello.collation))
        if hello.db:
            await session.use(hello.db)
        self._ok()

    # prepared statements

    async def _prepare(self, body: bytes, session: Session) -> None:
        sql = self._text(body)
        self._show("Prepare", sql)
        self.limit_time(session.statement_timeout(sql), since=self.since)
        statement = self._prepared.add(sql, await session.placeholders(sql))
        self.stream.put(statement.answer())
        for _ in statement.places:
            self.stream.put(column_definition(Column(name="?"), self.result_charset))
        if statement.places and not self._capabilities & Capability.DEPRECATE_EOF:
            self.stream.put(end_of_rows(self._status(), self._capabilities))

    async def _execute(self, body: bytes, session: Session) -> None:
        reader = Reader(body)
        statement = self._prepared.get(reader.uint(4))
        await self._prepared.close_cursor(statement)
        self._show("Execute", statement.sql)
        wants_cursor = bool(reader.uint(1) & READ_ONLY_CURSOR)
        try:
            sql = statement.bind(reader, self.charset, limit=self._limits.max_statement)
        finally:
            self._prepared.forget_data(statement)
        if wants_cursor:
            await self._run_sql(sql, session, partial(self._open_cursor, statement))
        else:
            await self._run_sql(sql, session, self._send_binary)

    async def _open_cursor(self, statement: PreparedStatement, result: Result, more: bool) -> None:  # noqa: FBT001
        if isinstance(result, Done):
            self._ok(result, more=more)
            return
        if not self._prepared.has_room_for_cursor():
            await self._send_binary(result, more)
            return
        statement.cursor = Cursor(result, row_encoder(result.columns, self.result_charset, binary=True))
        self._put_columns(result)
        self.stream.put(end_of_rows(self._status() | Status.CURSOR_EXISTS, self._capabilities))

    async def _fetch(self, body: bytes, session: Session) -> None:
        reader = Reader(body)
        statement, count = self._prepared.get(reader.uint(4)), reader.uint(4)
        self._show("Fetch", statement.sql)
        if statement.cursor is None:
            raise SyncError(Code.NO_CURSOR, id=statement.id)
        try:
            self.limit_time(*session.query_timeout(statement.sql))
            ended = await self._put_rows(statement.cursor, count)
        except BaseException:
            await self._prepared.close_cursor(statement)
            raise
        if ended:
            await self._prepared.close_cursor(statement)
        left = Status.LAST_ROW_SENT if ended else Status.CURSOR_EXISTS
        self.stream.put(end_of_rows(self._status() | left, self._capabilities))

    async def _put_rows(self, cursor: Cursor, count: int) -> bool:
        """Whether the rows have ended."""
        for _ in range(count):
            row = await cursor.next()
            if row is None:
                return True
            self._rows += 1
            self.stream.put(row)
            if self.stream.pending > self._limits.high_water:
                await self.stream.flush()
        return False

    async def _long_data(self, body: bytes, _session: Session) -> None:
        """Answers nothing, ever: so the protocol has it."""
        reader = Reader(body)
        self._prepared.append(reader.uint(4), reader.uint(2), reader.rest())

    async def _close_statement(self, body: bytes, _session: Session) -> None:
        """Answers nothing, ever."""
        await self._prepared.remove(Reader(body).uint(4))

    async def _reset_statement(self, body: bytes, _session: Session) -> None:
        statement = self._prepared.get(Reader(body).uint(4))
        self._prepared.forget_data(statement)
        await self._prepared.close_cursor(statement)
        self._ok()

    _COMMANDS: Final[dict[int, Callable[["Connection", bytes, Session], Awaitable[None]]]] = {
        Command.INIT_DB: _init_db,
        Command.QUERY: _query,
        Command.FIELD_LIST: _field_list,
        Command.STATISTICS: _statistics,
        Command.PROCESS_INFO: _process_info,
        Command.PROCESS_KILL: _process_kill,
        Command.PING: _ping,
        Command.CHANGE_USER: _change_user,
        Command.STMT_PREPARE: _prepare,
        Command.STMT_EXECUTE: _execute,
        Command.STMT_FETCH: _fetch,
        Command.STMT_SEND_LONG_DATA: _long_data,
        Command.STMT_CLOSE: _close_statement,
        Command.STMT_RESET: _reset_statement,
        Command.SET_OPTION: _set_option,
        Command.RESET_CONNECTION: _reset_connection,
    }
