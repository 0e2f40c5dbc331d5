"""PyMySQL's connection to an untrusted server.

Owns: how much of a login and of an answer is accepted, for how long, and what no answer to our queries may be.
Must not know: what is queried, binlogs.
"""

import io
import socket
import ssl
import struct
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from pymysql import err
from pymysql.connections import Connection, MySQLResult
from pymysql.constants import CR
from pymysql.protocol import MysqlPacket

from syncmgr.errors import Code, SyncError, shorten
from syncmgr.job.types.schema import MAX_COLUMNS
from syncmgr.sources.mysql.tls import of_anyone

SHOWN: Final = 200  # characters of a file's name
LOGIN_BYTES: Final = 64 << 10  # up to the answer to our first statements; a login takes less than 2 KiB
ANSWER_BYTES: Final = 128 << 20  # to one query; the columns of 25,000 tables take half of it
ANSWER_CELLS: Final = 5_000_000  # each takes some 100 bytes here, and maybe one on the wire
SILENCES: Final = 10  # a whole answer may take this many times as long as a server may be silent
PIECE: Final = 64 << 10
UNREADABLE: Final = (LookupError, ValueError, TypeError, AttributeError, AssertionError, struct.error)  # the driver's

if TYPE_CHECKING:
    PlainConnection = Connection[Any]
else:
    PlainConnection = Connection


class BoundedConnection(PlainConnection):
    """A connection that accepts only so much, and answers no requests of the server.

    All raise SOURCE_TOO_LARGE, SOURCE_ANSWER, SOURCE_ASKS_FILE and SOURCE_UNREACHABLE, besides the driver's errors.
    """

    _rfile: io.BufferedReader
    _sock: socket.socket
    _read_timeout: float
    ctx: Any  # of TLS

    def __init__(self, address: str, **options: Any) -> None:  # noqa: ANN401 - the driver's own
        """`address`: for messages."""
        self.label = address
        self._let_in = False
        super().__init__(**options, local_infile=False, defer_connect=True)

    def _create_ssl_ctx(self, given: ssl.SSLContext | dict[str, Any]) -> ssl.SSLContext:
        """Replaces the driver's, which reads all authorities of the machine for each connection that verifies nothing:
        one for which we have given no context.
        """
        return given if isinstance(given, ssl.SSLContext) else of_anyone()

    def on_connect(self, opened: Callable[[socket.socket], None]) -> None:
        """`opened` gets the socket with which TLS replaces ours, before anything waits on it."""
        if self.ssl:
            self.ctx = _Telling(self.ctx, opened)

    def connect(self, sock: socket.socket | None = None) -> None:
        """The whole login, including our first statements, may take as long as one silence."""
        self._let_in = False
        self._expect(LOGIN_BYTES, self._read_timeout)
        try:
            super().connect(sock)
        except UNREADABLE as error:
            raise self._unreadable("its login", error) from shorten(error)
        self._let_in = True

    def _expect(self, most: int, seconds: float) -> None:
        self._left, self._most = most, most
        self._seconds, self._ends = seconds, time.monotonic() + seconds

    def _execute_command(self, command: int, sql: str | bytes) -> None:
        if self._let_in:
            self._expect(ANSWER_BYTES, SILENCES * self._read_timeout)
        super()._execute_command(command, sql)  # type: ignore[misc]

    def _read_packet(self, packet_type: type[MysqlPacket] = MysqlPacket) -> MysqlPacket:
        try:
            packet: MysqlPacket = super()._read_packet(packet_type)  # type: ignore[no-untyped-call]
        except err.MySQLError as error:
            raise shorten(error)  # noqa: B904 - the same
        return packet

    def _read_bytes(self, size: int) -> bytes:
        """Replaces the driver's, which restarts its wait for each byte. A size is checked before memory is allocated
        for it.
        """
        self._left -= size
        if self._left < 0:
            raise self._too_much()
        parts = []
        while size:
            part = self._read_piece(min(size, PIECE))
            size -= len(part)
            parts.append(part)
        return b"".join(parts)

    def _read_piece(self, most: int) -> bytes:
        try:
            part = self._rfile.read1(most)
        except OSError as error:
            raise self._lost(f" ({error})") from error
        if not part:
            raise self._lost("")
        if time.monotonic() > self._ends:
            self.drop()
            what = "answer" if self._let_in else "login"
            reason = f"its {what} did not end within {self._seconds:g} seconds"
            raise SyncError(Code.SOURCE_UNREACHABLE, address=self.label, reason=reason)
        return part

    def waits(self, seconds: float) -> None:
        """How long the server may be silent from now on, and the socket full."""
        self._read_timeout = self._write_timeout = seconds

    def command(self, command: int, content: bytes) -> MysqlPacket:
        """The first packet of the answer."""
        self._execute_command(command, content)
        answer = self.packet()
        if answer.is_load_local_packet():
            raise self.asks_file(answer)
        return answer

    def packet(self, kind: type[MysqlPacket] = MysqlPacket) -> MysqlPacket:
        """The next one of the answer."""
        return self._read_packet(kind)

    def receive_into(self, room: memoryview) -> int:
        """What has come of an answer without an end in time; it waits for the first byte."""
        try:
            size = self._rfile.readinto1(room)
        except OSError as error:
            raise self._lost(f" ({error})") from error
        if not size:
            raise self._lost("")
        return size

    def _lost(self, why: str) -> err.OperationalError:
        self.drop()
        return err.OperationalError(CR.CR_SERVER_LOST, f"Lost connection to MySQL server during query{why}")

    def drop(self) -> None:
        """What is left of the answer is not read."""
        self._force_close()  # type: ignore[attr-defined]

    def _too_much(self) -> SyncError:
        self.drop()
        if self._let_in:
            return self.too_large(f"an answer of more than {self._most} bytes")
        reason = f"it has sent more than {self._most} bytes before it let us in"
        return SyncError(Code.SOURCE_ANSWER, address=self.label, reason=reason)

    def too_large(self, reason: str) -> SyncError:
        self.drop()
        return SyncError(Code.SOURCE_TOO_LARGE, address=self.label, reason=reason)

    def _unreadable(self, what: str, error: Exception) -> SyncError:
        self.drop()
        reason = f"{what} cannot be read ({type(error).__name__}: {error})"
        return SyncError(Code.SOURCE_ANSWER, address=self.label, reason=reason)

    def _read_query_result(self, unbuffered: bool = False) -> int:  # noqa: FBT001, FBT002 - the driver's
        """As the driver does it, with an answer of ours."""
        assert not unbuffered, "such an answer has no bounds"
        self._result = None
        result = _Answer(self)
        try:
            result.read()
        except UNREADABLE as error:
            raise self._unreadable("an answer", error) from shorten(error)
        self._result = result
        if result.server_status is not None:
            self.server_status = result.server_status
        return int(result.affected_rows or 0)

    def asks_file(self, packet: MysqlPacket) -> SyncError:
        """Closes the connection: its server waits for the file."""
        name = packet.get_all_data()[1:].decode("utf-8", "backslashreplace")[:SHOWN]  # type: ignore[no-untyped-call]
        self.drop()
        return SyncError(Code.SOURCE_ASKS_FILE, address=self.label, file=name)


class _Telling:
    """Replaces the driver's TLS context, whose handshake can only be ended through the new socket."""

    def __init__(self, context: ssl.SSLContext, opened: Callable[[socket.socket], None]) -> None:
        self._context = context
        self._opened = opened

    def wrap_socket(self, plain: socket.socket, server_hostname: str) -> ssl.SSLSocket:
        """As the driver calls it."""
        made = self._context.wrap_socket(plain, server_hostname=server_hostname, do_handshake_on_connect=False)
        try:
            self._opened(made)
            made.do_handshake()
        except BaseException:
            made.close()
            raise
        return made


class _Answer(MySQLResult):
    """To one query."""

    connection: BoundedConnection

    def __init__(self, connection: BoundedConnection) -> None:
        super().__init__(connection)
        self._cells = 0

    def _read_load_local_packet(self, first_packet: MysqlPacket) -> None:
        raise self.connection.asks_file(first_packet)

    def _get_descriptions(self) -> None:
        if self.field_count > MAX_COLUMNS:
            raise self.connection.too_large(f"an answer of {self.field_count} columns; {MAX_COLUMNS} are taken")
        super()._get_descriptions()  # type: ignore[misc]

    def _read_row_from_packet(self, packet: MysqlPacket) -> tuple[object, ...]:
        self._cells += self.field_count + 1
        if self._cells > ANSWER_CELLS:
            raise self.connection.too_large(f"an answer of more than {ANSWER_CELLS} cells")
        row: tuple[object, ...] = super()._read_row_from_packet(packet)  # type: ignore[misc]
        return row
