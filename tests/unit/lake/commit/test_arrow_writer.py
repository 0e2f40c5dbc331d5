"""Which values Arrow may write without Spark."""

import numpy as np
import pyarrow as pa
import pytest

from syncmgr.lake.commit.arrow_writer import takes
from syncmgr.lake.index.key_index import KeyNumbers
from syncmgr.lake.index.keys import EpochKeys


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("long", pa.uint32()),
        ("int", pa.int8()),
        ("double", pa.float32()),
        ("decimal(20, 0)", pa.uint64()),
        ("decimal(12, 2)", pa.decimal128(10, 1)),
        ("timestamptz", pa.timestamp("us", "UTC")),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("string", pa.string()),
    ],
)
def test_what_keeps_every_value_is_taken(word: str, kind: pa.DataType) -> None:
    """A source type whose whole range is in the target's needs no cast that could fail."""
    assert takes(word, kind)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("int", pa.uint32()),
        ("long", pa.uint64()),
        ("decimal(19, 0)", pa.uint64()),
        ("decimal(12, 2)", pa.decimal128(12, 1)),
        ("decimal(12, 2)", pa.decimal128(12, 3)),
        ("timestamptz", pa.timestamp("us")),
        ("float", pa.float64()),
        ("string", pa.int64()),
        ("binary", pa.string()),
        ("uuid", pa.binary()),
    ],
)
def test_what_could_change_a_value_is_left_to_spark(word: str, kind: pa.DataType) -> None:
    """Where a value may not fit, Spark casts it or says why not."""
    assert not takes(word, kind)


def test_images_of_numbers_are_sorted_by_key_and_hashes_by_time() -> None:
    """Bounds of a file tell readers most where the rows lie in the order of their keys."""
    live, last = np.array([True, False, True, True]), np.array([9, 8, 2, 5])
    known, high = np.ones(4, np.bool_), np.array([1, 2, 3, 4])
    exact = EpochKeys(keys=KeyNumbers(high=high), known=known, last=last, live=live, complete=True)
    rows, keys = exact.images()
    assert rows.tolist() == [9, 2, 5]
    assert keys.high.tolist() == [1, 3, 4]
    hashed = EpochKeys(keys=KeyNumbers(high=high, low=high), known=known, last=last, live=live, complete=True)
    rows, keys = hashed.images()
    assert rows.tolist() == [2, 5, 9]
    assert keys.high.tolist() == [3, 4, 1]
