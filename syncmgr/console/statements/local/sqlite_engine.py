"""Guarded in-memory SQLite: the engine for queries of what is already in memory.

Owns: the guard (only SELECT, few functions, bounded time, memory, disk and rows).
Must not know: which tables there are, what a function does.
"""

import sqlite3
import time
from collections.abc import Iterable, Sequence
from typing import Final, Self

from syncmgr.config.settings import find
from syncmgr.console.limits import KiB, MiB
from syncmgr.console.statements.local import sqlite_times
from syncmgr.console.statements.local.collation import COLLATION, compared
from syncmgr.console.statements.local.spilled import Spilled
from syncmgr.console.statements.local.sqlite_texts import AGGREGATES, FUNCTIONS, MAX_VALUE
from syncmgr.console.wire.protocol import FieldType
from syncmgr.console.wire.results import Column, Row, Rows, at_once
from syncmgr.errors import Code, SyncError

SECONDS: Final = 3.0
KNOWN: Final = 'docs/sql.md, "information_schema", lists the supported functions'
MAX_ROWS: Final = 100_000
MAX_COLUMNS: Final = 500  # of one SELECT, and of what it reads
MAX_ANSWER: Final = 64 * MiB
MAX_HELD: Final = 128 * MiB  # of the values of all expressions of a query, of which SQLite may hold one each
LEAST_VALUE: Final = 256 * KiB
SPILL: Final = int(find("question_spill_bytes").default)  # of all queries, by default
STEPS: Final = 100  # steps of SQLite's machine between two clock checks: each may be milliseconds in a function

_ACTIONS: Final = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
# SQLite's own functions that mean the same as MySQL's, and take time proportional to their values' length
_BUILT_IN: Final = (
    *("abs", "char", "coalesce", "ifnull", "iif", "nullif", "length", "lower", "upper", "substr", "substring"),
    *("round", "sign", "floor", "ceil", "ceiling", "sqrt", "exp", "ln", "pow", "power", "pi"),
    *("date", "time", "datetime", "strftime", "json", "json_extract", "json_valid", "->", "->>"),
    *("avg", "count", "group_concat", "max", "min", "sum"),
    *("cume_dist", "dense_rank", "first_value", "lag", "last_value", "lead", "nth_value", "ntile", "percent_rank"),
    *("rank", "row_number"),
)
_ALLOWED: Final = frozenset(
    {*_BUILT_IN, *(name.lower() for name, _, _ in (*FUNCTIONS, *sqlite_times.FUNCTIONS, *AGGREGATES))}
)


_SPILLED: Final = (
    "metadata query: the rows that it sorts and groups need more temporary disk space than "
    "question_spill_bytes in conf/fe.conf allows; query less at a time"
)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class SqliteEngine:
    """A database that lives as long as one query. Use it as a context manager, in one thread at a time.

    `spill`: bytes that all queries of the process may use on the disk.
    """

    def __init__(self, *, spill: int = SPILL) -> None:
        self._spill = spill
        # made on one thread and used on another, never on two at once
        self._db = sqlite3.connect(":memory:", check_same_thread=False, cached_statements=0, isolation_level=None)
        self._end = time.monotonic() + SECONDS
        self._db.create_collation(COLLATION, self._compared)
        for name, count, function in (*FUNCTIONS, *sqlite_times.FUNCTIONS):
            self._db.create_function(name, count, function, deterministic=True)
        for name, count, aggregate in AGGREGATES:
            self._db.create_aggregate(name, count, aggregate)  # type: ignore[arg-type]  # typeshed knows sums alone

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def attach(self, schema: str) -> None:
        self._db.execute(f"ATTACH ':memory:' AS {quoted(schema)}")

    def add(self, table: str, columns: Sequence[tuple[str, str]], rows: Iterable[Row]) -> None:
        """A table, by its quoted name, of columns with their SQLite types."""
        self._db.execute(f"CREATE TABLE {table} ({', '.join(f'{quoted(name)} {kind}' for name, kind in columns)})")
        marks = ", ".join("?" * len(columns))
        self._db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608 - a name of ours

    def ask(self, sql: str, parameters: Sequence[object] = ()) -> tuple[list[str], list[Row]]:
        """Column names and rows of a SELECT. From here on nothing but SELECT is allowed.

        Raises UNKNOWN_COLUMN, QUERY_FAILED, TIMED_OUT.
        """
        spilled = Spilled(self._spill)
        self._guard(sql, spilled)
        try:
            cursor = self._db.execute(sql, parameters)
            names = [column[0] for column in cursor.description or ()]
            rows = _bounded(cursor)
            if time.monotonic() > self._end:  # what was sorted after that is not in order
                raise SyncError(Code.TIMED_OUT)
            return names, rows
        except sqlite3.Error as error:
            if spilled.is_too_much:
                raise SyncError(Code.QUERY_FAILED, reason=_SPILLED) from error
            raise _explain(error) from error

    def _compared(self, left: str, right: str) -> int:
        """SQLite does not look at the clock while it sorts."""
        return 0 if time.monotonic() > self._end else compared(left, right)

    def _guard(self, sql: str, spilled: Spilled) -> None:
        self._end = end = time.monotonic() + SECONDS
        expressions = sql.count(",") + 1  # or fewer
        self._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(min(MAX_VALUE, MAX_HELD // expressions), LEAST_VALUE))
        self._db.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, MAX_COLUMNS)
        self._db.setlimit(sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 50)
        self._db.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200)
        self._db.set_progress_handler(lambda: time.monotonic() > end or spilled.look(), STEPS)
        self._db.set_authorizer(_authorize)


def _bounded(cursor: Iterable[Row]) -> list[Row]:
    rows: list[Row] = []
    size = 0
    for row in cursor:
        size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
        if size > MAX_ANSWER or len(rows) == MAX_ROWS:
            reason = f"a metadata query may return at most {MAX_ROWS} rows and {MAX_ANSWER} bytes"
            raise SyncError(Code.QUERY_FAILED, reason=reason)
        rows.append(row)
    return rows


def _authorize(action: int, _first: str | None, second: str | None, _db: str | None, _via: str | None) -> int:
    if action not in _ACTIONS:
        return sqlite3.SQLITE_DENY
    is_known = action != sqlite3.SQLITE_FUNCTION or (second or "").lower() in _ALLOWED
    return sqlite3.SQLITE_OK if is_known else sqlite3.SQLITE_DENY


def _explain(error: sqlite3.Error) -> SyncError:
    text = str(error)
    if text == "interrupted":
        return SyncError(Code.TIMED_OUT)
    if text.startswith("no such column: "):
        return SyncError(Code.UNKNOWN_COLUMN, column=text.removeprefix("no such column: "), where="field list")
    if text.startswith("no such table: information_schema."):
        name = text.removeprefix("no such table: information_schema.")
        return SyncError(Code.UNKNOWN_SCHEMA_TABLE, table=name)
    if text.startswith("user-defined "):
        text = "one of its values is too long, or would take too long to compute"
    for beginning in ("no such function: ", "not authorized to use function: "):
        if text.startswith(beginning):
            text = f"there is no function {text.removeprefix(beginning)}; {KNOWN}"
    if text.endswith(": syntax error"):
        text = f"syntax error {text.removesuffix(': syntax error')}; {KNOWN}"
    return SyncError(Code.QUERY_FAILED, reason=f"metadata query: {text}")


def rows_of(names: Sequence[str], rows: Sequence[Row]) -> Rows:
    """A result whose types are those of its values."""
    columns = tuple(Column(name=name, type=_type(rows, index)) for index, name in enumerate(names))
    return Rows(columns=columns, batches=at_once(rows))


def _type(rows: Sequence[Row], index: int) -> FieldType:
    match next((row[index] for row in rows if row[index] is not None), None):
        case int():
            return FieldType.LONGLONG
        case float():
            return FieldType.DOUBLE
        case bytes():
            return FieldType.BLOB
        case _:
            return FieldType.VAR_STRING
