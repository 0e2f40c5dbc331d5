"""The attacks, a round each.

Owns: what is sent. An error is the answer that is wanted, a login that is refused or cut off too.
Must not know: what the frontend does meanwhile.
"""

import contextlib
from collections.abc import Callable, Mapping
from typing import Final

import pymysql

from tests.attacks import jobs, queries
from tests.attacks.console import GUESSED, NOBODY, Console

BURST: Final = 50
SILENCE_SECOND: Final = 0.1  # of a frontend that has no place for one more
PREPARED: Final = 1000  # of a connection: 100,000 of all


def guesses(console: Console) -> None:
    for number in range(BURST):
        user = GUESSED if number % 2 else f"guess{number}"
        with console.counted(), console.as_user(user, f"wrong{number}"):
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
        with console.counted(), console.as_user(NOBODY):
            pass


def storms(console: Console) -> None:
    console.ask(NOBODY, *(["SHOW SYNC JOB FROM shop", "SHOW DATABASES", "USE shop", "SHOW TABLES"] * BURST))


def brackets(console: Console) -> None:
    console.ask(NOBODY, "SELECT " + "(" * 200_000, "SELECT " + "NOT " * 100_000 + "1", "SELECT 1" + "+1" * 100_000)
    dates = "DATE(" * 20 + "1" + ")" * 20  # a type or a function, twice in each
    console.ask(NOBODY, f"SELECT {dates}", f"SET @a = {dates}", f"SHOW SYNC JOB WHERE {dates}")


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


def without_rights(console: Console) -> None:
    questions = (
        "SELECT * FROM attacked.t",
        "SELECT count(*) FROM range(10)",
        "EXPLAIN SELECT * FROM attacked.t",
        "SHOW CREATE TABLE attacked.t",
        "SHOW SYNC JOB FROM attacked",
        "STOP SYNC JOB attacked.job1",
        "PAUSE SYNC JOB attacked.job1",
        "DROP TABLE attacked.t",
        "CREATE USER x IDENTIFIED BY 'y'",
        "GRANT ADMIN_PRIV ON *.* TO nobody",
        "ADMIN SET FRONTEND CONFIG ('audit_log' = 'OFF')",
        "SELECT @@version, current_user(), '${env:HOME}'",
    )
    console.ask(NOBODY, *questions * 10)


def prepared(console: Console) -> None:
    """On many connections, all of which stay."""
    with contextlib.ExitStack() as stack:
        for _ in range(2 * BURST):
            connection = stack.enter_context(console.as_user(NOBODY))
            for number in range(PREPARED):
                console.prepare(connection, f"SELECT {number}, ?, '{'x' * 1000}'")


def metadata_cursors(console: Console) -> None:
    """As many as there are, on connections that stay; none is fetched."""
    with contextlib.ExitStack() as stack:
        for _ in range(BURST):
            connection = stack.enter_context(console.as_user(NOBODY))
            for _ in range(16):
                statement = console.prepare(connection, "SELECT * FROM information_schema.columns")
                if statement is not None:
                    console.open_cursor(connection, statement)


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
    "without-rights": without_rights,
    "prepared": prepared,
    "metadata-cursors": metadata_cursors,
    **queries.ATTACKS,
    **jobs.ATTACKS,
}


def run(name: str, console: Console) -> str:
    """A round; why it has ended before its end, or nothing."""
    try:
        ATTACKS[name](console)
    except (pymysql.err.MySQLError, OSError) as error:
        return repr(error)
    return ""
