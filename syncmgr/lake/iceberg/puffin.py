"""Puffin files of deletion vectors, as the Iceberg specification lays them out.

Owns: bytes <-> sets of deleted rows.
Must not know: tables, commits, where the bytes are kept.
"""

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyroaring import BitMap

MAGIC: Final = b"PFA1"
VECTOR_MAGIC: Final = b"\xd1\xd3\x39\x64"
ROW_POSITION: Final = 2147483645  # the reserved field id of a row's position
VECTOR_TYPE: Final = "deletion-vector-v1"
LEAST: Final = 4 + 4 + 8 + 4  # length, magic, count of bitmaps, CRC


@dataclass(frozen=True, kw_only=True, slots=True)
class Blob:
    """The place of one data file's vector in its Puffin file; `rows`: how many rows it deletes."""

    offset: int
    length: int
    rows: int


class BrokenVectorError(ValueError):
    """Bytes that are not a deletion vector."""


def vector_bytes(rows: BitMap) -> bytes:
    """A deletion vector: length, magic, a 64-bit roaring bitmap in the portable format, CRC-32."""
    count = 1 if rows else 0
    body = VECTOR_MAGIC + struct.pack("<Q", count) + (struct.pack("<I", 0) + rows.serialize() if rows else b"")
    return struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))


def vector_rows(blob: bytes) -> BitMap:
    """The inverse. Raises BrokenVectorError; OverflowError if rows need more than 32 bits."""
    if len(blob) < LEAST:
        raise BrokenVectorError(f"{len(blob)} bytes are too few")
    [length], body, [crc] = struct.unpack(">I", blob[:4]), blob[4:-4], struct.unpack(">I", blob[-4:])
    if length != len(body):
        raise BrokenVectorError(f"it says {length} bytes and has {len(body)}")
    if body[:4] != VECTOR_MAGIC:
        raise BrokenVectorError("the magic number is wrong")
    if zlib.crc32(body) != crc:
        raise BrokenVectorError("the checksum is wrong")
    [count] = struct.unpack("<Q", body[4:12])
    if count == 0:
        return BitMap()
    if count > 1 or body[12:16] != bytes(4):
        raise OverflowError("a row needs more than 32 bits")
    try:
        return BitMap.deserialize(body[16:])
    except ValueError as error:
        raise BrokenVectorError(str(error)) from error


def puffin(vectors: Mapping[str, BitMap]) -> tuple[bytes, dict[str, Blob]]:
    """A Puffin file of a vector for each data file, by its path as the table's manifests write it."""
    out, blobs, where = bytearray(MAGIC), [], {}
    for path, rows in vectors.items():
        blob = vector_bytes(rows)
        where[path] = Blob(offset=len(out), length=len(blob), rows=len(rows))
        blobs.append(
            {
                "type": VECTOR_TYPE,
                "fields": [ROW_POSITION],
                "snapshot-id": -1,  # the manifest has both
                "sequence-number": -1,
                "offset": len(out),
                "length": len(blob),
                "properties": {"referenced-data-file": path, "cardinality": str(len(rows))},
            },
        )
        out += blob
    footer = json.dumps({"blobs": blobs, "properties": {"created-by": "syncmgr"}}).encode()
    return bytes(out) + MAGIC + footer + struct.pack("<I", len(footer)) + bytes(4) + MAGIC, where
