"""The files of a table: all that its metadata name, for every snapshot that it keeps.

Owns: the way from the metadata to the data files, read without Spark.
Must not know: the catalog, what is done with the files.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final

from syncmgr.lake.iceberg import avro, metadata_file

DELETED: Final = 2  # the status of an entry for a deleted file
POSITION_DELETES: Final = 1  # the content of a delete file
OLD_FORMAT: Final = (
    "a table of format 1 has no backup; with the engine that writes it: "
    "ALTER TABLE ... SET TBLPROPERTIES ('format-version' = '2')"
)


class FileKind(Enum):
    """What a file of a table is."""

    METADATA = "metadata"
    PREVIOUS = "previous metadata"
    MANIFESTS = "manifest list"
    MANIFEST = "manifest"
    DATA = "data"  # equality deletes too: neither names another file
    POSITIONS = "position deletes"
    VECTORS = "deletion vectors"
    STATISTICS = "statistics"


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedFile:
    """A file as it is named: `location` may begin with a scheme. `bytes` None: its length is not recorded."""

    kind: FileKind
    location: str
    bytes: int | None = None


class NotATableError(ValueError):
    """Metadata that do not belong to a table of format 2 or later."""


class NamedFiles:
    """What tables name. `at`: where a named file can be read; it may save a copy of the file first.

    A manifest never changes, so each is read once, however often its table is requested.
    """

    def __init__(self, at: Callable[[NamedFile], Path]) -> None:
        self._at = at
        self._known: dict[str, tuple[NamedFile, ...]] = {}
        self._mentioned: dict[str, tuple[str, ...]] = {}

    def mentioned(self, location: str) -> tuple[str, ...]:
        """The paths in a manifest that was read that are not among its files."""
        return self._mentioned.get(location, ())

    def files(self, metadata: NamedFile) -> dict[str, NamedFile]:
        """By location. Raises what `at` does; NotATableError, ValueError, OSError if a file cannot be read."""
        found = {metadata.location: metadata}
        for named in of_metadata(metadata_file.read(self._at(metadata))):
            self._add(found, named)
        return found

    def _add(self, found: dict[str, NamedFile], named: NamedFile) -> None:
        if named.location in found:
            return
        found[named.location] = named
        path = self._at(named)
        if named.kind not in {FileKind.MANIFESTS, FileKind.MANIFEST}:
            return
        if named.location not in self._known:
            records = avro.read(path.read_bytes()).records
            of = of_list if named.kind is FileKind.MANIFESTS else of_manifest
            self._known[named.location] = tuple(of(records))
            if named.kind is FileKind.MANIFEST:
                self._mentioned[named.location] = tuple(mentioned(records))
        for below in self._known[named.location]:
            self._add(found, below)


def of_metadata(metadata: Mapping[str, Any]) -> Iterator[NamedFile]:
    """What a metadata file names, except older ones."""
    if "view-uuid" not in metadata and metadata.get("format-version") == 1:
        raise NotATableError(OLD_FORMAT)
    if "table-uuid" not in metadata or metadata.get("format-version", 0) < 2:
        raise NotATableError("it is no table")
    for snapshot in metadata.get("snapshots", ()):
        yield NamedFile(kind=FileKind.MANIFESTS, location=snapshot["manifest-list"])
    for statistics in (*metadata.get("statistics", ()), *metadata.get("partition-statistics", ())):
        length = statistics["file-size-in-bytes"]
        yield NamedFile(kind=FileKind.STATISTICS, location=statistics["statistics-path"], bytes=length)


def older(metadata: Mapping[str, Any]) -> list[str]:
    """Where the metadata of earlier commits are, or were."""
    return [entry["metadata-file"] for entry in metadata.get("metadata-log", ())]


def of_list(records: list[dict[str, Any]]) -> Iterator[NamedFile]:
    """What a manifest list names."""
    for record in records:
        yield NamedFile(kind=FileKind.MANIFEST, location=record["manifest_path"], bytes=record["manifest_length"])


def of_manifest(records: list[dict[str, Any]]) -> Iterator[NamedFile]:
    """What a manifest names, except deleted files."""
    for record in records:
        if record["status"] != DELETED:
            file = record["data_file"]
            yield NamedFile(kind=kind_of(file), location=file["file_path"], bytes=file["file_size_in_bytes"])


def mentioned(records: list[dict[str, Any]]) -> Iterator[str]:
    """The other paths of a manifest: deleted files, and the data files of vectors."""
    for record in records:
        file = record["data_file"]
        if record["status"] == DELETED:
            yield file["file_path"]
        if file.get("referenced_data_file") is not None:
            yield file["referenced_data_file"]


def kind_of(file: Mapping[str, Any]) -> FileKind:
    """Of an entry's data or delete file."""
    if file["file_format"].upper() == "PUFFIN":
        return FileKind.VECTORS
    return FileKind.POSITIONS if file.get("content", 0) == POSITION_DELETES else FileKind.DATA
