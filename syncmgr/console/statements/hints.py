"""What the text of a statement specifies besides its action.

Owns: MySQL's hint of a time, which statements read the counts of SHOW WARNINGS, what is parsed once for many, the
errors about a second statement and about an oversized one.
Must not know: what a statement does. All other hints are Spark's, which uses those that it knows.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from syncmgr.errors import Code, SyncError
from syncsql import ExplainSelect, NestedTooDeeplyError, Parsed, Select, TooLargeError, is_query, parse

SHORT: Final = 200  # characters of a statement that is kept
LONGEST: Final = 4096  # characters at its beginning that are examined
_COMMENT: Final = r"(?:/\*(?![+!]).*?\*/|--\s[^\n]*(?:\n|\Z)|#[^\n]*(?:\n|\Z)|\s|\()*+"
_HINTS: Final = re.compile(_COMMENT + r"SELECT\s*/\*\+(.*?)\*/", re.IGNORECASE | re.DOTALL)
_QUERY: Final = re.compile(_COMMENT + r"(?:SELECT|WITH|VALUES)\b", re.IGNORECASE | re.DOTALL)
_TIME: Final = re.compile(r"\bMAX_EXECUTION_TIME\s*\(\s*(\d{1,10})\s*\)", re.IGNORECASE)
_COUNTS: Final = re.compile(r"@@\s*(?:session\s*\.\s*)?`?(?:warning|error)_count\b", re.IGNORECASE)


def timeout_of(sql: str) -> float:
    """Seconds that /*+ MAX_EXECUTION_TIME(milliseconds) */ gives a SELECT; 0: no hint."""
    hints = _HINTS.match(sql, 0, LONGEST)
    found = _TIME.search(hints[1]) if hints else None
    return int(found[1]) / 1000 if found else 0.0


def asks_for_counts(sql: str) -> bool:
    """By @@warning_count or @@error_count."""
    return _COUNTS.search(sql, 0, LONGEST) is not None


asked_again = lru_cache(256)(parse)


def is_short_show(sql: str) -> bool:
    """What monitors query repeatedly, so it is parsed once; it contains no secret."""
    return len(sql) <= SHORT and sql[:4].upper() == "SHOW" and ";" not in sql[:-1]


def syntax(reason: str, *, near: str, line: int, column: int) -> SyncError:
    return SyncError(Code.SYNTAX, reason=reason, near=near, line=line, column=column)


def too_many(error: TooLargeError) -> SyncError:
    return SyncError(Code.STATEMENT_TOO_LARGE, limit=error.limit, what=error.what, advice="cut it into several")


def nested_too_deeply(error: NestedTooDeeplyError) -> SyncError:
    place = f"{error.reason}, at line {error.line}, column {error.column}"
    return SyncError(Code.NESTED_TOO_DEEPLY, more=f": {place}")


def read(sql: str, most_of_query: int) -> tuple[Parsed, ...]:
    """The statements of a text. Spark takes a hundred times as long to parse one as we do, so the bytes of a query are
    bounded: a single one is refused before it is parsed, which takes seconds for megabytes.

    Raises STATEMENT_TOO_LARGE, and what `parse` raises.
    """
    if len(sql) > most_of_query and _QUERY.match(sql, 0, LONGEST) and is_query(sql):
        raise _long_query(most_of_query)
    parsed = parse(sql)
    for each in parsed:
        if isinstance(each.statement, Select | ExplainSelect) and len(each.text.encode()) > most_of_query:
            raise _long_query(most_of_query)
    return parsed


def _long_query(limit: int) -> SyncError:
    advice = "join a table instead of a long list of values, or raise max_query_bytes in conf/fe.conf"
    return SyncError(Code.STATEMENT_TOO_LARGE, limit=limit, what="bytes of a query", advice=advice)


def one_at_a_time(sql: str, parsed: Sequence[Parsed]) -> SyncError:
    """For a client that has not requested more."""
    first, second = parsed[0].text, parsed[1].text
    start = max(sql.find(second, sql.find(first) + len(first)), 0)
    reason = "several statements at a time need the client's multi-statements option"
    line = sql.count("\n", 0, start) + 1
    return syntax(reason, near=second[:80], line=line, column=start - sql.rfind("\n", 0, start))
