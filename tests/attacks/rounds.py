"""The attacks, a round each.

Owns: what is sent. An error is the answer that is wanted, and a connection that is refused or cut off too.
Must not know: what the frontend does meanwhile.
"""

import contextlib
import itertools
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pymysql

PASSWORD: Final = "secret-of-a-test"
NOBODY, READER, LOADER = "nobody", "reader", "loader"  # without a grant; SELECT on one table; LOAD on one database
PATIENCE_SECOND: Final = 15
BURST: Final = 50
SILENCE_SECOND: Final = 0.1  # of a frontend that has no place for one more
MARK: Final = itertools.count()


@dataclass(frozen=True, kw_only=True, slots=True)
class Console:
    """Where the frontend listens."""

    port: int

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
        """One after the other, whatever comes of each."""
        with self.as_user(user) as connection, connection.cursor() as cursor:
            for statement in statements:
                with contextlib.suppress(pymysql.err.ProgrammingError, pymysql.err.InternalError):
                    cursor.execute(statement)
                    cursor.fetchall()

    def socket(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECOND)


def guesses(console: Console) -> None:
    for number in range(BURST):
        user = NOBODY if number % 2 else f"guess{number}"
        with contextlib.suppress(pymysql.err.MySQLError), console.as_user(user, f"wrong{number}"):
            pass


def silence(console: Console) -> None:
    held = [console.socket() for _ in range(6 * BURST)]
    for each in held:
        each.settimeout(SILENCE_SECOND)
        with contextlib.suppress(OSError):
            each.recv(200)
        each.close()


def half_packets(console: Console) -> None:
    held = [console.socket() for _ in range(BURST)]
    for each in held:
        each.settimeout(SILENCE_SECOND)
        with contextlib.suppress(OSError):
            each.recv(200)
            each.sendall(b"\xff\xff\xff\x01" + b"x" * 1000)
    for each in held:
        each.close()


def visits(console: Console) -> None:
    for _ in range(BURST):
        with console.as_user(NOBODY):
            pass


def storms(console: Console) -> None:
    console.ask(NOBODY, *(["SHOW SYNC JOB FROM shop", "SHOW DATABASES", "USE shop", "SHOW TABLES"] * BURST))


def brackets(console: Console) -> None:
    console.ask(NOBODY, "SELECT " + "(" * 200_000, "SELECT " + "NOT " * 100_000 + "1", "SELECT 1" + "+1" * 100_000)


def long_texts(console: Console) -> None:
    console.ask(NOBODY, "SELECT '" + "x" * 3_000_000 + "'", "INSERT INTO t VALUES " + "(1)," * 700_000)


def variables(console: Console) -> None:
    named = ", ".join(["@v"] * 300)
    console.ask(NOBODY, "SET @v = '" + "x" * 3_000_000 + "'", f"SELECT {named}", f"SELECT CONCAT({named})")


def metadata(console: Console) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    of_tables = "FROM information_schema.columns a, information_schema.columns b, information_schema.columns c"
    console.ask(
        NOBODY,
        f"{numbers} SELECT MAX(i) FROM n, information_schema.tables",
        f"SELECT GROUP_CONCAT(a.column_name ORDER BY b.column_name) {of_tables}",
        f"SELECT COUNT(*) {of_tables} WHERE CONCAT(a.column_name, b.column_name) LIKE '%a%e%i%o%u%a%e%i%o%u%'",
    )


def prepared(console: Console) -> None:
    with console.as_user(NOBODY) as connection:
        for number in range(20 * BURST):
            connection._execute_command(0x16, f"SELECT {number}, ?, '{'x' * 1000}'")
            connection._read_bytes(4)


def endless_queries(console: Console) -> None:
    like = "LIKE concat(repeat('%a', 60), 'b')"
    console.ask(
        READER,
        "SET max_execution_time = 3000",
        f"SELECT count(*) FROM range(4) WHERE concat(repeat('a', 300), id) {like}",
    )


def products(console: Console) -> None:
    console.ask(
        READER,
        "SET max_execution_time = 5000",
        "SELECT count(*) FROM range(1e11) a JOIN range(10) b ON a.id < b.id",
    )


def memory(console: Console) -> None:
    console.ask(READER, "SELECT length(concat_ws('', collect_list(repeat('x', 1000000)))) FROM range(5000)")


def wide_plans(console: Console) -> None:
    columns = ", ".join(f"id + {number} AS c{number}" for number in range(3000))
    console.ask(READER, f"SELECT {columns} FROM range(10)")


def unread_rows(console: Console) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(BURST // 5):
            connection = stack.enter_context(console.as_user(READER, cursorclass=pymysql.cursors.SSCursor))
            connection.cursor().execute("SELECT id, repeat('x', 1000) FROM range(1e7)")


def dead_hosts(console: Console) -> None:
    with console.socket() as taken:
        address = taken.getsockname()[0]
    source = f'FROM BINLOG ("type" = "mysql", "mysql.host" = "{address}", "mysql.port" = "1", "mysql.user" = "u")'
    names = [f"own.j{next(MARK)}" for _ in range(5)]
    creates = [f"CREATE SYNC {name} (FROM shop.t INTO own.t) {source}" for name in names]
    console.ask(LOADER, *creates, *(f"STOP SYNC JOB {name}" for name in names))


ATTACKS: Final[Mapping[str, Callable[[Console], None]]] = {
    "guesses": guesses,
    "silence": silence,
    "half-packets": half_packets,
    "visits": visits,
    "storms": storms,
    "brackets": brackets,
    "long-texts": long_texts,
    "variables": variables,
    "metadata": metadata,
    "prepared": prepared,
    "endless-queries": endless_queries,
    "products": products,
    "memory": memory,
    "wide-plans": wide_plans,
    "unread-rows": unread_rows,
    "dead-hosts": dead_hosts,
}
