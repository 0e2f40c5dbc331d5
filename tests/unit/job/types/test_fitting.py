"""Every MySQL type against every target type: all values, some, or none."""

import itertools
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.job.types.column_range import fits
from syncmgr.job.types.fitting import Fit, beyond, fit
from syncmgr.job.types.schema import SourceColumn, arrow_type
from syncmgr.job.types.target import parse_type
from tests.unit.job.types.test_column_range import MYSQL
from tests.unit.job.types.test_target import WORDS

SMALLER = ["DECIMAL(3,1)", "VARCHAR(2)", "BINARY(2)", "DATETIME(0)", "TIMESTAMP(0)"]


def column(kind: str, **changes: Any) -> SourceColumn:
    return SourceColumn(name="c", type=kind, **changes)


@pytest.mark.parametrize("word", [*WORDS, *SMALLER])
def test_the_table_is_total(word: str) -> None:
    """Each pair has an answer; one that is looked at value by value can be, and the others say why not."""
    target = parse_type(word)
    for kind, digits in [*itertools.product(MYSQL, [6]), ("decimal", 60)]:
        source = column(kind, precision=digits, scale=3, length=5, members=("a",))
        found, reason = fit(source, target)
        assert (found is Fit.WHOLE) == (fits(source, target) is None) == (reason == ""), (kind, digits)
        if found is Fit.CHECKED:
            assert beyond(pa.nulls(2, arrow_type(source)), target).tolist() == [False, False], (kind, digits)


CASES = [
    (column("bigint", unsigned=True), "BIGINT", [0, 2**63 - 1, None, 2**63, 2**64 - 1], [3, 4]),
    (column("int"), "SMALLINT", [-32769, -32768, 32767, 32768], [0, 3]),
    (column("int"), "BOOLEAN", [-1, 0, 1, 2], [0, 3]),
    (column("int"), "DECIMAL(3,1)", [-100, -99, 99, 100], [0, 3]),
    (column("bigint"), "FLOAT", [2**24, 2**24 + 1, -(2**24) - 1], [1, 2]),
    (column("bigint"), "DOUBLE", [2**53, 2**53 + 1], [1]),
    (column("int"), "VARCHAR(2)", [-10, -9, 99, 100], [0, 3]),
    (column("int"), "CHAR", [0, 9, 10, -1], [2, 3]),
    (column("bit", length=64), "BIGINT", [2**63], [0]),
    (column("year"), "TINYINT", [0, 2024], [1]),
    (column("decimal", precision=12, scale=2), "DECIMAL(11,1)", [Decimal("1.10"), Decimal("1.01"), None], [1]),
    (column("decimal", precision=12, scale=2), "DECIMAL(4,2)", [Decimal("99.99"), Decimal("100.00")], [1]),
    (column("decimal", precision=12, scale=2), "INT", [Decimal("-1.00"), Decimal("-0.50"), Decimal(2**31)], [1, 2]),
    (column("decimal", precision=12, scale=2), "VARCHAR(4)", [Decimal("1.00"), Decimal("-1.00")], [1]),
    (column("decimal", precision=38, scale=0), "DOUBLE", [Decimal(2**53), Decimal(2**53 + 1)], [1]),
    (column("decimal", precision=65, scale=2), "VARCHAR(4)", ["1.25", "-7.00", None], [1]),
    (column("double"), "FLOAT", [0.5, 0.1, 1e300, None, -0.0], [1, 2]),
    (column("datetime", precision=6), "DATETIME(3)", [1_000, 1_001, -1], [1, 2]),
    (column("timestamp", precision=6), "DATETIME(0)", [10**6, 10**6 + 1], [1]),
    (column("varchar", length=9, charset="utf8mb4"), "VARCHAR(2)", ["日本", "日本語", None, ""], [1]),
    (column("set", members=("a", "b")), "CHAR(1)", ["a", "a,b", ""], [1]),
    (column("time", precision=6), "VARCHAR(8)", ["10:11:12", "-10:11:12"], [1]),
    (column("varbinary", length=9), "BINARY(2)", [b"ab", b"abc", None], [1]),
]


@pytest.mark.parametrize(("source", "word", "values", "bad"), CASES)
def test_only_values_that_are_held_exactly_pass(
    source: SourceColumn, word: str, values: list[Any], bad: list[int]
) -> None:
    """Nothing is rounded, wrapped or cut; NULL is no value."""
    assert fit(source, parse_type(word))[0] is Fit.CHECKED
    found = beyond(pa.array(values, arrow_type(source)), parse_type(word))
    assert np.flatnonzero(found).tolist() == bad


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.sampled_from(["TINYINT", "INT", "VARCHAR(5)", "FLOAT"])
)
def test_what_passes_is_the_same_afterwards(values: list[int], word: str) -> None:
    """Whatever the check lets through survives the way to the target and back."""
    target = parse_type(word)
    bad = beyond(pa.array(values, pa.int64()), target)
    for value, refused in zip(values, bad.tolist(), strict=True):
        match word:
            case "FLOAT":
                assert refused or int(np.float32(value)) == value
            case "VARCHAR(5)":
                assert refused == (len(str(value)) > 5)
            case _:
                bits = {"TINYINT": 7, "INT": 31}[word]
                assert refused != (-(2**bits) <= value < 2**bits)
