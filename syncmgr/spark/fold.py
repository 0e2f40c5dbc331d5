"""Equality deletes into position deletes: one scan of the key columns, then reads are fast again and every reader can.

Owns: which rows the equality deletes hit, and how that is written down.
Must not know: when a fold is due; how Java is called.
"""

import uuid
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import DataType, StructField, StructType

from syncmgr.spark.ancestry import UPKEEP_MARK
from syncmgr.spark.iceberg import DataFile, FoldCommit, Iceberg
from syncmgr.spark.layout import Layout
from syncmgr.spark.rows import spark_type

PATH_ID, POSITION_ID = 2147483546, 2147483545  # reserved by the Iceberg specification
BROADCAST_KEYS: Final = 1_000_000  # more keys than this are joined by a shuffle
PART: Final = "syncmgr_part"


class Fold:
    """One fold of one table, at the snapshot that is current when it begins."""

    def __init__(self, iceberg: Iceberg, session: SparkSession, db: str, table: str) -> None:
        self._iceberg, self._session = iceberg, session
        self._table = iceberg.load(db, table)
        self._layout = iceberg.layout(self._table)
        self.folder = f"{self._table.location()}/data/fold-{uuid.uuid4()}"

    def run(self) -> int:
        """How many equality delete files it folded. Raises what Java says when it was refused."""
        totals = self._iceberg.current(self._table)
        if totals is None or not totals.equality_deletes:
            return 0
        gone = self._iceberg.equality_deletes(self._table, totals.snapshot, self._layout.identifier)
        if not gone:
            return 0
        data = self._iceberg.hit_files(self._table, totals.snapshot)
        groups = by_partition(data)
        if data:
            self._write(gone, data, groups)
        added = [
            file
            for number, members in enumerate(groups)
            for file in self._iceberg.position_deletes(self._table, f"{self.folder}/{PART}={number}", members[0])
        ]
        commit = FoldCommit(
            snapshot=totals.snapshot,
            scanned=tuple(data),
            removed=tuple(gone),
            added=tuple(added),
            marks={UPKEEP_MARK: "fold"},
        )
        self._iceberg.fold(self._table, commit)
        return len(gone)

    def _write(self, gone: list[DataFile], data: list[DataFile], groups: list[list[DataFile]]) -> None:
        part_of = {file.path: number for number, members in enumerate(groups) for file in members}
        keys = self._keys(gone)
        if sum(int(file.java.recordCount()) for file in gone) <= BROADCAST_KEYS:
            keys = F.broadcast(keys)
        files = self._session.createDataFrame(
            [(at, file.path, file.sequence, part_of[file.path]) for file in data for at in file.spark_paths],
            f"at string, path string, sequence long, {PART} int",
        )
        names = [f"k{place}" for place in range(len(self._layout.identifier))]
        rows = self._read(data).select(
            *names,
            F.col("_metadata.file_path").alias("at"),
            F.col("_metadata.row_index").alias("position"),
        )
        found = rows.join(keys, names).join(F.broadcast(files), "at", "left")
        dead = found.where(known("sequence") < F.col("gone"))
        position_deletes(dead).write.partitionBy(PART).option("compression", "zstd").parquet(self.folder)

    def _keys(self, gone: list[DataFile]) -> DataFrame:
        """Each vanished key once, with the last moment at which it vanished."""
        sequences = self._session.createDataFrame(
            [(at, f.sequence) for f in gone for at in f.spark_paths], "at string, gone long"
        )
        names = [f"k{place}" for place in range(len(self._layout.identifier))]
        keys = self._read(gone).select(*names, F.col("_metadata.file_path").alias("at"))
        found = keys.join(F.broadcast(sequences), "at", "left")
        return found.groupBy(*names).agg(F.max(known("gone")).alias("gone"))

    def _read(self, files: list[DataFile]) -> DataFrame:
        """The key columns as k0, k1 ..., found by field id: a column may have been renamed since."""
        return self._session.read.schema(key_schema(self._layout)).parquet(*(file.path for file in files))


def known(column: str) -> Column:
    """What is told of each file; a file that Spark names otherwise than we do must not pass as one without deletes."""
    return F.coalesce(F.col(column), F.raise_error(F.concat(F.lit("the fold does not know the file "), F.col("at"))))


def key_schema(layout: Layout) -> StructType:
    fields = []
    for place, number in enumerate(layout.identifier):
        kind = DataType.fromDDL(spark_type(layout.by_id(number)))
        fields.append(StructField(f"k{place}", kind, metadata={"parquet.field.id": number}))
    return StructType(fields)


def position_deletes(dead: DataFrame) -> DataFrame:
    """Sorted by file and position, as the specification wants them."""
    path = F.col("path").alias("file_path", metadata={"parquet.field.id": PATH_ID})
    position = F.col("position").alias("pos", metadata={"parquet.field.id": POSITION_ID})
    return dead.select(path, position, PART).repartition(1).sortWithinPartitions(PART, "file_path", "pos")


def by_partition(files: list[DataFile]) -> list[list[DataFile]]:
    """A position delete file belongs to one partition of one spec."""
    groups: dict[tuple[int, str], list[DataFile]] = {}
    for file in files:
        groups.setdefault((int(file.java.specId()), str(file.java.partition().toString())), []).append(file)
    return list(groups.values())
