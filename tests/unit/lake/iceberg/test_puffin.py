"""Deletion vectors as bytes."""

import json
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from syncmgr.lake.iceberg.puffin import MAGIC, BrokenVectorError, puffin, vector_bytes, vector_rows

rows = st.sets(st.integers(0, 2**32 - 1), max_size=50).map(BitMap)


@settings(max_examples=60, deadline=None)
@given(rows)
def test_a_vector_comes_back(deleted: BitMap) -> None:
    """Any set of rows of 32 bits survives being written and read."""
    assert vector_rows(vector_bytes(deleted)) == deleted


@settings(max_examples=100, deadline=None)
@given(rows, st.integers(0, 10_000), st.integers(1, 255))
def test_a_flipped_byte_is_an_error(deleted: BitMap, at: int, flip: int) -> None:
    """One wrong byte anywhere is noticed: it never deletes another row."""
    blob = bytearray(vector_bytes(deleted))
    blob[at % len(blob)] ^= flip
    with pytest.raises(BrokenVectorError):
        vector_rows(bytes(blob))


@pytest.mark.parametrize("size", range(30))
def test_a_torn_vector_is_an_error(size: int) -> None:
    """A file that was cut off is noticed wherever it ends."""
    with pytest.raises(BrokenVectorError):
        vector_rows(vector_bytes(BitMap([1, 2, 3]))[:size])


def test_rows_beyond_32_bits_are_refused() -> None:
    """Another writer's vector with a row that the index cannot hold is not cut down to 32 bits."""
    body = b"\xd1\xd3\x39\x64" + struct.pack("<QI", 1, 1) + BitMap([7]).serialize()
    with pytest.raises(OverflowError):
        vector_rows(struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body)))


def test_a_puffin_file_says_where_its_vectors_lie() -> None:
    """The footer names each vector, and its place holds it."""
    vectors = {"a.parquet": BitMap([1, 5]), "b.parquet": BitMap(range(100_000))}
    content, where = puffin(vectors)
    assert content[:4] == content[-4:] == MAGIC
    [size] = struct.unpack("<I", content[-12:-8])
    footer = json.loads(content[-12 - size : -12])
    assert content[-16 - size : -12 - size] == MAGIC
    for blob, (path, deleted) in zip(footer["blobs"], vectors.items(), strict=True):
        place = where[path]
        assert (blob["offset"], blob["length"], place.rows) == (place.offset, place.length, len(deleted))
        assert blob["properties"] == {"referenced-data-file": path, "cardinality": str(len(deleted))}
        assert vector_rows(content[place.offset : place.offset + place.length]) == deleted
