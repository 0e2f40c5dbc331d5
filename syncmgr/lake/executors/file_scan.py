"""Columns of files that no snapshot needs to name, as Iceberg's own reader gives them to Spark.

Owns: how a file becomes what a task reads.
Must not know: what the files are for.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from syncmgr.lake.executors.bare_table import bare_metadata, findable
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import Field, Layout
from syncmgr.lake.spark.jvm import Java

AT, POSITION = "_file", "_pos"  # Iceberg's names of a row's file and of its place in it
NO_NAMES: Final = {"schema.name-mapping.default": "[]"}  # else columns of a file without ids are found by their place


@dataclass(frozen=True, kw_only=True, slots=True)
class ScannedFile:
    """A Parquet file, by its location."""

    path: str
    bytes: int
    rows: int


@contextmanager
def scanned(
    iceberg: Iceberg, session: SparkSession, io: Java, files: Sequence[ScannedFile], fields: Sequence[Field]
) -> Iterator[DataFrame]:
    """These columns, found by their ids, NULL where a file has none of an id; and on demand `_file` and `_pos`. To be
    evaluated while the context is open.
    """
    package = iceberg.jvm.org.apache.iceberg
    layout = Layout(schema_id=0, spec_id=0, fields=tuple(fields), partition=())
    sets = package.spark.ScanTaskSetManager.get()
    with findable(iceberg, io, bare_metadata(fields, layout, "file:/nowhere", NO_NAMES)) as (name, table):
        sets.stageTasks(table, name, _tasks(iceberg, table, files))
        try:
            yield session.read.format("iceberg").load(name)
        finally:
            sets.removeTasks(table, name)


def _tasks(iceberg: Iceberg, table: Java, files: Sequence[ScannedFile]) -> Java:
    package, gateway = iceberg.jvm.org.apache.iceberg, SparkContext._gateway  # noqa: SLF001 - py4j's own
    assert gateway is not None
    no_deletes = gateway.new_array(package.DeleteFile, 0)
    schema, spec = package.SchemaParser.toJson(table.schema()), package.PartitionSpecParser.toJson(table.spec())
    everything = package.expressions.ResidualEvaluator.unpartitioned(package.expressions.Expressions.alwaysTrue())
    tasks = iceberg.jvm.java.util.ArrayList()
    for file in files:
        builder = package.DataFiles.builder(table.spec()).withPath(file.path).withFormat("parquet")
        data = builder.withFileSizeInBytes(file.bytes).withRecordCount(file.rows).build()
        tasks.add(package.BaseFileScanTask(data, no_deletes, schema, spec, everything))
    return tasks
