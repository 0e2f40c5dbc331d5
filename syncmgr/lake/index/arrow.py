"""Rows of data files as Arrow: the Arrow type of each Iceberg type, and columns found by their ids.

Owns: the types, promotion of older files' types, columns that a file lacks, ids of rows that move.
Must not know: tables' history, what the rows mean.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from syncmgr.lake.iceberg.layout import Field
from syncmgr.lake.index.keys import FIELD_ID, UnindexableError

INITIAL: Final = b"syncmgr:initial"  # of a field: JSON of its value in rows of files without it

ARROW: Final[Mapping[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "string": pa.string(),
    "binary": pa.binary(),
}

# Reserved by the Iceberg specification: a row that moves to another file keeps them.
LINEAGE: Final = pa.schema(
    [
        pa.field("_row_id", pa.int64(), nullable=True, metadata={FIELD_ID: b"2147483540"}),
        pa.field("_last_updated_sequence_number", pa.int64(), nullable=True, metadata={FIELD_ID: b"2147483539"}),
    ],
)


def arrow_type(word: str) -> pa.DataType:
    """Raises UnindexableError for types that we never create."""
    numbers = re.fullmatch(r"decimal\((\d+), ?(\d+)\)", word)
    if numbers:
        return pa.decimal128(int(numbers[1]), int(numbers[2]))
    if word not in ARROW:
        raise UnindexableError(f"a column of type {word} is rewritten by Spark alone")
    return ARROW[word]


def arrow_schema(fields: Iterable[Field]) -> pa.Schema:
    """Columns with their ids. Raises UnindexableError for types that we never create."""
    return pa.schema(
        [pa.field(each.name, arrow_type(each.type), not each.required, _metadata(each)) for each in fields]
    )


def _metadata(field: Field) -> dict[bytes, str]:
    return {FIELD_ID: str(field.id)} | ({} if field.initial is None else {INITIAL: field.initial})


def columns_of(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows of a data file in a schema: columns by id, older types widened, initial values if the file has none."""
    by_id = _places(rows)
    if len(by_id) != len(rows.schema):
        raise UnindexableError("a data file has columns without ids")
    columns = []
    for field in schema:
        place = by_id.get(int(field.metadata[FIELD_ID]))
        column = _initial(field, len(rows)) if place is None else rows.column(place).cast(field.type)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=schema)


def _initial(field: pa.Field, count: int) -> pa.Array:
    """NULL if nothing is given. Raises UnindexableError for a value of a type that we never create."""
    stored = field.metadata.get(INITIAL)
    if stored is None:
        return pa.nulls(count, field.type)
    return pa.repeat(pa.scalar(_value(json.loads(stored), field.type), field.type), count)


def _value(stored: Any, kind: pa.DataType) -> object:  # noqa: ANN401 - JSON
    """A single value as Iceberg's specification writes it in JSON."""
    if pa.types.is_decimal(kind):
        return Decimal(stored)
    if pa.types.is_date(kind):
        return date.fromisoformat(stored)
    if pa.types.is_timestamp(kind):
        return datetime.fromisoformat(stored)
    return bytes.fromhex(stored) if pa.types.is_binary(kind) else stored


def _places(rows: pa.Table) -> dict[int, int]:
    return {
        int(column.metadata[FIELD_ID]): place
        for place, column in enumerate(rows.schema)
        if column.metadata is not None and FIELD_ID in column.metadata
    }


def lineage_of(rows: pa.Table, first: int | None, sequence: int) -> list[pa.Array]:
    """The columns of LINEAGE: as the file has them, otherwise by position. `first`: the id of the first of these rows,
    None if none was assigned yet; `sequence`: the file's data sequence number.
    """
    by_id = _places(rows)
    ids = pa.nulls(len(rows), pa.int64()) if first is None else pa.array(range(first, first + len(rows)), pa.int64())
    given = [ids, pa.array([sequence] * len(rows), pa.int64())]
    found = [by_id.get(int(field.metadata[FIELD_ID])) for field in LINEAGE]
    return [
        column if place is None else pc.coalesce(rows.column(place), column)
        for place, column in zip(found, given, strict=True)
    ]
