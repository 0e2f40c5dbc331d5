import datetime as dt
from decimal import Decimal

import pytest

from syncmgr.console.wire.charset import UTF8MB4, by_name
from syncmgr.console.wire.packet import Reader
from syncmgr.console.wire.protocol import FieldFlag, FieldType
from syncmgr.console.wire.results import Column, column_definition, row_encoder, text_of, text_row


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", "x"),
        (True, "1"),
        (False, "0"),
        (7, "7"),
        (1.5, "1.5"),
        (Decimal("1E+3"), "1000"),
        (Decimal("0.10"), "0.10"),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.datetime(2026, 1, 2, 3, 4, 5), "2026-01-02 03:04:05"),  # noqa: DTZ001
        (dt.datetime(2026, 1, 2, 3, 4, 5, 60, tzinfo=dt.UTC), "2026-01-02 03:04:05.000060"),
        (dt.timedelta(days=2, seconds=1), "48:00:01"),
        (-dt.timedelta(seconds=1, microseconds=500_000), "-00:00:01.500000"),
    ],
)
def test_values_are_printed_as_mysql_prints_them(value: object, text: str) -> None:
    """Every Python value has one text."""
    assert text_of(value) == text


def test_a_text_row() -> None:
    """NULL is a mark, bytes are sent as they are, text in the client's character set."""
    row = (None, b"\xff\x00", "ö", "")
    assert text_row(row, by_name("latin1")) == b"\xfb\x02\xff\x00\x01\xf6\x00"


def test_a_column_definition() -> None:
    """Names, type, flags and decimals of a column as a client reads them."""
    column = Column(name="amount", type=FieldType.NEWDECIMAL, decimals=2, nullable=False, table="t", db="d")
    reader = Reader(column_definition(column, UTF8MB4))
    assert [reader.lenenc_bytes() for _ in range(6)] == [b"def", b"d", b"t", b"t", b"amount", b"amount"]
    assert (reader.uint(1), reader.uint(2), reader.uint(4)) == (12, 63, 67)
    assert reader.uint(1) == FieldType.NEWDECIMAL
    assert FieldFlag(reader.uint(2)) == FieldFlag.NOT_NULL | FieldFlag.BINARY
    assert (reader.uint(1), reader.uint(2), reader.left) == (2, 0, 0)


def test_nulls_of_a_binary_row() -> None:
    """The bit of a NULL stands two places to the left, in as many bytes as it takes."""
    columns = [Column(name=str(n), type=FieldType.TINY) for n in range(8)]
    row = [None] * 7 + [5]
    assert row_encoder(columns, UTF8MB4, binary=True)(row) == b"\0\xfc\x01\x05"


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        (FieldType.SHORT, -2, b"\xfe\xff"),
        (FieldType.LONGLONG, 1, b"\x01" + bytes(7)),
        (FieldType.DATE, dt.date(2026, 1, 2), b"\x04\xea\x07\x01\x02"),
        (FieldType.DATETIME, "2026-01-02 03:04:05", b"\x07\xea\x07\x01\x02\x03\x04\x05"),
        (FieldType.TIME, dt.timedelta(days=1, hours=2, seconds=3), b"\x0c\x00\x01\0\0\0\x02\x00\x03\0\0\0\0"),
        (FieldType.VAR_STRING, "ab", b"\x02ab"),
        (FieldType.NEWDECIMAL, Decimal("1.50"), b"\x041.50"),
    ],
)
def test_binary_values(kind: FieldType, value: object, data: bytes) -> None:
    """Values of a prepared statement's row in the binary protocol."""
    assert row_encoder([Column(name="x", type=kind)], UTF8MB4, binary=True)([value]) == b"\0\0" + data


def test_an_unsigned_column() -> None:
    """The upper half of 64 bits is a large number, not a negative one."""
    column = Column(name="x", type=FieldType.LONGLONG, unsigned=True)
    assert row_encoder([column], UTF8MB4, binary=True)([2**64 - 1]) == b"\0\0" + b"\xff" * 8
