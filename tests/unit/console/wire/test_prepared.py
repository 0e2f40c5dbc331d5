import asyncio
import struct
import time
from decimal import Decimal

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.console.wire.charset import UTF8MB4
from syncmgr.console.wire.packet import Reader, lenenc_bytes
from syncmgr.console.wire.placeholders import placeholders
from syncmgr.console.wire.prepared import literal, read_value
from syncmgr.console.wire.protocol import FieldType
from syncmgr.errors import Code, SyncError
from tests.unit.console.running import prepared_statements


@pytest.mark.parametrize(
    ("sql", "places"),
    [
        ("SELECT 1", ()),
        ("SELECT ?, ?", (7, 10)),
        ("SELECT '?', \"?\", `?`, ? # ?\n, ? -- ?", (22, 30)),
        ("SELECT /* ? */ 'it''s ?', '\\'?', ?", (33,)),
    ],
)
def test_parameters_are_found(sql: str, places: tuple[int, ...]) -> None:
    """A question mark counts outside of strings, names and comments."""
    assert placeholders(sql) == places


@pytest.mark.parametrize("opened", ["'", '"', "`", "/*", "'\\"])
def test_parameters_are_found_in_one_pass(opened: str) -> None:
    """A long text of quotes and comments that nothing closes takes no time to speak of."""
    piece = {"'": "\\'", '"': '\\"', "`": "``", "/*": "/* ", "'\\": "\\'"}[opened]
    started = time.process_time()
    assert placeholders("?" + opened + piece * 30_000) == (0,)
    assert time.process_time() - started < 1


@given(text=st.text(max_size=40))
def test_a_text_stays_text(text: str) -> None:
    """A text as a literal is read back as the same text: no quote or backslash gets out."""
    parsed = sqlglot.parse_one(f"SELECT {literal(text)}", read="mysql").expressions
    assert len(parsed) == 1
    assert sqlglot.parse_one(f"SELECT {literal(text)}", read="spark").expressions[0].is_string


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "NULL"), (-7, "-7"), (1.5, "1.5"), (Decimal("1E+2"), "100"), (b"\x00\xff", "X'00ff'"), ("a'b", "'a\\'b'")],
)
def test_literals(value: str | bytes | float | Decimal | None, text: str) -> None:
    """Each value has a literal that MySQL's grammar and Spark's both know."""
    assert literal(value) == text


@pytest.mark.parametrize(
    ("kind", "data", "value"),
    [
        (FieldType.TINY, b"\xff", -1),
        (FieldType.LONGLONG, b"\xff" * 8, -1),
        (FieldType.DOUBLE, struct.pack("<d", 1.5), 1.5),
        (FieldType.DATE, b"\x04\xea\x07\x01\x02", "2026-01-02"),
        (FieldType.DATE, b"\x00", "0000-00-00"),
        (FieldType.DATETIME, b"\x0b\xea\x07\x01\x02\x03\x04\x05\x40\x00\x00\x00", "2026-01-02 03:04:05.000064"),
        (FieldType.TIME, b"\x08\x01\x01\x00\x00\x00\x02\x03\x04", "-26:03:04"),
        (FieldType.TIME, b"\x00", "00:00:00"),
        (FieldType.NEWDECIMAL, b"\x041.50", Decimal("1.50")),
        (FieldType.VAR_STRING, b"\x02ab", "ab"),
        (FieldType.VAR_STRING, b"\x01\xff", b"\xff"),
        (FieldType.LONG_BLOB, b"\x02ab", b"ab"),
    ],
)
def test_parameters_are_read(kind: FieldType, data: bytes, value: object) -> None:
    """Every parameter type that drivers send is read."""
    assert read_value(Reader(data), kind, UTF8MB4, unsigned=False) == value


def test_types_are_kept() -> None:
    """An EXECUTE that sends no types means those of the one before; the first must send them."""
    statement = prepared_statements().add("SELECT ?", (7,))
    head = bytes(4)
    with pytest.raises(SyncError) as caught:
        statement.bind(Reader(head + b"\0\0"), UTF8MB4)
    assert caught.value.code is Code.WRONG_ARGUMENTS
    typed = head + b"\0\x01" + bytes((FieldType.TINY, 0x80)) + b"\xff"
    assert statement.bind(Reader(typed), UTF8MB4) == "SELECT 255"
    assert statement.bind(Reader(head + b"\0\0\x05"), UTF8MB4) == "SELECT 5"
    assert statement.bind(Reader(head + b"\x01\0"), UTF8MB4) == "SELECT NULL"


def test_statements_are_bounded() -> None:
    """Their number and the data sent ahead have a limit; a statement that is not there is an error."""
    statements = prepared_statements(max_prepared=1, max_statement=4)
    one = statements.add("SELECT ?", (7,))
    with pytest.raises(SyncError) as caught:
        statements.add("SELECT 2", ())
    assert caught.value.code is Code.TOO_MANY_PREPARED
    for _ in range(3):
        statements.append(one.id, 0, b"ab")
    with pytest.raises(SyncError) as caught:
        one.bind(Reader(bytes(7)), UTF8MB4)
    assert caught.value.code is Code.STATEMENT_TOO_LARGE
    asyncio.run(statements.remove(one.id))
    with pytest.raises(SyncError) as caught:
        statements.get(one.id)
    assert caught.value.code is Code.UNKNOWN_PREPARED


def test_data_in_pieces_is_joined() -> None:
    """Data sent ahead takes the place of the parameter, as text or bytes after its type."""
    statements = prepared_statements()
    one = statements.add("SELECT ?, ?", (7, 10))
    statements.append(one.id, 1, b"a")
    statements.append(one.id, 1, b"b")
    sent = bytes(4) + b"\0\x01" + bytes((FieldType.VAR_STRING, 0, FieldType.BLOB, 0)) + lenenc_bytes(b"x")
    assert one.bind(Reader(sent), UTF8MB4) == "SELECT 'x', X'6162'"


@pytest.mark.parametrize("text", ["1E4000000000", "1E-4000000000", "0E4000000000", "9" * 1001, "NaN", "Infinity", "x"])
def test_a_decimal_that_would_fill_the_memory_is_none(text: str) -> None:
    """It is written out digit by digit."""
    data = lenenc_bytes(text.encode())
    with pytest.raises(SyncError) as caught:
        read_value(Reader(data), FieldType.NEWDECIMAL, UTF8MB4, unsigned=False)
    assert caught.value.code is Code.WRONG_ARGUMENTS
