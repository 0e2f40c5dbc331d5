"""Data and delete files of Iceberg tables as values, through py4j like `jvm` and `iceberg`.

Owns: Iceberg's JSON form of a file, which survives the JVM, and what a snapshot consists of.
Must not know: keys, epochs, when something is called.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Any, Final

from syncmgr.lake.iceberg.ancestry import FILES_MARK
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.java_api import closing_java, iterated, listed
from syncmgr.lake.iceberg.puffin import Blob
from syncmgr.lake.spark.jvm import Java
from syncmgr.lake.storage.locations import ON_DISK, FileReader

PUFFIN: Final = "puffin"
MOVED: Final = "moved"  # in place of a partition: in files of another spec, into which a rewrite has moved rows


@dataclass(frozen=True, kw_only=True)
class ContentFile:
    """A data or delete file. `text`: Iceberg's JSON of it, without column bounds; `sequence` 0: not committed yet.

    `added`: the number of the snapshot that added it, later than `sequence` for one that keeps that of the rows which a
    rewrite has moved; 0: not known. `by_key`: an equality delete, and all rows with its values are in its partition.
    """

    path: str
    rows: int
    bytes: int
    sequence: int
    text: str
    added: int = 0
    by_key: bool = False

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        found: dict[str, Any] = json.loads(self.text)
        return found

    @property
    def partition(self) -> str:
        """What distinguishes its partition and spec from every other."""
        return json.dumps([self.facts["spec-id"], self.facts["partition"]])

    @property
    def reach(self) -> str | None:
        """In which partition an equality delete finds rows; None: everywhere, since its spec has no partitions."""
        return self.partition if self.facts["partition"] else None

    @property
    def lies(self) -> tuple[str, ...]:
        """Where equality deletes find the rows of a data file."""
        return (self.partition, MOVED) if self.is_moved else (self.partition,)

    @property
    def is_moved(self) -> bool:
        """Whether a rewrite has made the data file, and deletes that came meanwhile still count."""
        return self.sequence < self.added

    @property
    def place(self) -> tuple[str, int]:
        """What distinguishes it from every other, including those in the same Puffin file."""
        return self.path, self.facts.get("content-offset", 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class ContentFiles:
    """All files of a snapshot. `place`: of the table; one that is moved has the same snapshots, with other paths.
    `vectors`: by data file's path; `positions`: Parquet position deletes (format v2).
    """

    snapshot: int | None
    place: str = ""
    data: tuple[ContentFile, ...] = ()
    vectors: Mapping[str, ContentFile] = field(default_factory=dict)
    positions: tuple[ContentFile, ...] = ()
    equality: tuple[ContentFile, ...] = ()
    reader: FileReader = field(default=ON_DISK, compare=False, repr=False)

    @property
    def paths(self) -> frozenset[str]:
        """Of all of them."""
        every = (*self.data, *self.vectors.values(), *self.positions, *self.equality)
        return frozenset(file.path for file in every)


@dataclass(frozen=True, kw_only=True, slots=True)
class CurrentSnapshot:
    """The current snapshot of a table. `parent` None: it is the first. `folder`: of the files of a commit of ours."""

    id: int
    parent: int | None
    sequence: int
    folder: str | None


def head_of(table: Java) -> CurrentSnapshot:
    """Of a table that has one."""
    snapshot = table.currentSnapshot()
    parent, folder = snapshot.parentId(), snapshot.summary().get(FILES_MARK)
    return CurrentSnapshot(
        id=int(snapshot.snapshotId()),
        parent=None if parent is None else int(parent),
        sequence=int(snapshot.sequenceNumber()),
        folder=None if folder is None else str(folder),
    )


def reaching(contents: ContentFiles, deletes: Iterable[ContentFile]) -> Iterator[tuple[str | None, ContentFile]]:
    """Each equality delete, once for each partition that it reaches, None: all.

    One that was committed while a rewrite into another spec was under way has not reached the rows there, though it was
    before it for all that have its keys.
    """
    moved = {file.facts["spec-id"] for file in contents.data if file.is_moved}
    for file in deletes:
        yield file.reach, file
        if file.by_key and file.reach is not None and moved - {file.facts["spec-id"]}:
            yield MOVED, file


def content_of(iceberg: Iceberg, table: Java, file: Java, sequence: int) -> ContentFile:
    """The value of a Java file."""
    text = iceberg.file_text(table, file)
    facts = json.loads(text)
    return ContentFile(
        path=facts["file-path"],
        rows=facts["record-count"],
        bytes=facts["file-size-in-bytes"],
        sequence=sequence,
        text=text,
    )


def contents_of(iceberg: Iceberg, table: Java) -> ContentFiles:
    """What the current snapshot consists of, read from its manifests."""
    snapshot = table.currentSnapshot()
    if snapshot is None:
        return ContentFiles(snapshot=None, place=str(table.location()))
    io, specs, files = table.io(), table.specs(), iceberg.jvm.org.apache.iceberg.ManifestFiles
    data = [
        found
        for manifest in listed(snapshot.dataManifests(io))
        for found in _read(iceberg, table, files.read(manifest, io, specs))
    ]
    deletes = [
        found
        for manifest in listed(snapshot.deleteManifests(io))
        for found in _read(iceberg, table, files.readDeleteManifest(manifest, io, specs))
    ]
    vectors = {}
    for file in deletes:
        if file.facts["file-format"] == PUFFIN:
            vectors[file.facts["referenced-data-file"]] = file
    return ContentFiles(
        snapshot=int(snapshot.snapshotId()),
        place=str(table.location()),
        data=tuple(data),
        vectors=vectors,
        positions=tuple(
            f for f in deletes if f.facts["content"] == "position-deletes" and f.path not in _paths(vectors)
        ),
        equality=tuple(file for file in deletes if file.facts["content"] == "equality-deletes"),
        reader=iceberg.storage.reader(io),
    )


def _paths(vectors: Mapping[str, ContentFile]) -> set[str]:
    return {vector.path for vector in vectors.values()}


def _read(iceberg: Iceberg, table: Java, reader: Java) -> Iterable[ContentFile]:
    columns = cache(partial(iceberg.columns_of_spec, table))
    with closing_java(reader):
        return [_committed(iceberg, table, file, columns) for file in iterated(reader)]


def _committed(iceberg: Iceberg, table: Java, file: Java, columns: Callable[[int], set[int]]) -> ContentFile:
    """`columns`: from which the partitions of a spec are made."""
    found = content_of(iceberg, table, file, int(file.dataSequenceNumber()))
    ids = set(found.facts.get("equality-ids", ()))
    by_key = bool(ids) and found.reach is not None and columns(found.facts["spec-id"]) <= ids
    return replace(found, added=int(file.fileSequenceNumber() or 0), by_key=by_key)


def vector_of(data: ContentFile, puffin_path: str, puffin_bytes: int, blob: Blob) -> ContentFile:
    """The delete file that is the vector of a data file; it has its partition and spec."""
    facts = {
        "spec-id": data.facts["spec-id"],
        "content": "position-deletes",
        "file-path": puffin_path,
        "file-format": PUFFIN,
        "partition": data.facts["partition"],
        "file-size-in-bytes": puffin_bytes,
        "record-count": blob.rows,
        "referenced-data-file": data.path,
        "content-offset": blob.offset,
        "content-size-in-bytes": blob.length,
    }
    return ContentFile(path=puffin_path, rows=blob.rows, bytes=blob.length, sequence=0, text=json.dumps(facts))
