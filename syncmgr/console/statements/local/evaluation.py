"""The rows of a query that needs no table.

Owns: how such a query is run.
Must not know: sessions, who asks, the protocol.
"""

from collections.abc import Sequence

from syncmgr.console.statements.local.sqlite_engine import SqliteEngine
from syncmgr.console.wire.results import Row


def evaluated(sql: str, names: Sequence[str]) -> tuple[Sequence[str], list[Row]]:
    """Column names and rows; `names` if they are known. Raises UNKNOWN_COLUMN, QUERY_FAILED, TIMED_OUT."""
    with SqliteEngine() as lite:
        found, rows = lite.ask(sql)
    return names or found, rows
