"""The smallest parts of binlog events: type numbers, column type codes, bounded reads.

Owns: the numbers of the binlog format and the cursor that reads them.
Must not know: what an event means, connections.
"""

from typing import Final

FIRST_OFFSET: Final = 4  # of a file's first event
MOST_OFFSET: Final = 1 << 32  # from which on a dump by file cannot begin

# event types
QUERY: Final = 2
STOP: Final = 3
ROTATE: Final = 4
FORMAT_DESCRIPTION: Final = 15
XID: Final = 16
EXECUTE_LOAD_QUERY: Final = 18
TABLE_MAP: Final = 19
WRITE_V1, UPDATE_V1, DELETE_V1 = 23, 24, 25
INCIDENT: Final = 26
HEARTBEAT: Final = 27
WRITE_V2, UPDATE_V2, DELETE_V2 = 30, 31, 32
GTID: Final = 33
ANONYMOUS_GTID: Final = 34
PREVIOUS_GTIDS: Final = 35
XA_PREPARE: Final = 38
PARTIAL_UPDATE: Final = 39
TRANSACTION_PAYLOAD: Final = 40
HEARTBEAT_V2: Final = 41
TAGGED_GTID: Final = 42
MARIADB_CHECKPOINT: Final = 161
MARIADB_GTID: Final = 162
MARIADB_GTID_LIST: Final = 163
QUERY_COMPRESSED: Final = 165
WRITE_COMPRESSED_V1, UPDATE_COMPRESSED_V1, DELETE_COMPRESSED_V1 = 166, 167, 168
WRITE_COMPRESSED, UPDATE_COMPRESSED, DELETE_COMPRESSED = 169, 170, 171

PLAIN_OF: Final = {
    WRITE_COMPRESSED_V1: WRITE_V1,
    UPDATE_COMPRESSED_V1: UPDATE_V1,
    DELETE_COMPRESSED_V1: DELETE_V1,
    WRITE_COMPRESSED: WRITE_V2,
    UPDATE_COMPRESSED: UPDATE_V2,
    DELETE_COMPRESSED: DELETE_V2,
}
ROWS: Final = frozenset({WRITE_V1, UPDATE_V1, DELETE_V1, WRITE_V2, UPDATE_V2, DELETE_V2, *PLAIN_OF})
UPDATES: Final = (UPDATE_V1, UPDATE_V2)

CHECKSUM: Final = 4
HEADER: Final = 19  # bytes of every event's header: timestamp 4, type 1, server id 4, size 4, end position 4, flags 2
ROWS_HEADER: Final = HEADER + 8  # and of every rows event: table id 6, flags 2
FLAG_THREAD_SPECIFIC: Final = 0x4
FLAG_ARTIFICIAL: Final = 0x20  # made by the dump thread, in no file
FLAG_IGNORABLE: Final = 0x80

# bits of sql_mode
REAL_AS_FLOAT: Final = 1 << 0
ANSI_QUOTES: Final = 1 << 2
ORACLE: Final = 1 << 9  # MariaDB's, as those of MAXDB and EMPTY_STRING_IS_NULL
MAXDB: Final = 1 << 12
NO_BACKSLASH_ESCAPES: Final = 1 << 20
NO_AUTO_VALUE_ON_ZERO: Final = 1 << 19
PAD_CHAR_TO_FULL_LENGTH: Final = 1 << 31
EMPTY_STRING_IS_NULL: Final = 1 << 32
STRICT: Final = 1 << 21 | 1 << 22  # STRICT_TRANS_TABLES, STRICT_ALL_TABLES

# column type codes
TINY, SHORT, LONG, FLOAT, DOUBLE, NULL, TIMESTAMP, LONGLONG, INT24, DATE, TIME, DATETIME, YEAR, NEWDATE = range(1, 15)
VARCHAR, BIT, TIMESTAMP2, DATETIME2, TIME2 = range(15, 20)
BLOB_COMPRESSED, VARCHAR_COMPRESSED = 140, 141
VECTOR: Final = 242
JSON, NEWDECIMAL, ENUM, SET, TINY_BLOB, MEDIUM_BLOB, LONG_BLOB, BLOB, VAR_STRING, STRING, GEOMETRY = range(245, 256)


class MalformedEventError(ValueError):
    """An event that the format does not allow; the stream can no longer be trusted."""


class OversizeError(Exception):
    """Something that the format may allow, but that is larger than is accepted from a server."""


class Cursor:
    """Reads one event. Every method raises MalformedEventError instead of reading past the end."""

    __slots__ = ("at", "data", "end")

    def __init__(self, data: bytes, at: int = 0, end: int | None = None) -> None:
        self.data = data
        self.at = at
        self.end = len(data) if end is None else end

    @property
    def left(self) -> int:
        return self.end - self.at

    def take(self, size: int) -> bytes:
        stop = self.at + size
        if size < 0 or stop > self.end:
            raise MalformedEventError("an event is shorter than it says")
        part = self.data[self.at : stop]
        self.at = stop
        return part

    def uint(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def big(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def lenenc(self) -> int:
        first = self.uint(1)
        if first < 251:
            return first
        if first in {251, 255}:
            raise MalformedEventError("a bad length in an event")
        return self.uint({252: 2, 253: 3, 254: 8}[first])

    def text(self, size: int) -> str:
        """Names are UTF-8 in every binlog."""
        try:
            return self.take(size).decode()
        except UnicodeDecodeError as error:
            raise MalformedEventError("a name that is not UTF-8") from error

    def inner(self, size: int) -> "Cursor":
        """A cursor over the next bytes, which this one passes."""
        start = self.at
        self.take(size)
        return Cursor(self.data, start, start + size)

    def varint(self) -> int:
        """MySQL's serialisation library: the number of trailing ones in the first byte is the number of further
        bytes.
        """
        first = self.uint(1)
        more = 0
        while more < 8 and first >> more & 1:
            more += 1
        if more == 8:
            return self.uint(8)
        return (first | self.uint(more) << 8) >> (more + 1)

    def signed_varint(self) -> int:
        value = self.varint()
        return -(value >> 1) - 1 if value & 1 else value >> 1
