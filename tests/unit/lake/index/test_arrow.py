import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from syncmgr.lake.iceberg.layout import Field, Layout
from syncmgr.lake.index.arrow import FIELD_ID, arrow_schema, columns_of


def layout(*fields: Field) -> Layout:
    return Layout(schema_id=0, spec_id=0, fields=fields, partition=())


@pytest.mark.parametrize(
    ("kind", "initial", "shown"),
    [
        ("int", "7", 7),
        ("long", "5000000000", 5_000_000_000),
        ("double", "-2.25", -2.25),
        ("string", '"caf\\u00e9"', "caf\u00e9"),
        ("binary", '"00FF"', b"\x00\xff"),
        ("decimal(12, 2)", '"-1.50"', Decimal("-1.50")),
        ("date", '"2024-02-29"', dt.date(2024, 2, 29)),
        ("timestamp", '"2024-02-29T01:02:03.500000"', dt.datetime(2024, 2, 29, 1, 2, 3, 500000)),  # noqa: DTZ001
        ("timestamptz", '"2024-02-29T01:02:03+00:00"', dt.datetime(2024, 2, 29, 1, 2, 3, tzinfo=dt.UTC)),
        ("int", None, None),
    ],
)
def test_a_column_that_a_file_lacks_has_its_initial_value(kind: str, initial: str | None, shown: object) -> None:
    """Rows that are copied show the same afterwards, when the file has the column."""
    old = pa.table({"old": pa.array([1, 2], pa.int32())}).replace_schema_metadata()
    old = old.cast(pa.schema([pa.field("old", pa.int32(), metadata={FIELD_ID: b"1"})]))
    fields = (
        Field(id=1, name="id", type="long", required=True),
        Field(id=2, name="c", type=kind, required=False, initial=initial),
    )
    copied = columns_of(old, arrow_schema(layout(*fields).fields))
    assert copied.to_pydict() == {"id": [1, 2], "c": [shown, shown]}
