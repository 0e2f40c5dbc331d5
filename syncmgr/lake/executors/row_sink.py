"""Where Spark's tasks write the rows of a commit: into a folder of this machine, or where a table's files are.

Owns: both ways, and which of them is taken.
Must not know: what the rows mean, tokens, transactions.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from pyspark.sql import DataFrame

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import quoted
from syncmgr.lake.executors.bare_table import bare_metadata, findable
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.java_api import iterated
from syncmgr.lake.iceberg.layout import Field, Layout
from syncmgr.lake.iceberg.partition_files import PART, files_below, refuse_unwritable
from syncmgr.lake.spark.jvm import Java
from syncmgr.lake.storage.locations import is_local, local

DATA, GONE = 0, 1  # row images; keys that must vanish
KIND: Final = "syncmgr_kind"
ZSTD_LEVEL: Final = {"parquet.compression.codec.zstd.level": "1"}  # small files that compaction rewrites
OPTIONS: Final = {
    "use-table-distribution-and-ordering": "false",  # rows come sorted by partition: a file is open at a time
    "fanout-enabled": "false",
    "distribution-mode": "none",
}
UNNAMED_PARTITIONS: Final = {  # a value may be too long for the name of a folder
    "write.object-storage.enabled": "true",
    "write.object-storage.partitioned-paths": "false",
}
KEPT: Final = ("write.metadata.metrics.", "write.parquet.", "write.target-file-size-bytes")  # properties of the table


class RowSink(Protocol):
    """Of one write, or of several of different kinds."""

    def save(self, rows: DataFrame, kinds: Mapping[int, Sequence[Field]]) -> None:
        """`rows`: the columns of files, then their kind, then a `syncmgr_p<i>` per partition field. `kinds`: those that
        occur, and which columns of each are not all NULL. Raises SOURCE_VALUE, FOREIGN_CHANGE, LAKE_FAILED.
        """

    def found(self, table: Java, kind: int) -> list[Java]:
        """DataFiles of the table, with column bounds. Raises SOURCE_VALUE, FOREIGN_CHANGE."""


class FolderSink:
    """`folder`/syncmgr_kind=<kind>[/syncmgr_p0=<value>...]/*.parquet, by one job for all kinds. Only where no task is
    repeated on another machine: a late one may overwrite a file. `label`: the table's, for messages.
    """

    def __init__(self, iceberg: Iceberg, layout: Layout, folder: str, codec: str, label: tuple[str, str]) -> None:
        self._iceberg, self._layout, self.folder = iceberg, layout, folder
        self._codec, self._label = codec, label

    def save(self, rows: DataFrame, kinds: Mapping[int, Sequence[Field]]) -> None:  # noqa: ARG002
        beside = rows.columns[rows.columns.index(KIND) :]
        options = {"compression": self._codec, **ZSTD_LEVEL}
        rows.write.partitionBy(*beside).options(**options).parquet(self._iceberg.storage.for_spark(self.folder))

    def found(self, table: Java, kind: int) -> list[Java]:
        return files_below(self._iceberg, table, self._layout, f"{self.folder}/{KIND}={kind}", self._label)


class IcebergSink:
    """Files that Iceberg's own writer makes, without a commit: one job for each kind. Their names are those of one
    attempt of a task, and only attempts that count report theirs.
    """

    def __init__(self, iceberg: Iceberg, table: Java, layout: Layout, folder: str, label: tuple[str, str]) -> None:
        self._iceberg, self._io = iceberg, table.io()
        self._layout, self.folder, self._label = layout, folder, label
        self._properties = _properties(iceberg, table)
        self._files: dict[int, list[Java]] = {}

    def save(self, rows: DataFrame, kinds: Mapping[int, Sequence[Field]]) -> None:
        for kind, fields in kinds.items():
            self._files[kind] = self._written(rows.where(f"{KIND} = {kind}"), fields, f"{self.folder}/{KIND}={kind}")

    def found(self, table: Java, kind: int) -> list[Java]:
        return [self._iceberg.in_own_spec(table, file) for file in self._files.get(kind, ())]

    def _written(self, rows: DataFrame, fields: Sequence[Field], folder: str) -> list[Java]:
        properties = {**self._properties, **UNNAMED_PARTITIONS, "write.data.path": folder}
        metadata = bare_metadata(fields, self._layout, folder, properties)
        known = {field.id for field in fields}
        parts = [place for place, part in enumerate(self._layout.divisions) if part.source_id in known]
        ordered = rows.sortWithinPartitions(*(f"{PART}{place}" for place in parts)) if parts else rows
        images = ordered.select(*(quoted(field.name) for field in fields))
        news = self._iceberg.jvm.org.apache.iceberg.spark.FileRewriteCoordinator.get()
        with findable(self._iceberg, self._io, metadata) as (name, table):
            try:
                images.write.format("iceberg").mode("append").options(**OPTIONS).save(name)
                found = sorted(iterated(news.fetchNewFiles(table, name)), key=self._iceberg.location)
            finally:
                news.clearRewrite(table, name)
        for file in found:
            self._iceberg.storage.note(self._io, self._iceberg.location(file))
            self._refuse_elsewhere(file)
        refuse_unwritable(self._iceberg, self._layout, known, found, self._label)
        return found

    def _refuse_elsewhere(self, file: Java) -> None:
        """Raises LAKE_FAILED for a file on a disk of the executor's own: a commit would name what nobody can read."""
        location = self._iceberg.location(file)
        if not is_local(location):
            return
        path = local(location)
        if not path.is_file() or path.stat().st_size != self._iceberg.file_bytes(file):
            reason = f"Spark's executors wrote {path}, which this machine does not have: they must have the same disk"
            raise SyncError(Code.LAKE_FAILED, reason=reason)


def sink_for(
    iceberg: Iceberg, table: Java, layout: Layout, folder: str, label: tuple[str, str]
) -> FolderSink | IcebergSink:
    """For rows of a layout, into a folder of a table. On this machine one job writes rows and vanished keys, and puts
    each into its partition without a sort; Iceberg's writer needs two, and the sort.
    """
    if iceberg.storage.spark_is_here:
        return folder_sink(iceberg, table, layout, folder, label)
    return IcebergSink(iceberg, table, layout, folder, label)


def folder_sink(iceberg: Iceberg, table: Java, layout: Layout, folder: str, label: tuple[str, str]) -> FolderSink:
    return FolderSink(iceberg, layout, folder, iceberg.codec(table), label)


def _properties(iceberg: Iceberg, table: Java) -> dict[str, str]:
    own = {str(key): str(value) for key, value in dict(table.properties()).items() if str(key).startswith(KEPT)}
    codec = iceberg.codec(table)
    level = {"write.parquet.compression-level": "1"} if codec == "zstd" else {}
    return {**own, "write.parquet.compression-codec": codec, **level}
