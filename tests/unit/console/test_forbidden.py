import pytest

from syncmgr.console.forbidden import named_table


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("SELECT a, b FROM shop.orders", "orders"),
        ("SELECT 1 FROM range(2) r JOIN demo.orders o ON true", "orders"),
        ("SELECT count(*) FROM information_schema.tables a, sqlite_master", "sqlite_master"),
        ("SELECT 1 FROM information_schema.tables a JOIN demo.orders ON f(a, b)", "orders"),
        ("SELECT 1 FROM information_schema.tables WHERE a IN (b, c)", None),
        ("SELECT 1, 2", None),
    ],
)
def test_the_table_that_is_forbidden_is_named(text: str, name: str | None) -> None:
    """Not one of information_schema, which everybody may read, and no column."""
    assert named_table(text) == name
