"""A small model of Iceberg's rules: snapshots, what a commit validates, and how it is repeated on newer metadata.

Real are the Parquet and Puffin files; a table's metadata is one value, which a commit compares and sets. Somebody else
may come before every call that is made of it.
"""

import itertools
import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError

from syncmgr.lake.iceberg.ancestry import REWRITES
from syncmgr.lake.iceberg.layout import Field, JsonValue, Layout, PartitionField, Snapshot
from syncmgr.lake.iceberg.snapshot_files import ContentFile
from syncmgr.lake.iceberg.table_metadata import TableTotals
from syncmgr.lake.storage.copies import Copies
from syncmgr.lake.storage.table_files import JavaFiles, TableFiles

LAYOUT = Layout(
    schema_id=0,
    spec_id=0,
    fields=(
        Field(id=1, name="id", type="long", required=True),
        Field(id=2, name="v", type="long", required=True),
    ),
    partition=(),
    identifier=(1,),
)
Values = tuple[int | None, ...]  # of the fields of a partition spec
REPEATS = 4  # Iceberg's own default of commit.retry.num-retries


class RefusedError(Py4JJavaError):
    """An exception of Java's, without a Java."""

    def __init__(self, name: str) -> None:
        self.name = f"org.apache.iceberg.exceptions.{name}"
        self.java_exception = SimpleNamespace(getClass=lambda: SimpleNamespace(getName=lambda: self.name))

    def __str__(self) -> str:
        return self.name


class Many(list[Any]):
    """A Java list, or a reader of files."""

    def size(self) -> int:
        return len(self)

    def get(self, place: int) -> Any:
        return self[place]

    def iterator(self) -> Any:
        left = list(self)
        return SimpleNamespace(hasNext=lambda: bool(left), next=lambda: left.pop(0))

    def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True)
class File:
    """A data or delete file; `sequence`: of the snapshot that it counts from, `by`: of the one that added it."""

    facts: Mapping[str, Any]
    sequence: int = 0
    by: int = 0

    @property
    def place(self) -> tuple[str, int]:
        return self.facts["file-path"], self.facts.get("content-offset", 0)

    @property
    def is_data(self) -> bool:
        return bool(self.facts["content"] == "data")

    def location(self) -> str:
        return str(self.facts["file-path"])

    def recordCount(self) -> int:  # noqa: N802 - Java's names from here on
        return int(self.facts["record-count"])

    def dataSequenceNumber(self) -> int:  # noqa: N802
        return self.sequence

    def fileSequenceNumber(self) -> int:  # noqa: N802
        return self.by


def values_of(layout: Layout, row: Mapping[str, int]) -> Values:
    """Where a row lies; a bucket is a remainder here."""
    found: list[int | None] = []
    for part in layout.partition:
        value = row.get("id" if part.source_id == 1 else "v")
        buckets = part.transform.startswith("bucket") and value is not None
        found.append(value % int(part.transform[7:-1]) if buckets and value is not None else value)
    return tuple(found)


def data_file(path: Path, spec: int = 0, values: Sequence[int | None] = ()) -> File:
    facts = {
        "spec-id": spec,
        "content": "data",
        "file-path": str(path),
        "file-format": "parquet",
        "partition": list(values),
        "file-size-in-bytes": path.stat().st_size,
        "record-count": pq.read_metadata(path).num_rows,
    }
    return File(facts)


@dataclass(frozen=True)
class Snap:
    """A snapshot: all its files, and what it changed."""

    id: int
    parent: int | None
    sequence: int
    kind: str
    marks: Mapping[str, str]
    files: Mapping[tuple[str, int], File]
    added: tuple[File, ...] = ()
    removed: tuple[File, ...] = ()

    def snapshotId(self) -> int:  # noqa: N802
        return self.id

    def parentId(self) -> int | None:  # noqa: N802
        return self.parent

    def sequenceNumber(self) -> int:  # noqa: N802
        return self.sequence

    def summary(self) -> Mapping[str, str]:
        return self.marks

    def operation(self) -> str:
        return self.kind

    def dataManifests(self, _io: object) -> Many:  # noqa: N802
        return Many([Many(file for file in self.files.values() if file.is_data)])

    def deleteManifests(self, _io: object) -> Many:  # noqa: N802
        return Many([Many(file for file in self.files.values() if not file.is_data)])


@dataclass(frozen=True)
class Meta:
    """What a catalog names. `specs`: the number of each partition spec that it ever had. `ordered`: by what files are
    sorted, which nobody relies on.
    """

    layout: Layout = LAYOUT
    specs: Mapping[tuple[PartitionField, ...], int] = field(default_factory=lambda: {(): 0})
    ordered: str = ""
    current: Snap | None = None
    known: Mapping[int, Snap] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def files(self) -> Mapping[tuple[str, int], File]:
        return {} if self.current is None else self.current.files

    def partitioned(self, *parts: PartitionField) -> "Meta":
        """By another spec; one that the table had before keeps its number."""
        specs = {**self.specs, parts: self.specs.get(parts, len(self.specs))}
        return replace(self, specs=specs, layout=replace(self.layout, partition=parts, spec_id=specs[parts]))

    def identified(self, *columns: int) -> "Meta":
        return replace(self, layout=replace(self.layout, identifier=columns, schema_id=self.layout.schema_id + 1))

    def since(self, start: int | None) -> Iterator[Snap]:
        """The snapshots behind `start`, newest first."""
        snap = self.current
        while snap is not None and snap.id != start:
            yield snap
            if snap.parent is not None and snap.parent not in self.known and snap.parent != start:
                raise RefusedError("ValidationException")  # history was cut off
            snap = self.known.get(snap.parent) if snap.parent is not None else None

    def after(self, change: "Change", number: int) -> "Meta":
        """With one more snapshot. Refuses to remove what is not there."""
        sequence = 1 if self.current is None else self.current.sequence + 1
        gone = {file.place for file in change.removed}
        if not gone <= self.files.keys():
            raise RefusedError("ValidationException")
        added = tuple(replace(file, sequence=file.sequence or sequence, by=sequence) for file in change.added)
        left = {place: file for place, file in self.files.items() if place not in gone}
        snap = Snap(
            id=number,
            parent=None if self.current is None else self.current.id,
            sequence=sequence,
            kind=change.kind,
            marks=dict(change.marks),
            files=left | {file.place: file for file in added},
            added=added,
            removed=change.removed,
        )
        return replace(self, current=snap, known={**self.known, number: snap})


@dataclass(frozen=True)
class Change:
    kind: str
    added: tuple[File, ...] = ()
    removed: tuple[File, ...] = ()
    marks: Mapping[str, str] = field(default_factory=dict)


NUMBERS = itertools.count(1000)


class Catalog:
    """One table. `others`: who comes before every call. `known`: what any of its metadata has listed."""

    def __init__(self, folder: Path, version: int = 3) -> None:
        self.version = version
        self.known: dict[int, Snap] = {}
        self.meta, self.folder, self.uuid = Meta(), folder, str(uuid.uuid4())
        self.others: Callable[[], None] = lambda: None

    @property
    def meta(self) -> Meta:
        return self._meta

    @meta.setter
    def meta(self, meta: Meta) -> None:
        self._meta = meta
        self.known.update(meta.known)

    def replace_by(self, before: Meta, after: Meta) -> bool:
        """Compare and set."""
        self.others()
        if self.meta is not before:
            return False
        self.meta = after
        return True


class Update:
    """A RowDelta or a RewriteFiles: what it changes, and what must hold for that."""

    def __init__(self, table: "Table", *, rewrites: bool = False) -> None:
        self._table, self._rewrites = table, rewrites
        self._number, self._start = next(NUMBERS), None
        self._added: list[File] = []
        self._removed: list[File] = []
        self._marks: dict[str, str] = {}
        self._needed: set[str] = set()
        self._no_data = self._no_deletes = False

    def validateFromSnapshot(self, number: int | None) -> "Update":  # noqa: N802
        self._start = number
        return self

    def validateDataFilesExist(self, paths: Iterable[str]) -> "Update":  # noqa: N802
        self._needed |= set(paths)
        return self

    def validateDeletedFiles(self) -> "Update":  # noqa: N802
        return self

    def fenced(self) -> "Update":
        self._no_data = self._no_deletes = True
        return self

    def addRows(self, file: File) -> None:  # noqa: N802
        self._added.append(file)

    addDeletes = addFile = addRows  # noqa: N815

    def removeRows(self, file: File) -> None:  # noqa: N802
        self._removed.append(file)

    removeDeletes = deleteFile = removeRows  # noqa: N815

    def set(self, mark: str, value: str) -> "Update":
        self._marks[mark] = value
        return self

    def applied(self, meta: Meta) -> Meta:
        for snap in meta.since(self._start):
            self._validate(snap)
        kind = REWRITES if self._rewrites else "overwrite" if self._removed else "append"
        deletes = any(not file.is_data for file in self._added)
        kind = "overwrite" if deletes and not self._rewrites else kind
        change = Change(kind, tuple(self._added), tuple(self._removed), self._marks)
        return meta.after(change, self._number)

    def _validate(self, snap: Snap) -> None:
        """What somebody else has committed since. New deletes of a file that is rewritten, or has a vector of ours."""
        removed = {file.location() for file in snap.removed if file.is_data}
        new_data = any(file.is_data for file in snap.added) and snap.kind != REWRITES
        new_deletes = [file for file in snap.added if not file.is_data]
        mine = {file.facts.get("referenced-data-file") for file in self._added if not file.is_data}
        mine |= {file.location() for file in self._removed if file.is_data} if self._rewrites else set()
        hit = {file.facts.get("referenced-data-file") for file in new_deletes} - {None}
        by_key = self._rewrites and any(file.facts["content"] == "equality-deletes" for file in new_deletes)
        if (
            removed & self._needed
            or (self._no_data and new_data)
            or (self._no_deletes and new_deletes)
            or hit & mine
            or by_key
        ):
            raise RefusedError("ValidationException")

    def commit(self) -> None:
        self._table.commit(self.applied)


class Stream:
    """A Java stream of a file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self.seek, self.readNBytes, self.close = self._file.seek, self._file.read, self._file.close


class Table:
    """A view of the table's metadata: those that were loaded, or those that a transaction has made."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog, self.meta = catalog, catalog.meta
        self._updates: list[Callable[[Meta], Meta]] | None = None  # None: it is no transaction's
        self._opened_with = self.meta
        self._begun_with: Meta | None = None  # where it is pinned to those

    def commit(self, update: Callable[[Meta], Meta]) -> None:
        if self._updates is not None:
            self._updates.append(update)
            self.meta = update(self.meta)
            return
        self._send([update])

    def _send(self, updates: list[Callable[[Meta], Meta]]) -> None:
        """As Iceberg does, which refreshes and applies again where somebody was faster."""
        for _ in range(REPEATS + 1):
            before = after = self.catalog.meta
            if self._begun_with is not None and self._begun_with is not before:
                break
            for update in updates:
                after = update(after)
            if self.catalog.replace_by(before, after):
                self.meta = after
                return
        raise RefusedError("CommitFailedException")

    def begun(self) -> "Table":
        self.refresh()
        opened = Table(self.catalog)
        opened._updates, opened._opened_with = [], opened.meta
        return opened

    def pin(self) -> None:
        """Refused from here on where anybody else has committed."""
        self._begun_with = self._opened_with

    def finish(self) -> None:
        assert self._updates is not None
        self._send(self._updates)

    def refresh(self) -> None:
        self.meta = self.catalog.meta

    def currentSnapshot(self) -> Snap | None:  # noqa: N802
        return self.meta.current

    def newRowDelta(self) -> Update:  # noqa: N802
        return Update(self)

    def newRewrite(self) -> Update:  # noqa: N802
        return Update(self, rewrites=True)

    def location(self) -> str:
        return str(self.catalog.folder)

    def specs(self) -> None:
        """Those that files name."""

    def io(self) -> "Table":
        return self

    def newOutputFile(self, path: str) -> SimpleNamespace:  # noqa: N802
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return SimpleNamespace(create=lambda: SimpleNamespace(write=Path(path).write_bytes, close=lambda: None))

    def newInputFile(self, path: str) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(newStream=lambda: Stream(Path(path)))


Table.uuid = lambda self: self.catalog.uuid  # type: ignore[attr-defined] # the module of that name is used above


class LocalFiles(JavaFiles):
    """All files are on the local disk, so only those of a few bytes pass here."""

    def write(self, io: Table, location: str, content: bytes) -> None:
        io.newOutputFile(location).create().write(content)


class IcebergModel:
    """The part of `syncmgr.lake.iceberg.iceberg` that commits, folds and compactions of one table call."""

    spark = None  # whatever needs it is replaced by `without_spark`

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        files = SimpleNamespace(read=lambda files, *_: files, readDeleteManifest=lambda files, *_: files)
        package = SimpleNamespace(iceberg=SimpleNamespace(ManifestFiles=files))
        self.jvm = SimpleNamespace(org=SimpleNamespace(apache=package))
        self.storage = TableFiles(LocalFiles(), Copies(catalog.folder), spark_is_here=True)
        self.may_be_old = False

    def load(self, _db: str, _table: str) -> Table:
        self._catalog.others()
        return Table(self._catalog)

    def begin(self, table: Table) -> Table:
        self._catalog.others()
        return table.begun()

    def updating(self, table: Table) -> nullcontext[Table]:
        return nullcontext(table)

    def table_of(self, transaction: Table) -> Table:
        self._catalog.others()
        return transaction

    def finish(self, transaction: Table) -> int:
        transaction.finish()
        assert transaction.meta.current is not None
        return transaction.meta.current.id

    def pin(self, transaction: Table) -> None:
        transaction.pin()

    def fence(self, _transaction: Table, _marks: Mapping[str, str]) -> bool:
        return False

    def set_properties(self, transaction: Table, values: Mapping[str, str]) -> None:
        transaction.commit(lambda meta: replace(meta, properties={**meta.properties, **values}))

    def fenced_delta(self, transaction: Table) -> Update:
        delta = transaction.newRowDelta().fenced()
        current = transaction.currentSnapshot()
        return delta if current is None else delta.validateFromSnapshot(current.id)

    def add(self, delta: Update, rows: Iterable[File], deletes: Iterable[File], marks: Mapping[str, str]) -> None:
        self._catalog.others()
        for file in (*rows, *deletes):
            delta.addRows(file)
        for mark, value in marks.items():
            delta.set(mark, value)
        delta.commit()

    def in_place(self, _table: Table, update: Update) -> Update:
        return update

    def history(self, table: Table, marks: Iterable[str], *, expired: bool = False) -> Iterator[Snapshot]:
        older = table.catalog.known if expired else {}
        wanted, snap = set(marks), table.meta.current
        while snap is not None:
            found = {mark: value for mark, value in snap.marks.items() if mark in wanted}
            yield Snapshot(id=snap.id, parent=snap.parent, operation=snap.kind, marks=found, sequence=snap.sequence)
            known = {**older, **table.meta.known}
            snap = None if snap.parent is None else known.get(snap.parent)

    def sequence(self, table: Table, snapshot: int) -> int:
        return {**table.catalog.known, **table.meta.known}[snapshot].sequence

    def marks_of_all(self, table: Table, mark: str) -> frozenset[str]:
        known = {**table.catalog.known, **table.meta.known}
        return frozenset(snap.marks[mark] for snap in known.values() if mark in snap.marks)

    def columns_when(self, _table: Table, _mark: str, _is_one: Callable[[str], bool]) -> None:
        """Columns stay as they are."""

    def layout(self, table: Table) -> Layout:
        return table.meta.layout

    def columns_of_spec(self, table: Table, number: int) -> set[int]:
        [parts] = [parts for parts, at in table.catalog.meta.specs.items() if at == number]
        return {part.source_id for part in parts}

    def specs_in_use(self, table: Table) -> set[int]:
        return {file.facts["spec-id"] for file in table.meta.files.values() if file.is_data}

    def property(self, table: Table, key: str) -> str | None:
        return table.meta.properties.get(key)

    def properties(self, table: Table) -> dict[str, str]:
        return dict(table.meta.properties)

    def token(self, table: Table, key: str) -> int:
        return int(self.property(table, key) or 0)

    def codec(self, _table: Table) -> str:
        return "zstd"

    def format_version(self, table: Table) -> int:
        return table.catalog.version

    def files(self, table: Table, folder: str, partition: Mapping[int, JsonValue]) -> list[File]:
        layout = table.meta.layout
        values = [partition.get(part.id) for part in layout.partition]
        return [data_file(path, layout.spec_id, values) for path in sorted(Path(folder).glob("*.parquet"))]  # type: ignore[arg-type] # no other values here

    def unplaced_files(self, _table: Table, folder: str) -> list[File]:
        return [data_file(path) for path in sorted(Path(folder).glob("*.parquet"))]

    def folders(self, root: str) -> list[str]:
        return sorted(path.name for path in Path(root).glob("*/"))

    def placed(self, _table: Table, file: File, like: File) -> File:
        return File({**file.facts, "spec-id": like.facts["spec-id"], "partition": like.facts["partition"]})

    def equality_delete(self, _table: Table, file: File, keys: list[int]) -> File:
        return File({**file.facts, "content": "equality-deletes", "equality-ids": keys})

    def file_text(self, _table: Table, file: File) -> str:
        return json.dumps(dict(file.facts))

    def file_of(self, _specs: object, text: str) -> File:
        return File(json.loads(text))

    def strings(self, values: Iterable[str]) -> list[str]:
        return list(values)

    def location(self, file: File) -> str:
        return file.location()

    def record_count(self, file: File) -> int:
        return file.recordCount()

    def file_bytes(self, file: File) -> int:
        return 100 * file.recordCount()

    def current_snapshot(self, table: Table) -> int | None:
        snap = table.currentSnapshot()
        return None if snap is None else snap.id

    def current(self, table: Table) -> TableTotals | None:
        snap = table.currentSnapshot()
        return snap and TableTotals(snapshot=snap.id, data_files=0, data_bytes=0, delete_files=0, equality_deletes=0)

    def delete(self, *paths: str) -> None:
        """A file that the table names must not go."""
        named = {file.location() for file in self._catalog.meta.files.values()}
        for path in paths:
            assert not any(each == path or each.startswith(f"{path}/") for each in named), f"{path} is in force"


def as_file(content: ContentFile) -> File:
    return File(content.facts)
