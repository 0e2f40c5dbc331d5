"""Files of a table that name other files by absolute paths, rewritten for a lake in another folder.

Owns: where paths occur in metadata, manifests, deletion vectors and position deletes; lengths that change with them.
Must not know: catalogs, which files there are.
"""

import json
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from syncmgr.host.moved_folder import Move, NotMovableError
from syncmgr.lake.iceberg import avro, metadata_file
from syncmgr.lake.iceberg.named_files import FileKind, NamedFile
from syncmgr.lake.iceberg.puffin import MAGIC

PATH_OF_DELETE: Final = 2147483546  # the reserved field id of a position delete's file
FOOTER: Final = 4 + 4 + 4  # of a Puffin file, after its text: length, flags, magic
FIRST_ROW_GROUP: Final = 4  # after the magic number of a Parquet file
PATHS: Final = (  # of the properties of a table; the same words end the properties of a column called `path`
    "write.data.path",
    "write.metadata.path",
    "write.object-storage.path",
    "write.folder-storage.path",
)


def metadata(path: Path, move: Move, *, is_older: bool) -> bytes:
    """A metadata file, current or older, compressed as before."""
    return metadata_file.content(path, _metadata(path, move, is_older=is_older))


def _metadata(path: Path, move: Move, *, is_older: bool) -> dict[str, Any]:
    found = metadata_file.read(path)
    found["location"] = move.moved(found["location"])
    _move_each(found.get("snapshots", ()), "manifest-list", move)
    _move_each(found.get("metadata-log", ()), "metadata-file", move)
    _move_each(found.get("statistics", ()), "statistics-path", move)
    _move_each(found.get("partition-statistics", ()), "statistics-path", move)
    _move_properties(found.get("properties", {}), move, is_older=is_older)
    return found


def _move_properties(properties: dict[str, str], move: Move, *, is_older: bool) -> None:
    """Places of new files. Older metadata lose one that is elsewhere: a table set back to them would write there."""
    for name in PATHS:
        if name not in properties:
            continue
        try:
            properties[name] = move.moved(properties[name])
        except NotMovableError as error:
            if not is_older:
                cure = f"ALTER TABLE ... UNSET TBLPROPERTIES ('{name}')"
                raise NotMovableError(f"its property '{name}' names a place elsewhere: {error}; {cure}") from error
            del properties[name]


def _move_each(entries: Any, name: str, move: Move) -> None:  # noqa: ANN401 - JSON
    for entry in entries:
        entry[name] = move.moved(entry[name])


def manifest_list(data: bytes, move: Move, lengths: Mapping[str, int]) -> bytes:
    """`lengths`: of the files that were changed, by their location before."""
    container = avro.read(data)
    for record in container.records:
        before = record["manifest_path"]
        record["manifest_length"] = lengths.get(before, record["manifest_length"])
        record["manifest_path"] = move.moved(before)
    return avro.write(container)


def manifest(data: bytes, move: Move, lengths: Mapping[str, int]) -> bytes:
    """Entries for deleted files are moved with the others."""
    container = avro.read(data)
    for record in container.records:
        _move_file(record["data_file"], move, lengths)
    return avro.write(container)


def _move_file(file: dict[str, Any], move: Move, lengths: Mapping[str, int]) -> None:
    before = file["file_path"]
    file["file_path"] = move.moved(before)
    if before in lengths:
        file["file_size_in_bytes"] = lengths[before]
        if file.get("split_offsets") and file["file_format"].upper() == "PARQUET":
            file["split_offsets"] = [FIRST_ROW_GROUP]
    if file.get("referenced_data_file") is not None:
        file["referenced_data_file"] = move.moved(file["referenced_data_file"])
    for bounds in ("lower_bounds", "upper_bounds"):
        if file.get(bounds) is not None:
            file[bounds] = [bound for each in file[bounds] for bound in _bound(each, move)]


def _bound(bound: dict[str, Any], move: Move) -> list[dict[str, Any]]:
    """A truncated one is left out: readers do without it."""
    if bound["key"] != PATH_OF_DELETE:
        return [bound]
    try:
        return [bound | {"value": move.moved(bound["value"].decode()).encode()}]
    except (NotMovableError, UnicodeDecodeError):
        return []


def vectors(data: bytes, move: Move) -> bytes:
    """A Puffin file: its blobs stay where they are, its footer gets the new names of the data files."""
    begin, flags, footer = _footer(data)
    for blob in footer["blobs"]:
        properties: dict[str, str] = blob.get("properties", {})
        if "referenced-data-file" in properties:
            properties["referenced-data-file"] = move.moved(properties["referenced-data-file"])
    text = json.dumps(footer).encode()
    return b"".join((data[:begin], text, struct.pack("<I", len(text)), flags, MAGIC))


def _footer(data: bytes) -> tuple[int, bytes, dict[str, Any]]:
    """Where it begins, its flags and what it says; `data` may lack what comes before it."""
    length, flags = struct.unpack("<I4s", data[-FOOTER:-4])
    begin = len(data) - FOOTER - length
    if data[-4:] != MAGIC or data[begin - 4 : begin] != MAGIC:
        raise ValueError("the footer of a Puffin file is not where it should be")
    if any(flags):
        raise NotMovableError("the footer of a Puffin file is compressed")
    return begin, flags, json.loads(data[begin : begin + length])


def _paths_of_vectors(path: Path) -> Iterator[str]:
    """Only the footer is read."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - FOOTER, 0))
        length = struct.unpack("<I", file.read(4))[0]
        file.seek(max(size - FOOTER - length - len(MAGIC), 0))
        _, _, footer = _footer(file.read())
    for blob in footer["blobs"]:
        if "referenced-data-file" in (properties := blob.get("properties", {})):
            yield properties["referenced-data-file"]


def _paths_of_positions(path: Path) -> Iterator[str]:
    """Each once for a row group; no more than that is in memory."""
    with pq.ParquetFile(path, read_dictionary=["file_path"]) as file:
        _refuse_nameless(file.schema_arrow)
        for group in range(file.num_row_groups):
            yield from file.read_row_group(group, columns=["file_path"]).column(0).unique().to_pylist()


def _refuse_nameless(schema: pa.Schema) -> None:
    if schema.get_field_index("file_path") < 0:
        raise NotMovableError("position deletes have no column 'file_path'")


def positions(path: Path, move: Move) -> bytes:
    """A Parquet file of position deletes: the order of its rows is that of their paths, which all change in the same
    way.
    """
    table = pq.read_table(path, partitioning=None)
    _refuse_nameless(table.schema)
    at = table.schema.get_field_index("file_path")
    names = table.column(at).to_pylist()
    moved = pa.array([move.moved(name) for name in names], pa.string())
    table = table.set_column(at, table.schema.field(at).with_type(pa.string()), moved)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", store_schema=False, row_group_size=max(len(table), 1))
    content: bytes = sink.getvalue().to_pybytes()
    return content


def rewritten(named: NamedFile, path: Path, move: Move, lengths: Mapping[str, int]) -> bytes | None:
    """The new content of the file at `path` after the move; None: unchanged. `lengths`: as with `manifest_list`.

    What a file names must have been rewritten before it.
    """
    match named.kind:
        case FileKind.DATA | FileKind.STATISTICS:
            return None
        case FileKind.VECTORS:
            return vectors(path.read_bytes(), move)
        case FileKind.POSITIONS:
            return positions(path, move)
        case FileKind.MANIFEST:
            return manifest(path.read_bytes(), move, lengths)
        case FileKind.MANIFESTS:
            return manifest_list(path.read_bytes(), move, lengths)
        case FileKind.METADATA | FileKind.PREVIOUS:
            return metadata(path, move, is_older=named.kind is FileKind.PREVIOUS)


def unmovable(named: NamedFile, path: Path, move: Move) -> Iterator[str]:
    """Why `rewritten` would refuse the file at `path`, as far as it has to be read for that, and nothing is written:
    manifests and their lists are known from the walk that found the file (`Tables.mentioned`).
    """
    paths: Iterable[str] = ()
    try:
        match named.kind:
            case FileKind.VECTORS:
                paths = _paths_of_vectors(path)
            case FileKind.POSITIONS:
                paths = _paths_of_positions(path)
            case FileKind.METADATA | FileKind.PREVIOUS:
                _metadata(path, move, is_older=named.kind is FileKind.PREVIOUS)
        for each in paths:
            move.moved(each)
    except NotMovableError as error:
        yield str(error)


ORDER: Final = (
    FileKind.VECTORS,
    FileKind.POSITIONS,
    FileKind.MANIFEST,
    FileKind.MANIFESTS,
    FileKind.METADATA,
    FileKind.PREVIOUS,
)
