from typing import get_args

from syncmgr.console.statements.execution.table import EXECUTIONS
from syncsql import Statement


def test_every_statement_is_executed() -> None:
    """The language and the console know the same ones."""
    assert set(EXECUTIONS) == set(get_args(Statement))
