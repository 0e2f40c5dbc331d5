"""Which error code the raw error of a server or a disk gets.

Owns: MySQL's numbers and words, the numbers of the operating system -> codes of ours.
Must not know: connections, exceptions, what a code does to a job (job/failure.py).
"""

import errno
from collections.abc import Mapping
from typing import Final

from syncmgr.errors import Code

# Wrong user, password, host or authentication method. Any other failure of a connection may be transient.
ACCESS_DENIED: Final = frozenset({1044, 1045, 1130, 1251, 1698, 1862, 2061, 3118, 3159, 4151})

LOCKED: Final = 1205  # the query waits for a session that alters the table or has it locked
NO_BINLOG: Final = 1381  # asked for its end, although CREATE SYNC found one
GRANT_MISSING: Final = frozenset({1045, 1227})
FATAL_READ: Final = 1236
BINLOG_WORDS: Final[Mapping[str, Code]] = {
    "with the same server": Code.SOURCE_SERVER_ID,
    "purged": Code.SOURCE_POSITION_LOST,
    "Could not find first log": Code.SOURCE_POSITION_LOST,
    "Could not find GTID state": Code.SOURCE_POSITION_LOST,
    "could not find next log": Code.SOURCE_POSITION_LOST,
    "which is not in the master's binlog": Code.SOURCE_POSITION_LOST,
    "which is not in the primary's binlog": Code.SOURCE_POSITION_LOST,
    "position > file size": Code.SOURCE_POSITION_LOST,
    "impossible position": Code.SOURCE_POSITION_LOST,
    "Cannot replicate because": Code.SOURCE_POSITION_LOST,
    "Cannot replicate anonymous transaction": Code.SOURCE_UNSUPPORTED,
    "Cannot replicate GTID-transaction": Code.SOURCE_UNSUPPORTED,
    "than the source has": Code.SOURCE_POSITION_LOST,
    "than the master has": Code.SOURCE_POSITION_LOST,
    "no longer available": Code.SOURCE_POSITION_LOST,
}

DISK: Final[Mapping[int, Code]] = {errno.ENOSPC: Code.DISK_FULL, errno.EDQUOT: Code.DISK_FULL}


def of_connection(number: int) -> Code:
    """Of MySQL's error number when a connection or a plain statement failed; 0: the network's."""
    if number == NO_BINLOG:
        return Code.SOURCE_BINLOG_OFF
    if number == LOCKED:
        return Code.SOURCE_LOCKED
    return Code.SOURCE_ACCESS_DENIED if number in ACCESS_DENIED else Code.SOURCE_UNREACHABLE


def of_binlog(number: int, message: str) -> Code:
    """Of a server's refusal to send its binlog."""
    if number in GRANT_MISSING:
        return Code.SOURCE_GRANT_MISSING
    if number != FATAL_READ:
        return Code.SOURCE_UNREACHABLE
    return next((code for words, code in BINLOG_WORDS.items() if words in message), Code.SOURCE_PROTOCOL)


def of_staging(number: int | None) -> Code:
    """Of the operating system's error number when rows were staged."""
    return Code.NOT_WRITABLE if number is None else DISK.get(number, Code.NOT_WRITABLE)
