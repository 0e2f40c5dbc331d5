"""Arrow types of segments in Spark's words."""

import pyarrow as pa
import pytest

from syncmgr.job.channel.description import quoted
from syncmgr.job.types.schema import BYTES, GEOMETRY, INTEGER_BITS, TEXT, SourceColumn, arrow_type
from syncmgr.lake.spark.segment import spark_type

REST = {"float", "double", "decimal", "date", "datetime", "timestamp", "time", "year", "bit", "enum", "set", "json"}


@pytest.mark.parametrize("word", sorted(BYTES | GEOMETRY | TEXT | set(INTEGER_BITS) | REST))
@pytest.mark.parametrize("unsigned", [False, True])
def test_every_type_of_a_segment_is_known(word: str, unsigned: bool) -> None:  # noqa: FBT001
    """Whatever MySQL's columns travel as, Spark has a word for it."""
    assert spark_type(arrow_type(SourceColumn(name="c", type=word, unsigned=unsigned, precision=10, scale=2)))


def test_unsigned_types_are_widened() -> None:
    """The upper half of an unsigned type fits what it is read as."""
    kinds = [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
    assert [spark_type(kind) for kind in kinds] == ["SMALLINT", "INT", "BIGINT", "DECIMAL(20,0)"]


def test_other_types_are_refused() -> None:
    """No type is guessed."""
    with pytest.raises(TypeError):
        spark_type(pa.float16())


def test_names_are_quoted() -> None:
    """Backticks inside of a name are doubled."""
    assert quoted("a`b") == "`a``b`"
