"""Avro container files, as far as Iceberg's manifests use them.

Owns: bytes <-> records, each by the schema in the file itself.
Must not know: what a manifest is, where the bytes are kept.
"""

import json
import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import zstandard

MAGIC: Final = b"Obj\x01"
SYNC_BYTES: Final = 16
SCHEMA: Final = "avro.schema"
CODEC: Final = "avro.codec"
RAW_DEFLATE: Final = -15
HEADER: Final[Any] = {"type": "map", "values": "bytes"}

Read = Callable[["Cursor"], Any]
Write = Callable[[bytearray, Any], None]
Either = TypeVar("Either", Read, Write)


class BrokenAvroError(ValueError):
    """Bytes that are not an Avro file, or one of a kind that Iceberg does not write."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Container:
    """`header`: as in the file, including the schema. A map is a list of records of a key and a value, since Iceberg's
    keys are numbers.
    """

    header: Mapping[str, bytes]
    records: list[dict[str, Any]]


@dataclass(slots=True)
class Cursor:
    """A place in bytes."""

    data: bytes
    at: int = 0

    def take(self, length: int) -> bytes:
        end = self.at + length
        if length < 0 or end > len(self.data):
            raise BrokenAvroError(f"it ends at {len(self.data)}, {length} bytes are missing from {self.at} on")
        found = self.data[self.at : end]
        self.at = end
        return found

    def number(self) -> int:
        """A zigzag number of variable length."""
        value = shift = 0
        while True:
            [byte] = self.take(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
            shift += 7


def read(data: bytes) -> Container:
    """Raises BrokenAvroError."""
    cursor = Cursor(data)
    if cursor.take(4) != MAGIC:
        raise BrokenAvroError("it is no Avro file")
    header: dict[str, bytes] = _reader(HEADER, {})(cursor)
    sync, record = cursor.take(SYNC_BYTES), _reader(_schema(header), {})
    records = []
    while cursor.at < len(data):
        count, block = cursor.number(), Cursor(_unpacked(header, cursor.take(cursor.number())))
        records += [record(block) for _ in range(count)]
        if cursor.take(SYNC_BYTES) != sync:
            raise BrokenAvroError(f"the block before {cursor.at} does not end where it should")
    return Container(header=header, records=records)


def write(container: Container) -> bytes:
    """The inverse, in one block."""
    out, block, sync = bytearray(MAGIC), bytearray(), os.urandom(SYNC_BYTES)
    _writer(HEADER, {})(out, container.header)
    out += sync
    record = _writer(_schema(container.header), {})
    for each in container.records:
        record(block, each)
    if container.records:
        packed = _packed(container.header, bytes(block))
        _put_number(out, len(container.records))
        _put_number(out, len(packed))
        out += packed + sync
    return bytes(out)


def _schema(header: Mapping[str, bytes]) -> Any:  # noqa: ANN401 - JSON
    if SCHEMA not in header:
        raise BrokenAvroError("it has no schema")
    return json.loads(header[SCHEMA])


def _unpacked(header: Mapping[str, bytes], packed: bytes) -> bytes:
    try:
        match header.get(CODEC, b"null"):
            case b"null":
                return packed
            case b"deflate":
                return zlib.decompress(packed, RAW_DEFLATE)
            case b"zstandard":
                return zstandard.ZstdDecompressor().decompressobj().decompress(packed)
            case codec:
                raise BrokenAvroError(f"it is compressed by {codec.decode()}")
    except (zlib.error, zstandard.ZstdError) as error:
        raise BrokenAvroError(str(error)) from error


def _packed(header: Mapping[str, bytes], block: bytes) -> bytes:
    match header.get(CODEC, b"null"):
        case b"null":
            return block
        case b"deflate":
            deflate = zlib.compressobj(wbits=RAW_DEFLATE)
            return deflate.compress(block) + deflate.flush()
        case b"zstandard":
            return zstandard.ZstdCompressor().compress(block)
        case codec:
            raise BrokenAvroError(f"it is compressed by {codec.decode()}")


def _put_number(out: bytearray, value: int) -> None:
    left = (value << 1) ^ (value >> 63)
    while left >= 0x80:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)


def _put_bytes(out: bytearray, value: bytes) -> None:
    _put_number(out, len(value))
    out += value


_READ: Final[Mapping[str, Read]] = {
    "null": lambda _: None,
    "boolean": lambda cursor: cursor.take(1) != b"\0",
    "int": Cursor.number,
    "long": Cursor.number,
    "float": lambda cursor: cursor.take(4),  # as its bytes: its value is not needed, and a NaN stays the same
    "double": lambda cursor: cursor.take(8),
    "bytes": lambda cursor: cursor.take(cursor.number()),
    "string": lambda cursor: cursor.take(cursor.number()).decode(),
}
_WRITE: Final[Mapping[str, Write]] = {
    "null": lambda _, __: None,
    "boolean": lambda out, value: out.append(bool(value)),
    "int": _put_number,
    "long": _put_number,
    "float": bytearray.extend,
    "double": bytearray.extend,
    "bytes": _put_bytes,
    "string": lambda out, value: _put_bytes(out, value.encode()),
}


def _kind(schema: Any) -> str:  # noqa: ANN401 - JSON
    if isinstance(schema, list):
        return "union"
    return str(schema["type"]) if isinstance(schema, dict) else str(schema)


def _reader(schema: Any, named: dict[str, Read]) -> Read:  # noqa: ANN401 - JSON
    """`named`: the records and fixed types that were met before."""
    kind = _kind(schema)
    match kind:
        case "union":
            return _union_reader([_reader(branch, named) for branch in schema])
        case "record":
            fields = [(field["name"], _reader(field["type"], named)) for field in schema["fields"]]
            return _named(schema, named, lambda cursor: {name: value(cursor) for name, value in fields})
        case "fixed":
            size = int(schema["size"])
            return _named(schema, named, lambda cursor: cursor.take(size))
        case "array":
            return _array_reader(_reader(schema["items"], named))
        case "map":
            text, value = _READ["string"], _reader(schema["values"], named)
            entries = _array_reader(lambda cursor: (text(cursor), value(cursor)))
            return lambda cursor: dict(entries(cursor))
        case _ if isinstance(schema, dict) and isinstance(schema["type"], dict):
            return _reader(schema["type"], named)
        case _:
            return _found(kind, _READ, named)


def _writer(schema: Any, named: dict[str, Write]) -> Write:  # noqa: ANN401 - JSON
    """The inverse of `_reader`."""
    kind = _kind(schema)
    match kind:
        case "union":
            return _union_writer([_kind(branch) for branch in schema], [_writer(branch, named) for branch in schema])
        case "record":
            return _named(
                schema, named, _record_writer([(f["name"], _writer(f["type"], named)) for f in schema["fields"]])
            )
        case "fixed":
            return _named(schema, named, bytearray.extend)
        case "array":
            return _array_writer(_writer(schema["items"], named))
        case "map":
            text, value = _WRITE["string"], _writer(schema["values"], named)
            entries = _array_writer(_record_writer([(0, text), (1, value)]))
            return lambda out, given: entries(out, list(given.items()))
        case _ if isinstance(schema, dict) and isinstance(schema["type"], dict):
            return _writer(schema["type"], named)
        case _:
            return _found(kind, _WRITE, named)


def _named(schema: Any, named: dict[str, Either], made: Either) -> Either:  # noqa: ANN401 - JSON
    named[str(schema["name"])] = made
    return made


def _found(kind: str, own: Mapping[str, Either], named: Mapping[str, Either]) -> Either:
    if kind not in own and kind not in named:
        raise BrokenAvroError(f"it has values of type {kind}")
    return own.get(kind) or named[kind]


def _union_reader(branches: list[Read]) -> Read:
    def read_union(cursor: Cursor) -> Any:  # noqa: ANN401 - what the schema says
        branch = cursor.number()
        if not 0 <= branch < len(branches):
            raise BrokenAvroError(f"it takes branch {branch} of {len(branches)}")
        return branches[branch](cursor)

    return read_union


def _union_writer(kinds: list[str], branches: list[Write]) -> Write:
    """Of null and one other type, the only unions in Iceberg."""
    if len(kinds) != 2 or "null" not in kinds:
        raise BrokenAvroError(f"it has values of {' or '.join(kinds)}")
    null = kinds.index("null")

    def write_union(out: bytearray, value: Any) -> None:  # noqa: ANN401 - what the schema says
        branch = null if value is None else 1 - null
        _put_number(out, branch)
        branches[branch](out, value)

    return write_union


def _record_writer(fields: list[tuple[Any, Write]]) -> Write:
    def write_record(out: bytearray, value: Any) -> None:  # noqa: ANN401 - what the schema says
        for name, write_field in fields:
            write_field(out, value[name])

    return write_record


def _array_reader(item: Read) -> Read:
    def read_array(cursor: Cursor) -> list[Any]:
        found: list[Any] = []
        while (count := cursor.number()) != 0:
            if count < 0:  # then the size of the block in bytes is given, too
                count = -count
                cursor.number()
            found += [item(cursor) for _ in range(count)]
        return found

    return read_array


def _array_writer(item: Write) -> Write:
    def write_array(out: bytearray, values: Any) -> None:  # noqa: ANN401 - what the schema says
        if values:
            _put_number(out, len(values))
            for value in values:
                item(out, value)
        _put_number(out, 0)

    return write_array
