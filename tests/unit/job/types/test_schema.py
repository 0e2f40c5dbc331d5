import pyarrow as pa
import pytest

from syncmgr.job.types.schema import BYTES, GEOMETRY, TEXT, SourceColumn, arrow_type

ARROW = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "mediumint": pa.int32(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal": pa.decimal128(10, 2),
    "date": pa.date32(),
    "datetime": pa.timestamp("us"),
    "timestamp": pa.timestamp("us", "UTC"),
    "time": pa.string(),
    "year": pa.int16(),
    "bit": pa.uint64(),
    "enum": pa.string(),
    "set": pa.string(),
    "json": pa.string(),
    **dict.fromkeys(sorted(TEXT), pa.string()),
    **dict.fromkeys(sorted(BYTES | GEOMETRY), pa.binary()),
}


@pytest.mark.parametrize(("word", "expected"), ARROW.items())
def test_every_type_of_mysql_travels_in_one_of_arrow(word: str, expected: pa.DataType) -> None:
    """Segments hold exactly these: the lake reads them by it."""
    assert expected == arrow_type(SourceColumn(name="c", type=word, precision=10, scale=2))


@pytest.mark.parametrize(
    ("word", "expected"), [("tinyint", pa.uint8()), ("mediumint", pa.uint32()), ("bigint", pa.uint64())]
)
def test_an_unsigned_integer_keeps_its_range(word: str, expected: pa.DataType) -> None:
    """Its upper half is not negative."""
    assert expected == arrow_type(SourceColumn(name="c", type=word, unsigned=True))


def test_a_decimal_that_arrow_cannot_hold_is_text() -> None:
    """Beyond 38 digits no digit is lost."""
    assert arrow_type(SourceColumn(name="c", type="decimal", precision=38)) == pa.decimal128(38, 0)
    assert arrow_type(SourceColumn(name="c", type="decimal", precision=39)) == pa.string()


def test_a_type_that_nobody_knows_is_not_guessed() -> None:
    """It is an error of its own."""
    with pytest.raises(KeyError, match="polygon3d"):
        arrow_type(SourceColumn(name="c", type="polygon3d"))
