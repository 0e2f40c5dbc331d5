"""What the metadata of a table say: schema, properties, snapshots.

Owns: how they are read by Iceberg's API.
Must not know: epochs, jobs, what is written.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from py4j.protocol import Py4JJavaError

from syncmgr.errors import Code
from syncmgr.job.snapshot.retention import Kept
from syncmgr.lake.iceberg.java_api import StoredFiles, closing_java, iterated, listed
from syncmgr.lake.iceberg.layout import (
    CHANGES,
    FORMAT_VERSION,
    UUID,
    Layout,
    PartitionField,
    Snapshot,
    layout_of,
    size_of,
)
from syncmgr.lake.spark.jvm import Java, text_of
from syncmgr.lake.storage.locations import is_local
from syncmgr.lake.storage_errors import of_lake

METADATA: Final = ".metadata.json"
CODEC: Final = "write.parquet.compression-codec"
STAGED: Final = "wap.id"  # Iceberg's own words in a snapshot's summary
PUBLISHED: Final = "published-wap-id"
OF_STORAGE: Final = ("IOException", "awssdk", "ServiceFailureException")  # Java's words for its failures
FOR_GOOD: Final = ("NotFoundException", "fasterxml", "Status Code: 403", "Status Code: 404")
CODECS: Final = frozenset({"zstd", "snappy", "gzip", "uncompressed"})


def common_codec(word: str) -> str:
    """Spark's word for a codec that another engine may have set; Spark has no lz4 and no brotli."""
    return word.lower() if word.lower() in CODECS else "zstd"


def may_be_read_later(text: str) -> bool:
    """Whether storage has failed to read a file that may be there. `text`: of an error of Java, causes included. One
    that is missing, is denied or has other contents stays so.
    """
    for_good = any(words in text for words in FOR_GOOD) or of_lake(text) is Code.LAKE_DENIED
    return not for_good and any(words in text for words in OF_STORAGE)


@dataclass(frozen=True, kw_only=True, slots=True)
class TableTotals:
    """What a table consists of now."""

    snapshot: int
    data_files: int
    data_bytes: int
    delete_files: int
    equality_deletes: int  # rows in them

    @property
    def files(self) -> int:
        return self.data_files + self.delete_files


class SnapshotHistory(StoredFiles):
    """The snapshots of a table of one catalog, as far back as its metadata know them."""

    def history(self, table: Java, marks: Iterable[str], *, expired: bool = False) -> Iterator[Snapshot]:
        """The current snapshot and its ancestors, newest first, as far back as they were not expired; or with
        `expired`, as far back as older metadata of the table list them, which are read only if one is missing.
        """
        known = tuple(marks)
        for _, snapshot in self._ancestors(table, expired=expired):
            parent = snapshot.parentId()
            summary = snapshot.summary()
            found = {mark: summary.get(mark) for mark in known}
            yield Snapshot(
                id=int(snapshot.snapshotId()),
                parent=None if parent is None else int(parent),
                operation=str(snapshot.operation()),
                marks={mark: str(value) for mark, value in found.items() if value is not None},
                sequence=int(snapshot.sequenceNumber()),
            )

    def _ancestors(self, table: Java, *, expired: bool) -> Iterator[tuple[Java, Java]]:
        """Each with the metadata that list it."""
        older = self.older_metadata(table) if expired else iter(())
        metadata, snapshot = table.operations().current(), table.currentSnapshot()
        while snapshot is not None:
            yield metadata, snapshot
            parent = snapshot.parentId()
            snapshot = None if parent is None else metadata.snapshot(parent)
            while parent is not None and snapshot is None and (before := next(older, None)) is not None:
                metadata = before
                snapshot = metadata.snapshot(parent)

    def older_metadata(self, table: Java) -> Iterator[Java]:
        """Newest first, as far back as their files exist. Raises Java's error if one could not be read this time: what
        it lists would count as lost, or as expired.
        """
        io = table.io()
        for entry in reversed(listed(table.operations().current().previousFiles())):
            try:
                yield self._classes.metadata_parser.read(io, entry.file())
            except Py4JJavaError as error:
                if may_be_read_later(text_of(error)):
                    raise
                return  # removed, or no longer what it was

    def has_files_of(self, table: Java, snapshot: int) -> bool:
        """Whether the current snapshot names what that one has added or removed: then it comes after it."""
        entries = self._package.MetadataTableUtils.createMetadataTableInstance(
            table.operations(), "table", "entries", self._package.MetadataTableType.ENTRIES
        )
        number = self.jvm.java.lang.Class.forName("java.lang.Long")
        wanted = self._classes.array_list()
        wanted.add("snapshot_id")
        with closing_java(entries.newScan().select(wanted).planFiles()) as tasks:
            for task in iterated(tasks):
                with closing_java(task.asDataTask().rows()) as rows:
                    if any(row.get(0, number) == snapshot for row in iterated(rows)):
                        return True
        return False

    def older_versions(self, table: Java) -> int:
        """How many older metadata are listed, though a commit beside may remove their files."""
        return int(table.operations().current().previousFiles().size())

    def marks_of_all(self, table: Java, mark: str) -> frozenset[str]:
        """The values of a mark in all snapshots, also those that a rollback has left beside the history."""
        found = (snapshot.summary().get(mark) for snapshot in listed(table.snapshots()))
        return frozenset(str(value) for value in found if value is not None)

    def columns_when(self, table: Java, mark: str, is_one: Callable[[str], bool]) -> dict[str, int] | None:
        """The ids of the table's columns as they were at its newest snapshot whose mark is one, even an expired one;
        None if there is none.
        """
        for metadata, snapshot in self._ancestors(table, expired=True):
            if is_one(str(snapshot.summary().get(mark) or "")):
                schema = metadata.schemasById().get(snapshot.schemaId())
                return None if schema is None else dict(self._columns(schema))
        return None

    def columns_ever(self, table: Java) -> list[tuple[str, int]]:
        """Name and id of each column in any schema that the metadata list."""
        return [each for schema in listed(table.operations().current().schemas()) for each in self._columns(schema)]

    def _columns(self, schema: Java) -> list[tuple[str, int]]:
        return [
            (str(each["name"]), int(each["id"]))
            for each in json.loads(self._classes.schema_parser.toJson(schema))["fields"]
        ]


class TableMetadata(SnapshotHistory):
    """Of the tables of one catalog."""

    def layout(self, table: Java) -> Layout:
        schema = json.loads(self._classes.schema_parser.toJson(table.schema()))
        spec = json.loads(self._classes.spec_parser.toJson(table.spec()))
        return layout_of(schema, spec)

    def properties(self, table: Java) -> dict[str, str]:
        found = {str(key): str(value) for key, value in dict(table.properties()).items()}
        metadata = table.operations().current()
        changes = int(metadata.previousFiles().size()) + int(metadata.snapshots().size())
        snapshot = table.currentSnapshot()
        size = size_of(None if snapshot is None else dict(snapshot.summary()))
        facts = {FORMAT_VERSION: str(self.format_version(table)), UUID: self.uuid(table), CHANGES: str(changes)}
        return found | facts | size

    def partition_fields(self, table: Java) -> tuple[PartitionField, ...]:
        """Of all specs, also those of older files."""
        schema = json.loads(self._classes.schema_parser.toJson(table.schema()))
        specs = [json.loads(self._classes.spec_parser.toJson(spec)) for spec in table.specs().values()]
        return tuple(part for spec in specs for part in layout_of(schema, spec).partition)

    def uuid(self, table: Java) -> str:
        """A table that was dropped and recreated has another one."""
        return str(table.uuid())

    def token(self, table: Java, key: str) -> int:
        """A number in the table's properties, 0 if missing."""
        return int(table.properties().get(key) or 0)

    def property(self, table: Java, key: str) -> str | None:
        value = table.properties().get(key)
        return None if value is None else str(value)

    def codec(self, table: Java) -> str:
        """How its Parquet files are to be compressed: as the table says, if Spark and Arrow both have that."""
        return common_codec(str(table.properties().get(CODEC) or ""))

    def format_version(self, table: Java) -> int:
        return int(table.operations().current().formatVersion())

    def metadata_files(self, table: Java) -> list[str]:
        """What lies in the table's folder as its metadata, even if it is of another one."""
        folder = f"{table.location()}/metadata/"
        if not is_local(folder):
            found = (str(file.location()) for file in iterated(table.io().listPrefix(folder)))
            return [path for path in found if path.endswith(METADATA) and "/" not in path[len(folder) :]]
        path = self._classes.path(f"{folder}*{METADATA}")
        found = path.getFileSystem(self.hadoop).globStatus(path)
        return [] if found is None else [str(status.getPath().toString()) for status in found]

    def origin_of(self, table: Java, path: str) -> tuple[str, str]:
        """Of metadata in a file: the uuid of their table, and the metadata before them, "" if there are none. `table`:
        whose storage has the file.
        """
        metadata = self._classes.metadata_parser.read(table.io(), path)
        before = listed(metadata.previousFiles())
        return str(metadata.uuid()), str(before[-1].file()) if before else ""

    def sequence(self, table: Java, snapshot: int) -> int | None:
        """A snapshot's number in the order of the table's commits; None if older metadata do not list it either."""
        for metadata in chain((table,), self.older_metadata(table)):
            found = metadata.snapshot(snapshot)
            if found is not None:
                return int(found.sequenceNumber())
        return None

    def current_snapshot(self, table: Java) -> int | None:
        snapshot = table.currentSnapshot()
        return None if snapshot is None else int(snapshot.snapshotId())

    def current(self, table: Java) -> TableTotals | None:
        """What the current snapshot's summary counts; None on an empty table."""
        snapshot = table.currentSnapshot()
        if snapshot is None:
            return None
        summary = snapshot.summary()

        def total(name: str) -> int:
            return int(summary.get(f"total-{name}") or 0)

        return TableTotals(
            snapshot=int(snapshot.snapshotId()),
            data_files=total("data-files"),
            data_bytes=total("files-size"),
            delete_files=total("delete-files"),
            equality_deletes=total("equality-deletes"),
        )

    def snapshots(self, table: Java) -> frozenset[int]:
        """All that may be read."""
        return frozenset(int(snapshot.snapshotId()) for snapshot in listed(table.snapshots()))

    def staged(self, table: Java, since: int) -> set[int]:
        """Snapshots since then, Unix milliseconds, that another engine has written beside the history, to be published
        once they are checked.
        """
        beside = [each for each in listed(table.snapshots()) if each.summary().get(STAGED) is not None]
        published = self.marks_of_all(table, PUBLISHED) if beside else frozenset()
        return {
            int(each.snapshotId())
            for each in beside
            if int(each.timestampMillis()) >= since
            and str(each.summary().get(STAGED)) not in published
            and not (table.currentSnapshot() and self._classes.snapshot_util.isAncestorOf(table, each.snapshotId()))
        }

    def references(self, table: Java) -> set[str]:
        """The names of its branches and tags."""
        return {str(name) for name in table.refs().keySet()}

    def older_snapshots(self, table: Java, snapshot: int) -> int:
        """How many known snapshots come before one; 0 if that one was expired. They are listed oldest first."""
        found = table.snapshot(snapshot)
        return 0 if found is None else int(table.snapshots().indexOf(found))

    def oldest_kept(self, table: Java, kept: Kept) -> int | None:
        """The snapshot before which all others may be expired; None: none may. A table that was rolled back is left as
        it is.
        """
        if kept.point is not None:
            return kept.point
        if not kept.last or table.currentSnapshot() is None:
            return None
        if not all(self._classes.snapshot_util.isAncestorOf(table, last) for last in kept.last):
            return None
        then = self._classes.snapshot_util.nullableSnapshotIdAsOfTime(table, int(kept.since * 1000))
        if then is None:
            return None
        return min((int(then), *kept.last), key=lambda snapshot: self.older_snapshots(table, snapshot))

    def committed_at(self, table: Java, snapshot: int) -> int | None:
        """When, in Unix milliseconds; None if it was expired."""
        found = table.snapshot(snapshot)
        return None if found is None else int(found.timestampMillis())

    def earliest_from(self, table: Java, snapshot: int) -> int | None:
        """The earliest time, in Unix milliseconds, of a snapshot and all later ones: by another clock one of those may
        be older. None if it was expired.
        """
        found = table.snapshot(snapshot)
        if found is None:
            return None
        later = listed(table.snapshots())[int(table.snapshots().indexOf(found)) :]
        return min(int(each.timestampMillis()) for each in later)

    def writers(self, table: Java, mark: str, since: int) -> set[str]:
        """The values of a mark in the summaries of snapshots from `since` on, Unix milliseconds."""
        found: set[str] = set()
        for snapshot in self.history(table, (mark,)):
            if (self.committed_at(table, snapshot.id) or 0) < since:
                break
            found |= {snapshot.marks[mark]} if mark in snapshot.marks else set()
        return found

    def behind(self, table: Java, now: float) -> float:
        """Seconds by which a clock at `now` is behind the table's last commit; 0 for one that no longer has its
        name.
        """
        current = table.operations().current()
        return 0.0 if current is None else float(current.lastUpdatedMillis()) / 1000 - now

    def columns_in_partitions(self, table: Java) -> set[int]:
        """Whose own values are those of a partition of a data or delete file, also in an older spec. Without the column
        they would have no type: Iceberg neither parses nor compares them.
        """
        snapshot = table.currentSnapshot()
        manifests = [] if snapshot is None else listed(snapshot.allManifests(table.io()))
        live = {int(each.partitionSpecId()) for each in manifests if each.hasAddedFiles() or each.hasExistingFiles()}
        specs = [json.loads(self._classes.spec_parser.toJson(table.specs().get(number))) for number in live]
        fields = [field for spec in specs for field in spec["fields"]]
        return {field["source-id"] for field in fields if field["transform"].startswith(("identity", "truncate"))}

    def columns_of_spec(self, table: Java, number: int) -> set[int]:
        """From whose values the partitions of a spec are made."""
        return {int(field.sourceId()) for field in listed(table.specs().get(number).fields())}

    def specs_in_use(self, table: Java) -> set[int]:
        """Of the data files that the table has."""
        snapshot = table.currentSnapshot()
        if snapshot is None or table.specs().size() == 1:
            return set() if snapshot is None else {int(table.spec().specId())}
        manifests = listed(snapshot.dataManifests(table.io()))
        live = (each for each in manifests if each.hasAddedFiles() or each.hasExistingFiles())
        return {int(each.partitionSpecId()) for each in live}
