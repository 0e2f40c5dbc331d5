"""Turns equality deletes into deletion vectors or position deletes: then reads are fast again and work in every reader.

Owns: which rows the equality deletes hit if no index knows it: one scan of the key columns.
Must not know: when a fold is due; how delete files are written.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
from pyroaring import BitMap
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import DataType, StructField, StructType

from syncmgr.crash import CrashPoint, passing
from syncmgr.lake.commit.commit_marker import may_have
from syncmgr.lake.commit.rows import spark_type
from syncmgr.lake.commit.vectors import VECTORS, Deletion
from syncmgr.lake.executors.key_files import NO_IDS, KeyFiles, key_files
from syncmgr.lake.iceberg.ancestry import FILES_MARK, UPKEEP_MARK
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import Field, Layout
from syncmgr.lake.iceberg.snapshot_files import MOVED, ContentFile, ContentFiles, contents_of, reaching
from syncmgr.lake.index.dead_rows import position_deletes, read_vector
from syncmgr.lake.index.index import DeletedRows, IndexedFile, TableIndex, refuse_unknown_reach
from syncmgr.lake.index.indexing import Indexing
from syncmgr.lake.index.keys import KeyShape, UnindexableError
from syncmgr.lake.spark.jvm import CERTAIN, JAVA_ERRORS, Java, java_class, text_of

KEY: Final = "syncmgr_key_"  # Spark's reader fails if a column of a file has the name, and another type
BROADCAST_KEYS: Final = 1_000_000  # more keys than this are joined by a shuffle

Key = tuple[Field, ...]
NumberedFile = tuple[int, ContentFile]  # with its position among the data files


class Fold:
    """One fold of one table."""

    def __init__(self, iceberg: Iceberg, session: SparkSession, db: str, table: str, indexing: Indexing) -> None:
        self._iceberg, self._session = iceberg, session
        self._db, self._name = db, table
        self._indexing = indexing

    def run(self) -> int:
        """How many equality delete files it folded. Raises Java's error if it was refused; UnindexableError if Iceberg
        alone can read a file of another engine.
        """
        with self._indexing.lock:
            table = self._iceberg.load(self._db, self._name)
            index = self._indexing.usable(self._iceberg, table)
            if index is not None:
                return self._commit(table, index, known=True)
        contents = contents_of(self._iceberg, table)
        if self._iceberg.format_version(table) < VECTORS:
            contents = replace(contents, positions=())  # they stay beside those that are written
        key = foldable(self._iceberg.layout(table), contents.equality)
        if not key:
            return 0
        gone = [file for file in contents.equality if equals_by(file) == {field.id for field in key}]
        index = without_keys(contents, KeyShape(fields=key))
        try:
            index.pending, index.equality = self._found(table, key, gone, contents), tuple(gone)
        except JAVA_ERRORS as error:
            if NO_IDS not in text_of(error):
                raise
            raise UnindexableError("a data file has columns without ids") from error
        with self._indexing.lock:
            return self._commit(table, index, known=False)

    def _commit(self, table: Java, index: TableIndex, *, known: bool) -> int:
        """As a RowDelta: RewriteFiles would validate nothing here, and a parallel compaction would bring deleted rows
        back. Refused if a file that was scanned is gone, or has other deletes than it had. `known`: the index is the
        persistent one, and is notified.
        """
        deletion, folded = Deletion(self._iceberg, table, index), len(index.equality)
        if deletion.empty:
            return 0
        before, name = index.snapshot, f"fold-{uuid.uuid4()}"
        try:
            with self._iceberg.updating(table) as update:
                delta = self._iceberg.in_place(table, update.newRowDelta()).validateFromSnapshot(before)
                deletion.add_to(delta, f"{table.location()}/data/{name}")
                passing(CrashPoint.FOLD_WRITTEN)
                self._iceberg.add(delta, [], [], {UPKEEP_MARK: "fold", FILES_MARK: name})
            passing(CrashPoint.FOLDED)
        except JAVA_ERRORS as error:
            self._indexing.lost()
            if java_class(error) in CERTAIN and not may_have(self._iceberg, self._db, self._name, name, before):
                self._iceberg.delete(*deletion.written)
            raise
        self._iceberg.storage.settled(f"{table.location()}/data/{name}")
        if known:
            table.refresh()
            deletion.committed(self._indexing, table, name, [], count_missing=False)
        return folded

    def _found(self, table: Java, key: Key, gone: list[ContentFile], contents: ContentFiles) -> DeletedRows:
        """The rows that equality deletes hit, by the position of their file among the data files."""
        hit, reaches = self._iceberg.hit_paths(table), list(reaching(contents, gone))
        moved = any(reach == MOVED for reach, _ in reaches)
        data = [
            (number, file) for number, file in enumerate(contents.data) if file.path in hit or (moved and file.is_moved)
        ]
        if not data:
            return {}
        refuse_unknown_reach(contents)
        few = sum(file.rows for file in gone) <= BROADCAST_KEYS
        found: dict[int, BitMap] = {}
        storage = self._iceberg.storage
        for part in parts(data, storage.fetches, storage.room.fold()):
            paths = [file.path for file in (*(file for _, file in part), *gone)]
            with key_files(self._iceberg, self._session, table.io(), paths) as read:
                found |= self._dead(key, reaches, part, read, few=few)
        return found

    def _dead(
        self,
        key: Key,
        reaches: Sequence[tuple[str | None, ContentFile]],
        data: Sequence[NumberedFile],
        read: KeyFiles,
        *,
        few: bool,
    ) -> DeletedRows:
        """`few`: the vanished keys."""
        moved = any(reach == MOVED for reach, _ in reaches)
        keys = self._keys(key, reaches, read)
        if few:
            keys = F.broadcast(keys)
        files = self._frame(
            [
                (path, number, file.sequence, place)
                for number, file in data
                for place in (file.lies if moved else (file.partition,))
                for path in read.names(file.path)
            ],
            ("number", "sequence", "partition"),
        )
        names = key_schema(key).names
        rows = self._read(key, [file for _, file in data], read)
        found = rows.join(keys, names).join(F.broadcast(files), "at", "left")
        reached = F.col("reach").isNull() | (F.col("reach") == F.col("partition"))
        dead = found.where(known("sequence") < F.col("gone")).where(reached).select("number", "position").toArrow()
        numbers, positions = dead["number"].to_numpy(), dead["position"].to_numpy()
        return {int(number): BitMap(positions[numbers == number]) for number in np.unique(numbers)}

    def _keys(self, key: Key, reaches: Sequence[tuple[str | None, ContentFile]], read: KeyFiles) -> DataFrame:
        """Each vanished key once for each partition that is reached, with the last moment at which it vanished."""
        sequences = self._frame(
            [(path, file.sequence, reach) for reach, file in reaches for path in read.names(file.path)],
            ("gone", "reach"),
        )
        names = key_schema(key).names
        gone = list(dict.fromkeys(file for _, file in reaches))
        keys = self._read(key, gone, read).drop("position")
        found = keys.join(F.broadcast(sequences), "at", "left")
        return found.groupBy(*names, "reach").agg(F.max(known("gone")).alias("gone"))

    def _frame(self, rows: Sequence[tuple[str | int | None, ...]], names: Sequence[str]) -> DataFrame:
        """Paths as `at`, numbers, and a partition as the last. From Arrow: from plain rows PySpark would start a Python
        process.
        """
        at, *numbers, partition = zip(*rows, strict=True)
        arrays = [*(pa.array(column, pa.int64()) for column in numbers), pa.array(partition, pa.string())]
        return self._session.createDataFrame(pa.table([pa.array(at, pa.string()), *arrays], names=["at", *names]))

    def _read(self, key: Key, files: list[ContentFile], read: KeyFiles) -> DataFrame:
        """The key columns under names of ours, found by field id: a column may have been renamed since."""
        other = next((file for file in files if file.facts["file-format"] != "parquet"), None)
        if other is not None:
            raise UnindexableError(f"{other.path} is a file of another format")
        named = [replace(field, name=f"{KEY}{place}") for place, field in enumerate(key)]
        return read.rows(named, key_schema(key), files)


def parts(data: Sequence[NumberedFile], fetches: Callable[[str], bool], most: int) -> Iterator[list[NumberedFile]]:
    """Those that need no copy on the local disk together, the others as far as there is room for their copies: `most`
    bytes.
    """
    part = [each for each in data if not fetches(each[1].path)]
    if part:
        yield part
    part, room = [], most
    for number, file in (each for each in data if fetches(each[1].path)):
        if part and file.bytes > room:
            yield part
            part, room = [], most
        part.append((number, file))
        room -= file.bytes
    if part:
        yield part


def without_keys(contents: ContentFiles, shape: KeyShape) -> TableIndex:
    """Data files by position, with the rows that their vectors delete, but no keys."""
    index = TableIndex(shape)
    index.advanced(None, contents.snapshot, lambda: _fill(index, contents))
    return index


def _fill(index: TableIndex, contents: ContentFiles) -> None:
    by_position = position_deletes(contents)  # a vector takes their place: it must have their rows, too
    for number, file in enumerate(contents.data):
        vector = contents.vectors.get(file.path)
        dead = BitMap(by_position.get(file.path, ()))
        if vector is not None:
            dead |= read_vector(vector, contents)
        index.files[number] = IndexedFile(content=file, vector=vector, dead=dead)
        index.numbers[file.path] = number


def known(column: str) -> Column:
    """What is given for each file; a file that Spark names differently must not pass as one without deletes."""
    return F.coalesce(F.col(column), F.raise_error(F.concat(F.lit("the fold does not know the file "), F.col("at"))))


def key_schema(key: Key) -> StructType:
    fields = []
    for place, field in enumerate(key):
        kind = DataType.fromDDL(spark_type(field))
        fields.append(StructField(f"{KEY}{place}", kind, metadata={"parquet.field.id": field.id}))
    return StructType(fields)


def equals_by(file: ContentFile) -> set[int]:
    """The columns by which an equality delete finds its rows."""
    return set(file.facts["equality-ids"])


def foldable(layout: Layout, equality: Sequence[ContentFile]) -> Key:
    """Columns by which some equality deletes find their rows: the table's identifier, or what it was before another
    engine changed it. None of them is NULL, which is equal to itself there and not in a join. Empty: there are none.
    """
    sets = {frozenset(equals_by(file)) for file in equality}
    for ids in sorted(sets, key=lambda ids: (ids != set(layout.identifier), sorted(ids))):
        fields = tuple(field for field in layout.fields if field.id in ids and field.required)
        if len(fields) == len(ids):
            return fields
    return ()
