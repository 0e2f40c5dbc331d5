"""The raw binlog stream of a server: events as spans of big buffers.

Owns: the replication handshake, the dump commands, cutting packets, checksums, the names of the server's refusals.
Must not know: what an event means beside its size and checksum, transactions, tables.
"""

import contextlib
import secrets
import socket
import ssl
import struct
import time
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pymysql.constants import COMMAND

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import GtidSet, Position, parse_gtids
from syncmgr.job.raw_errors import GRANT_MISSING, of_binlog
from syncmgr.job.source_history.last_read import LastRead, other_transaction
from syncmgr.job.source_history.resumability import (
    WITHOUT_GTID,
    left_out_for_good,
    other_history,
    unsent,
    why_not_resumable,
)
from syncmgr.sources import cancellation
from syncmgr.sources.cancellation import Opened
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.address import Connection, MysqlAddress, connect, naming_failures, query, unreachable
from syncmgr.sources.mysql.binlog.first_events import made_at, place_before, transaction_in_place
from syncmgr.sources.mysql.binlog.left_out import left_out
from syncmgr.sources.mysql.server.server import Server
from syncmgr.sources.mysql.wire import FIRST_OFFSET, Cursor, MalformedEventError

BUFFER: Final = 1 << 20
SPARE: Final = 16 * 1024  # bytes left in a buffer below which a new one is worth its price
MAX_PACKET: Final = 0xFFFFFF
CHECKSUM: Final = 4
THROUGH_GTID: Final = 4
SILENCE_SECOND: Final = 20.0

_PACKET: Final = struct.Struct("<I").unpack_from


class StreamLostError(Exception):
    """The connection is gone; what is the matter is in `cause_for_user`. A new connection may go on."""

    def __init__(self, cause_for_user: SyncError) -> None:
        super().__init__(str(cause_for_user))
        self.cause_for_user = cause_for_user


class LeftOutError(SyncError):
    """The server has what it would not send. No other one is known to have it, so none is a way out."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some events: each span is where one begins and ends in `data`, without its checksum."""

    data: memoryview
    spans: list[tuple[int, int]]


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
        """Raises SyncError where retrying does not help, StreamLostError where it may."""
        self._address = address
        self._options = options
        self._verify = options.verify
        self.received = 0  # bytes, of whole events and others
        self._start = start
        self._opened = opened
        self._buffer = bytearray(BUFFER)
        self._filled = self._cut = 0
        self._crc = False
        self.place: int | None = None  # in its file, where the dump begins; None: the server finds it
        try:
            self._connection = connect(address, opened)
            self._socket: socket.socket = self._connection._sock  # noqa: SLF001
            with naming_failures(address), self._closed_on_failure():
                self._open(options)
        except SyncError as error:
            if error.code in {Code.SOURCE_UNREACHABLE, Code.SOURCE_LOCKED}:
                raise StreamLostError(error) from error
            raise

    @property
    def connected(self) -> socket.socket:
        """Which others may shut."""
        return self._socket

    def now(self) -> float:
        """What the server's clock shows, or a little less: as much as its answer was under way."""
        return self.asked_at + time.monotonic() - self._answered

    # -- handshake

    def _open(self, options: StreamOptions) -> None:
        server = Server(self._address, self._connection)
        server.refuse_incomplete()
        self._crc = server.variables["binlog_checksum"] != "NONE"
        self.folds = int(server.variables["lower_case_table_names"]) > 0
        self.mariadb, self.server, self.by_gtid = server.mariadb, server.id, server.by_gtid
        self.named, self.in_galera = server.full_metadata, server.in_galera
        self.logs_cascades, self.keys_beside = server.logs_cascades, server.keys_beside
        # MySQL is to lose the variable, and be as if it were ON.
        self.explicit_defaults = server.variables.get("explicit_defaults_for_timestamp", "ON") == "ON"
        self.system_zone = server.system_zone()
        self.session_defaults = [int(part) for part in server.variables["version"].split(".")[:2]] >= [10, 10]
        period = int(options.heartbeat * 1e9)
        settings = "@master_binlog_checksum=@@global.binlog_checksum, @source_binlog_checksum=@@global.binlog_checksum"
        query(self._connection, f"SET {settings}, @master_heartbeat_period={period}, @source_heartbeat_period={period}")
        gtids = parse_gtids(self._start.gtids if self.by_gtid else "")
        if not gtids:
            self._refuse_foreign_coordinate()
        elif server.why_not_shared is not None and self._start.server not in {"", server.id}:
            raise self._position_lost(f"it was read from server {self._start.server}; {server.why_not_shared}")
        if isinstance(gtids, GtidSet) and gtids:
            self._refuse_gap(gtids)
        files = server.binlog_files() if self._was_read_from(server) else {}
        self._refuse_other_history(files)
        if gtids:
            self._refuse_other_transaction(server, files)
        if self.mariadb:
            query(self._connection, "SET @mariadb_slave_capability=4")
            if gtids:
                query(self._connection, "SET @slave_connect_state=%s", self._start.gtids)
        [clock] = query(self._connection, "SELECT @@timestamp at")  # not UNIX_TIMESTAMP(NOW()): no hour is there twice
        self.asked_at, self._answered = float(clock["at"]), time.monotonic()
        register(self._address, self._connection, options.server_id)
        if isinstance(gtids, GtidSet) and gtids:
            self._refuse_leaving_out(gtids, list(files))
            self._dump_gtid(gtids, options.server_id)
        else:
            self._dump_file(options.server_id, by_gtid=bool(gtids))

    def _refuse_foreign_coordinate(self) -> None:
        """Without GTIDs on both sides only file and offset tell the place, and those are of one server."""
        if self._start.server and self._start.server != self.server:
            reason = f"it was read from server {self._start.server}, this is {self.server}, and it has no GTIDs"
            raise self._position_lost(reason)
        if self._start.gtids and not self._start.file:
            reason = "gtid_mode is not ON, and the place of the job is known by GTIDs alone; set it ON"
            raise SyncError(Code.SOURCE_UNSUPPORTED, address=self._address.label, reason=reason)

    def _refuse_gap(self, read: GtidSet) -> None:
        """The server itself compares only the GTIDs that bear its own uuid: of any others it would leave out rows."""
        told = query(self._connection, "SELECT @@global.gtid_executed executed, @@global.gtid_purged purged")[0]
        reason = why_not_resumable(read, GtidSet.parse(told["executed"]), GtidSet.parse(told["purged"]))
        if reason is not None:
            raise self._position_lost(reason)

    def _was_read_from(self, server: Server) -> bool:
        """Files of another one say nothing. Nodes of Galera may share one id."""
        return bool(self._start.file) and self._start.server == server.id and not server.in_galera

    def _refuse_other_history(self, sizes: Mapping[str, int]) -> None:
        """`sizes`: of the files of the server that was read; empty where it is another one."""
        at = self._start
        if not at.created or not sizes:
            return
        reason = other_history(at, sizes, self._made_at(at.file) if at.file in sizes else 0)
        if reason is not None:
            raise self._position_lost(reason)

    def _refuse_leaving_out(self, read: GtidSet, files: Sequence[str]) -> None:
        """`files`: of the server that was read: only there the place tells what stands behind it without a GTID."""
        at = self._start
        if not files:
            return
        passed = left_out(self._connection, at, read, files)
        if passed is not None and at.file in files:
            raise LeftOutError(Code.SOURCE_UNSUPPORTED, address=self._address.label, reason=WITHOUT_GTID)
        if passed is not None:
            lost = self._position_lost(left_out_for_good(passed))
            raise LeftOutError(lost.code, **lost.context)

    def _refuse_other_transaction(self, server: Server, files: Collection[str]) -> None:
        """Of a server that has not been read to here itself: GTIDs say that it has what was read, not that it is that.

        What it has purged it cannot show, and neither can it where nothing comes: it is believed. `files`: of the
        server that was read; empty where it is another one.
        """
        last = LastRead.parse(self._start.last)
        if last is None or server.in_galera or self._start.file in files:
            return
        begin = place_before(self._connection, last, mariadb=server.mariadb)
        if begin is None:
            return
        with self._another(begin) as stream:
            found = transaction_in_place(stream, last, self._options.read_timeout)
        reason = None if found is None else other_transaction(last, found)
        if reason is not None:
            raise self._position_lost(reason)

    def _made_at(self, file: str) -> int:
        """The unix second in which a binlog file was made: only its own begin tells, which a dump of it has."""
        with self._another(Position(file=file, offset=FIRST_OFFSET)) as stream:
            return made_at(stream, self._options.read_timeout)

    @contextlib.contextmanager
    def _another(self, begin: Position) -> "Iterator[BinlogStream]":
        """Beside this one, of the same server."""
        options = replace(self._options, server_id=secrets.randbelow(1 << 31) + (1 << 31) - 1)
        with contextlib.closing(BinlogStream(self._address, options, begin, self._opened)) as stream:
            if stream.server != self.server:
                raise self.lost("another server has come to its address")
            yield stream
        self._opened(self._socket)

    def _dump_file(self, server_id: int, *, by_gtid: bool) -> None:
        name, offset = ("", FIRST_OFFSET) if by_gtid else (self._start.file, max(self._start.offset, FIRST_OFFSET))
        if offset >= 1 << 32:
            raise self._position_lost("it lies beyond 4 GiB of its file, where only GTIDs reach")
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

    # -- reading

    def read(self, timeout: float) -> Chunk | None:
        """The events that have come, None if none came in time (seconds). Raises StreamLostError and SyncError."""
        until = time.monotonic() + timeout
        while True:
            chunk = self._cut_events()
            if chunk.spans:
                return chunk
            if not self._receive(max(until - time.monotonic(), 0.0)):
                return None

    def _receive(self, timeout: float) -> bool:
        self._make_room()
        view = memoryview(self._buffer)
        try:
            self._socket.settimeout(timeout)
            got = self._socket.recv_into(view[self._filled :])
        except (TimeoutError, BlockingIOError, ssl.SSLWantReadError):
            return False
        except (OSError, ValueError) as error:  # ValueError: a TLS socket closed meanwhile
            raise self.lost(str(error) or type(error).__name__) from error
        if not got:
            raise self.lost("the server closed the connection")
        self._filled += got
        self.received += got
        return True

    def _make_room(self) -> None:
        """A full buffer goes with its events; the begun packet moves to a new one, big enough for what it says."""
        if len(self._buffer) - self._filled >= SPARE:
            return
        size = self._filled - self._cut
        fresh = bytearray(max(BUFFER, 2 * size))
        fresh[:size] = memoryview(self._buffer)[self._cut : self._filled]
        self._buffer, self._cut, self._filled = fresh, 0, size

    def _cut_events(self) -> Chunk:
        """Raises SyncError for an event that is not what the server wrote."""
        data, at, filled, check = self._buffer, self._cut, self._filled, self._checked
        view = memoryview(data)
        spans: list[tuple[int, int]] = []
        while filled - at >= 5:
            size = _PACKET(data, at)[0] & 0xFFFFFF
            end = at + 4 + size
            if end > filled:
                break
            if size == MAX_PACKET:
                joined = self._join(at)
                if joined is None:
                    break
                start, stop, at = joined
                spans.append(check(view, start, stop))
                continue
            if data[at + 4] != 0:
                if spans:
                    break  # what came before it is whole
                self._refused(bytes(data[at + 4 : end]))
            spans.append(check(view, at + 5, end))
            at = end
        self._cut = at
        return Chunk(view, spans)

    def _join(self, at: int) -> tuple[int, int, int] | None:
        """An event of 16 MiB or more comes in several packets; they are moved together in place."""
        data, parts, size = self._buffer, [], MAX_PACKET
        start = at
        while size == MAX_PACKET:
            if self._filled - at < 4:
                return None
            size = _PACKET(data, at)[0] & 0xFFFFFF
            if at + 4 + size - start > self._options.event_bytes:
                raise self._too_large()
            if at + 4 + size > self._filled:
                return None
            parts.append((at + 4, at + 4 + size))
            at += 4 + size
        write = start + 4
        for begin, end in parts:
            data[write : write + end - begin] = data[begin:end]
            write += end - begin
        return start + 5, write, at

    def _checked(self, view: memoryview, start: int, end: int) -> tuple[int, int]:
        """The event without its checksum, which speaks for every byte of it, its size too."""
        if end - start < wire.HEADER + (CHECKSUM if self._crc else 0):
            raise self._broken("an event without a header")
        if view[start + 4] == wire.FORMAT_DESCRIPTION:
            self._crc = has_checksum(bytes(view[start:end]))
        stop = end - CHECKSUM if self._crc else end
        if not self._crc or not self._verify:
            wrong = _PACKET(view, start + 9)[0] != end - start
        else:
            wrong = zlib.crc32(view[start:stop]) != _PACKET(view, stop)[0]
        if wrong:
            raise self._broken("an event is not as the server wrote it: its checksum or size is wrong")
        return start, stop

    # -- refusals

    def _refused(self, packet: bytes) -> None:
        if packet[0] == 0xFE:
            raise self.lost("the server ended the stream")
        if packet[0] != 0xFF:
            raise self._broken(f"a packet of kind {packet[0]}")
        number = int.from_bytes(packet[1:3], "little")
        message = packet[3:].decode("utf-8", "replace")
        raise self._named(number, message[6:] if message.startswith("#") else message)

    def _named(self, number: int, message: str) -> Exception:
        match of_binlog(number, message):
            case Code.SOURCE_GRANT_MISSING:
                return replication_grant_missing(self._address, message)
            case Code.SOURCE_UNREACHABLE:
                return self.lost(f"{message} ({number})")
            case Code.SOURCE_SERVER_ID:
                return DuplicateServerIdError(message)
            case Code.SOURCE_POSITION_LOST:
                return self._position_lost(message)
            case Code.SOURCE_UNSUPPORTED:
                error = SyncError(Code.SOURCE_UNSUPPORTED, address=self._address.label, reason=unsent(message))
                return StreamLostError(error) if self.place is None else error  # the next one may go by file
            case _:
                return self._broken(message)

    def _position_lost(self, reason: str) -> SyncError:
        shown = self._start.gtids or f"{self._start.file}:{self._start.offset}"
        return SyncError(Code.SOURCE_POSITION_LOST, position=shown, address=self._address.label, reason=reason)

    def silent(self, seconds: float, came: int = 0) -> StreamLostError:
        """`came`: the bytes of an event that has not come whole."""
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
        """Nobody else knows of the connection yet."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """From the reading thread. Others shut the socket that `opened` gave them."""
        with contextlib.suppress(OSError):
            self._connection.drop()


class DuplicateServerIdError(Exception):
    """Another replica came with our server id."""


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


def has_checksum(event: bytes) -> bool:
    """Of a FORMAT_DESCRIPTION event, which says it of all events behind it: algorithm, then its own checksum."""
    cursor = Cursor(event, wire.HEADER + 2)
    version = cursor.take(50).split(b"\0")[0].decode("latin1")
    digits = [int("".join(filter(str.isdigit, part)) or 0) for part in version.split("-")[0].split(".")[:3]]
    if digits < [5, 6, 1]:
        return False
    if len(event) < wire.HEADER + 57 + 1 + CHECKSUM:
        raise MalformedEventError("a format description that is too short")
    return event[-CHECKSUM - 1] == 1


def encode_gtids(gtids: GtidSet) -> bytes:
    """As COM_BINLOG_DUMP_GTID wants it; the form with tags (MySQL 8.3) only where there are tags."""
    sets = list(gtids.intervals())
    tagged = any(tag for (_, tag), _ in sets)
    parts = [b"\x01" + len(sets).to_bytes(6, "little") + b"\x01" if tagged else struct.pack("<Q", len(sets))]
    for (uuid, tag), intervals in sets:
        parts.append(bytes.fromhex(uuid.replace("-", "")))
        if tagged:
            parts.append(bytes([len(tag) << 1]) + tag.encode())
        parts.append(struct.pack("<Q", len(intervals)))
        parts += [struct.pack("<QQ", first, last + 1) for first, last in intervals]
    return b"".join(parts)
