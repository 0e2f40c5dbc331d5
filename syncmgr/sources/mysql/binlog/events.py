"""What single events say, except rows.

Owns: the bodies of QUERY, ROTATE and XA events.
Must not know: transactions, tables, connections. All functions take an event without its checksum.
"""

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from syncmgr.job.source_history.heartbeats import Packet
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.inflation import inflate
from syncmgr.sources.mysql.values import charsets
from syncmgr.sources.mysql.values.collations import CHARSET_OF
from syncmgr.sources.mysql.wire import Cursor, MalformedEventError
from syncmgr.sources.mysql.xid import xid

MARIADB_STANDALONE: Final = 1  # a group of one event: DDL
MARIADB_GROUP_COMMIT: Final = 2  # it has eight bytes before the xid
MARIADB_PREPARED_XA: Final = 64
MARIADB_COMPLETED_XA: Final = 128
MARIADB_ALTER_BEGINS, MARIADB_ALTER_FAILED = 2, 8  # of the extra flags
UNSAID: Final = "utf8mb4"  # of a session whose charset is not logged
ORIGIN: Final = slice(5, 9)  # of every event: the server_id of the server that has written it first
CREATED: Final = slice(71, 75)  # of a FORMAT_DESCRIPTION: when its server started; 0 if it was already running
LOAD_HEADER: Final = 13  # bytes that EXECUTE_LOAD_QUERY has more than QUERY

# status variables of a QUERY event
FLAGS, EXPLICIT_DEFAULTS, TRANSACTION = 0, 16, 17
MARIADB_EXPLICIT_DEFAULTS: Final = 1 << 24  # of the flags
SQL_MODE, OLD_CATALOG, CHARSET, TIME_ZONE, CATALOG, INVOKER, UPDATED_DATABASES, MICROSECONDS = 1, 2, 4, 5, 6, 11, 12, 13
MARIADB_MICROSECONDS: Final = 128
MANY_DATABASES: Final = 254  # that many or more are not recorded
VARIABLE_BYTES: Final = {
    0: 4,
    1: 8,
    3: 4,
    4: 6,
    7: 2,
    8: 2,
    9: 8,
    10: 4,
    13: 3,
    16: 1,
    17: 8,
    18: 2,
    19: 1,
    20: 1,
    128: 3,
}

_HEAD: Final = struct.Struct("<IB8xI").unpack_from  # when, type, where it ends
_XID: Final = re.compile(r"X'[0-9a-f]*',X'[0-9a-f]*',[0-9]+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Query:
    """A statement in the stream and the database that was current.

    `sql_mode`: bits. `zone`: of the session, "" if not logged. `micros`: of the second in which it began, None if not
    logged.
    """

    db: str
    text: str
    sql_mode: int = 0
    zone: str = ""
    micros: int | None = None
    explicit_defaults: bool | None = None  # explicit_defaults_for_timestamp of MySQL 8 and later, None if not logged
    flags: int = 0  # of the session, as logged
    thread: int = 0  # whose session it was
    origin: int = 0  # the server_id of that session's server
    temporary: bool = False  # whether it, or one before it in the same call of a routine, used a temporary table
    numbered: bool = False  # whether it has its transaction's number, as MySQL's DDL does
    names_databases: bool = False  # whether it says which databases it has used
    client: str = UNSAID  # the charset in which it was sent
    connection: str = UNSAID  # and the one to which the server converts its texts

    @property
    def session(self) -> tuple[int, int]:
        """A binlog may have sessions of several servers, each of which has its own numbering."""
        return self.origin, self.thread

    @property
    def mariadb_explicit_defaults(self) -> bool:
        return bool(self.flags & MARIADB_EXPLICIT_DEFAULTS)


def query(event: bytes) -> Query:
    """Of QUERY, EXECUTE_LOAD_QUERY and MariaDB's QUERY_COMPRESSED. The text is kept even if it is not UTF-8."""
    cursor = Cursor(event, wire.HEADER)
    thread = cursor.uint(4)
    cursor.take(4)
    db_size = cursor.uint(1)
    cursor.take(2)
    variables = cursor.uint(2)
    if event[4] == wire.EXECUTE_LOAD_QUERY:
        cursor.take(LOAD_HEADER)
    session = _session(cursor.take(variables))
    charset = session.get(CHARSET, b"")  # the collations of the client, of its connection and of the server
    db = cursor.take(db_size).decode("utf-8", "surrogateescape")
    cursor.take(1)
    text = inflate(cursor) if event[4] == wire.QUERY_COMPRESSED else cursor.take(cursor.left)
    micros = session.get(MICROSECONDS) or session.get(MARIADB_MICROSECONDS)
    return Query(
        db,
        _text(text, _charset(charset[:2])),
        sql_mode=int.from_bytes(session.get(SQL_MODE, b""), "little"),
        zone=session.get(TIME_ZONE, b"").decode("ascii", "replace"),
        micros=None if micros is None else int.from_bytes(micros, "little"),
        explicit_defaults=session[EXPLICIT_DEFAULTS] != b"\0" if EXPLICIT_DEFAULTS in session else None,
        flags=int.from_bytes(session.get(FLAGS, b""), "little"),
        thread=thread,
        origin=int.from_bytes(event[ORIGIN], "little"),
        numbered=TRANSACTION in session,
        names_databases=UPDATED_DATABASES in session,
        temporary=bool(event[17] & wire.FLAG_THREAD_SPECIFIC),
        client=_charset(charset[:2]),
        connection=_charset(charset[2:4]),
    )


def is_begin(data: memoryview, start: int, end: int) -> bool:
    """The most frequent statement, recognised without being parsed."""
    if end - start < wire.HEADER + 19 or bytes(data[end - 6 : end]) != b"\0BEGIN":
        return False
    variables = data[start + 30] | data[start + 31] << 8
    return start + 32 + variables + data[start + 27] + 6 == end


def _session(variables: bytes) -> dict[int, bytes]:
    """By code, as far as the codes are known."""
    cursor, found = Cursor(variables), dict[int, bytes]()
    while cursor.left:
        code = cursor.uint(1)
        if code in {CATALOG, TIME_ZONE, OLD_CATALOG}:
            found[code] = cursor.take(cursor.uint(1))
            cursor.take(code == OLD_CATALOG)
        elif code == INVOKER:
            found[code] = cursor.take(cursor.uint(1)) + cursor.take(cursor.uint(1))
        elif code == UPDATED_DATABASES:
            count = cursor.uint(1)
            found[code] = bytes([count])
            for _ in range(count if count < MANY_DATABASES else 0):
                while cursor.uint(1):
                    pass
        elif code in VARIABLE_BYTES:
            found[code] = cursor.take(VARIABLE_BYTES[code])
        else:
            break
    return found


def _charset(collation: bytes) -> str:
    return CHARSET_OF.get(int.from_bytes(collation, "little"), UNSAID)


def _text(text: bytes, name: str) -> str:
    """Bytes that are no text in the client's charset are kept."""
    if text.isascii() or name in charsets.UTF8 or name == "binary":
        return text.decode("utf-8", "surrogateescape")
    try:
        return charsets.decode_label(name, text)
    except (charsets.UndecodableError, KeyError):
        return text.decode("utf-8", "surrogateescape")


def rotate(event: bytes) -> tuple[str, int]:
    """The next file, and the offset in it."""
    cursor = Cursor(event, wire.HEADER)
    offset = cursor.uint(8)
    return cursor.text(cursor.left).rstrip("\0"), offset


def begins_server(format_description: memoryview) -> bool:
    """Whether the server created the file at its start, so that no earlier session is left."""
    return any(format_description[CREATED])


def xa_prepare(event: bytes) -> tuple[str, bool]:
    """The xid, and whether the transaction is committed at once, in one phase."""
    cursor = Cursor(event, wire.HEADER)
    one_phase, number = cursor.uint(1) != 0, cursor.uint(4)
    global_size, branch_size = cursor.uint(4), cursor.uint(4)
    return xid(number, cursor.take(global_size), cursor.take(branch_size)), one_phase


def mariadb_xid(event: bytes) -> str:
    """Of a MARIADB_GTID event with MARIADB_PREPARED_XA."""
    cursor = Cursor(event, wire.HEADER + 12)
    if cursor.uint(1) & MARIADB_GROUP_COMMIT:
        cursor.take(8)
    number, global_size, branch_size = cursor.uint(4), cursor.uint(1), cursor.uint(1)
    return xid(number, cursor.take(global_size), cursor.take(branch_size))


def mariadb_alters_nothing(event: bytes) -> bool:
    """Whether a MARIADB_GTID precedes an ALTER that only begins, or is given up; binlog_alter_two_phase."""
    cursor = Cursor(event, wire.HEADER + 12)
    flags = cursor.uint(1)
    if flags & MARIADB_GROUP_COMMIT:
        cursor.take(8)
    if flags & (MARIADB_PREPARED_XA | MARIADB_COMPLETED_XA):
        cursor.take(4)
        cursor.take(cursor.uint(1) + cursor.uint(1))
    extra = cursor.uint(1) if cursor.left else 0
    return bool(extra & (MARIADB_ALTER_BEGINS | MARIADB_ALTER_FAILED))


def xid_of(statement: str) -> str:
    """Of an XA statement in the binlog."""
    found = _XID.search(statement)
    if found is None:
        raise MalformedEventError(f"an XA statement without an xid: {statement[:100]}")
    return found[0].lower().replace("x'", "X'")


def quiet_end(data: memoryview, spans: Sequence[tuple[int, int]]) -> list[Packet]:
    """The last event and the heartbeats after it, which alone show how quiet the server is."""
    first = len(spans)
    while first and data[spans[first - 1][0] + 4] == wire.HEARTBEAT:
        first -= 1
    return [_packet(data, start) for start, _ in spans[max(first - 1, 0) :]]


def _packet(data: memoryview, start: int) -> Packet:
    seconds, kind, place = _HEAD(data, start)
    return Packet(place=place, time=float(seconds), heartbeat=kind == wire.HEARTBEAT)


def has_checksum(event: bytes) -> bool:
    """Of a FORMAT_DESCRIPTION event, which says it for all events after it: algorithm, then its own checksum."""
    cursor = Cursor(event, wire.HEADER + 2)
    version = cursor.take(50).split(b"\0")[0].decode("latin1")
    digits = [int("".join(filter(str.isdigit, part)) or 0) for part in version.split("-")[0].split(".")[:3]]
    if digits < [5, 6, 1]:
        return False
    if len(event) < wire.HEADER + 57 + 1 + wire.CHECKSUM:
        raise MalformedEventError("a format description that is too short")
    return event[-wire.CHECKSUM - 1] == 1
