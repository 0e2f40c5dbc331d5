import datetime as dt
from decimal import Decimal
from itertools import islice

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    DecimalType,
    IntegerType,
    MapType,
    StringType,
    StructType,
    VariantType,
)

from syncmgr.lake.spark.queries.answer import BATCH_BYTES, BATCH_ROWS, arrow_schema, regrouped, unpacked


def packed(values: list[pa.Array]) -> tuple[bytes, pa.Schema]:
    batch = pa.record_batch(values, [str(place) for place in range(len(values))])
    return batch.serialize().to_pybytes(), batch.schema


@pytest.mark.parametrize(
    ("lists", "batches"),
    [
        ([(10, 1), (20, 2), (40, 4)], [7]),
        ([(1, 1), (9, 2 * BATCH_ROWS), (1, 1)], [BATCH_ROWS, BATCH_ROWS, 2]),
        ([(BATCH_BYTES, 3), (BATCH_BYTES, 3), (1, 1)], [3, 3, 1]),
        ([(1, BATCH_ROWS)], [BATCH_ROWS]),
        ([], []),
    ],
)
def test_rows_are_regrouped(lists: list[tuple[int, int]], batches: list[int]) -> None:
    """A thousand at a time, fewer where they are long, in their order; none is lost, and no batch is empty.

    Each says how many bytes it holds, with the rows that wait for the next one.
    """
    rows = iter(range(10_000))
    given = [(size, list(islice(rows, count))) for size, count in lists]
    made, sizes = zip(*regrouped(iter(given)), strict=True) if given else ((), ())  # type: ignore[arg-type]  # any rows
    assert [len(batch) for batch in made] == batches
    assert [row for batch in made for row in batch] == [row for _, each in given for row in each]
    assert sum(sizes) >= sum(size for size, _ in given)


def test_a_record_batch_is_rows() -> None:
    """Each value is Python's own; NULL is None."""
    columns = {
        pa.int64(): 2**63 - 1,
        pa.float64(): 0.1,
        pa.decimal128(9, 2): Decimal("1.50"),
        pa.string(): "ö",
        pa.binary(): b"\xff",
        pa.date32(): dt.date(9999, 12, 31),
        pa.timestamp("us"): dt.datetime(1, 1, 1, microsecond=1),  # noqa: DTZ001 - UTC by convention
        pa.bool_(): True,
    }
    data, schema = packed([pa.array([value, None], kind) for kind, value in columns.items()])
    [(rows, held)] = unpacked(data, schema)
    assert rows == [tuple(columns.values()), (None,) * len(columns)]
    assert held > len(data)


@pytest.mark.parametrize(
    ("kind", "value"), [(pa.date32(), 2**31 - 1), (pa.timestamp("us"), 2**62), (pa.timestamp("us"), -(2**62))]
)
def test_a_moment_that_python_has_not(kind: pa.DataType, value: int) -> None:
    """It is an error, never another moment."""
    data, schema = packed([pa.array([value], kind)])
    with pytest.raises((ValueError, OverflowError)):
        list(unpacked(data, schema))


@pytest.mark.parametrize(
    ("size", "sizes"), [(1, [1000]), (BATCH_BYTES // 100, [99] * 10 + [10]), (BATCH_BYTES * 2, [1] * 3)]
)
def test_long_rows_come_fewer_at_a_time(size: int, sizes: list[int]) -> None:
    """Some MiB of Python's values, of however large a record batch."""
    data, schema = packed([pa.array(["x" * size] * sum(sizes))])
    assert [len(rows) for rows, _ in unpacked(data, schema)] == sizes


@pytest.mark.parametrize(
    "kind", [ArrayType(IntegerType()), MapType(StringType(), StringType()), StructType([]), VariantType()]
)
def test_nested_types_have_no_arrow(kind: ArrayType | MapType | StructType | VariantType) -> None:
    """One of them sends all columns another way."""
    assert arrow_schema([IntegerType(), kind]) is None


def test_names_may_be_double() -> None:
    """Columns are told apart by their places."""
    schema = arrow_schema([IntegerType(), DecimalType(9, 2)])
    assert schema is not None
    assert schema.types == [pa.int32(), pa.decimal128(9, 2)]
