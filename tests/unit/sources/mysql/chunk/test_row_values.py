import datetime as dt
import struct
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from syncmgr.job.types.cells import UnholdableError
from syncmgr.job.types.schema import SourceColumn, arrow_type
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.chunk.row_cells import row_cells
from syncmgr.sources.mysql.chunk.row_values import OtherTypeError, check_sent, values
from syncmgr.sources.mysql.wire import MalformedEventError
from tests.unit.sources.mysql.chunk.encoding import Value, row
from tests.unit.sources.mysql.chunk.test_row_cells import rows_of


def read(column: SourceColumn, code: int, *told: Value, unsigned: bool = False) -> tuple[list[Any], list[Any]]:
    """The values, and those that are not held."""
    [cells] = row_cells(rows_of([row((code,), (each,)) for each in told]), (code,))
    unheld = list[tuple[int, str, str]]()
    found = values(column, code, replace(cells, unheld=unheld), unsigned=unsigned)
    assert found.type == arrow_type(column)
    found.validate(full=True)
    return found.to_pylist(), unheld


@pytest.mark.parametrize(
    ("column", "code", "sent", "value"),
    [
        (SourceColumn(name="c", type="tinyint"), wire.TINY, -128, -128),
        (SourceColumn(name="c", type="tinyint", unsigned=True), wire.TINY, -1, 255),
        (SourceColumn(name="c", type="bigint", unsigned=True), wire.LONGLONG, -1, 2**64 - 1),
        (SourceColumn(name="c", type="bit", length=64), wire.LONGLONG, -1, 2**64 - 1),
        (SourceColumn(name="c", type="year"), wire.LONGLONG, 2155, 2155),
        (SourceColumn(name="c", type="year"), wire.LONG, 0, 0),
        (SourceColumn(name="c", type="float"), wire.DOUBLE, 0.10000000149011612, 0.10000000149011612),
        (SourceColumn(name="c", type="double"), wire.DOUBLE, -0.0, -0.0),
        (SourceColumn(name="c", type="decimal", precision=5, scale=2), wire.NEWDECIMAL, b"-000.10", Decimal("-0.10")),
        (SourceColumn(name="c", type="decimal", precision=38, scale=0), wire.NEWDECIMAL, b"9" * 38, Decimal("9" * 38)),
        (SourceColumn(name="c", type="varchar"), wire.VAR_STRING, "naïve 東京".encode(), "naïve 東京"),
        (SourceColumn(name="c", type="blob"), wire.BLOB, b"\xff\0", b"\xff\0"),
        (SourceColumn(name="c", type="date"), wire.DATE, struct.pack("<HBB", 2024, 2, 29), dt.date(2024, 2, 29)),
        (
            SourceColumn(name="c", type="datetime"),
            wire.DATETIME,
            struct.pack("<HBBBBBI", 9999, 12, 31, 23, 59, 59, 999999),
            dt.datetime.fromisoformat("9999-12-31 23:59:59.999999"),
        ),
        (
            SourceColumn(name="c", type="timestamp"),
            wire.TIMESTAMP,
            struct.pack("<HBBBBB", 1970, 1, 1, 0, 0, 1),
            dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC),
        ),
        (
            SourceColumn(name="c", type="datetime"),
            wire.DATETIME,
            struct.pack("<HBB", 1, 1, 1),
            dt.datetime.fromisoformat("0001-01-01"),
        ),
    ],
)
def test_values_are_in_the_type_of_a_segment(column: SourceColumn, code: int, sent: Value, value: object) -> None:
    """As they were sent, beside NULLs."""
    check_sent(column, code)
    found, unheld = read(column, code, None, sent, None, sent, unsigned=column.unsigned or column.type == "bit")
    assert found == [None, value, None, value]
    assert not isinstance(value, float) or repr(found[1]) == repr(value)
    assert unheld == []


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        (b"", "0000-00-00 00:00:00"),
        (struct.pack("<HBB", 0, 1, 1), "0000-01-01 00:00:00"),
        (struct.pack("<HBB", 2023, 2, 29), "2023-02-29 00:00:00"),
        (struct.pack("<HBB", 2023, 0, 1), "2023-00-01 00:00:00"),
        (struct.pack("<HBB", 2023, 255, 1), "2023-255-01 00:00:00"),
        (struct.pack("<HBBBBB", 2023, 1, 1, 24, 0, 0), "2023-01-01 24:00:00"),
    ],
)
def test_what_is_no_date_is_told(sent: bytes, shown: str) -> None:
    """As the binlog's reader tells it; its neighbours are as they are."""
    good = struct.pack("<HBB", 2000, 1, 1)
    found, unheld = read(SourceColumn(name="c", type="datetime"), wire.DATETIME, good, sent, None)
    assert found == [dt.datetime.fromisoformat("2000-01-01"), None, None]
    assert unheld == [(1, shown, "there is no such date")]


def test_a_date_of_a_bad_length_is_malformed() -> None:
    """The format knows four."""
    with pytest.raises(MalformedEventError):
        read(SourceColumn(name="c", type="date"), wire.DATE, b"12345")


@pytest.mark.parametrize(
    ("column", "code", "sent"),
    [
        (SourceColumn(name="c", type="varchar"), wire.VAR_STRING, b"a\xff"),
        (SourceColumn(name="c", type="decimal", precision=3, scale=0), wire.NEWDECIMAL, b"abc"),
        (SourceColumn(name="c", type="decimal", precision=3, scale=0), wire.NEWDECIMAL, b"1234"),
        (SourceColumn(name="c", type="tinyint"), wire.LONG, 300),
    ],
)
def test_what_no_server_sends_in_a_column_is_refused(column: SourceColumn, code: int, sent: Value) -> None:
    """It is never stored as something else."""
    with pytest.raises(UnholdableError):
        read(column, code, sent)


@pytest.mark.parametrize(
    ("word", "code"),
    [("int", wire.VAR_STRING), ("float", wire.FLOAT), ("date", wire.DATETIME), ("varchar", wire.LONG), ("json", 99)],
)
def test_a_column_that_was_altered_meanwhile_is_not_read(word: str, code: int) -> None:
    """Its type on the wire is another one."""
    with pytest.raises(OtherTypeError, match="column 'c'"):
        check_sent(SourceColumn(name="c", type=word), code)


def test_binary_values_need_no_charset() -> None:
    """Nor is anything cut off."""
    assert read(SourceColumn(name="c", type="binary", length=3), wire.STRING, b"a\0\0")[0] == [b"a\0\0"]
    assert pa.types.is_binary(arrow_type(SourceColumn(name="c", type="binary", length=3)))
