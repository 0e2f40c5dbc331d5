"""Which rows of data files are deleted by position.

Owns: how deletion vectors and position deletes are read, and which of them reach a file.
Must not know: keys, the index, commits.
"""

import pyarrow.parquet as pq
from pyroaring import BitMap

from syncmgr.lake.iceberg.puffin import vector_rows
from syncmgr.lake.iceberg.snapshot_files import ContentFile, ContentFiles
from syncmgr.lake.index.keys import UnindexableError


def read_vector(vector: ContentFile, contents: ContentFiles) -> BitMap:
    """The rows that a deletion vector deletes. Raises OSError, BrokenVectorError, and errors of Java."""
    offset, length = vector.facts["content-offset"], vector.facts["content-size-in-bytes"]
    return vector_rows(contents.reader.part(vector.path, offset, length))


def position_deletes(contents: ContentFiles) -> dict[str, BitMap]:
    """The rows that position deletes reach, by data file: as the specification has it, those that are not younger, in
    their own partition and spec. Raises UnindexableError where readers differ about that.
    """
    data, found = {file.path: file for file in contents.data}, dict[str, BitMap]()
    for file in contents.positions:
        with contents.reader.whole(file.path) as path:
            table = pq.read_table(path, columns=["file_path", "pos"])
        by_path = table.group_by("file_path").aggregate([("pos", "list")])
        for path, rows in zip(by_path["file_path"].to_pylist(), by_path["pos_list"].to_pylist(), strict=True):
            hit = data.get(path)
            if hit is not None and hit.partition != file.partition and len(by_path) == 1:
                raise UnindexableError("another writer left position deletes of a file of another partition")
            if hit is not None and hit.partition == file.partition and hit.sequence <= file.sequence:
                found[path] = found.get(path, BitMap()) | BitMap(rows)
    return found
