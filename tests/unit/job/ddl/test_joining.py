import pytest

from syncmgr.errors import Code
from syncmgr.job.ddl.joining import Filling, filling, turns
from tests.unit.job.factories import make_channel

WHOLE = Filling(target=("ods", "t"))
OTHER = Filling(target=("ods", "u"))
A, B, C = ("a", "t"), ("b", "t"), ("c", "t")


def part(db: str) -> Filling:
    return Filling(target=("ods", "t"), part=db)


def test_of_two_tables_that_fill_one_target_the_first_joins() -> None:
    """In their order; the other has its turn only where the first cannot join for another reason."""
    found = turns([], {A: WHOLE, B: WHOLE, C: OTHER})
    assert (found.first, found.later, dict(found.refused)) == ((A, C), (B,), {})


def test_a_table_is_refused_where_its_target_is_filled() -> None:
    """By one that the job has, or one that has just had its turn; with the name of the target."""
    found = turns([filling(make_channel(target_db="ods", target="t"))], {A: WHOLE, B: OTHER})
    assert found.first == (B,)
    assert {table: (error.code, error.context["table"]) for table, error in found.refused.items()} == {
        A: (Code.DUPLICATE_MAPPING, "ods.t")
    }


@pytest.mark.parametrize(
    ("first", "second", "meet"),
    [(part("a"), part("b"), False), (part("a"), part("a"), True), (part("a"), WHOLE, True), (WHOLE, part("a"), True)],
)
def test_shards_share_a_target(first: Filling, second: Filling, *, meet: bool) -> None:
    """Each fills its own part; a table that fills the whole target shares it with none."""
    assert turns([], {A: first, B: second}).later == ((B,) if meet else ())
    assert bool(turns([first], {B: second}).refused) == meet
