"""Rows that must vanish as delete files: deletion vectors in a Puffin file (format v3), or position deletes (v2).

Owns: how a strike becomes part of a RowDelta, and that the index is notified.
Must not know: epochs, when that is committed.
"""

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap

from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.puffin import puffin
from syncmgr.lake.iceberg.snapshot_files import ContentFile, content_of, head_of, vector_of
from syncmgr.lake.index.index import IndexedFile, TableIndex
from syncmgr.lake.index.indexing import Indexing
from syncmgr.lake.index.key_index import NOWHERE, KeyNumbers
from syncmgr.lake.index.keys import EpochKeys
from syncmgr.lake.spark.jvm import Java

VECTORS: Final = 3  # the format version from which on a file has one vector, and nothing else deletes its rows
PATH_ID: Final = 2147483546  # reserved by the Iceberg specification
POSITION_ID: Final = 2147483545
POSITIONS: Final = pa.schema(
    [
        pa.field("file_path", pa.string(), nullable=False, metadata={"PARQUET:field_id": str(PATH_ID)}),
        pa.field("pos", pa.int64(), nullable=False, metadata={"PARQUET:field_id": str(POSITION_ID)}),
    ],
)


class Deletion:
    """What the commit of an epoch, or of none, does to the rows that keys had before. Under the lock of the index."""

    def __init__(self, iceberg: Iceberg, table: Java, index: TableIndex, touched: EpochKeys | None = None) -> None:
        self._iceberg, self._table, self._index, self._touched = iceberg, table, index, touched
        self._strike, at = index.strike(None if touched is None else touched.keys)
        self._missing = 0 if touched is None else int((touched.known & (at == NOWHERE)).sum())
        self._specs: Java = table.specs()
        self._vectors: dict[int, ContentFile] = {}
        self.written: list[str] = []

    @property
    def empty(self) -> bool:
        return not self._strike.rows and not self._strike.folded

    def committed(
        self,
        indexing: Indexing,
        table: Java,
        folder: str,
        written: Sequence[tuple[Java, KeyNumbers]],
        *,
        count_missing: bool,
    ) -> None:
        """The commit of a folder is in `table`, with these data files and the keys of their rows; if something else is
        the newest by now, the next commit follows up.
        """
        head = head_of(table)
        if head.folder != folder:
            indexing.lost()
            return

        def move() -> None:
            if self._touched is not None:
                self._index.vanish(self._touched.keys)
            self._index.struck(self._strike, self._vectors)
            self._index.added([(content_of(self._iceberg, table, file, head.sequence), keys) for file, keys in written])

        with indexing.moving(self._missing if count_missing else 0):
            self._index.advanced(head.parent, head.id, move)

    def add_to(self, delta: Java, folder: str) -> None:
        """Into a RowDelta, which is refused if one of the files is gone or has other deletes by then."""
        strike, files = self._strike, self._index.files
        if self.empty:
            return
        if self._iceberg.format_version(self._table) < VECTORS:
            self._add_positions(delta, folder, {n: rows for n, rows in strike.rows.items() if n in strike.vectors})
        elif strike.vectors:
            self._add_vectors(delta, folder, strike.vectors)
        for gone in (*strike.replaced, *strike.folded):
            delta.removeDeletes(self._java(gone))
        for file in strike.emptied:
            delta.removeRows(self._java(file.content))
        existing = self._iceberg.strings(files[number].content.path for number in strike.vectors)
        delta.validateDataFilesExist(existing).validateDeletedFiles()

    def _java(self, content: ContentFile) -> Java:
        return self._iceberg.file_of(self._specs, content.text)

    def _add_vectors(self, delta: Java, folder: str, vectors: Mapping[int, BitMap]) -> None:
        files = self._index.files
        content, where = puffin({files[number].content.path: rows for number, rows in vectors.items()})
        path = self._write(f"{folder}/{uuid.uuid4()}.puffin", content)
        for number in vectors:
            data = files[number].content
            vector = vector_of(data, path, len(content), where[data.path])
            delta.addDeletes(self._java(vector))
            self._vectors[number] = vector

    def _add_positions(self, delta: Java, folder: str, rows: Mapping[int, BitMap]) -> None:
        files = self._index.files
        for numbers in _by_partition(files, rows).values():
            ordered = sorted(numbers, key=lambda number: files[number].content.path)
            content = _positions([(files[number].content.path, rows[number]) for number in ordered])
            path = self._write(f"{folder}/{uuid.uuid4()}.parquet", content)
            first = files[ordered[0]].content.facts
            facts = {
                "spec-id": first["spec-id"],
                "content": "position-deletes",
                "file-path": path,
                "file-format": "parquet",
                "partition": first["partition"],
                "file-size-in-bytes": len(content),
                "record-count": sum(len(rows[number]) for number in ordered),
            }
            file = ContentFile(
                path=path, rows=facts["record-count"], bytes=len(content), sequence=0, text=json.dumps(facts)
            )
            delta.addDeletes(self._java(file))

    def _write(self, path: str, content: bytes) -> str:
        self.written.append(path)
        self._iceberg.storage.write(self._table.io(), path, content)
        return path


def _by_partition(files: Mapping[int, IndexedFile], numbers: Iterable[int]) -> dict[str, list[int]]:
    """A delete file belongs to one partition of one spec."""
    groups: dict[str, list[int]] = {}
    for number in numbers:
        groups.setdefault(files[number].content.partition, []).append(number)
    return groups


def _positions(rows: list[tuple[str, BitMap]]) -> bytes:
    """A Parquet file of position deletes, sorted as the specification requires."""
    paths = [path for path, dead in rows for _ in range(len(dead))]
    table = pa.table([paths, [row for _, dead in rows for row in dead]], schema=POSITIONS)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", store_schema=False)
    content: bytes = sink.getvalue().to_pybytes()
    return content
