"""The raw binlog stream of a server: events as spans of big buffers.

Owns: the replication handshake, the dump commands, the names of the server's refusals.
Must not know: what an event means, transactions, tables.
"""

import contextlib
import secrets
import socket
import ssl
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from pymysql.constants import COMMAND

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import GtidSet, Position, parse_gtids
from syncmgr.job.raw_errors import GRANT_MISSING, of_binlog
from syncmgr.job.source_history.resumability import (
    unsent,
)
from syncmgr.sources import cancellation
from syncmgr.sources.cancellation import Opened
from syncmgr.sources.mysql.address import Connection, MysqlAddress, connect, naming_failures, query, unreachable
from syncmgr.sources.mysql.binlog.continuation.continuation import Continuation, position_lost
from syncmgr.sources.mysql.binlog.continuation.gtid_events import encode_gtids
from syncmgr.sources.mysql.binlog.dump.packets import Chunk, NoEventError, Packets, TooLargeError
from syncmgr.sources.mysql.binlog.sessions import Begun
from syncmgr.sources.mysql.server.grants import REPLICATION_SLAVE, Lacking, grants_missing
from syncmgr.sources.mysql.server.server import Server
from syncmgr.sources.mysql.server.server_settings import settings_of
from syncmgr.sources.mysql.wire import FIRST_OFFSET, MOST_OFFSET, MalformedEventError

THROUGH_GTID: Final = 4
SILENCE_SECOND: Final = 20.0


class StreamLostError(Exception):
    """The connection is gone; the reason is in `cause_for_user`. A new connection may go on."""

    def __init__(self, cause_for_user: SyncError) -> None:
        super().__init__(str(cause_for_user))
        self.cause_for_user = cause_for_user


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamOptions:
    """How to read. Times in seconds; `read_timeout` is silence, and must exceed the heartbeat's period. `event_bytes`:
    how large an event may be.
    """

    server_id: int
    heartbeat: float = 5.0
    read_timeout: float = SILENCE_SECOND
    verify: bool = True
    event_bytes: int = 1 << 31


class BinlogStream:
    """One dump of one server. Read by one thread; `close` may come from any."""

    def __init__(
        self,
        address: MysqlAddress,
        options: StreamOptions,
        start: Position,
        opened: Opened = cancellation.opened,
    ) -> None:
        """Raises SyncError if retrying does not help, StreamLostError if it may."""
        self._address = address
        self._options = options
        self.received = 0  # bytes, of whole events and others
        self._start = start
        self._opened = opened
        self.place: int | None = None  # in its file, where the dump begins; None: the server finds it
        try:
            self._connection = connect(address, opened)
            self._socket: socket.socket = self._connection._sock  # noqa: SLF001
            with naming_failures(address), self._closed_on_failure(), self._naming_all_grants():
                self._open(options)
        except SyncError as error:
            if error.code in {Code.SOURCE_UNREACHABLE, Code.SOURCE_LOCKED}:
                raise StreamLostError(error) from error
            raise

    @property
    def connected(self) -> socket.socket:
        """The socket, which other threads may shut down."""
        return self._socket

    def now(self) -> float:
        """What the server's clock shows, or a little less: by the time that its answer was in transit."""
        return self.asked_at + time.monotonic() - self._answered

    def _open(self, options: StreamOptions) -> None:
        server = Server(self._address, self._connection)
        server.refuse_incomplete()
        checksums = server.variables["binlog_checksum"] != "NONE"
        self._packets = Packets(checksums=checksums, verify=options.verify, event_bytes=options.event_bytes)
        self.settings = settings_of(server)
        period = int(options.heartbeat * 1e9)
        settings = "@master_binlog_checksum=@@global.binlog_checksum, @source_binlog_checksum=@@global.binlog_checksum"
        query(self._connection, f"SET {settings}, @master_heartbeat_period={period}, @source_heartbeat_period={period}")
        gtids = parse_gtids(self._start.gtids if self.settings.by_gtid else "")
        continuation = Continuation(
            self._address, server, self._connection, self._start, options.read_timeout, self._another
        )
        continuation.check(gtids)
        self.begun = self._sessions_from(server)
        if self.settings.mariadb:
            query(self._connection, "SET @mariadb_slave_capability=4")
            if gtids:
                query(self._connection, "SET @slave_connect_state=%s", self._start.gtids)
        [clock] = query(self._connection, "SELECT @@timestamp at")  # not UNIX_TIMESTAMP(NOW()): no hour occurs twice
        self.asked_at, self._answered = float(clock["at"]), time.monotonic()
        register(self._address, self._connection, options.server_id)
        if isinstance(gtids, GtidSet) and gtids:
            continuation.refuse_leaving_out(gtids)
            self._dump_gtid(gtids, options.server_id)
        else:
            self._dump_file(options.server_id, by_gtid=bool(gtids))

    @contextlib.contextmanager
    def _naming_all_grants(self) -> Iterator[None]:
        """Whoever gives the first one that is missing is not sent back for the next one."""
        try:
            yield
        except SyncError as error:
            if error.code is not Code.SOURCE_GRANT_MISSING:
                raise
            lacking = lacking_to_read(self._address, Server(self._address, self._connection), self._options.server_id)
            raise (grants_missing(self._address, self._connection, lacking) if lacking else error) from error

    def _sessions_from(self, server: Server) -> Begun | None:
        """Those that begin after this connection. Nodes of Galera write what sessions of other nodes did, and may share
        an id.
        """
        if self.settings.in_galera:
            return None
        [row] = query(self._connection, "SELECT CONNECTION_ID() thread")  # a proxy greets with a number of its own
        return Begun(origin=int(server.variables["server_id"]), thread=int(row["thread"]), end=server.end())

    @contextlib.contextmanager
    def _another(self, begin: Position) -> "Iterator[BinlogStream]":
        """Another dump of the same server, besides this one."""
        options = replace(self._options, server_id=secrets.randbelow(1 << 31) + (1 << 31) - 1)
        with contextlib.closing(BinlogStream(self._address, options, begin, self._opened)) as stream:
            if stream.settings.id != self.settings.id:
                raise self.lost("another server has come to its address")
            yield stream
        self._opened(self._socket)

    def _dump_file(self, server_id: int, *, by_gtid: bool) -> None:
        name, offset = ("", FIRST_OFFSET) if by_gtid else (self._start.file, max(self._start.offset, FIRST_OFFSET))
        if offset >= MOST_OFFSET:
            raise position_lost(self._address, self._start, "it is beyond 4 GiB of its file, where only GTIDs reach")
        self.place = None if by_gtid else offset
        self._send(COMMAND.COM_BINLOG_DUMP, struct.pack("<IHI", offset, 0, server_id) + name.encode())

    def _dump_gtid(self, gtids: GtidSet, server_id: int) -> None:
        encoded = encode_gtids(gtids)
        head = struct.pack("<HIIQI", THROUGH_GTID, server_id, 0, FIRST_OFFSET, len(encoded))
        self._send(COMMAND.COM_BINLOG_DUMP_GTID, head + encoded)

    def _send(self, command: int, body: bytes) -> None:
        packet = bytes([command]) + body
        head = struct.pack("<I", len(packet))
        self._connection._write_bytes(head + packet)  # type: ignore[attr-defined]  # noqa: SLF001

    def read(self, timeout: float) -> Chunk | None:
        """The events that have arrived, None if none arrived in time (seconds). Raises StreamLostError and
        SyncError.
        """
        until = time.monotonic() + timeout
        while True:
            chunk = self._cut_events()
            if chunk.spans:
                return chunk
            if not self._receive(max(until - time.monotonic(), 0.0)):
                return None

    def _receive(self, timeout: float) -> bool:
        try:
            self._socket.settimeout(timeout)
            got = self._socket.recv_into(self._packets.room())
        except (TimeoutError, BlockingIOError, ssl.SSLWantReadError):
            return False
        except (OSError, ValueError) as error:  # ValueError: a TLS socket closed meanwhile
            raise self.lost(str(error) or type(error).__name__) from error
        if not got:
            raise self.lost("the server closed the connection")
        self._packets.came(got)
        self.received += got
        return True

    def _cut_events(self) -> Chunk:
        """Raises SyncError for an event that is not what the server wrote."""
        try:
            return self._packets.cut()
        except MalformedEventError as error:
            raise self._broken(str(error)) from error
        except TooLargeError as error:
            raise self._too_large() from error
        except NoEventError as refusal:
            raise self._refused(refusal) from refusal

    def _refused(self, refusal: NoEventError) -> Exception:
        packet = refusal.packet
        if packet[0] == 0xFE:
            return self.lost("the server ended the stream")
        if packet[0] != 0xFF:
            return self._broken(str(refusal))
        number = int.from_bytes(packet[1:3], "little")
        message = packet[3:].decode("utf-8", "replace")
        return self._named(number, message[6:] if message.startswith("#") else message)

    def _named(self, number: int, message: str) -> Exception:
        match of_binlog(number, message):
            case Code.SOURCE_GRANT_MISSING:
                return replication_grant_missing(self._address, message)
            case Code.SOURCE_UNREACHABLE:
                return self.lost(f"{message} ({number})")
            case Code.SOURCE_SERVER_ID:
                return DuplicateServerIdError(message)
            case Code.SOURCE_POSITION_LOST:
                return position_lost(self._address, self._start, message)
            case Code.SOURCE_UNSUPPORTED:
                error = SyncError(Code.SOURCE_UNSUPPORTED, address=self._address.label, reason=unsent(message))
                return StreamLostError(error) if self.place is None else error  # the next one may go by file
            case _:
                return DumpFailedError(Code.SOURCE_PROTOCOL, address=self._address.label, reason=message)

    def silent(self, seconds: float, came: int = 0) -> StreamLostError:
        """`came`: the bytes of an event that has not fully arrived."""
        if came:
            return self.lost(f"an event comes too slowly: {came} bytes of it in {seconds:g} seconds")
        return self.lost(f"nothing was heard for {seconds:g} seconds, not even a heartbeat")

    def _too_large(self) -> SyncError:
        most = self._options.event_bytes
        reason = f"an event of more bytes than max_source_event_bytes, which is {most}"
        return SyncError(Code.SOURCE_TOO_LARGE, address=self._address.label, reason=reason)

    def _broken(self, reason: str) -> SyncError:
        return SyncError(Code.SOURCE_PROTOCOL, address=self._address.label, reason=reason)

    def lost(self, reason: str) -> StreamLostError:
        return StreamLostError(unreachable(self._address, reason))

    @contextlib.contextmanager
    def _closed_on_failure(self) -> Iterator[None]:
        """No other thread knows of the connection yet."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """From the reading thread. Other threads shut down the socket that `opened` gave them."""
        with contextlib.suppress(OSError):
            self._connection.drop()


class DumpFailedError(SyncError):
    """The server cannot read its binlog further. If that was reset meanwhile, a new connection finds the reason."""


class DuplicateServerIdError(Exception):
    """Another replica connected with our server id."""


def lacking_to_read(address: MysqlAddress, server: Server, server_id: int) -> list[Lacking]:
    """What is missing for the binlog, apart from the tables."""
    return [*_unregistrable(address, server_id), *server.hidden()]


def _unregistrable(address: MysqlAddress, server_id: int) -> Iterator[Lacking]:
    """On a separate connection: a registered one is a replica."""
    with contextlib.closing(connect(address)) as connection:
        try:
            register(address, connection, server_id)
        except SyncError as error:
            if error.code is not Code.SOURCE_GRANT_MISSING:
                raise
            yield Lacking(REPLICATION_SLAVE)


def register(address: MysqlAddress, connection: Connection, server_id: int) -> None:
    """SHOW REPLICAS lists us. A server that refuses it lacks the grant that the dump needs too."""
    name = b"syncmgr"
    body = struct.pack("<I", server_id) + bytes([len(name)]) + name + b"\0\0" + struct.pack("<HII", 0, 0, 0)
    connection._execute_command(COMMAND.COM_REGISTER_SLAVE, body)  # noqa: SLF001
    try:
        connection._read_packet()  # noqa: SLF001
    except Exception as error:
        number, reason = (*getattr(error, "args", ()), 0, "")[:2]
        if number in GRANT_MISSING:
            raise replication_grant_missing(address, str(reason)) from error
        raise


def replication_grant_missing(address: MysqlAddress, _reason: str) -> SyncError:
    return SyncError(
        Code.SOURCE_GRANT_MISSING,
        user=address.user,
        grant="REPLICATION SLAVE",
        address=address.label,
        remedy=f"GRANT REPLICATION SLAVE ON *.* TO '{address.user}'@'%'",
    )
