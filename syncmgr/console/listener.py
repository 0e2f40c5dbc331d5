"""The listening side: clients accepted and run, in a thread of its own.

Owns: the event loop, the listening sockets, the table of connections, start and stop.
Must not know: what statements mean; its builder makes the sessions.
"""

import asyncio
import itertools
import logging
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from syncmgr.accounts.user import Account
from syncmgr.console.calls import Calls
from syncmgr.console.commands.client import Client
from syncmgr.console.commands.port import Session
from syncmgr.console.commands.running import Interrupt
from syncmgr.console.connection import Connection
from syncmgr.console.limits import Limits
from syncmgr.console.login.keys import Keys
from syncmgr.console.login.login import Gate
from syncmgr.console.login.login_places import LoginPlaces
from syncmgr.console.login.open_verdicts import OpenVerdicts
from syncmgr.console.login.throttle import Throttle
from syncmgr.console.login.tls import load_identity
from syncmgr.console.memory import Memory
from syncmgr.console.ports import Users
from syncmgr.console.registry import Registry
from syncmgr.console.wire.packet import ProtocolError
from syncmgr.console.wire.stream import ConnectionLost, PacketStream
from syncmgr.errors import Code, SyncError
from syncmgr.host.listening import listening_sockets, port_of

log = logging.getLogger(__name__)

BACKLOG: Final = 512
ACCEPT_PAUSE: Final = 0.5  # seconds after a failed accept, e.g. for lack of file descriptors
MAX_ID: Final = 0x7FFFFFFF


class Listener:
    """Listens, and runs every client. start() and stop() are called from other threads, once each."""

    def __init__(
        self,
        session_for: Callable[[Client, Registry], Session],
        *,
        password: Callable[[], str],
        users: Users,
        requires_tls: Callable[[], bool],
        limits: Limits,
        host: str,
        port: int,
        tls_folder: Path,
    ) -> None:
        """`host` empty: loopback while root has no password, otherwise every address. `port` 0: any free one.

        Raises WRONG_CONFIG for another host than loopback without a password, NOT_WRITABLE, BAD_CONFIG.
        """
        self._session_for = session_for
        self._limits = limits
        self._hosts = listening_hosts(host, has_password=bool(password()))
        self.port = port
        identity = load_identity(tls_folder)
        throttle = Throttle(most_failures=limits.max_login_failures, refuse_second=limits.login_refuse_second)
        self._rights = users.rights
        self._gate = Gate(
            keys=Keys(password, users, identity.secret),
            requires_tls=requires_tls,
            identity=identity,
            limits=limits,
            throttle=throttle,
            open_verdicts=OpenVerdicts(throttle),
            places=LoginPlaces(limits, throttle.knows),
            memory=Memory(limits),
            admit=self._admit,
        )
        self._registry = Registry(port=port)
        self.calls = Calls(self._gate, self._registry, session_for, self._new_id)
        self._sockets: list[socket.socket] = []
        self._clients: set[asyncio.Task[None]] = set()
        self._ids = itertools.cycle(range(1, MAX_ID))
        self._stopping: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Bind and go to work. Raises PORT_IN_USE."""
        self._sockets = listening_sockets(self._hosts, self.port, backlog=BACKLOG)
        for listener in self._sockets:
            listener.setblocking(False)
        self.port = self._registry.port = port_of(self._sockets)
        running = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(running)), name="console", daemon=True)
        self._thread.start()
        running.wait()
        log.info("the console listens on port %d of %s", self.port, ", ".join(self._hosts))

    def _close_listeners(self) -> None:
        for listener in self._sockets:
            listener.close()

    def stop(self) -> None:
        """Refuse new clients, let running commands end for `drain_timeout`, then end them. Waits for it."""
        thread, self._thread = self._thread, None
        if thread is None or self._loop is None or self._stopping is None:
            return
        self._loop.call_soon_threadsafe(self._stopping.set)
        thread.join()

    async def _serve(self, running: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        for listener in self._sockets:
            self._listen(listener)
        self.calls.open(self._clients)
        running.set()
        await self._stopping.wait()
        self.calls.close()
        for listener in self._sockets:
            self._loop.remove_reader(listener)
        self._close_listeners()
        await self._drain()

    async def _drain(self) -> None:
        for connection in list(self._registry.connections.values()):
            if connection.running.idle:
                connection.running.interrupt(Interrupt.SHUTDOWN)
            else:
                connection.leave()
        await self._wait_for_clients(self._limits.drain_timeout)
        for connection in list(self._registry.connections.values()):
            connection.running.interrupt(Interrupt.SHUTDOWN)
        await self._wait_for_clients(self._limits.drain_timeout)
        for client in list(self._clients):
            client.cancel()
        await self._wait_for_clients(self._limits.drain_timeout)

    async def _wait_for_clients(self, timeout: float) -> None:  # noqa: ASYNC109 - a limit, not an error
        if self._clients:
            await asyncio.wait(self._clients, timeout=timeout)

    def _listen(self, listener: socket.socket) -> None:
        if listener.fileno() >= 0:
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        """Not sock_accept(): a client that arrives just as that is cancelled would be lost, and wait forever."""
        loop = asyncio.get_running_loop()
        try:
            sock, address = listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            log.warning("a client could not be accepted: %s", error)
            loop.remove_reader(listener)
            loop.call_later(ACCEPT_PAUSE, self._listen, listener)
            return
        client = loop.create_task(self._client(sock, (address[0], address[1])))
        self._clients.add(client)
        client.add_done_callback(self._clients.discard)

    async def _client(self, sock: socket.socket, peer: tuple[str, int]) -> None:
        stream = PacketStream(sock, self._limits)
        connection = Connection(self._new_id(), stream, peer=peer, gate=self._gate)
        connections = self._registry.connections
        connections[connection.id] = connection
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if await self._has_place(connection):
                await connection.run(lambda it: self._session_for(it, self._registry))
        except (ConnectionLost, ProtocolError, TimeoutError, OSError) as error:
            log.debug("connection %d of %s ended: %s", connection.id, peer[0], str(error) or type(error).__name__)
        except Exception:
            log.exception("connection %d of %s failed unexpectedly", connection.id, peer[0])
        finally:
            self._gate.places.leave(connection.id)
            self._registry.remove(connection)
            stream.close()

    async def _has_place(self, connection: Connection) -> bool:
        """For its login; the client that has been silent too long is dropped for it."""
        try:
            leaving = self._gate.places.enter(connection.id, connection.client.host)
        except SyncError as error:
            await connection.refuse(error)
            return False
        if leaving is not None and (silent := self._registry.connections.get(leaving)) is not None:
            silent.running.interrupt(Interrupt.CONNECTION)
        return True

    def _admit(self, account: Account, further: bool) -> None:  # noqa: FBT001 - as the gate has it
        """Raises TOO_MANY_CONNECTIONS, TOO_MANY_OF_USER: the last ones are for users who may end others, and of the
        rest one account has a half.
        """
        limits, is_operator = self._limits, self._rights(account).is_operator
        most = max(limits.max_connections - (0 if is_operator else limits.reserved_connections), 1)
        if further and self._registry.logged_in >= most:
            raise SyncError(Code.TOO_MANY_CONNECTIONS)
        own = max(most // 2, 1)
        if not is_operator and self._registry.of(account) >= own:
            raise SyncError(Code.TOO_MANY_OF_USER, user=account.name, limit=own)

    def _new_id(self) -> int:
        return next(number for number in self._ids if number not in self._registry.connections)


def listening_hosts(host: str, *, has_password: bool) -> tuple[str, ...]:
    """The addresses to bind. Raises WRONG_CONFIG if a console without password would be open to others."""
    loopback = ("127.0.0.1", "::1")
    if not host:
        return ("0.0.0.0", "::") if has_password else loopback  # noqa: S104 - asked for by a password
    if host == "localhost":
        return loopback
    if not has_password and not host.startswith("127.") and host != "::1":
        reason = "root has no password, so the console may listen on loopback only; set root_password first"
        raise SyncError(Code.WRONG_CONFIG, name="query_host", value=host, reason=reason)
    return (host,)
