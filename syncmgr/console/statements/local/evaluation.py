"""The rows of a question that needs no table."""

from collections.abc import Sequence

from syncmgr.console.statements.local.local_select import LocalSelect
from syncmgr.console.statements.local.sqlite_engine import SqliteEngine
from syncmgr.console.wire.results import Row


def evaluated(asked: LocalSelect) -> tuple[Sequence[str], list[Row]]:
    """Column names and rows. Raises UNKNOWN_COLUMN, QUERY_FAILED, TIMED_OUT."""
    with SqliteEngine() as lite:
        names, rows = lite.ask(asked.sql)
    return asked.names or names, rows
