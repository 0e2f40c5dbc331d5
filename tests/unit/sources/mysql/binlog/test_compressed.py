"""What servers compress is unpacked whole, in pieces where it is large, and in no more memory than that."""

import random
import struct
import tracemalloc
import zlib
from unittest import mock

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.job.types.schema import SourceColumn
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.binlog import compressed
from syncmgr.sources.mysql.binlog.compressed import AT_ONCE
from syncmgr.sources.mysql.inflation import MAX_INFLATED
from syncmgr.sources.mysql.values import values
from syncmgr.sources.mysql.values.cells import Cells
from syncmgr.sources.mysql.values.table_map import Field
from syncmgr.sources.mysql.wire import MalformedEventError, OversizeError

MIB = 1 << 20


def event(kind: int, body: bytes) -> bytes:
    return struct.pack("<IBIIIH", 1, kind, 1, wire.HEADER + len(body), 0, 0) + body


def transaction(plain: bytes) -> bytes:
    return framed(zstandard.compress(plain), len(plain))


def framed(body: bytes, size: int) -> bytes:
    """A TRANSACTION_PAYLOAD that says of itself that it unpacks to `size` bytes."""
    told = b"\x02\x01\x00" + b"\x03\x09\xfe" + struct.pack("<Q", size)
    return event(wire.TRANSACTION_PAYLOAD, told + b"\x01\x09\xfe" + struct.pack("<Q", len(body)) + b"\0" + body)


def unpacked(packed: bytes, most_event: int = 1 << 31) -> list[bytes]:
    return [bytes(data[start:end]) for data, start, end in compressed.payload(packed, most_event, 1 << 34)]


@given(st.lists(st.integers(0, 900), min_size=1, max_size=9), st.integers(1, 300))
def test_a_large_transaction_comes_whole(sizes: list[int], piece: int) -> None:
    """However its events lie to the pieces in which it is unpacked."""
    events = [event(wire.QUERY, bytes([place]) * size) for place, size in enumerate(sizes)]
    with mock.patch.multiple(compressed, AT_ONCE=0, PIECE=piece):
        assert unpacked(transaction(b"".join(events))) == events


def test_a_large_transaction_takes_little_memory() -> None:
    """A piece of it, whatever it is in all."""
    one = event(wire.HEARTBEAT, bytes(MIB))
    packed = transaction(one * 256)
    tracemalloc.start()
    try:
        assert sum(end - start for _, start, end in compressed.payload(packed, 1 << 31, 1 << 34)) == 256 * len(one)
        assert tracemalloc.get_traced_memory()[1] < 32 * MIB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("tail", [b"x", event(wire.HEARTBEAT, b"12")[:-1], bytes(wire.HEADER), bytes(2 * AT_ONCE)])
def test_a_large_transaction_that_ends_in_no_event(tail: bytes) -> None:
    """Is none: what is there before is given, and then the error."""
    with pytest.raises(MalformedEventError, match="size"):
        unpacked(transaction(event(wire.HEARTBEAT, bytes(AT_ONCE)) + tail))


@pytest.mark.parametrize("kept", [100, 3 * AT_ONCE // 4])
def test_a_large_transaction_that_is_cut_off(kept: int) -> None:
    """Is none, even where what is there is."""
    whole = event(wire.HEARTBEAT, random.Random(1).randbytes(AT_ONCE))
    packed = zstandard.compress(whole)[:kept]
    with pytest.raises(MalformedEventError):
        unpacked(framed(packed, len(whole)))


def rows(plain: bytes, size: int) -> bytes:
    """MariaDB's, of one column."""
    packed = b"\x84" + struct.pack(">I", size) + zlib.compress(plain)
    return event(wire.WRITE_COMPRESSED, bytes(8) + b"\x02\x00" + b"\x01\xff" + packed)


def test_a_rows_event_of_mariadb_is_bounded() -> None:
    """By what it says, before it is unpacked; one that says too little is none."""
    plain = bytes(4 * MIB)
    made = compressed.rows(rows(plain, len(plain)), len(plain))
    assert made[4] == wire.WRITE_V2
    assert made.endswith(plain)
    with pytest.raises(OversizeError, match=f"max_source_event_bytes is {len(plain) - 1}"):
        compressed.rows(rows(plain, len(plain)), len(plain) - 1)
    with pytest.raises(MalformedEventError):
        compressed.rows(rows(plain, 1000), MIB)
    with pytest.raises(MalformedEventError):
        compressed.rows(rows(plain, MAX_INFLATED + 1), 1 << 34)


def test_values_of_a_compressed_column_are_bounded() -> None:
    """By what all of a batch say, before one is unpacked: Arrow could not hold them."""
    value = bytes.fromhex("8a01904b4c4a1c8583080200")  # 400 bytes
    data = np.frombuffer(value * 2 + bytes(64), np.uint8)
    cells = Cells(data=data, start=np.array([0, len(value)]), size=np.array([len(value)] * 2), valid=None)
    column, field = SourceColumn(name="c", type="blob"), Field(code=wire.BLOB_COMPRESSED, meta=2)
    with mock.patch.object(values, "MOST_INFLATED", 800):
        assert values.convert(column, field, cells).to_pylist() == [b"ab" * 200] * 2
    with mock.patch.object(values, "MOST_INFLATED", 799), pytest.raises(OversizeError):
        values.convert(column, field, cells)
