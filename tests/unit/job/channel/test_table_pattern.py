import time

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.table_pattern import PatternKind, TablePattern, literal, matches


def like(text: str) -> TablePattern:
    return TablePattern(kind=PatternKind.LIKE, text=text)


def regexp(text: str) -> TablePattern:
    return TablePattern(kind=PatternKind.REGEXP, text=text)


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("orders_%", "orders_1", True),
        ("orders_%", "ordersX", True),
        ("orders\\_%", "ordersX", False),
        ("a_c", "abc", True),
        ("a_c", "a日c", True),
        ("a_c", "ac", False),
        ("a.c", "abc", False),
        ("a\nb%", "a\nb\nc", True),
        ("orders", "Orders", False),
        ("x\\", "x\\", True),
        ("%", "", True),
    ],
)
def test_a_pattern_is_one_of_like(pattern: str, name: str, *, expected: bool) -> None:
    """%, _ and what a backslash takes from them; case counts, as in names of tables."""
    assert matches(pattern, name) is expected


@pytest.mark.parametrize("name", ["orders_1", "50%", "a\\b", "a.b", "it's `x`", "[a]*(b)+", "日本", "a\nb"])
def test_a_literal_means_one_name(name: str) -> None:
    """Whatever signs the name has; in a pattern of tables its dots part nothing."""
    assert matches(literal(name), name)
    assert not matches(literal(name), name + "x")
    pattern = like(f"{literal(name)}.{literal(name)}")
    assert (pattern.database, pattern.table) == (name, name)


@pytest.mark.parametrize(
    ("pattern", "table", "expected"),
    [
        (like(r"shop\_%.orders"), ("shop_1", "orders"), True),
        (like(r"shop\_%.orders"), ("shopx1", "orders"), False),
        (regexp(r"^shop_[0-9]+\.orders$"), ("shop_12", "orders"), True),
        (regexp(r"^shop_[0-9]+\.orders$"), ("shop_12", "orders2"), False),
        (regexp("ord"), ("shop", "orders"), True),
        (regexp("ORD"), ("shop", "orders"), False),
        (regexp("(?i)ORD"), ("shop", "orders"), True),
    ],
)
def test_a_pattern_is_matched_with_the_qualified_name(
    pattern: TablePattern, table: tuple[str, str], *, expected: bool
) -> None:
    """LIKE with all of it, REGEXP with any part of it, as in MySQL; case counts."""
    assert pattern.matches(*table) is expected


@pytest.mark.parametrize(
    ("pattern", "database", "table"),
    [
        (like("shop.%"), "shop", None),
        (like(r"my\_shop.orders"), "my_shop", "orders"),
        (like("shop%.orders"), None, "orders"),
        (like(r"shop%.my\_orders"), None, "my_orders"),
        (like("my_shop.my_orders"), None, None),
        (like("a.b%.c"), "a", "c"),
        (like(r"a\.b.c\.d"), "a.b", "c.d"),
        (regexp(r"^shop\.orders$"), "shop", "orders"),
        (regexp(r"^my-shop[.](a|b)"), "my-shop", None),
        (regexp(r"shop\.x"), None, None),
        (regexp(r"^sho?\.x$"), None, "x"),
        (regexp(r"^shop\.?x$"), None, None),
        (regexp(r"^shop.x$"), None, None),
        (regexp(r"^shop\\.x$"), None, None),
        (regexp(r"^(a|b)\.50\%_x$"), None, "50%_x"),
        (regexp(r"[|]\.x$"), None, "x"),
        (regexp(r"^a\.x$|^b\.x$"), None, None),
        (regexp(r"(?i)^a\.x$"), None, None),
        (regexp(r"^a\.(?i:x)\.y$"), None, None),
        (regexp(r"^\Qa|b\E\.x$"), None, None),
        (regexp(r"^a\.x+$"), "a", None),
        (regexp(r"^a\.x\d$"), "a", None),
        (regexp(r"(^a\.x$)"), None, None),
        (regexp(r"\.$"), None, None),
    ],
)
def test_a_part_of_a_pattern_is_one_name_or_not(pattern: TablePattern, database: str | None, table: str | None) -> None:
    """Where it is not sure that a part is one name alone, there is none."""
    assert (pattern.database, pattern.table) == (database, table)


@pytest.mark.parametrize(
    ("pattern", "databases"),
    [
        (like(r"shop\_%.orders"), r"shop\_%"),
        (like("%.orders"), "%"),
        (like("a.b%.c"), "a.b%"),
        (like("shop.%"), "shop"),
        (regexp(r"^shop_[0-9]+\.orders$"), r"shop\_%"),
        (regexp(r"^shops*_1\.orders$"), "shop%"),
        (regexp(r"^shop\.orders$"), "shop%"),
        (regexp(r"shop\.orders$"), "%"),
        (regexp(r"^a\.x$|^b\.x$"), "%"),
        (regexp(r"^(?i)a\.x$"), "%"),
    ],
)
def test_the_server_is_asked_about_all_databases_that_may_match(pattern: TablePattern, databases: str) -> None:
    """And about few others: a server may have thousands."""
    assert pattern.databases == databases


def test_a_pattern_that_is_none_is_refused() -> None:
    """With RE2's own words."""
    with pytest.raises(SyncError, match=r"REGEXP '\^shop\('.*missing \)") as raised:
        regexp("^shop(").check()
    assert raised.value.code is Code.BAD_PATTERN


@pytest.mark.parametrize("pattern", [regexp(r"(a+)+(a|a)*$"), like("%a" * 30 + ".b")])
def test_no_pattern_takes_long(pattern: TablePattern) -> None:
    """Time grows with the name alone: what makes others try every way to match does not hold up the frontend."""
    started = time.process_time()
    assert not pattern.matches("a" * 64, "a" * 63 + "!")
    assert time.process_time() - started < 1


def test_a_pattern_has_a_limit() -> None:
    """What takes its parts apart is not linear, and would hold up everybody."""
    regexp("a" * 1000).check()
    for huge in ("[" * 16_000, "^a\\." + "x?" * 200_000):
        with pytest.raises(SyncError) as raised:
            regexp(huge).check()
        assert raised.value.code is Code.BAD_PATTERN
        assert "at most 1000" in str(raised.value)
        assert len(str(raised.value)) < 300


def test_an_underscore_may_be_escaped_as_in_like() -> None:
    """RE2 takes it as itself, so it is part of a plain name."""
    assert regexp(r"^my\_shop\.").database == "my_shop"
    assert regexp(r"\.my\_orders$").table == "my_orders"
    assert regexp(r"^my\_shop\.").matches("my_shop", "t")
