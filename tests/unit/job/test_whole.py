import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.schema import SourceColumn, SourceTable
from syncmgr.job.whole import Family, Found, literal, matches, target_of
from tests.unit.job.factories import make_source_table

NAMES = [("shop", "orders_1"), ("shop", "orders_2"), ("shop", "log"), ("shop", "tmp_a"), ("other", "orders_3")]
ID = SourceColumn(name="id", type="bigint", unsigned=True, nullable=False, key=1)
FOUND = Found(db="shop", name="orders")


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        (None, "anything", True),
        ("orders_%", "orders_1", True),
        ("orders_%", "ordersX", True),
        ("orders\\_%", "ordersX", False),
        ("a_c", "abc", True),
        ("a_c", "ac", False),
        ("a.c", "abc", False),
        ("orders", "Orders", False),
        ("%", "", True),
    ],
)
def test_a_pattern_is_one_of_like(pattern: str | None, name: str, *, expected: bool) -> None:
    """%, _ and what a backslash takes from them; case counts, as in names of tables."""
    assert matches(pattern, name) is expected


@pytest.mark.parametrize(
    ("pattern", "exclude", "expected"),
    [
        (None, (), ["log", "orders_1", "orders_2", "tmp_a"]),
        ("orders_%", (), ["orders_1", "orders_2"]),
        (None, ("log", "tmp%"), ["orders_1", "orders_2"]),
        (literal("orders_1"), (), ["orders_1"]),
        ("_orders_1_gho", (), ["_orders_1_gho"]),
    ],
)
def test_a_rule_means_tables(pattern: str | None, exclude: tuple[str, ...], expected: list[str]) -> None:
    """Those of one database that match and are not excluded, in the order of their names; of what tools make and set
    aside only what is named.
    """
    made = [("shop", f"_orders_1_{kind}") for kind in ("gho", "del", "new", "old")]
    family = Family(db="shop", pattern=pattern, exclude=exclude)
    assert [name for _, name in family.members([*NAMES, *made])] == expected


def test_a_rule_that_means_nothing_is_refused() -> None:
    """It would be a job without tables, by a slip of the pen."""
    with pytest.raises(SyncError, match=r"shop\.x%") as raised:
        Family(db="shop", pattern="x%").members(NAMES)
    assert raised.value.code is Code.NO_TABLE_MATCHES


def test_a_target_has_the_types_key_and_comments_of_its_source() -> None:
    """Each column in the smallest type that holds it, the primary key as UNIQUE KEY, both kinds of comments."""
    found = Found(db="shop", name="orders", comment="all orders", comments={"status": "new or paid"})
    made = target_of(make_source_table(), (("id",),), found, "demo")
    assert (made.label, made.keys, made.comment, made.partition) == ("demo.orders", ("id",), "all orders", ())
    told = [(each.name, each.type.text, each.nullable, each.comment) for each in made.columns]
    assert told == [
        ("id", "BIGINT", False, ""),
        ("status", "VARCHAR(16)", True, "new or paid"),
        ("amount", "DECIMAL(12,2)", True, ""),
    ]


def test_a_key_is_of_exact_types() -> None:
    """A float is none; the next unique key is taken, and without one the target has none."""
    rate = SourceColumn(name="rate", type="double", nullable=False)
    source = SourceTable(db="shop", name="orders", columns=(rate, ID))
    assert target_of(source, (("rate",), ("id",)), FOUND, "demo").keys == ("id",)
    made = target_of(source, (("rate",),), FOUND, "demo")
    assert (made.keys, made.columns[0].nullable) == ((), True)


@pytest.mark.parametrize(
    ("rows", "partition"), [(39_999_999, ()), (10**8, ("bucket(5, id)",)), (10**12, ("bucket(64, id)",))]
)
def test_a_huge_table_is_cut_by_its_key(rows: int, partition: tuple[str, ...]) -> None:
    """Upkeep rewrites one bucket at a time; a table of usual size has none."""
    made = target_of(make_source_table(), (("id",),), Found(db="shop", name="orders", rows=rows), "demo")
    assert made.partition == partition


def test_a_type_without_a_rule_is_refused() -> None:
    """Nothing is guessed."""
    source = SourceTable(db="shop", name="orders", columns=(ID, SourceColumn(name="x", type="novelty")))
    with pytest.raises(SyncError, match="novelty") as raised:
        target_of(source, (("id",),), FOUND, "demo")
    assert raised.value.code is Code.TYPE_DOES_NOT_FIT
