"""Merges small files into big ones while commits go on: a rewrite that carries over what was deleted meanwhile.

Owns: copying live rows in their order, so that the new place of each is known without reading a key.
Must not know: when a table is compacted; which files are worth it.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap

from syncmgr.crash import CrashPoint, passing
from syncmgr.lake.commit.commit_marker import may_have
from syncmgr.lake.commit.uncommitted_files import name_of
from syncmgr.lake.iceberg.ancestry import FILES_MARK, UPKEEP_MARK
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import Layout
from syncmgr.lake.iceberg.puffin import puffin
from syncmgr.lake.iceberg.snapshot_files import (
    ContentFile,
    ContentFiles,
    content_of,
    contents_of,
    head_of,
    vector_of,
)
from syncmgr.lake.index.arrow import LINEAGE, arrow_schema, columns_of, lineage_of
from syncmgr.lake.index.index import IndexedFile, TableIndex
from syncmgr.lake.index.indexing import Indexing
from syncmgr.lake.index.key_index import NOWHERE, Words
from syncmgr.lake.spark.jvm import CERTAIN, JAVA_ERRORS, Java, java_class
from syncmgr.lake.storage.locations import FileReader, is_local
from syncmgr.lake.upkeep.candidates import CompactionCandidate, IdleTime, groups

ROW_GROUP_BYTES: Final = 64 * 1024 * 1024  # of Arrow's memory

FirstIds = Mapping[str, int | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class RewrittenGroup:
    """Files of one group in the state in which they were copied, and the file that holds their live rows."""

    numbers: tuple[int, ...]
    files: tuple[IndexedFile, ...]
    path: str
    rows: int


class Compaction:
    """One compaction of one table of format v3 whose index is valid."""

    def __init__(
        self, iceberg: Iceberg, db: str, table: str, indexing: Indexing, calm: IdleTime = IdleTime.BUSY
    ) -> None:
        self._iceberg, self._db, self._name = iceberg, db, table
        self._indexing, self._calm = indexing, calm

    def run(self) -> int | None:
        """How many files it rewrote; None: there is no index, or deletes that it has not settled.

        Raises Java's error if it was refused; UnindexableError if only Spark can rewrite; OSError.
        """
        with self._indexing.lock:
            table = self._iceberg.load(self._db, self._name)
            index = self._indexing.usable(self._iceberg, table)
            if index is None or index.equality or self._iceberg.format_version(table) < 3:
                return None
            layout = self._iceberg.layout(table)
            chosen = [
                [(file.number, _as_it_is(index.files[file.number])) for file in group]
                for group in candidates(index, self._calm)
            ]
            first = first_ids(contents_of(self._iceberg, table)) if chosen else {}
        rewritten = 0
        for group in chosen:
            copied = self._copy(group, layout, table, first)
            passing(CrashPoint.COMPACTION_WRITTEN)
            with self._indexing.lock:
                rewritten += self._swap(copied)
        return rewritten

    def _copy(
        self, group: Sequence[tuple[int, IndexedFile]], layout: Layout, table: Java, first: FirstIds
    ) -> RewrittenGroup:
        folder = f"{table.location()}/data/compact-{uuid.uuid4()}"
        storage, name = self._iceberg.storage, f"{uuid.uuid4()}.parquet"
        try:
            storage.place(folder).mkdir(parents=True, exist_ok=True)
            place, codec = storage.place(f"{folder}/{name}"), self._iceberg.codec(table)
            rows = copy([file for _, file in group], layout, place, codec, first, storage.reader(table.io()))
            if not is_local(folder):
                storage.upload(table.io(), f"{folder}/{name}")  # before the table is locked
            numbers, files = zip(*group, strict=True)
            return RewrittenGroup(numbers=numbers, files=files, path=f"{folder}/{name}", rows=rows)
        except BaseException:
            self._iceberg.delete(folder)
            raise

    def _swap(self, copied: RewrittenGroup) -> int:
        """Under the lock. Gives way if there is no index any more, or none of the files."""
        table, folder = self._iceberg.load(self._db, self._name), _folder(copied.path)
        index = self._indexing.usable(self._iceberg, table)
        swap = None if index is None or index.equality else RewriteCommit(self._iceberg, table, index, copied)
        if index is None or swap is None or not swap.possible:
            self._iceberg.delete(folder)
            return 0
        before = index.snapshot
        try:
            swap.commit()
        except JAVA_ERRORS as error:
            self._indexing.lost()
            if java_class(error) in CERTAIN and not self._may_have(folder, before):
                self._iceberg.delete(folder)
            raise
        passing(CrashPoint.COMPACTED)
        self._iceberg.storage.settled(folder)
        table.refresh()
        with self._indexing.moving(0):
            swap.committed(table)
        return len(swap.there)

    def _may_have(self, folder: str, before: int | None) -> bool:
        return may_have(self._iceberg, self._db, self._name, name_of(folder), before)


class RewriteCommit:
    """The commit that replaces several files by one. `there`: numbers of those that are still in the table; of the
    others every row was deleted, or moved by another engine.
    """

    def __init__(self, iceberg: Iceberg, table: Java, index: TableIndex, copied: RewrittenGroup) -> None:
        self._iceberg, self._table, self._index, self._copied = iceberg, table, index, copied
        self._places = dict(zip(copied.numbers, _new_rows(copied.files), strict=True))
        self.there = {
            number
            for number, file in zip(copied.numbers, copied.files, strict=True)
            if number in index.files
            and index.files[number].content.path == file.content.path
            and index.files[number].dead.issuperset(file.dead)  # a rollback brings rows back that were not copied
        }
        self._dead = self._deleted_meanwhile()
        self._added: Java = None
        self._vector: ContentFile | None = None

    @property
    def possible(self) -> bool:
        """Iceberg treats a rewrite that adds more rows than it removes as an error; deleted ones count in both."""
        left = sum(self._index.files[number].content.rows for number in self.there)
        return bool(self.there) and self._copied.rows <= left

    def commit(self) -> None:
        """A RewriteFiles from the current snapshot: it is refused if deletes are added to one of the files."""
        with self._iceberg.updating(self._table) as update:
            self._rewrite(self._iceberg.in_place(self._table, update.newRewrite()))

    def _rewrite(self, rewrite: Java) -> None:
        rewrite = rewrite.validateFromSnapshot(self._index.snapshot)
        for number in self.there:
            file = self._index.files[number]
            rewrite.deleteFile(self._java(file.content))
            if file.vector is not None:
                rewrite.deleteFile(self._java(file.vector))
        if len(self._dead) < self._copied.rows:
            self._add(rewrite)
        else:
            self._iceberg.delete(_folder(self._copied.path))
        rewrite.set(UPKEEP_MARK, "compact").set(FILES_MARK, name_of(_folder(self._copied.path)))
        rewrite.commit()

    def _java(self, content: ContentFile) -> Java:
        return self._iceberg.file_of(self._table.specs(), content.text)

    def _add(self, rewrite: Java) -> None:
        table, copied = self._table, self._copied
        like = self._java(copied.files[0].content)
        [found] = self._iceberg.unplaced_files(table, _folder(copied.path))
        self._added = self._iceberg.placed(table, found, like)
        if int(self._added.recordCount()) != copied.rows:
            raise ValueError(f"{copied.path} has {self._added.recordCount()} rows, not {copied.rows}")
        rewrite.addFile(self._added)
        if self._dead:
            data = content_of(self._iceberg, table, self._added, 0)
            content, where = puffin({data.path: self._dead})
            path = f"{_folder(copied.path)}/{uuid.uuid4()}.puffin"
            self._iceberg.storage.write(table.io(), path, content)
            self._vector = vector_of(data, path, len(content), where[data.path])
            rewrite.addFile(self._java(self._vector))

    def _deleted_meanwhile(self) -> BitMap:
        """Rows of the new file that were deleted in the old ones since they were copied."""
        dead = BitMap()
        for number, file in zip(self._copied.numbers, self._copied.files, strict=True):
            now = self._index.files[number].dead if number in self.there else BitMap(range(file.content.rows))
            dead |= BitMap(self._places[number][np.array(now - file.dead, np.int64)])
        return dead

    def committed(self, table: Java) -> None:
        """The index moves with the rows; if something else is the newest by now, the next commit follows up."""
        head = head_of(table)
        if head.folder != name_of(_folder(self._copied.path)):
            self._index.lose()
            return
        self._index.advanced(head.parent, head.id, lambda: self._move(table, head.sequence))

    def _move(self, table: Java, sequence: int) -> None:
        number = None
        if self._added is not None:
            content = content_of(self._iceberg, table, self._added, sequence)
            number = self._index.number(content, self._dead, self._vector)
        self._index.move_rows({old: self._places[old] for old in self.there}, number)


def first_ids(contents: ContentFiles) -> FirstIds:
    """The id of the first row of each data file, as format v3 assigns them at a commit."""
    return {file.path: file.facts.get("first-row-id") for file in contents.data}


def candidates(index: TableIndex, calm: IdleTime) -> list[list[CompactionCandidate]]:
    """What is worth rewriting now."""
    return groups(
        [
            CompactionCandidate(
                number=number,
                partition=file.content.partition,
                bytes=file.content.bytes,
                rows=file.content.rows,
                dead=len(file.dead),
            )
            for number, file in index.files.items()
        ],
        calm,
    )


def _as_it_is(file: IndexedFile) -> IndexedFile:
    """Sets of dead rows are never changed, only replaced."""
    return IndexedFile(content=file.content, dead=file.dead, vector=file.vector)


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _new_rows(files: Sequence[IndexedFile]) -> Iterator[Words]:
    """For each row of each file its place in the copy of all of them, NOWHERE for a dead one."""
    base = 0
    for file in files:
        alive = file.alive
        yield np.where(alive, np.cumsum(alive) - 1 + base, NOWHERE).astype(np.int64)
        base += int(alive.sum())


def copy(
    files: Sequence[IndexedFile], layout: Layout, place: Path, codec: str, first: FirstIds, reader: FileReader
) -> int:
    """The live rows of some files, in their order, as one new file at `place`; returns how many. `first`: the id of
    each file's first row. Raises OSError, UnindexableError.
    """
    schema, rows = arrow_schema(layout.fields), 0
    with pq.ParquetWriter(
        place,
        pa.schema([*schema, *LINEAGE]),
        compression=codec if codec != "uncompressed" else "none",
        store_schema=False,
        store_decimal_as_integer=True,
    ) as writer:
        together = _RowGroups(writer)
        for file in files:
            with reader.whole(file.content.path) as path:
                rows += _copy_file(path, file, schema, together, first.get(file.content.path))
        together.write()
    return rows


class _RowGroups:
    """Rows on their way into a file, collected until they are many: a reader pays for each row group, and for its part
    of the footer, and each epoch's file contributes one.
    """

    def __init__(self, writer: pq.ParquetWriter) -> None:
        self._writer = writer
        self._held: list[pa.Table] = []
        self._bytes = 0

    @property
    def schema(self) -> pa.Schema:
        return self._writer.schema

    def add(self, rows: pa.Table) -> None:
        self._held.append(rows)
        self._bytes += rows.nbytes
        if self._bytes >= ROW_GROUP_BYTES:
            self.write()

    def write(self) -> None:
        held, self._held, self._bytes = self._held, [], 0
        if held:
            self._writer.write_table(pa.concat_tables(held))


def _copy_file(path: Path, file: IndexedFile, schema: pa.Schema, together: _RowGroups, first: int | None) -> int:
    alive, at = file.alive, 0
    with pq.ParquetFile(path) as source:
        for group in range(source.num_row_groups):
            rows = source.read_row_group(group)
            lineage = lineage_of(rows, None if first is None else first + at, file.content.sequence)
            kept = pa.Table.from_arrays([*columns_of(rows, schema).columns, *lineage], schema=together.schema)
            together.add(kept.filter(pa.array(alive[at : at + len(rows)])))
            at += len(rows)
    return int(alive.sum())
