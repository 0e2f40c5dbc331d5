import pytest

from syncmgr.console.statements.hints import LONGEST, asks_for_counts, timeout_of


@pytest.mark.parametrize(
    ("sql", "seconds"),
    [
        ("SELECT /*+ MAX_EXECUTION_TIME(1500) */ 1", 1.5),
        ("select/*+max_execution_time ( 20 )*/1", 0.02),
        ("/* an application */ # one\n-- two\n((SELECT /*+ BKA(t) MAX_EXECUTION_TIME(20) */ 1))", 0.02),
        ("SELECT /*+ MAX_EXECUTION_TIME(0) */ 1", 0),
        ("SELECT 1 /*+ MAX_EXECUTION_TIME(5) */", 0),
        ("SELECT '/*+ MAX_EXECUTION_TIME(5) */'", 0),
        ("SELECT /*+ BROADCAST(t) */ '*/ MAX_EXECUTION_TIME(5)'", 0),
        ("SELECT /* MAX_EXECUTION_TIME(5) */ 1", 0),
        ("SHOW /*+ MAX_EXECUTION_TIME(5) */ TABLES", 0),
        ("SELECT /*+ MAX_EXECUTION_TIME(12345678901) */ 1", 0),
        ("/*" * LONGEST, 0),
        ("(" * LONGEST + "SELECT /*+ MAX_EXECUTION_TIME(5) */ 1", 0),
    ],
)
def test_the_hint_of_a_time(sql: str, seconds: float) -> None:
    """It counts where MySQL reads it: right behind the first SELECT."""
    assert timeout_of(sql) == seconds


@pytest.mark.parametrize(
    ("sql", "asks"),
    [
        ("SELECT @@warning_count", True),
        ("select @@session.`error_count` + 1", True),
        ("SELECT @@Session . Error_Count", True),
        ("SELECT warning_count", False),
        ("SELECT @@warning_counts", False),
        ("SELECT 1", False),
    ],
)
def test_who_asks_for_the_counts(sql: str, asks: bool) -> None:  # noqa: FBT001 - a parameter
    """Such a statement leaves them as they are."""
    assert asks_for_counts(sql) == asks
