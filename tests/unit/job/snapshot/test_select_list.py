import pytest

from syncmgr.job.snapshot.select_list import selected
from syncmgr.job.types.schema import BYTES, GEOMETRY, INTEGER_BITS, TEXT, SourceColumn, arrow_type


@pytest.mark.parametrize(
    "word", sorted({*INTEGER_BITS, *TEXT, *BYTES, *GEOMETRY, "float", "double", "decimal", "date"})
)
def test_every_type_that_travels_is_selected(word: str) -> None:
    """Whatever a segment can hold, a snapshot can bring."""
    column = SourceColumn(name="c", type=word, precision=5)
    assert arrow_type(column) is not None
    assert "`c`" in selected(column)


@pytest.mark.parametrize(
    ("column", "sql"),
    [
        (SourceColumn(name="a`b", type="int"), "`a``b`"),
        (SourceColumn(name="c", type="bigint", unsigned=True), "`c`"),
        (SourceColumn(name="c", type="float"), "`c` * 1e0"),
        (SourceColumn(name="c", type="decimal", precision=12, scale=2), "`c`"),
        (SourceColumn(name="c", type="decimal", precision=65, scale=30), "CAST(CAST(`c` AS DECIMAL(65,30)) AS CHAR)"),
        (SourceColumn(name="c", type="datetime", precision=6), "`c`"),
        (SourceColumn(name="c", type="time", precision=6), "CAST(`c` AS CHAR)"),
        (SourceColumn(name="c", type="year"), "CAST(`c` AS UNSIGNED)"),
        (SourceColumn(name="c", type="bit", length=64), "CAST(`c` AS UNSIGNED)"),
        (SourceColumn(name="c", type="json"), "`c`"),
        (SourceColumn(name="c", type="char", charset="latin1"), "`c`"),
        (SourceColumn(name="c", type="set", members=("a",)), "CAST(`c` AS CHAR)"),
        (SourceColumn(name="c", type="point"), "`c`"),
    ],
)
def test_values_travel_whole(column: SourceColumn, sql: str) -> None:
    """Nothing is rounded, shifted or padded on the way."""
    assert selected(column) == sql


def test_a_type_that_nobody_knows_is_refused() -> None:
    """A type is never guessed."""
    with pytest.raises(KeyError):
        selected(SourceColumn(name="c", type="xmltype"))
