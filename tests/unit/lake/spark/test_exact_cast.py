"""Casts that never round."""

from itertools import product

import pytest

from syncmgr.job.types.fitting import Fit, fit
from syncmgr.job.types.schema import BYTES, GEOMETRY, INTEGER_BITS, TEXT, SourceColumn, arrow_type
from syncmgr.job.types.target import parse_type, stored
from syncmgr.job.types.target import spark_type as target_type
from syncmgr.lake.spark.exact_cast import UNHELD, exact_cast
from syncmgr.lake.spark.segment import spark_type
from tests.unit.lake.spark.test_segment import REST

WORDS = sorted(BYTES | GEOMETRY | TEXT | set(INTEGER_BITS) | REST | {"uuid", "inet6", "inet4"})
TARGETS = [
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "LARGEINT", "FLOAT", "DOUBLE", "DECIMAL(8,2)", "DECIMAL(8,1)"),
    *("DECIMAL(38,10)", "DATE", "DATETIME", "TIMESTAMP", "CHAR(4)", "VARCHAR(40)", "STRING", "JSON", "BINARY"),
]


@pytest.mark.parametrize("word", WORDS)
def test_what_create_sync_takes_is_cast(word: str) -> None:
    """A type that holds some values of a source column is refused for none of them."""
    for target, (scale, unsigned) in product(TARGETS, ((0, False), (2, True))):
        digits = 10 if word == "decimal" else 0
        source = SourceColumn(name="c", type=word, unsigned=unsigned, precision=digits, scale=scale)
        kind = parse_type(target)
        if fit(source, kind)[0] is not Fit.NEVER:
            assert exact_cast("`c`", spark_type(arrow_type(source)), target_type(stored(kind)), "c"), (source, target)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("DECIMAL(8,2)", "INT"),
        ("DECIMAL(8,2)", "DECIMAL(8, 1)"),
        ("BIGINT", "BOOLEAN"),
        ("BIGINT", "DOUBLE"),
        ("INT", "FLOAT"),
        ("DECIMAL(20,0)", "DOUBLE"),
        ("DOUBLE", "FLOAT"),
    ],
)
def test_each_value_is_compared_where_spark_would_round(source: str, wanted: str) -> None:
    """And the error names the value and the column."""
    sql = exact_cast("`c`", source, wanted, "my col")
    assert sql is not None
    assert "raise_error" in sql
    found = UNHELD.search("[USER_RAISED_EXCEPTION] syncmgr: 2.75 does not fit my col SQLSTATE: P0001")
    assert found is not None
    assert (found["value"], found["column"]) == ("2.75", "my col")


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("BIGINT", "TIMESTAMP"),
        ("DECIMAL(8,2)", "DOUBLE"),
        ("DOUBLE", "BIGINT"),
        ("TIMESTAMP", "DATE"),
        ("STRING", "INT"),
        ("STRING", "DATE"),
        ("BINARY", "STRING"),
        ("STRING", "BINARY"),
    ],
)
def test_a_type_of_other_values_takes_none(source: str, wanted: str) -> None:
    """Whatever Spark would make of them."""
    assert exact_cast("`c`", source, wanted, "c") is None


@pytest.mark.parametrize(("source", "wanted"), [("INT", "BIGINT"), ("BIGINT", "INT"), ("DATE", "STRING")])
def test_a_cast_that_is_exact_or_an_error_stays_what_it_is(source: str, wanted: str) -> None:
    """Most columns are compared with nothing."""
    assert exact_cast("`c`", source, wanted, "c") == f"CAST(`c` AS {wanted})"
