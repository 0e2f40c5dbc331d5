"""One client's connection: its login, its commands one after the other, its end.

Owns: the command loop, the answer to a failed command, which packets there is room for.
Must not know: SQL, what a command answers; a session runs the statements.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Final

from syncmgr.accounts.user import Account
from syncmgr.console.audit import audit
from syncmgr.console.commands import plain
from syncmgr.console.commands.client import INFO_SIZE, Client
from syncmgr.console.commands.port import Session
from syncmgr.console.commands.running import RunningCommand
from syncmgr.console.commands.table import COMMANDS
from syncmgr.console.limits import KiB, too_long
from syncmgr.console.login.login import Gate, Login
from syncmgr.console.wire.charset import by_collation
from syncmgr.console.wire.compression import agreed
from syncmgr.console.wire.messages import Hello, err, parse_change_user
from syncmgr.console.wire.packet import ProtocolError, Reader
from syncmgr.console.wire.protocol import OFFERED, Command
from syncmgr.console.wire.stream import ConnectionLost, PacketStream, TooLongError
from syncmgr.errors import Code, SyncError

log = logging.getLogger(__name__)

SMALL_PACKET: Final = 64 * KiB
MORE_THAN_TEXT: Final = 1024  # bytes of a packet besides its text
LAST_WORDS: Final = 1.0  # seconds to tell a killed client why


class Connection:
    """A client from its greeting to its end."""

    def __init__(self, connection_id: int, stream: PacketStream, *, peer: tuple[str, int], gate: Gate) -> None:
        self.client = Client(connection_id, stream, peer=peer, limits=gate.limits, memory=gate.memory)
        self._stream = stream
        self._gate = gate
        self._limits = gate.limits
        self._login = Login(gate, stream, host=peer[0])
        self._of_packet = 0  # bytes of the share
        self._refusal = too_long(gate.limits.max_statement)  # why the last packet was not kept
        self._leaving = False

    @property
    def id(self) -> int:
        return self.client.id

    @property
    def running(self) -> RunningCommand:
        return self.client.running

    def leave(self) -> None:
        """End after the command that runs."""
        self._leaving = True

    async def run(self, session_for: Callable[[Client], Session]) -> None:
        """Log in, then answer commands until either side ends. Raises ConnectionLost, ProtocolError, TimeoutError."""
        try:
            async with asyncio.timeout(self._limits.connect_timeout):
                hello, account = await self._login.run(self.id)
            self.client.account = account
            session = session_for(self.client)
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
            await self.client.prepared.clear()
            self.client.share.close()

    async def refuse(self, error: SyncError) -> None:
        """The last packet of a connection."""
        self._stream.put(err(error, self.client.answers.charset))
        await self._stream.flush()
        await self._stream.linger()

    async def _enter(self, hello: Hello, session: Session) -> None:
        client = self.client
        client.user = hello.user
        self._gate.places.leave(self.id)
        client.answers.capabilities = hello.capabilities & OFFERED.value
        client.speak(by_collation(hello.collation))
        try:
            session.greeted(hello.attributes)
            if hello.db:
                await session.use(hello.db)
        except SyncError as error:
            audit.login(user=str(client.account), host=client.host, error=error.code.number)
            raise
        audit.login(user=str(client.account), host=client.host, error=None)
        client.answers.put_ok()
        await self._stream.flush()
        if algorithm := agreed(client.answers.capabilities):
            self._stream.compress(algorithm, client.share)

    async def _commands(self, session: Session) -> None:
        while not self._leaving:
            self._stream.restart_sequence()
            self.client.rests()
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
            self.client.begins()
            await self._answer(self._refuse_cut(packet) if cut else self._run_command(packet, session), session)

    async def _read(self, session: Session) -> bytes:
        self._hold_packet(0)
        return await self._stream.read(
            limit=self._limits.max_packet, idle=session.wait_timeout(), keeps=self._hold_packet
        )

    def _hold_packet(self, size: int) -> bool:
        """Whether there is room for a packet of this size; there always is for small ones."""
        share = self.client.share
        share.give_back(self._of_packet)
        self._of_packet = 0
        if size > self._limits.max_statement + MORE_THAN_TEXT:
            self._refusal = too_long(self._limits.max_statement)
            return False
        if size > SMALL_PACKET:
            try:
                share.hold(size)
            except SyncError as error:
                self._refusal = error
                return False
            self._of_packet = size
        return True

    async def _answer(self, command: Coroutine[object, object, None], session: Session) -> None:
        """Run a command; any error is its answer, except a lost connection."""
        client = self.client
        try:
            await self.running.run(command)
        except SyncError as error:
            self._fail(error, session)
        except RecursionError:
            self._fail(SyncError(Code.NESTED_TOO_DEEPLY), session)
        except (ConnectionLost, ProtocolError):
            client.error = Code.INTERRUPTED.number
            raise
        except Exception as error:
            log.exception("connection %d: a statement failed unexpectedly: %s", self.id, client.info)
            self._fail(SyncError(Code.INTERNAL, message=f"Internal error: {type(error).__name__}: {error}"), session)
        finally:
            client.audit()
        await self._finish()

    def _fail(self, error: SyncError, session: Session) -> None:
        session.failed(error)
        self.client.put_error(error)

    async def _finish(self) -> None:
        if not self.running.ends_connection:
            await self._stream.flush()
            return
        self._leaving = True
        try:
            async with asyncio.timeout(LAST_WORDS):
                await self._stream.flush()
        except TimeoutError:
            self._stream.abort()

    async def _run_command(self, packet: bytes, session: Session) -> None:
        if packet[:1] == bytes((Command.CHANGE_USER,)):
            await self._change_user(packet[1:], session)
            return
        command = COMMANDS.get(packet[0]) if packet else None
        if command is None:
            raise SyncError(Code.UNKNOWN_COMMAND)
        await command(self.client, packet[1:], session)

    async def _refuse_cut(self, packet: bytes) -> None:
        """A command that could not be kept: the beginning of it."""
        number, body = packet[0], packet[1:]
        if number == Command.STMT_SEND_LONG_DATA:
            self.client.prepared.lose(Reader(body).uint(4))
            return
        if number in {Command.QUERY, Command.STMT_PREPARE}:
            self.client.show(Command(number).name.title(), body[:INFO_SIZE].decode(errors="replace"))
        raise self._refusal

    async def _change_user(self, body: bytes, session: Session) -> None:
        try:
            await self._become(body, session)
        except BaseException:  # a client that is neither user must not go on, nor its password be read as a command
            self._leaving = True
            raise

    async def _become(self, body: bytes, session: Session) -> None:
        client = self.client
        client.command = "Change user"
        hello = parse_change_user(body, client.answers.capabilities)
        client.account = await self._authenticated(hello)
        audit.login(user=str(client.account), host=client.host, error=None)
        await plain.forget(client, session)
        client.user, client.db = hello.user, None
        client.speak(by_collation(hello.collation))
        session.greeted(hello.attributes)
        if hello.db:
            await session.use(hello.db)
        client.answers.put_ok()

    async def _authenticated(self, hello: Hello) -> Account:
        try:
            async with asyncio.timeout(self._limits.connect_timeout):
                account = await self._login.authenticate(hello, again=True)
                if account != self.client.account:
                    self._login.admit(account, further=False)
                return account
        except (SyncError, TimeoutError) as error:
            await self.refuse(error if isinstance(error, SyncError) else SyncError(Code.READ_TIMEOUT))
            raise ConnectionLost("change of user denied") from error
