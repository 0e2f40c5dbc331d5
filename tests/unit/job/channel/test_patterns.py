import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.patterns import DatabasePattern, Found, ShardPattern, family, namesakes, target_of
from syncmgr.job.channel.table_pattern import PatternKind, TablePattern
from syncmgr.job.types.schema import SourceColumn, SourceTable
from tests.unit.job.factories import make_source_table

NAMES = [("shop", "orders_1"), ("shop", "orders_2"), ("shop", "log"), ("shop", "tmp_a"), ("other", "orders_3")]
ID = SourceColumn(name="id", type="bigint", unsigned=True, nullable=False, key=1)
FOUND = Found(db="shop", name="orders")


KINDS = ("gho", "ghc", "ghk", "del", "new", "old", "chkpnt", "old_20260102_030405")
LHM = ("lhmn_orders_1", "lhma_2026_01_02_03_04_05_678_orders_1")
MADE = [("shop", name) for name in (*(f"_orders_1_{kind}" for kind in KINDS), "_spirit_checkpoint", *LHM)]


def like(text: str) -> TablePattern:
    return TablePattern(kind=PatternKind.LIKE, text=text)


def regexp(text: str) -> TablePattern:
    return TablePattern(kind=PatternKind.REGEXP, text=text)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (DatabasePattern(db="shop"), ["log", "orders_1", "orders_2", "tmp_a"]),
        (DatabasePattern(db="shop", named="orders_1"), ["orders_1"]),
        (DatabasePattern(db="shop", named="_orders_1_gho"), ["_orders_1_gho"]),
        (DatabasePattern(db="shop", exclude=(("shop", "log"), like("shop.tmp%"))), ["orders_1", "orders_2"]),
        (DatabasePattern(db="shop", exclude=(("other", "log"), regexp("_[0-9]$"))), ["log", "tmp_a"]),
        (family(like("shop.orders\\_%")), ["orders_1", "orders_2"]),
        (family(like("shop.%"), exclude=(("shop", "log"),)), ["orders_1", "orders_2", "tmp_a"]),
        (family(like("shop._orders_1_gho")), ["_orders_1_gho"]),
        (family(like("shop._orders_1_g%")), []),
        (family(regexp(r"^shop\.[a-o]")), ["log", "orders_1", "orders_2"]),
    ],
)
def test_a_rule_means_tables(rule: DatabasePattern, expected: list[str]) -> None:
    """Those of one database that match and are not excluded; of what migration tools make and set aside only what is
    named.
    """
    assert sorted(name for db, name in [*NAMES, *MADE] if rule.has((db, name))) == expected


def test_members_stand_in_the_order_of_their_names() -> None:
    """Whatever order the server has."""
    assert DatabasePattern(db="shop").members(NAMES[::-1]) == tuple(sorted(NAMES[:-1]))


def test_a_rule_of_which_all_is_excluded_means_no_table() -> None:
    """It is no slip of the pen: tables that are created later match it."""
    assert DatabasePattern(db="shop", exclude=tuple(NAMES)).members(NAMES) == ()


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (DatabasePattern(db="shop", named="x%"), r"shop\.x%; tables that the job's user may not SELECT from"),
        (DatabasePattern(db="shop", named="order_1"), r"shop\.order_1; did you mean 'orders_1'\?"),
        (family(like("shop.x%")), r"LIKE 'shop\.x%'"),
        (namesakes(like("%.gone")), r"LIKE '%\.gone'"),
    ],
)
def test_a_rule_that_means_nothing_is_refused(rule: DatabasePattern | ShardPattern, said: str) -> None:
    """It would be a job without tables, by a slip of the pen."""
    with pytest.raises(SyncError, match=said) as raised:
        rule.members(NAMES)
    assert raised.value.code is Code.NO_TABLE_MATCHES


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (like("shop%.orders"), "before its first dot it must be one name, with \\_"),
        (like("my_shop.orders"), "before its first dot it must be one name, with \\_"),
        (regexp(r"shop\.orders"), r"it must begin with ^name\."),
    ],
)
def test_tables_of_more_than_one_database_are_not_yet_taken(pattern: TablePattern, reason: str) -> None:
    """Their targets would have the same names; the message says how one database is written."""
    with pytest.raises(SyncError) as raised:
        family(pattern)
    assert raised.value.code is Code.NOT_SUPPORTED
    assert reason in str(raised.value)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (like("shop%.orders%"), "after its last dot it must be one name, with \\_"),
        (like("shop%.my_orders"), "after its last dot it must be one name, with \\_"),
        (regexp(r"^shop_1\.orders$|^shop_2\.orders$"), r"it must end in \.name$"),
        (regexp(r"^shop_1\.orders"), r"it must end in \.name$"),
    ],
)
def test_shards_of_tables_of_different_names_are_not_yet_taken(pattern: TablePattern, reason: str) -> None:
    """The message says how one name is written."""
    with pytest.raises(SyncError) as raised:
        namesakes(pattern)
    assert raised.value.code is Code.NOT_SUPPORTED
    assert reason in str(raised.value)


def test_a_target_has_the_types_key_and_comments_of_its_source() -> None:
    """Each column in the smallest type that holds it, the primary key as UNIQUE KEY, both kinds of comments."""
    found = Found(db="shop", name="orders", comment="all orders", comments={"status": "new or paid"})
    made = target_of(make_source_table(), (("id",),), found, "demo", frozenset())
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
    assert target_of(source, (("rate",), ("id",)), FOUND, "demo", frozenset()).keys == ("id",)
    made = target_of(source, (("rate",),), FOUND, "demo", frozenset())
    assert (made.keys, made.columns[0].nullable) == ((), True)


@pytest.mark.parametrize(
    ("rows", "partition"), [(39_999_999, ()), (10**8, ("bucket(5, id)",)), (10**12, ("bucket(64, id)",))]
)
def test_a_huge_table_is_cut_by_its_key(rows: int, partition: tuple[str, ...]) -> None:
    """Upkeep rewrites one bucket at a time; a table of usual size has none."""
    made = target_of(make_source_table(), (("id",),), Found(db="shop", name="orders", rows=rows), "demo", frozenset())
    assert made.partition == partition


def test_a_type_without_a_rule_is_refused() -> None:
    """Nothing is guessed."""
    source = SourceTable(db="shop", name="orders", columns=(ID, SourceColumn(name="x", type="novelty")))
    with pytest.raises(SyncError, match="novelty") as raised:
        target_of(source, (("id",),), FOUND, "demo", frozenset())
    assert raised.value.code is Code.TYPE_DOES_NOT_FIT
