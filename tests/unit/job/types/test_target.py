"""Types in the words of Doris, Iceberg and Spark."""

import pytest

from syncmgr.errors import SyncError
from syncmgr.job.types import target
from syncmgr.job.types.schema import TargetType
from syncmgr.lake.target.target_types import from_iceberg, iceberg_type

WORDS = [
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "LARGEINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(12,2)",
    "DATE",
    "DATETIME",
    "TIMESTAMP",
    "CHAR(3)",
    "VARCHAR(16)",
    "STRING",
    "JSON",
    "BINARY",
]


@pytest.mark.parametrize("word", WORDS)
def test_every_type_has_its_words(word: str) -> None:
    """Each type of CREATE TABLE reads back from its text, and has a word in Iceberg and in Spark."""
    kind = target.parse_type(word)
    assert word == kind.text
    assert iceberg_type(kind)
    assert target.spark_cast("x", kind).endswith(f"AS {target.spark_type(kind)})")


def test_a_smaller_integer_keeps_its_range() -> None:
    """Iceberg has no TINYINT, so the cast goes through Spark's, which fails where Iceberg would not."""
    assert target.spark_cast("x", TargetType(name="TINYINT")) == "CAST(CAST(x AS TINYINT) AS INT)"


def test_foreign_types_have_the_nearest_word() -> None:
    """And what CREATE TABLE has no word for is refused."""
    assert from_iceberg("decimal(9, 2)") == TargetType(name="DECIMAL", args=(9, 2))
    assert from_iceberg("timestamptz") == TargetType(name="TIMESTAMP")
    with pytest.raises(SyncError):
        from_iceberg("uuid")
