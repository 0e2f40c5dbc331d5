"""What a client may use: times, sizes, numbers.

Owns: the limits of the console, and the error of a text that is beyond its own. Sizes in bytes, times in seconds.
Must not know: settings, who reads a limit.
"""

from dataclasses import dataclass
from typing import Final

from syncmgr.errors import Code, SyncError

KiB: Final = 1024
MiB: Final = 1024 * KiB


MAX_STATEMENT: Final = 4 * MiB


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Bounds of the console. Sizes are bytes, times are seconds."""

    #: all of them, the reserved ones included
    max_connections: int = 1024
    #: what is read at all before the connection ends
    max_packet: int = 64 * MiB
    #: of the text of a statement
    max_statement: int = MAX_STATEMENT
    #: of the text of a SELECT
    max_query: int = 256 * KiB
    #: of a query; 0: unlimited
    max_query_second: float = 3600
    #: what all queries of metadata may use on the disk
    question_spill: int = 1024 * MiB
    #: of a SELECT, where its session names none
    dialect: str = "mysql"
    #: of a packet before login
    login_packet: int = 64 * KiB
    #: prepared statements of a connection
    max_prepared: int = 1024
    #: of a connection; one with so many open gets the rows of a further one at once
    max_cursors: int = 16
    #: what a connection holds beyond a statement
    max_connection_bytes: int = 32 * MiB
    #: the same of all connections
    max_console_bytes: int = 256 * MiB
    #: statements that run at one time, separately for the lake and for everything else, except those that query a
    #: source
    threads: int = 32
    #: of those of the lake
    max_queries_per_account: int = 8
    #: statements that query a source
    source_threads: int = 8
    #: of one of them
    source_second: float = 600
    #: what waits to be sent before no more rows are fetched
    high_water: int = 256 * KiB
    #: those under way
    max_logins: int = 256
    max_logins_per_address: int = 64
    #: further ones, for addresses from which a login has succeeded
    reserved_logins: int = 32
    #: of max_connections: kept for users who may KILL the others
    reserved_connections: int = 8
    max_login_failures: int = 20
    login_refuse_second: float = 60
    connect_timeout: float = 10
    #: inside a packet
    read_timeout: float = 30
    write_timeout: float = 60
    #: between two commands
    wait_timeout: float = 28800
    #: at stop()
    drain_timeout: float = 5


def too_long(limit: int) -> SyncError:
    advice = "cut it into several, or raise max_statement_bytes in conf/fe.conf"
    return SyncError(Code.STATEMENT_TOO_LARGE, limit=limit, what="bytes", advice=advice)
