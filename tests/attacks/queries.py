"""Attacks of an account that may read one table: on the query engine, and on whoever carries its rows.

Owns: what is asked.
Must not know: what the frontend does meanwhile.
"""

import contextlib
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from tests.attacks.console import READER, Console

UNREAD_SECOND: Final = 5.0  # rows wait so long for nobody
LONG_A: Final = "concat(repeat('a', 300), id)"


def endless_queries(console: Console) -> None:
    like = "LIKE concat(repeat('%a', 60), 'b')"
    console.ask(READER, "SET max_execution_time = 3000", f"SELECT count(*) FROM range(4) WHERE {LONG_A} {like}")


def patterns(console: Console) -> None:
    """What backtracks, and what makes much of little, on a table that may be read."""
    evil = "'^(a|a|aa)*(a|a|aa)*(a|a|aa)*b$'"
    asked = (
        f"{LONG_A} LIKE concat(repeat('%a', 60), 'b')",
        f"{LONG_A} RLIKE {evil}",
        f"length(regexp_replace({LONG_A}, {evil}, 'x')) = 0",
        f"size(regexp_extract_all({LONG_A}, {evil}, 0)) > 0",
        f"regexp_count({LONG_A}, {evil}) > 0",
        f"size(split({LONG_A}, {evil})) > 0",
        "length(replace(repeat('a', 100000), 'a', repeat('b', 100000))) > id",
    )
    console.ask(
        READER,
        "SET max_execution_time = 2000",
        *(f"SELECT count(*) FROM attacked.t WHERE {each}" for each in asked),
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
    _unread(console, "SELECT id, repeat('x', 1000) FROM range(1e7)", connections=10)


def unread_wide(console: Console) -> None:
    _unread(console, "SELECT repeat('x', 1000000) FROM range(300)", connections=20)


def _unread(console: Console, sql: str, *, connections: int) -> None:
    """Rows that come, and that nobody reads; who has more than may compute at one time waits for his turn."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(console.as_user(READER)) for _ in range(connections)]
        with ThreadPoolExecutor(connections) as askers:
            list(askers.map(partial(console.begin, sql=sql), held))
        time.sleep(UNREAD_SECOND)


def cursors(console: Console) -> None:
    """As many as a connection may have, on three that stay; none is fetched."""
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            connection = stack.enter_context(console.as_user(READER))
            for _ in range(16):
                statement = console.prepare(connection, "SELECT id, repeat('x', 1000) FROM range(1e7)")
                if statement is not None:
                    console.open_cursor(connection, statement)
        time.sleep(UNREAD_SECOND)


ATTACKS: Final[Mapping[str, Callable[[Console], None]]] = {
    "endless-queries": endless_queries,
    "patterns": patterns,
    "products": products,
    "memory": memory,
    "wide-plans": wide_plans,
    "unread-rows": unread_rows,
    "unread-wide": unread_wide,
    "cursors": cursors,
}
