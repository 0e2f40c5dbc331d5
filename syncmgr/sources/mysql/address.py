"""A MySQL server, and a plain SQL connection to it.

Owns: how a connection is made, which errors its failures are, and which of several servers is tried next.
Must not know: binlogs, what is queried on the connection.
"""

import contextlib
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from pymysql import err
from pymysql.cursors import DictCursor

from syncmgr.errors import Code, SyncError, shorten
from syncmgr.job.raw_errors import of_connection
from syncmgr.job.tls import PREFERRED, Tls
from syncmgr.sources import cancellation
from syncmgr.sources.cancellation import Opened
from syncmgr.sources.mysql.driver import UNREADABLE, BoundedConnection
from syncmgr.sources.mysql.tls import context, distrust, refusals

Connection: TypeAlias = BoundedConnection
Identity: TypeAlias = tuple[str, str]  # the variable by which a server is known, and its value there
# Limits by which some guard their servers from people's queries, whatever the server or its init_connect sets.
ALL_ROWS: Final = "sql_select_limit = 18446744073709551615, sql_big_selects = 1"
# In milliseconds on MySQL, in seconds on MariaDB; each skips the comment of the other.
ANY_TIME: Final = "/*!50708 , max_execution_time = 0 */ /*M!100101 , max_statement_time = 0 */"
# The primary keys that a server generates are in its binlog, whatever it shows to others. MariaDB skips this comment.
ALL_COLUMNS: Final = "/*!80030 , show_gipk_in_create_table_and_information_schema = ON */"


@dataclass(frozen=True, kw_only=True, slots=True)
class Locking:
    """How a table is locked: by waiting for its open transactions `wait` whole seconds at a time, `tries` times."""

    wait: int = 1
    tries: int = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class MysqlAddress:
    """Where a server is and how we log in to it. Times in seconds."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    tls: Tls = PREFERRED
    connect_timeout: float = 10.0
    query_timeout: float = 30.0
    locking: Locking = Locking()

    @property
    def label(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def lock_second(self) -> int:
        """Queries wait this long for a lock: a session that kept waiting after its client was gone would make others
        wait for it.
        """
        return max(1, int(self.query_timeout / 3))


def connect(address: MysqlAddress, opened: Opened = cancellation.opened) -> Connection:
    """A connection in autocommit mode. `opened` gets each socket before anything waits on it, so that others can shut
    it down; the last one is the connection's.

    Raises SyncError: SOURCE_UNREACHABLE, SOURCE_ACCESS_DENIED, SOURCE_TLS, SOURCE_CLEAR_PASSWORD, PEM_FILE,
    SOURCE_ASKS_FILE, SOURCE_ANSWER. Queries on it may fail with SOURCE_LOCKED.
    """
    with naming_failures(address):
        connection = _unopened(address)
        plain = cancellation.connected(address.host, address.port, address.connect_timeout, opened)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.on_connect(opened)
        connection.connect(plain)
        return connection


def query(connection: Connection, text: str, *values: object) -> list[dict[str, Any]]:
    """The rows of one statement. Raises pymysql's errors."""
    with connection.cursor(DictCursor) as cursor:
        cursor.execute(text, values or None)
        return list(cursor.fetchall())


def refuse_other(address: MysqlAddress, connection: Connection, identity: Identity) -> None:
    """Another server may answer at an address by now, and lack what that one has. Raises SOURCE_UNREACHABLE."""
    variable, wanted = identity
    found = str(query(connection, f"SELECT @@global.{variable} found")[0]["found"])
    if found != wanted:
        raise unreachable(address, f"it is server {found} now, and the rows are those of {wanted}")


@contextlib.contextmanager
def naming_failures(address: MysqlAddress) -> Iterator[None]:
    """What goes wrong on a connection is SOURCE_UNREACHABLE, SOURCE_ACCESS_DENIED, SOURCE_TLS, SOURCE_LOCKED or
    SOURCE_ANSWER.
    """
    try:
        yield
    except err.MySQLError as error:
        distrusted = distrust(error, address.tls, address.label)
        if distrusted is not None:
            raise distrusted from error
        number = error.args[0] if error.args else 0
        if isinstance(number, str):  # the driver's own message: the server did not report an error
            raise answered_wrong(address, number) from error
        reason = str(error.args[1]) if len(error.args) > 1 else str(error)
        context = {"address": address.label, "user": address.user, "second": address.lock_second, "reason": reason}
        raise SyncError(of_connection(number), **context) from error
    except (OSError, EOFError) as error:
        raise unreachable(address, str(error) or type(error).__name__) from error
    except UNREADABLE as error:  # raised by code that reads answers without the requested content
        raise answered_wrong(address, f"{type(error).__name__}: {error}") from shorten(error)
    except RuntimeError as error:  # PyMySQL without the package that a server's authentication needs
        raise unreachable(address, str(error)) from error


def unreachable(address: MysqlAddress, reason: str) -> SyncError:
    return SyncError(Code.SOURCE_UNREACHABLE, address=address.label, reason=reason)


def answered_wrong(address: MysqlAddress, reason: str) -> SyncError:
    return SyncError(Code.SOURCE_ANSWER, address=address.label, reason=reason)


def _unopened(address: MysqlAddress) -> Connection:
    return Connection(
        address.label,
        host=address.host,
        port=address.port,
        user=address.user,
        password=address.password.encode(),
        charset="utf8mb4",
        autocommit=True,
        connect_timeout=address.connect_timeout,
        read_timeout=address.query_timeout,
        write_timeout=address.query_timeout,
        program_name="syncmgr",
        init_command=f"SET SESSION lock_wait_timeout = {address.lock_second}, {ALL_ROWS} {ANY_TIME} {ALL_COLUMNS}",
        ssl_disabled=address.tls.mode == "disabled",
        ssl=context(address.tls),
        auth_plugin_map=refusals(address.tls, address.label, address.user),
    )


class Candidates:
    """The servers of one history, of which one is read at a time."""

    def __init__(self, addresses: Sequence[MysqlAddress]) -> None:
        self._addresses = addresses
        self._turn = 0
        self._refusals: set[MysqlAddress] = set()  # which cannot go on from our position

    @property
    def current(self) -> MysqlAddress:
        return self._addresses[self._turn % len(self._addresses)]

    def next(self) -> None:
        self._turn += 1

    def accepted(self) -> None:
        """The current one can go on from our position; others may be able to later."""
        self._refusals.clear()

    def refused(self, error: SyncError) -> None:
        """By the current one; the next is tried. Raises the error if all have refused."""
        self._refusals.add(self.current)
        if len(self._refusals) == len(self._addresses):
            raise error
        self.next()
