"""Bytes that are nothing: a typed error or a value, never another exception, and never more memory than the value."""

import tracemalloc
import zlib

import pyarrow as pa
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from syncmgr.job.types.charset import MAX_BYTES
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.binlog import compressed
from syncmgr.sources.mysql.inflation import inflate, inflated_column
from syncmgr.sources.mysql.values import charsets, json_text
from syncmgr.sources.mysql.values.table_map import parse
from syncmgr.sources.mysql.wire import Cursor, MalformedEventError

MIB = 1 << 20
DOCUMENT = bytes.fromhex("00020021001200010013000100050300027b006162")
TABLE_MAP = b"\x04shop\0\x01t\0\x03\x03\xf6\x0f\x04\x0a\x02\x28\x00\x06\x01\x01\x80\x02\x01\x2d\x04\x06\x02id\x01a\x01b"


@given(st.binary(max_size=200))
@example(DOCUMENT)
def test_json_of_any_bytes(data: bytes) -> None:
    """A document or an error."""
    try:
        assert isinstance(json_text.text(data), str)
    except MalformedEventError:
        return


@given(st.integers(0, 10_000), st.integers(0, 255), st.booleans())
def test_a_table_map_with_a_byte_turned(place: int, byte: int, mariadb: bool) -> None:  # noqa: FBT001 - drawn
    """A table map or an error, which is found before anything is decoded by it."""
    body = bytearray(TABLE_MAP)
    body[place % len(body)] = byte
    try:
        assert parse(bytes(body), mariadb=mariadb).fields
    except MalformedEventError:
        return


@pytest.mark.parametrize("charset", sorted(set(MAX_BYTES) - {"binary"}))
@given(st.lists(st.one_of(st.none(), st.binary(max_size=12)), max_size=5))
def test_text_of_any_bytes(charset: str, cells: list[bytes | None]) -> None:
    """A column of Unicode, or the cell that is no text; what is exact is never a substitute."""
    column = pa.array(cells, pa.binary())
    bad = [place for place, cell in enumerate(cells) if cell is not None and not charsets.is_text(charset, cell)]
    if bad:
        with pytest.raises(charsets.UndecodableError) as caught:
            charsets.decode(charset, column)
        assert caught.value.cell == bad[0]
        return
    made = charsets.decode(charset, column)
    made.validate(full=True)
    assert made.is_null().to_pylist() == [cell is None for cell in cells]
    for cell, text in zip(cells, made.to_pylist(), strict=True):
        if cell is not None and charsets.is_text(charset, cell, exact=True):
            assert charsets.decode(charset, pa.array([cell], pa.binary()), exact=True).to_pylist() == [text]


def _peak(read: object) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(MalformedEventError):
            read()  # type: ignore[operator]
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_compressed_transaction_that_swells() -> None:
    """It is not unpacked beyond what it says of itself."""
    body = zstandard.compress(bytes(64 * MIB))
    size = len(body).to_bytes(3, "little")
    fields = b"\x02\x01\x00" + b"\x03\x03\xfc\xe8\x03" + b"\x01\x04\xfd" + size + b"\x00"
    event = bytes(wire.HEADER) + fields + body
    assert _peak(lambda: compressed.payload(event, 64 * MIB, 64 * MIB)) < MIB


def test_a_compressed_event_that_swells() -> None:
    """The same of MariaDB's, and of one that says a size that no event has."""
    body = zlib.compress(bytes(64 * MIB))
    assert _peak(lambda: inflate(Cursor(b"\x82\x03\xe8" + body))) < MIB
    assert _peak(lambda: inflate(Cursor(b"\x87" + b"\xff" * 7 + body))) < MIB


@given(st.binary(min_size=1, max_size=60))
@example(bytes.fromhex("8a01904b4c4a1c858308020019"))
def test_a_compressed_value_of_any_bytes(value: bytes) -> None:
    """Bytes or an error."""
    try:
        assert len(inflated_column(value)) < MIB
    except MalformedEventError:
        return


def test_a_compressed_value() -> None:
    """As MariaDB writes it."""
    assert inflated_column(bytes.fromhex("8a01904b4c4a1c8583080200")) == b"ab" * 200
    assert inflated_column(b"\0short") == b"short"
