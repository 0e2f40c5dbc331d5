import pytest

from syncmgr.job.alteration import ImpossibleError, altered
from syncmgr.job.schema import SourceColumn, SourceTable
from syncmgr.job.statement.nodes import AlterTable
from syncmgr.job.statement.reading import read

TABLE = SourceTable(
    db="shop",
    name="t",
    columns=(
        SourceColumn(name="id", type="int", nullable=False, key=1),
        SourceColumn(name="a", type="varchar", length=9, charset="latin1"),
        SourceColumn(name="b", type="text"),
        SourceColumn(name="c", type="enum", members=("x",)),
    ),
)


def through(text: str) -> SourceTable:
    statement = read(text, "shop")
    assert isinstance(statement, AlterTable)
    return altered(TABLE, statement.clauses).table


@pytest.mark.parametrize(
    ("clauses", "order"),
    [
        ("ADD d INT AFTER b, MODIFY b TEXT AFTER id", "id b a d c"),
        ("MODIFY a VARCHAR(9) AFTER b, ADD d INT AFTER a", "id b a d c"),
        ("ADD d INT AFTER a, MODIFY a VARCHAR(9) AFTER c, ADD e INT AFTER a", "id d b c a e"),
        ("MODIFY c ENUM('x') FIRST, MODIFY b TEXT FIRST", "b c id a"),
        ("CHANGE b z TEXT AFTER c, ADD d INT AFTER z", "id a c z d"),
    ],
)
def test_a_column_that_moves_stands_where_it_stood_until_then(clauses: str, order: str) -> None:
    """AFTER may name one that a later clause moves."""
    table = through(f"ALTER TABLE t {clauses}")
    assert " ".join(column.name for column in table.columns) == order


def test_a_place_after_no_column_is_impossible() -> None:
    """Nor after one that is named otherwise behind the statement."""
    for clauses in ("ADD d INT AFTER z", "CHANGE b z TEXT AFTER c, ADD d INT AFTER b"):
        with pytest.raises(ImpossibleError, match="was not known"):
            through(f"ALTER TABLE t {clauses}")
