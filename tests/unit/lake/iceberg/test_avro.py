import json
from typing import Any

import pytest

from syncmgr.lake.iceberg import avro
from syncmgr.lake.iceberg.avro import BrokenAvroError, Container

RECORD = {
    "type": "record",
    "name": "entry",
    "fields": [
        {"name": "status", "type": "int"},
        {"name": "name", "type": "string"},
        {"name": "gone", "type": ["null", "boolean"]},
        {"name": "big", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "shares", "type": {"type": "array", "items": "double"}},
        {"name": "half", "type": "float"},
        {"name": "words", "type": {"type": "map", "values": "bytes"}},
        {"name": "id", "type": {"type": "fixed", "name": "uuid", "size": 4}},
        {"name": "other", "type": ["uuid", "null"]},
    ],
}
VALUES: list[dict[str, Any]] = [
    {
        "status": -1,
        "name": "año 🎁",
        "gone": None,
        "big": -(2**63),
        "shares": [b"12345678"],
        "half": b"1234",
        "words": {"a": b"\0", "b": b""},
        "id": b"abcd",
        "other": b"wxyz",
    },
    {
        "status": 64,
        "name": "",
        "gone": True,
        "big": 2**63 - 1,
        "shares": [],
        "half": b"\0\0\xc0\x7f",
        "words": {},
        "id": b"\0\0\0\0",
        "other": None,
    },
]


def container(codec: str | None = None, schema: Any = RECORD, records: list[dict[str, Any]] | None = None) -> Container:
    header = {"avro.schema": json.dumps(schema).encode(), "partition-spec-id": b"0"}
    if codec is not None:
        header["avro.codec"] = codec.encode()
    return Container(header=header, records=VALUES if records is None else records)


@pytest.mark.parametrize("codec", [None, "null", "deflate", "zstandard"])
@pytest.mark.parametrize("records", [VALUES, []])
def test_what_is_written_is_read(codec: str | None, records: list[dict[str, Any]]) -> None:
    """Every type that Iceberg's manifests have, under each of its codecs, and the header with them."""
    made = container(codec, records=records)
    assert avro.read(avro.write(made)) == made


def test_blocks_that_tell_their_length_are_read() -> None:
    """Other writers cut an array into blocks, and say of each how many bytes it has."""
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "array", "items": "int"}}]}
    plain = avro.write(container(schema=schema, records=[{"a": [1, 2, 3]}]))
    sync = plain[-16:]
    head = plain[: plain.index(sync) + 16]
    block = bytes([3, 4, 2, 4, 2, 6, 0])  # -2 items in 2 bytes: 1, 2; 1 item: 3; the end
    cut = head + bytes([2, 2 * len(block)]) + block + sync
    assert avro.read(cut).records == [{"a": [1, 2, 3]}]


def damaged(data: bytes) -> bytes:
    """With another byte at its end, whatever that was."""
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"PAR1 and more", "no Avro file"),
        (b"", "missing"),
        (avro.write(container())[:-1], "missing"),
        (damaged(avro.write(container())), "does not end where it should"),
        (avro.write(container("deflate")).replace(b"deflate", b"snapper"), "compressed by snapper"),
        (avro.write(container("deflate"))[:-24] + bytes(24), "Error|missing"),
        (avro.write(container()).replace(b'"int"', b'"ink"'), "type ink"),
        (avro.write(container()).replace(b"avro.schema", b"avro.schemo"), "no schema"),
    ],
)
def test_what_cannot_be_read_is_refused(data: bytes, reason: str) -> None:
    """Nothing is guessed of a file that is cut, damaged, or of a kind that Iceberg does not write."""
    with pytest.raises(BrokenAvroError, match=reason):
        avro.read(data)


def test_a_value_of_many_types_is_refused() -> None:
    """Iceberg writes no union but one with null, and nothing could tell the others apart."""
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": ["int", "string"]}]}
    with pytest.raises(BrokenAvroError, match="int or string"):
        avro.write(container(schema=schema, records=[{"a": 1}]))
