"""Keys of rows as comparable numbers: both of staged rows and of rows in data files.

Owns: the canonical form of a key, and how key columns are read from Parquet files.
Must not know: the index, tables, commits.
"""

import secrets
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import xxhash
from numpy.typing import NDArray

from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.epoch import ChannelCommit
from syncmgr.job.rows.batch import OP, SEQ, ChangeKind
from syncmgr.job.types.folding import folded_name
from syncmgr.lake.iceberg.layout import Field, Layout
from syncmgr.lake.index.key_index import KeyNumbers, Words, joined

FIELD_ID: Final = b"PARQUET:field_id"
EXACT: Final = frozenset({"int", "long"})  # Iceberg's types whose single key needs no hash
MICROSECONDS_A_DAY: Final = 86_400_000_000
DECIMAL_DIGITS: Final = 38


class UnindexableError(Exception):
    """Why the keys of a table or channel cannot be indexed, for the operator."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyShape:
    """The key columns of a table, in the order of its layout. `seed`: of the hashes of one index, unknown to anyone who
    can choose keys: two keys with one hash count as one key.
    """

    fields: tuple[Field, ...]
    seed: int = field(default=0, compare=False)

    @property
    def exact(self) -> bool:
        """Whether the key is its own number."""
        return len(self.fields) == 1 and self.fields[0].type in EXACT

    @property
    def row_bytes(self) -> int:
        """What a key costs in the index."""
        return 16 if self.exact else 24


def key_shape(layout: Layout) -> KeyShape:
    """Raises UnindexableError for a table without a key."""
    fields = identifier(layout)
    if not fields:
        raise UnindexableError("the table has no identifier fields")
    return KeyShape(fields=fields)


def identifier(layout: Layout) -> tuple[Field, ...]:
    """Iceberg's name for the key of a table."""
    wanted = set(layout.identifier)
    return tuple(each for each in layout.fields if each.id in wanted)


def seeded(shape: KeyShape) -> KeyShape:
    """Of a new index."""
    return replace(shape, seed=secrets.randbits(64))


def refuse_other_key(keys: Iterable[str], shape: KeyShape) -> None:
    """Raises UnindexableError if a channel's key is not the one by which the table is indexed."""
    if {folded_name(key) for key in keys} != {folded_name(each.name) for each in shape.fields}:
        names = ", ".join(each.name for each in shape.fields)
        raise UnindexableError(f"the table's identifier ({names}) is not the key of the job ({', '.join(keys)})")


@dataclass(frozen=True, kw_only=True, slots=True)
class EpochKeys:
    """The distinct keys that an epoch touches. `known`: the first change says that the row existed before.

    `last`: the number of each key's last change, counted through the segment's files; `live`: it is not a delete.
    `complete`: no change has a NULL key.
    """

    keys: KeyNumbers
    known: NDArray[np.bool_]
    last: Words
    live: NDArray[np.bool_]
    complete: bool

    def images(self) -> tuple[Words, KeyNumbers]:
        """The changes that leave a row, and the keys of them: sorted by number keys, by time where keys are hashes."""
        last, keys = self.last[self.live], self.keys.take(self.live)
        if keys.low is None:
            return last, keys
        order = np.argsort(last)
        return last[order], keys.take(order)


def epoch_keys(channel: ChannelCommit, shape: KeyShape) -> EpochKeys:
    """A NULL key is left out: the write refuses it.

    Raises UnindexableError if a source type has no canonical form in its target type.
    """
    mapped = {folded_name(one.target): one for one in channel.columns}
    sources = [mapped[folded_name(field.name)] for field in shape.fields]
    names = [_plain(one.expression) for one in sources if one.constant is None]
    rows = pa.concat_tables([pq.read_table(file.path, columns=[*names, OP, SEQ]) for file in channel.files])
    changes = len(rows)
    numbers = np.arange(changes)
    for name in names:
        valid = pc.is_valid(rows[name])
        rows, numbers = rows.filter(valid), numbers[valid.to_numpy()]
    keys = canonical([_key_column(one, rows) for one in sources], shape)
    order = np.lexsort(
        (rows[SEQ].to_numpy(), keys.high) if keys.low is None else (rows[SEQ].to_numpy(), keys.low, keys.high)
    )
    ordered = keys.take(order)
    first = ~ordered.repeats()
    last = np.append(first[1:], True)[: len(first)]
    operations = rows[OP].to_numpy()[order]
    return EpochKeys(
        keys=ordered.take(first),
        known=operations[first] != ChangeKind.INSERT,
        last=numbers[order][last],
        live=operations[last] != ChangeKind.DELETE,
        complete=len(rows) == changes,
    )


def inserted_keys(parts: list[KeyNumbers]) -> EpochKeys:
    """Of rows whose keys all differ, none of which is known to have existed."""
    keys = joined(parts)
    order = keys.order()
    none = np.zeros(len(keys), np.bool_)
    return EpochKeys(keys=keys.take(order), known=none, last=order, live=~none, complete=True)


def _key_column(mapped: MappedColumn, rows: pa.Table) -> pa.ChunkedArray:
    if mapped.constant is None:
        return rows[_plain(mapped.expression)]
    return pa.chunked_array([pa.repeat(pa.scalar(mapped.constant, pa.string()), len(rows))])


def _plain(expression: str) -> str:
    """The source column that fills a key: keys are never computed."""
    return expression[1:-1].replace("``", "`")


def file_keys(path: Path, shape: KeyShape) -> KeyNumbers:
    """The key of every row of a data file, in its order. Raises UnindexableError, OSError, ArrowInvalid."""
    with pq.ParquetFile(path, memory_map=True) as file:
        ids = {int(column.metadata[FIELD_ID]): column.name for column in file.schema_arrow if _has_id(column)}
        missing = [field.name for field in shape.fields if field.id not in ids]
        if missing:
            raise UnindexableError(f"a data file lacks the key column {missing[0]}")
        rows = file.read(columns=[ids[field.id] for field in shape.fields])
        return canonical([rows[ids[field.id]] for field in shape.fields], shape)


def _has_id(column: pa.Field) -> bool:
    return column.metadata is not None and FIELD_ID in column.metadata


def canonical(columns: Sequence[pa.ChunkedArray], shape: KeyShape) -> KeyNumbers:
    """Equal keys give equal numbers, whether they come from a segment or from a data file."""
    if shape.exact:
        return KeyNumbers(high=_integers(columns[0]))
    parts = [_bytes(column, field.type) for column, field in zip(columns, shape.fields, strict=True)]
    rows: Iterable[bytes] = parts[0] if len(parts) == 1 else map(_join, zip(*parts, strict=True))
    digests = b"".join(xxhash.xxh3_128_digest(row, seed=shape.seed) for row in rows)
    halves = np.frombuffer(digests, ">i8").reshape(-1, 2).astype(np.int64)
    return KeyNumbers(high=np.ascontiguousarray(halves[:, 0]), low=np.ascontiguousarray(halves[:, 1]))


def _join(parts: tuple[bytes, ...]) -> bytes:
    """Lengths distinguish ("a", "bc") from ("ab", "c")."""
    return b"".join(struct.pack("<I", len(part)) + part for part in parts)


def _integers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    if not pa.types.is_integer(column.type):
        raise UnindexableError(f"a key of {column.type} is no integer")
    numbers: NDArray[np.int64] = column.cast(pa.int64()).to_numpy()
    return numbers


def _bytes(column: pa.ChunkedArray, kind: str) -> list[bytes]:  # noqa: C901, PLR0911 - one row per type
    origin = column.type
    if pa.types.is_dictionary(origin):
        column, origin = column.cast(origin.value_type), origin.value_type
    match kind:
        case "int" | "long":
            return _words(_integers(column))
        case "boolean" if pa.types.is_boolean(origin) or pa.types.is_integer(origin):
            return _words(column.cast(pa.bool_()).cast(pa.int64()).to_numpy())
        case "date" if pa.types.is_date32(origin):
            return _words(column.cast(pa.int32()).cast(pa.int64()).to_numpy())
        case "timestamp" | "timestamptz" if pa.types.is_timestamp(origin) and origin.unit == "us":
            return _words(column.cast(pa.int64()).to_numpy())
        case "timestamp" if pa.types.is_date32(origin):
            return _words(column.cast(pa.int32()).cast(pa.int64()).to_numpy() * MICROSECONDS_A_DAY)
        case "string" if pa.types.is_string(origin) or pa.types.is_large_string(origin):
            return [text.encode() for text in column.to_pylist()]
        case "string" if pa.types.is_integer(origin):
            return [str(number).encode() for number in column.to_pylist()]
        case "binary" if pa.types.is_binary(origin) or pa.types.is_large_binary(origin):
            found: list[bytes] = column.to_pylist()
            return found
        case _ if kind.startswith("decimal(") and (pa.types.is_decimal(origin) or pa.types.is_integer(origin)):
            return _decimals(column, int(kind.rstrip(")").partition(",")[2]))
    raise UnindexableError(f"a key column of {kind} is filled from {origin}")


def _words(numbers: NDArray[np.int64]) -> list[bytes]:
    data = np.ascontiguousarray(numbers, np.int64).tobytes()
    return [data[at : at + 8] for at in range(0, len(data), 8)]


def _decimals(column: pa.ChunkedArray, scale: int) -> list[bytes]:
    """Their digits at the target's scale, as numbers of 16 bytes."""
    try:
        wide = pc.cast(column, pa.decimal128(DECIMAL_DIGITS, scale)).combine_chunks()
    except pa.ArrowInvalid as error:
        raise UnindexableError(f"a key of {column.type} does not fit decimals of scale {scale}") from error
    chunks = wide.chunks if isinstance(wide, pa.ChunkedArray) else [wide]
    found: list[bytes] = []
    for chunk in chunks:
        data = chunk.buffers()[1].to_pybytes()
        start = chunk.offset * 16
        found += [data[at : at + 16] for at in range(start, start + len(chunk) * 16, 16)]
    return found
