"""Guarded in-memory SQLite: the engine for questions about what is already in memory.

Owns: the guard (only SELECT, few functions, bounded time, memory and rows) and MySQL's functions on it.
Must not know: which tables there are.
"""

import datetime as dt
import sqlite3
import time
from collections.abc import Iterable, Sequence
from typing import Final, Self

from syncmgr.console.limits import MiB
from syncmgr.console.protocol import FieldType
from syncmgr.console.results import Column, Row, Rows, at_once, text_of
from syncmgr.errors import Code, SyncError

SECONDS: Final = 3.0
MAX_ROWS: Final = 100_000
MAX_JOINED: Final = 10_000  # values of one GROUP_CONCAT
CONCAT_BY: Final = "GROUP_CONCAT_BY"
LEFT_OF: Final = "LEFT_OF"  # a word of a join
RIGHT_OF: Final = "RIGHT_OF"
MAX_VALUE: Final = 4 * MiB
MAX_ANSWER: Final = 64 * MiB
UTC: Final = {"UTC", "SYSTEM", "+00:00"}
STEPS: Final = 10_000  # of SQLite's machine between two looks at the clock

_ACTIONS: Final = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_FORBIDDEN: Final = {
    "load_extension",
    "readfile",
    "writefile",
    "edit",
    "fts3_tokenizer",
    "zeroblob",
    "randomblob",
    "printf",
    "format",
}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class Lite:
    """A database that lives as long as one question. Use it as a context manager, in one thread at a time."""

    def __init__(self) -> None:
        # made on one thread and used on another, never on two at once
        self._db = sqlite3.connect(":memory:", check_same_thread=False, cached_statements=0, isolation_level=None)
        for name, count, function in _FUNCTIONS:
            self._db.create_function(name, count, function, deterministic=True)
        self._db.create_aggregate(CONCAT_BY, 4, _ConcatBy)  # type: ignore[arg-type]  # typeshed knows sums alone

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
        self._guard()
        try:
            cursor = self._db.execute(sql, parameters)
            names = [column[0] for column in cursor.description or ()]
            return names, _bounded(cursor)
        except sqlite3.Error as error:
            raise _explain(error) from error

    def _guard(self) -> None:
        end = time.monotonic() + SECONDS
        self._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
        self._db.setlimit(sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 50)
        self._db.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200)
        self._db.set_progress_handler(lambda: time.monotonic() > end, STEPS)
        self._db.set_authorizer(_authorize)


def _bounded(cursor: Iterable[Row]) -> list[Row]:
    rows: list[Row] = []
    size = 0
    for row in cursor:
        size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
        if size > MAX_ANSWER or len(rows) == MAX_ROWS:
            reason = f"a question about metadata may give {MAX_ROWS} rows and {MAX_ANSWER} bytes at most"
            raise SyncError(Code.QUERY_FAILED, reason=reason)
        rows.append(row)
    return rows


def _authorize(action: int, _first: str | None, second: str | None, _db: str | None, _via: str | None) -> int:
    if action not in _ACTIONS:
        return sqlite3.SQLITE_DENY
    is_forbidden = action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FORBIDDEN
    return sqlite3.SQLITE_DENY if is_forbidden else sqlite3.SQLITE_OK


def _explain(error: sqlite3.Error) -> SyncError:
    text = str(error)
    if text == "interrupted":
        return SyncError(Code.TIMED_OUT)
    if text.startswith("no such column: "):
        return SyncError(Code.UNKNOWN_COLUMN, column=text.removeprefix("no such column: "), where="field list")
    if text.startswith("no such table: information_schema."):
        name = text.removeprefix("no such table: information_schema.")
        return SyncError(Code.UNKNOWN_SCHEMA_TABLE, table=name)
    return SyncError(Code.QUERY_FAILED, reason=f"a question about metadata: {text}")


def _concat(*parts: object) -> str | None:
    return None if None in parts else "".join(map(str, parts))


class _ConcatBy:
    """GROUP_CONCAT(value ORDER BY key [DESC] SEPARATOR s), which this SQLite has not."""

    def __init__(self) -> None:
        self._found: list[tuple[str, object]] = []
        self._descending, self._separator = False, ","

    def step(self, value: object, key: object, descending: int, separator: str) -> None:
        self._descending, self._separator = bool(descending), separator
        if value is not None:
            self._found.append((str(value), key))
        if len(self._found) > MAX_JOINED:
            raise ValueError("too many values")

    def finalize(self) -> str | None:
        self._found.sort(key=lambda one: _rank(one[1]), reverse=self._descending)
        return self._separator.join(value for value, _ in self._found) if self._found else None


def _rank(key: object) -> tuple[int, object]:
    """NULL before numbers before texts."""
    return (0, 0) if key is None else (1 + isinstance(key, str), key)


def _concat_ws(separator: object, *parts: object) -> str | None:
    return None if separator is None else str(separator).join(str(part) for part in parts if part is not None)


def _substring_index(text: object, delimiter: object, count: int | None) -> str | None:
    if text is None or delimiter is None or count is None:
        return None
    if not delimiter or not count:
        return ""
    parts = str(text).split(str(delimiter))
    return str(delimiter).join(parts[:count] if count > 0 else parts[count:])


def _field(wanted: object, *words: object) -> int:
    """As MySQL's default collation, without case."""
    folded = [str(word).casefold() for word in words]
    return 0 if wanted is None or str(wanted).casefold() not in folded else folded.index(str(wanted).casefold()) + 1


def _left(text: object, count: int) -> str | None:
    return None if text is None else str(text)[: max(count, 0)]


def _right(text: object, count: int) -> str | None:
    return None if text is None else str(text)[-count:] if count > 0 else ""


def _convert_tz(moment: object, source: object, target: object) -> str | None:
    """Everything here is in UTC; a zone that is another is not known, which MySQL answers with NULL."""
    return str(moment) if {str(source).upper(), str(target).upper()} <= UTC else None


def _timediff(left: object, right: object) -> str | None:
    try:
        apart = dt.datetime.fromisoformat(str(left)) - dt.datetime.fromisoformat(str(right))
    except ValueError:
        return None
    return text_of(apart)


def _time_format(time_of_day: object, pattern: object) -> str | None:
    parts = str(time_of_day).split(":")
    if time_of_day is None or len(parts) != 3:
        return None
    text = str(pattern)
    for word, part in zip(("%H", "%i", "%s"), parts, strict=True):
        text = text.replace(word, part)
    return text


# no REGEXP: Python's re cannot be interrupted
_FUNCTIONS: Final = (
    ("CONCAT", -1, _concat),
    ("IF", 3, lambda condition, yes, no: yes if condition else no),
    ("CONCAT_WS", -1, _concat_ws),
    ("FIELD", -1, _field),
    ("SUBSTRING_INDEX", 3, _substring_index),
    (LEFT_OF, 2, _left),
    (RIGHT_OF, 2, _right),
    ("CONVERT_TZ", 3, _convert_tz),
    ("TIMEDIFF", 2, _timediff),
    ("TIME_FORMAT", 2, _time_format),
    ("UCASE", 1, lambda text: text if text is None else str(text).upper()),
    ("LCASE", 1, lambda text: text if text is None else str(text).lower()),
)


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
