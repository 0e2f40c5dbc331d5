"""Writes an epoch whose columns go into the table unchanged: by Arrow, without a Spark job.

Owns: which epochs and chunks are plain, and how the last images of an epoch become one Parquet file.
Must not know: tokens, transactions, snapshots. Spark writes every other epoch, and would write these in the same way
(`rows`).
"""

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.epoch import ChannelCommit
from syncmgr.job.rows.batch import OP, ChangeKind
from syncmgr.job.snapshot.chunk_rows import ChunkRows
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import arrow_type
from syncmgr.lake.commit.rows import PLAIN_COLUMN, filled
from syncmgr.lake.executors.row_sink import DATA, KIND
from syncmgr.lake.iceberg.layout import Field, Layout
from syncmgr.lake.index.arrow import arrow_schema
from syncmgr.lake.index.key_index import Words
from syncmgr.lake.index.keys import UnindexableError
from syncmgr.lake.target.plain_rows import PlainColumns, source_of, writer

MOST_BYTES: Final = 256 * 2**20  # of rows in memory; Spark streams what is larger
DIGITS: Final[Mapping[str, int]] = {
    "int8": 3,
    "int16": 5,
    "int32": 10,
    "int64": 19,
    "uint8": 3,
    "uint16": 5,
    "uint32": 10,
    "uint64": 20,
}
TAKEN: Final[Mapping[str, frozenset[str]]] = {
    "boolean": frozenset({"bool"}),
    "int": frozenset({"int8", "int16", "int32", "uint8", "uint16"}),
    "long": frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"}),
    "float": frozenset({"float"}),
    "double": frozenset({"float", "double"}),
    "date": frozenset({"date32[day]"}),
    "timestamp": frozenset({"timestamp[us]", "timestamp[us, tz=UTC]"}),  # the time in UTC, as Spark's session has it
    "timestamptz": frozenset({"timestamp[us, tz=UTC]"}),
    "string": frozenset({"string", "large_string"}),
    "binary": frozenset({"binary", "large_binary"}),
}


def takes(word: str, kind: pa.DataType) -> bool:
    """Whether every value of an Arrow type is unchanged a value of Iceberg's type `word`."""
    numbers = re.fullmatch(r"decimal\((\d+), ?(\d+)\)", word)
    if numbers is None:
        return str(kind) in TAKEN.get(word, ())
    scale, whole = int(numbers[2]), int(numbers[1]) - int(numbers[2])
    if pa.types.is_decimal128(kind):
        return bool(kind.scale <= scale and kind.precision - kind.scale <= whole)
    return DIGITS.get(str(kind), whole + 1) <= whole


@dataclass(frozen=True, kw_only=True, slots=True)
class PlainRows:
    """The rows of an epoch, or of a chunk, that need no Spark. `part`: the folder names of their partition, "": the
    table has none.
    """

    columns: PlainColumns
    part: str

    def folder(self, root: Path) -> Path:
        """Where they go in the folder of a commit."""
        return root / f"{KIND}={DATA}{self.part}"


def plain(channel: ChannelCommit, layout: Layout) -> PlainRows | None:
    """None if only Spark can write it: expressions, WHERE, partitions, casts, many rows of an epoch.

    Raises UNKNOWN_COLUMN, COLUMN_NOT_COVERED.
    """
    by_target = {folded_name(mapped.target): mapped for mapped in channel.columns}
    fields = tuple(column.field for column in filled(channel, layout))
    fills = tuple(by_target.get(folded_name(field.name)) for field in fields)
    part = _part(channel, layout)
    if channel.where or part is None or not all(map(_is_plain, fills)):
        return None
    try:
        schema = arrow_schema(fields)
    except UnindexableError:
        return None
    arriving = _schema(channel) if channel.chunk is None else _schema_of_chunk(channel.chunk)
    if arriving is None or not _fit(fields, fills, arriving):
        return None
    columns = PlainColumns(schema=schema, fills=fills, table=f"{channel.db}.{channel.table}")
    return PlainRows(columns=columns, part=part)


def _is_plain(fill: MappedColumn | None) -> bool:
    return fill is None or fill.constant is not None or PLAIN_COLUMN.fullmatch(fill.expression) is not None


def _part(channel: ChannelCommit, layout: Layout) -> str | None:
    """Of a table that is partitioned by what all rows have in common; None: they may be in many partitions."""
    names = []
    for place, part in enumerate(layout.divisions):
        column = layout.by_id(part.source_id)
        if part.transform != "identity" or channel.part is None or column is None or channel.part.column != column.name:
            return None
        names.append(f"/syncmgr_p{place}=x{channel.part.value.encode().hex()}")
    return "".join(names)


def _schema(channel: ChannelCommit) -> pa.Schema | None:
    """What the segments have in common; None if nothing, or if they are too big for the memory."""
    found = [pq.read_metadata(file.path) for file in channel.files]
    size = sum(one.row_group(number).total_byte_size for one in found for number in range(one.num_row_groups))
    schemas = [one.schema.to_arrow_schema() for one in found]
    alike = size <= MOST_BYTES and all(schema.equals(schemas[0]) for schema in schemas)
    return schemas[0] if alike else None


def _schema_of_chunk(chunk: ChunkRows) -> pa.Schema | None:
    """None for a part of a table, whose rows only Spark compares with its condition."""
    if chunk.excerpt is not None:
        return None
    return pa.schema([(column.name, arrow_type(column)) for column in chunk.wanted])


def _fit(fields: Sequence[Field], fills: Sequence[MappedColumn | None], staged: pa.Schema) -> bool:
    kinds = {column.name: column.type for column in staged}
    return all(
        (name := source_of(fill)) is None or (name in kinds and takes(field.type, kinds[name]))
        for field, fill in zip(fields, fills, strict=True)
    )


def write(channel: ChannelCommit, plain: PlainRows, which: Words | None, folder: Path, codec: str) -> int:
    """Writes `folder`/syncmgr_kind=0/*.parquet: the rows of these numbers, counted through the segment's files, in this
    order; None: all that are not deletes. No row, no file. Returns how many. Raises SOURCE_VALUE, OSError.
    """
    names = sorted({*plain.columns.sources, OP})
    rows = pa.concat_tables([pq.read_table(file.path, columns=names) for file in channel.files])
    kept = rows.filter(pc.not_equal(rows[OP], int(ChangeKind.DELETE))) if which is None else rows.take(which)
    if not len(kept):
        return 0
    made, place = plain.columns.of(kept), plain.folder(folder)
    place.mkdir(parents=True)
    with writer(place / f"{uuid.uuid4()}.parquet", made.schema, codec) as file:
        file.write_table(made)
    return len(kept)
