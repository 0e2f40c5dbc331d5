import datetime as dt
from decimal import Decimal

import pytest

from syncmgr.console.wire.lake_types import column, converted
from syncmgr.console.wire.protocol import FieldType
from syncmgr.errors import Code, SyncError


@pytest.mark.parametrize(
    ("spark", "mysql", "decimals"),
    [
        ("boolean", FieldType.TINY, None),
        ("smallint", FieldType.SHORT, None),
        ("bigint", FieldType.LONGLONG, None),
        ("decimal(38,10)", FieldType.NEWDECIMAL, 10),
        ("string collate UTF8_LCASE", FieldType.VAR_STRING, None),
        ("char(5)", FieldType.VAR_STRING, None),
        ("timestamp", FieldType.TIMESTAMP, 6),
        ("timestamp_ntz", FieldType.DATETIME, 6),
        ("interval day to second", FieldType.VAR_STRING, None),
        ("map<string,array<int>>", FieldType.JSON, None),
        ("variant", FieldType.JSON, None),
        ("void", FieldType.NULL, None),
    ],
)
def test_types(spark: str, mysql: FieldType, decimals: int | None) -> None:
    """Every Spark type that a query may give has a MySQL type."""
    made = column("x", spark, nullable=False)
    assert (made.name, made.type, made.decimals, made.nullable) == ("x", mysql, decimals, False)


def test_an_unknown_type_is_refused() -> None:
    """A type that is not in the table is never guessed."""
    with pytest.raises(SyncError, match="column 'x' of type geometry") as caught:
        column("x", "geometry", nullable=True)
    assert caught.value.code is Code.NOT_SUPPORTED


def test_values_that_need_another_form() -> None:
    """Floats are printed with their own digits, nested values as JSON; the rest passes as it is."""
    nested = {"a": [Decimal("1.50"), dt.date(2026, 1, 2)], "b": b"\xff"}
    rows = [(1, 0.10000000149011612, nested), (2, None, None)]
    assert [list(row) for row in converted(rows, ["int", "float", "struct<a:array<decimal(3,2)>,b:binary>"])] == [
        [1, "0.1", '{"a": [1.50, "2026-01-02"], "b": "ff"}'],
        [2, None, None],
    ]
    assert list(converted(rows, ["int", "double", "string"])) == rows
    no_numbers = [([float("nan"), float("inf"), -float("inf"), 0.5],)]
    assert [list(row) for row in converted(no_numbers, ["array<double>"])] == [
        ['["NaN", "Infinity", "-Infinity", 0.5]'],
    ]
