"""The rows of a SELECT as Python values.

Owns: the form in which Spark sends them, how they are cut into batches, which Python value each Spark type gets.
Must not know: sessions, the query, who reads.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    CalendarIntervalType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantVal,
    YearMonthIntervalType,
)

from syncmgr.lake.spark.queries.frame import AnalyzedQuery

BATCH_ROWS: Final = 1000
BATCH_BYTES: Final = 4 << 20  # as Spark sends them; a batch may be one of its lists longer
AHEAD_BYTES: Final = 32 << 20  # of a partition: two larger ones at a time are too much for the JVM's heap
SETTINGS: Final = {"spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH_ROWS)}  # of the session that queries
ARROW: Final[dict[type[DataType], pa.DataType]] = {
    NullType: pa.null(),
    BooleanType: pa.bool_(),
    ByteType: pa.int8(),
    ShortType: pa.int16(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    StringType: pa.string(),
    BinaryType: pa.binary(),
    DateType: pa.date32(),
    TimestampNTZType: pa.timestamp("us"),
}

CELL_BYTES: Final = 48  # of a Python value and its slot, besides its content

Rows = Sequence[tuple[object, ...]]


def batches(asked: AnalyzedQuery) -> Iterator[tuple[Rows, int]]:
    """BATCH_ROWS or some MiB at a time, with the bytes of memory that are held as long as they are in use; at most two
    Spark partitions of them are in the JVM's memory.

    Columns of plain types come as Arrow, which is a sixth of the work of PySpark's pickled rows; nested ones have no
    suitable values there. Raises ValueError, OverflowError for dates and times that Python cannot represent.
    """
    rows, kinds = portable(asked)
    schema = arrow_schema(kinds)
    if schema is not None:
        for data in rows.arrow(ahead_bytes=AHEAD_BYTES):
            yield from unpacked(data, schema)
        return
    for batch, size in regrouped(rows.pickled()):
        yield [tuple(map(plain, row)) for row in batch], size + CELL_BYTES * len(kinds) * len(batch)


def arrow_schema(types: Sequence[DataType]) -> pa.Schema | None:
    """None if a column is nested."""
    kinds = list(map(_arrow_type, types))
    if None in kinds:
        return None
    return pa.schema([pa.field(str(place), kind) for place, kind in enumerate(kinds)])  # names may be duplicated


def _arrow_type(kind: DataType) -> pa.DataType | None:
    if isinstance(kind, DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    return ARROW.get(type(kind))


def unpacked(data: bytes, schema: pa.Schema) -> Iterator[tuple[Rows, int]]:
    """The rows of a record batch, fewer at a time if they are long; the memory that they hold, including the record
    batch.
    """
    batch = pa.ipc.read_record_batch(pa.py_buffer(data), schema)
    step = max(1, min(BATCH_ROWS, len(batch) * BATCH_BYTES // len(data)))
    for start in range(0, len(batch), step):
        part = batch.slice(start, step)
        held = len(data) + part.nbytes + CELL_BYTES * part.num_columns * len(part)
        yield list(zip(*(column.to_pylist() for column in part.columns), strict=True)), held


def regrouped(lists: Iterator[tuple[int, list[Row]]]) -> Iterator[tuple[list[Row], int]]:
    """BATCH_ROWS at a time, fewer if they are long; `lists` with their sizes in bytes, as the memory held with each."""
    held: list[Row] = []
    size = 0
    for each, rows in lists:
        held += rows
        size += each
        whole = len(held) // BATCH_ROWS * BATCH_ROWS
        for start in range(0, whole, BATCH_ROWS):
            yield held[start : start + BATCH_ROWS], size
        if whole:
            held, size = held[whole:], 0
        if size >= BATCH_BYTES:
            yield held, size
            held, size = [], 0
    if held:
        yield held, size


def portable(asked: AnalyzedQuery) -> tuple[AnalyzedQuery, Sequence[DataType]]:
    """The same rows in types whose Python values depend only on the session's time zone; intervals are text."""
    given = [field.dataType for field in asked.schema().fields]
    wanted = list(map(_portable_type, given))
    return (asked if wanted == given else asked.cast(wanted)), wanted


def _portable_type(kind: DataType) -> DataType:
    match kind:
        case TimestampType():
            return TimestampNTZType()  # by the session's clock, without PySpark's shift to this machine's
        case DayTimeIntervalType() | YearMonthIntervalType() | CalendarIntervalType():
            return StringType()
        case ArrayType():
            return ArrayType(_portable_type(kind.elementType), kind.containsNull)
        case MapType():
            return MapType(_portable_type(kind.keyType), _portable_type(kind.valueType), kind.valueContainsNull)
        case StructType():
            return StructType([StructField(f.name, _portable_type(f.dataType), f.nullable) for f in kind.fields])
        case _:
            return kind


def plain(value: object) -> object:
    """PySpark's own classes as Python's: structs and maps are dicts with text keys."""
    match value:
        case bytearray():
            return bytes(value)
        case Row():
            return {name: plain(part) for name, part in zip(value.__fields__, value, strict=True)}
        case dict():
            return {str(key): plain(part) for key, part in value.items()}
        case list():
            return [plain(part) for part in value]
        case VariantVal():
            return value.toPython()
        case _:
            return value
