import pytest

from mysqlddl.reading import Modes
from syncmgr.errors import Code
from syncmgr.job.ddl.ddl_plan import DdlStatement
from syncmgr.job.ddl.default_value import Moment
from syncmgr.job.ddl.joining import Filling, filling, named, turns
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


@pytest.mark.parametrize(
    ("statements", "new"),
    [
        (["CREATE TABLE a (id INT)", "CREATE TABLE b LIKE a"], {"a", "b"}),
        (["CREATE TABLE a (id INT)", "RENAME TABLE a TO b, b TO c"], {"c"}),
        (["CREATE TABLE a (id INT)", "ALTER TABLE a RENAME TO b", "CREATE TABLE a (id INT)"], {"a", "b"}),
        (["RENAME TABLE orders TO orders_2", "CREATE TABLE a (id INT)"], {"a"}),
        (["RENAME TABLE orders TO orders_2", "CREATE TABLE IF NOT EXISTS orders_2 (id INT)"], set()),
        (["CREATE TABLE a (id INT)", "RENAME TABLE a TO b, orders TO a"], {"b"}),
        (["CREATE TEMPORARY TABLE a (id INT)", "CREATE VIEW v AS SELECT 1", "CREATE TABLE ((", "DROP TABLE z"], set()),
    ],
)
def test_the_names_of_new_tables_are_those_after_the_last_statement(statements: list[str], new: set[str]) -> None:
    """A name that a table of another history has got is none of them."""
    said = [DdlStatement(text=text, db="shop", modes=Modes(), moment=Moment(at=1)) for text in statements]
    assert named(said) == {("shop", name) for name in new}


def test_names_are_folded_where_the_server_keeps_them_so() -> None:
    """As the server shows them."""
    said = [DdlStatement(text="CREATE TABLE A (id INT)", db="Shop", modes=Modes(folds=True), moment=Moment(at=1))]
    assert named(said) == {("shop", "a")}
