"""One connection to a canal server.

Owns: the socket: handshake, requests, replies with deadlines.
Must not know: what entries mean, when to ask, how often to try again.
"""

import socket
import time
from dataclasses import dataclass, field
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.source_history.pace import stalls
from syncmgr.sources import cancellation
from syncmgr.sources.canal import packet
from syncmgr.sources.canal.packet import Answer, Delivery, Greeting, MalformedPacketError, Reply
from syncmgr.sources.cancellation import Opened

CHUNK: Final = 1 << 20
SHOWN: Final = 300
UNREADY: Final = "seed is null"  # the server checks a password before it has stored its own seed
UNSUBSCRIBED: Final = "should subscribe first"  # the answer of a served destination to an unknown reader


class CanalLostError(Exception):
    """The connection is no longer usable. `cause_for_user` says why; retrying may help."""

    def __init__(self, cause_for_user: SyncError) -> None:
        super().__init__(str(cause_for_user))
        self.cause_for_user = cause_for_user


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """A destination on a server, and who reads it. Times in seconds."""

    host: str
    port: int
    destination: str
    user: str
    password: str = field(repr=False)
    connect_timeout: float
    read_timeout: float

    @property
    def label(self) -> str:
        return f"{self.host}:{self.port}"


class Connector:
    """Belongs to one thread; only its socket may be shut down from another."""

    def __init__(
        self,
        endpoint: Endpoint,
        table_filter: str | None,
        opened: Opened = cancellation.opened,
    ) -> None:
        """Connects, logs in, subscribes, and takes back what an earlier reader left un-acked.

        `table_filter`: canal's regular expression; it replaces the destination's own, and that of its present reader.
        None: only finds out whether the destination is served. Raises CanalLostError, and SyncError
        CANAL_ACCESS_DENIED.
        """
        self._endpoint = endpoint
        self._buffer = bytearray()
        self._asked_at, self._came = time.monotonic(), 0
        self._most = packet.MAX_LOGIN_FRAME
        try:
            self._socket = cancellation.connected(endpoint.host, endpoint.port, endpoint.connect_timeout, opened)
        except OSError as error:
            raise self._lost(error) from error
        try:
            self._log_in()
            if table_filter is None:
                self._look()
            else:
                self._subscribe(table_filter)
        except BaseException:
            self.close()
            raise

    def _log_in(self) -> None:
        there = self._endpoint
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        greeting = self._reply(there.connect_timeout)
        if not isinstance(greeting, Greeting):
            raise self._broken("it greets with something else than a handshake")
        self._send(packet.authentication(there.user, there.password, greeting.seed))
        answer = self._answer()
        if answer.code:
            if UNREADY in answer.text:
                raise self._refused(answer)
            # some servers accept a wrong password after all: nothing is requested from them
            raise SyncError(
                Code.CANAL_ACCESS_DENIED, address=there.label, user=there.user, reason=_first_line(answer.text)
            )

    def _subscribe(self, table_filter: str) -> None:
        there = self._endpoint
        self._send(packet.subscription(there.destination, table_filter))
        answer = self._answer()
        if answer.code:
            raise self._refused(answer)
        self._send(packet.rollback(there.destination))
        self._most = packet.MAX_FRAME

    def _look(self) -> None:
        """Canal refuses an unknown reader only after checking whether it serves the requested destination."""
        there = self._endpoint
        self._send(packet.get(there.destination, 1, 1, packet.STRANGER))
        reply = self._reply(there.read_timeout)
        if isinstance(reply, Answer) and UNSUBSCRIBED not in reply.text:
            raise self._refused(reply)

    def local_address(self) -> str:
        host, port = self._socket.getsockname()[:2]
        return f"{host}:{port}"

    def ask(self, fetch_size: int, timeout_millisecond: int) -> None:
        """Request one batch; it comes out of `receive`."""
        self._send(packet.get(self._endpoint.destination, fetch_size, timeout_millisecond))
        self._asked_at, self._came = time.monotonic(), 0

    def acknowledge(self, batch_id: int) -> None:
        self._send(packet.acknowledgement(self._endpoint.destination, batch_id))

    def receive(self, until: float) -> Delivery | None:
        """What was requested, None if it did not arrive by then (monotonic). Raises CanalLostError."""
        body = self._frame(until)
        if body is None:
            self._check_pace()
            return None
        match self._decoded(body):
            case Delivery() as delivery:
                return delivery
            case Answer() as answer:
                raise self._refused(answer)
            case Greeting():
                raise self._broken("a second handshake")

    def _check_pace(self) -> None:
        passed, silence = time.monotonic() - self._asked_at, self._endpoint.read_timeout
        if stalls(self._came, passed, silence):
            what = f"sent {self._came} bytes in" if self._came else "was silent for"
            raise self._lost(TimeoutError(f"it {what} {silence:g} s"))
        if passed > silence:
            self._asked_at, self._came = time.monotonic(), 0

    def _answer(self) -> Answer:
        reply = self._reply(self._endpoint.read_timeout)
        if not isinstance(reply, Answer):
            raise self._broken("it does not answer")
        return reply

    def _reply(self, seconds: float) -> Reply:
        body = self._frame(time.monotonic() + seconds)
        if body is None:
            raise self._lost(TimeoutError(f"no answer within {seconds:g} s"))
        return self._decoded(body)

    def _decoded(self, body: bytes) -> Reply:
        try:
            return packet.reply(body)
        except MalformedPacketError as error:
            raise self._broken(str(error)) from error

    def _frame(self, until: float) -> bytes | None:
        """A whole frame's body. The part that has arrived stays in the buffer, which grows only as bytes arrive."""
        if not self._fill(packet.LENGTH.size, until):
            return None
        try:
            size = packet.LENGTH.size + packet.frame_size(bytes(self._buffer[: packet.LENGTH.size]), self._most)
        except MalformedPacketError as error:
            raise self._broken(str(error)) from error
        if not self._fill(size, until):
            return None
        body = bytes(memoryview(self._buffer)[packet.LENGTH.size : size])
        del self._buffer[:size]
        return body

    def _fill(self, size: int, until: float) -> bool:
        while len(self._buffer) < size:
            left = until - time.monotonic()
            self._socket.settimeout(max(left, 0.0))
            try:
                data = self._socket.recv(min(size - len(self._buffer), CHUNK) if size > CHUNK else CHUNK)
            except (TimeoutError, BlockingIOError):
                return False
            except OSError as error:
                raise self._lost(error) from error
            if not data:
                raise self._lost(EOFError("it closed the connection"))
            self._buffer += data
            self._came += len(data)
        return True

    def _send(self, data: bytes) -> None:
        self._socket.settimeout(self._endpoint.read_timeout)
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise self._lost(error) from error

    def close(self) -> None:
        self._socket.close()

    def _lost(self, error: Exception) -> CanalLostError:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return CanalLostError(SyncError(Code.CANAL_UNREACHABLE, address=self._endpoint.label, reason=reason))

    def _refused(self, answer: Answer) -> CanalLostError:
        there = self._endpoint
        reason = _first_line(answer.text)
        return CanalLostError(
            SyncError(Code.CANAL_REFUSED, address=there.label, destination=there.destination, reason=reason)
        )

    def _broken(self, reason: str) -> CanalLostError:
        return CanalLostError(SyncError(Code.CANAL_PROTOCOL, address=self._endpoint.label, reason=reason))


def _first_line(text: str) -> str:
    """What canal says without its channel and class names."""
    line = text.strip().partition("\n")[0]
    _, _, reason = line.rpartition("Exception: ")
    return (reason or line)[:SHOWN] or "no reason given"
