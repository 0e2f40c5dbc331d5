"""The console as an attacker reaches it.

Owns: who he is, how he asks, and the count of what he was answered.
Must not know: what is asked, what the frontend does meanwhile.
"""

import contextlib
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pymysql

PASSWORD: Final = "secret-of-a-test"
NOBODY, READER, LOADER = "nobody", "reader", "loader"  # without a grant; SELECT on one table; LOAD on one database
GUESSED: Final = "guessed"  # whose password is guessed at, and who is refused for a time by that
PATIENCE_SECOND: Final = 600  # queries beyond max_queries_per_account wait until those before them are given up
FINE: Final = 0  # beside the numbers of errors
NO_ANSWER: Final = frozenset({0, 2006, 2013})  # what the client itself says of a connection that has ended
QUERY, PREPARE, EXECUTE, WITH_CURSOR = 0x03, 0x16, 0x17, struct.pack("<BI", 1, 1)
CURSOR_EXISTS, END, LONGEST_END = 0x40, 0xFE, 9


@dataclass(kw_only=True, slots=True)
class Console:
    """Where the frontend listens, and a MySQL server with a table `attacked.t`. `answers`: by number."""

    port: int
    source: int = 0
    sent: int = 0
    answers: Counter[int] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def as_user(self, user: str, password: str = PASSWORD, **options: Any) -> Iterator[Any]:
        connection = pymysql.connect(
            host="127.0.0.1", port=self.port, user=user, password=password, read_timeout=PATIENCE_SECOND, **options
        )
        try:
            yield connection
        finally:
            connection._force_close()  # type: ignore[attr-defined]

    def ask(self, user: str, *statements: str) -> None:
        """One after the other, whatever comes of each. Raises MySQLError where there is no answer at all."""
        with self.as_user(user, max_allowed_packet=1 << 30) as connection, connection.cursor() as cursor:
            for statement in statements:
                with self.counted():
                    cursor.execute(statement)
                    cursor.fetchall()

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """Something is sent, and what comes of it is an answer: an error, or what follows in the block."""
        with self._lock:
            self.sent += 1
        number = FINE
        try:
            yield
        except pymysql.err.MySQLError as error:
            number = error.args[0]
            if number in NO_ANSWER:
                raise
        with self._lock:
            self.answers[number] += 1

    def begin(self, connection: Any, sql: str) -> None:
        """Up to the first packet of the answer. PyMySQL's own cursor would read on as soon as nobody needs it."""
        with self.counted():
            connection._execute_command(QUERY, sql)
            connection._read_packet()

    def prepare(self, connection: Any, sql: str) -> int | None:
        """The id of a prepared statement, or nothing where it is refused."""
        found = None
        with self.counted():
            connection._execute_command(PREPARE, sql)
            answer = connection._read_packet()._data
            found, columns, parameters = struct.unpack("<xIHH", answer[:9])
            for count in (columns, parameters):
                skip(connection, count)
        return found

    def open_cursor(self, connection: Any, statement: int) -> None:
        """Without a FETCH; where there is none left the rows come at once, and are read."""
        with self.counted():
            connection._execute_command(EXECUTE, struct.pack("<I", statement) + WITH_CURSOR)
            last = skip(connection, connection._read_packet()._data[0])
            if not last[3] & CURSOR_EXISTS:
                while not is_end(connection._read_packet()._data):
                    pass

    def socket(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECOND)


def skip(connection: Any, definitions: int) -> bytes:
    """Those of columns, with the packet behind them, which is returned."""
    last = b""
    for _ in range(definitions + 1 if definitions else 0):
        last = connection._read_packet()._data
    return last


def is_end(packet: bytes) -> bool:
    return packet[0] == END and len(packet) < LONGEST_END
