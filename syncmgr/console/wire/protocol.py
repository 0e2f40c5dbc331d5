"""The numbers of MySQL's client/server protocol.

Owns: capability, status and command codes, column types and flags.
Must not know: packets, sockets, SQL.
"""

from enum import IntEnum, IntFlag
from typing import Final

from syncmgr.accounts.secret import NATIVE, SHA2

VERSION: Final = "8.0.36-syncmgr"
VERSION_COMMENT: Final = "syncmgr: SQL sync jobs into the lake"


__all__ = ["NATIVE", "SHA2"]  # named by the handshake


class Capability(IntFlag):
    """What client and server can do; the bits of the handshake."""

    LONG_PASSWORD = 1
    FOUND_ROWS = 1 << 1
    LONG_FLAG = 1 << 2
    CONNECT_WITH_DB = 1 << 3
    COMPRESS = 1 << 5
    IGNORE_SPACE = 1 << 8
    PROTOCOL_41 = 1 << 9
    INTERACTIVE = 1 << 10
    SSL = 1 << 11
    TRANSACTIONS = 1 << 13
    SECURE_CONNECTION = 1 << 15
    MULTI_STATEMENTS = 1 << 16
    MULTI_RESULTS = 1 << 17
    PS_MULTI_RESULTS = 1 << 18
    PLUGIN_AUTH = 1 << 19
    CONNECT_ATTRS = 1 << 20
    LENENC_AUTH = 1 << 21
    SESSION_TRACK = 1 << 23
    DEPRECATE_EOF = 1 << 24
    ZSTD = 1 << 26


OFFERED: Final = (
    Capability.LONG_PASSWORD
    | Capability.FOUND_ROWS
    | Capability.LONG_FLAG
    | Capability.CONNECT_WITH_DB
    | Capability.IGNORE_SPACE
    | Capability.PROTOCOL_41
    | Capability.INTERACTIVE
    | Capability.SSL
    | Capability.TRANSACTIONS
    | Capability.SECURE_CONNECTION
    | Capability.MULTI_STATEMENTS
    | Capability.MULTI_RESULTS
    | Capability.PS_MULTI_RESULTS
    | Capability.PLUGIN_AUTH
    | Capability.CONNECT_ATTRS
    | Capability.LENENC_AUTH
    | Capability.SESSION_TRACK
    | Capability.DEPRECATE_EOF
    | Capability.COMPRESS
    | Capability.ZSTD
)


class Status(IntFlag):
    """The state of a session, sent with every OK and EOF."""

    NONE = 0
    AUTOCOMMIT = 2
    MORE_RESULTS = 8
    CURSOR_EXISTS = 64
    LAST_ROW_SENT = 128
    STATE_CHANGED = 1 << 14


class Command(IntEnum):
    """The first byte of every command packet."""

    QUIT = 0x01
    INIT_DB = 0x02
    QUERY = 0x03
    FIELD_LIST = 0x04
    STATISTICS = 0x09
    PROCESS_INFO = 0x0A
    PROCESS_KILL = 0x0C
    PING = 0x0E
    CHANGE_USER = 0x11
    STMT_PREPARE = 0x16
    STMT_EXECUTE = 0x17
    STMT_SEND_LONG_DATA = 0x18
    STMT_CLOSE = 0x19
    STMT_RESET = 0x1A
    SET_OPTION = 0x1B
    STMT_FETCH = 0x1C
    RESET_CONNECTION = 0x1F


class Option(IntEnum):
    """What SET_OPTION sets."""

    MULTI_STATEMENTS_ON = 0
    MULTI_STATEMENTS_OFF = 1


class FieldType(IntEnum):
    """The type of a column or parameter."""

    DECIMAL = 0
    TINY = 1
    SHORT = 2
    LONG = 3
    FLOAT = 4
    DOUBLE = 5
    NULL = 6
    TIMESTAMP = 7
    LONGLONG = 8
    INT24 = 9
    DATE = 10
    TIME = 11
    DATETIME = 12
    YEAR = 13
    VARCHAR = 15
    BIT = 16
    JSON = 245
    NEWDECIMAL = 246
    ENUM = 247
    SET = 248
    TINY_BLOB = 249
    MEDIUM_BLOB = 250
    LONG_BLOB = 251
    BLOB = 252
    VAR_STRING = 253
    STRING = 254
    GEOMETRY = 255


class FieldFlag(IntFlag):
    """Flags of a column definition."""

    NONE = 0
    NOT_NULL = 1
    PRIMARY_KEY = 2
    BLOB = 16
    UNSIGNED = 32
    BINARY = 128
