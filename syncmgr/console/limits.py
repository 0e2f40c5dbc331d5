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
    """`threads` bounds the statements that run at one time, separately for the lake and for everything else, except
    those that query a source: these have `source_threads`, and may take `source_second` each. One account has
    `max_queries_per_account` of those of the lake.

    `max_logins` are those under way, with `reserved_logins` more for addresses from which a login has succeeded; of
    `max_connections`, `reserved_connections` are kept for users who may KILL the others.
    `max_connection_bytes` and `max_console_bytes` bound what one connection and all of them hold beyond a statement. A
    client with `max_cursors` open gets the rows of a further one at once.
    `max_query_second` bounds the time of a query; 0: unlimited. `question_spill` is what all queries of metadata may
    use on the disk.
    `max_statement` and `max_query` bound the text of a statement, in bytes; `max_packet` what is read at all before the
    connection ends.
    `read_timeout` applies inside a packet, `wait_timeout` between two commands, `drain_timeout` at stop().
    """

    max_connections: int = 1024
    max_packet: int = 64 * MiB
    max_statement: int = MAX_STATEMENT
    max_query: int = 256 * KiB
    max_query_second: float = 3600
    question_spill: int = 1024 * MiB
    login_packet: int = 64 * KiB
    max_prepared: int = 1024
    max_cursors: int = 16
    max_connection_bytes: int = 32 * MiB
    max_console_bytes: int = 256 * MiB
    threads: int = 32
    max_queries_per_account: int = 8
    source_threads: int = 8
    source_second: float = 600
    high_water: int = 256 * KiB
    max_logins: int = 256
    max_logins_per_address: int = 64
    reserved_logins: int = 32
    reserved_connections: int = 8
    max_login_failures: int = 20
    login_refuse_second: float = 60
    connect_timeout: float = 10
    read_timeout: float = 30
    write_timeout: float = 60
    wait_timeout: float = 28800
    drain_timeout: float = 5


def too_long(limit: int) -> SyncError:
    advice = "cut it into several, or raise max_statement_bytes in conf/fe.conf"
    return SyncError(Code.STATEMENT_TOO_LARGE, limit=limit, what="bytes", advice=advice)
