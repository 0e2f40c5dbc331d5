"""Rows of data files as Arrow: which type each of Iceberg's has there, and columns found by their ids.

Owns: the types, promotion of older files' types, columns that a file lacks.
Must not know: tables' history, what the rows mean.
"""

import re
from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from syncmgr.spark.keys import FIELD_ID, UnindexableError
from syncmgr.spark.layout import Layout

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


def arrow_type(word: str) -> pa.DataType:
    """Raises UnindexableError for types that we never create."""
    numbers = re.fullmatch(r"decimal\((\d+), ?(\d+)\)", word)
    if numbers:
        return pa.decimal128(int(numbers[1]), int(numbers[2]))
    if word not in ARROW:
        raise UnindexableError(f"a column of type {word} is rewritten by Spark alone")
    return ARROW[word]


def arrow_schema(layout: Layout) -> pa.Schema:
    """The table's columns with their ids."""
    return pa.schema(
        [
            pa.field(field.name, arrow_type(field.type), not field.required, {FIELD_ID: str(field.id)})
            for field in layout.fields
        ],
    )


def columns_of(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows of a data file in a schema: columns by id, older types widened, NULL where the file has no such column."""
    by_id = {
        int(column.metadata[FIELD_ID]): place
        for place, column in enumerate(rows.schema)
        if column.metadata is not None and FIELD_ID in column.metadata
    }
    if len(by_id) != len(rows.schema):
        raise UnindexableError("a data file has columns without ids")
    columns = []
    for field in schema:
        place = by_id.get(int(field.metadata[FIELD_ID]))
        column = pa.nulls(len(rows), field.type) if place is None else rows.column(place).cast(field.type)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=schema)
