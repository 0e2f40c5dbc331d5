"""Staged rows on their way to Spark's tasks, which may not see the disk that they are on.

Owns: which rows travel with the tasks, and which through the storage of the table that they are for.
Must not know: what the rows mean, who wrote them.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, StructType

from syncmgr.job.channel.description import quoted
from syncmgr.lake.executors.file_scan import ScannedFile, scanned
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import Field
from syncmgr.lake.index.keys import FIELD_ID
from syncmgr.lake.spark.jvm import Java
from syncmgr.lake.storage.locations import is_local

BATCH_ROWS: Final = 65_536
ICEBERG_TYPES: Final = {
    "tinyint": "int",
    "smallint": "int",
    "int": "int",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
    "string": "string",
    "binary": "binary",
}
WIDER: Final = {"tinyint": pa.int32(), "smallint": pa.int32()}

RowSource = Callable[[str, Sequence[str]], DataFrame]  # from columns as DDL, and the paths of staged files


def on_this_machine(spark: SparkSession) -> RowSource:
    """For tasks that have its disk, and for rows that are not computed."""

    def rows(ddl: str, paths: Sequence[str]) -> DataFrame:
        return spark.read.schema(ddl).parquet(*paths) if paths else spark.createDataFrame([], ddl)

    return rows


@contextmanager
def row_source(iceberg: Iceberg, table: Java, folder: str) -> Iterator[RowSource]:
    """Its rows are there while the context is open. `folder`: of the table, for files that are deleted again."""
    if iceberg.storage.spark_is_here:
        yield on_this_machine(iceberg.spark)
        return
    with ExitStack() as files:

        def rows(ddl: str, paths: Sequence[str]) -> DataFrame:
            if _bytes(paths) <= iceberg.storage.room.task():
                return shipped(iceberg.spark, ddl, paths)
            return files.enter_context(_through_storage(iceberg, table, folder, ddl, paths))

        yield rows


def _bytes(paths: Sequence[str]) -> int:
    found = [pq.read_metadata(path) for path in paths]
    return sum(one.row_group(number).total_byte_size for one in found for number in range(one.num_row_groups))


def shipped(spark: SparkSession, ddl: str, paths: Sequence[str]) -> DataFrame:
    """Rows that travel with the tasks."""
    schema = _struct(ddl)
    wanted = to_arrow_schema(schema)
    rows = pa.concat_tables([wanted.empty_table(), *(_as(pq.read_table(path), wanted) for path in paths)])
    return spark.createDataFrame(rows, schema)


@contextmanager
def _through_storage(iceberg: Iceberg, table: Java, folder: str, ddl: str, paths: Sequence[str]) -> Iterator[DataFrame]:
    """Rows in files beside those of the table, which are deleted at the end."""
    schema, io, written = _struct(ddl), table.io(), list[ScannedFile]()
    fields = [
        Field(id=number, name=each.name, type=_iceberg_type(each.dataType), required=False)
        for number, each in enumerate(schema, 1)
    ]
    try:
        for path in paths:
            location = f"{folder}/staged-{uuid.uuid4()}.parquet"
            place = iceberg.storage.place(location)
            place.parent.mkdir(parents=True, exist_ok=True)
            count = _copied(Path(path), place, schema)
            written.append(ScannedFile(path=location, bytes=place.stat().st_size, rows=count))
            if not is_local(location):
                iceberg.storage.upload(io, location)
                place.unlink()
        with scanned(iceberg, iceberg.spark, io, written, fields) as rows:
            types = ((quoted(each.name), each.dataType.simpleString()) for each in schema)
            yield rows.selectExpr(*(f"CAST({name} AS {kind}) AS {name}" for name, kind in types))
    finally:
        iceberg.delete(*(file.path for file in written))


def _copied(source: Path, place: Path, schema: StructType) -> int:
    """A staged file with the types of Iceberg and the ids of columns; how many rows it has. A part of it is in memory
    at a time.
    """
    arrow = to_arrow_schema(schema)
    wanted = pa.schema(
        pa.field(
            each.name, WIDER.get(kind.dataType.simpleString(), each.type), metadata={FIELD_ID: str(number).encode()}
        )
        for number, (each, kind) in enumerate(zip(arrow, schema, strict=True), 1)
    )
    with pq.ParquetFile(source) as file, pq.ParquetWriter(place, wanted, compression="zstd", store_schema=False) as out:
        for batch in file.iter_batches(BATCH_ROWS):
            out.write_table(_as(pa.Table.from_batches([batch]), wanted))
        return int(file.metadata.num_rows)


def _as(rows: pa.Table, wanted: pa.Schema) -> pa.Table:
    """Of these types, each of which holds every value."""
    return pa.Table.from_arrays([rows[each.name].cast(each.type) for each in wanted], schema=wanted)


def _struct(ddl: str) -> StructType:
    schema = DataType.fromDDL(ddl)
    assert isinstance(schema, StructType)
    return schema


def _iceberg_type(kind: DataType) -> str:
    word = kind.simpleString()
    return word.replace(",", ", ") if word.startswith("decimal(") else ICEBERG_TYPES[word]
