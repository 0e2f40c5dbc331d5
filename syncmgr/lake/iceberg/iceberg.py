"""Tables of Iceberg behind py4j, the counterpart of `jvm`: between them they make every Java call.

Owns: Iceberg's API as methods on plain values.
Must not know: epochs, jobs, when something is called.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Final

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.shard import Part
from syncmgr.job.snapshot.retention import Kept
from syncmgr.lake.iceberg.layout import CHANGES, FORMAT_VERSION, UUID, Field, Layout, Snapshot, layout_of
from syncmgr.lake.spark.jvm import Java, activate, java_class
from syncmgr.lake.spark.launch import CATALOG

FEW_FILES: Final = 10_000  # data and delete files whose manifests one thread reads at once
VIEW_CATALOG: Final = "org.apache.iceberg.catalog.ViewCatalog"
NOT_FOUND: Final = "org.apache.iceberg.exceptions.NoSuchTableException"


@dataclass(frozen=True, kw_only=True, slots=True)
class Totals:
    """What a table is made of now."""

    snapshot: int
    data_files: int
    data_bytes: int
    delete_files: int
    equality_deletes: int  # rows in them

    @property
    def files(self) -> int:
        return self.data_files + self.delete_files


def iterated(iterable: Java) -> Iterator[Java]:
    """A Java Iterable, one by one."""
    iterator = iterable.iterator()
    while iterator.hasNext():
        yield iterator.next()


def listed(elements: Java) -> list[Java]:
    """A Java List. Python's own iteration over it ends in a Java exception, whose translation takes 20 ms."""
    return [elements.get(place) for place in range(elements.size())]


@contextmanager
def closing_java(closeable: Java) -> Iterator[Java]:
    try:
        yield closeable
    finally:
        closeable.close()


class Iceberg:
    """The catalog of one Spark session."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        jvm: Java = spark._jvm  # noqa: SLF001 - this module is the way to it
        self.jvm = jvm
        self._session: Java = spark._jsparkSession  # noqa: SLF001
        self._hadoop: Java = spark._jsc.hadoopConfiguration()  # noqa: SLF001
        package = jvm.org.apache.iceberg
        self._package: Java = package
        # A name that py4j looks up costs a call for each of its parts: those of every commit are looked up once.
        self._path: Java = jvm.org.apache.hadoop.fs.Path
        self._migration: Java = package.data.TableMigrationUtil
        self._metrics: Java = package.MetricsConfig
        self._file_metadata: Java = package.FileMetadata
        self._file_metrics: Java = package.Metrics
        self._metadata_parser: Java = package.TableMetadataParser
        self._snapshot_util: Java = package.util.SnapshotUtil
        self._schema_parser: Java = package.SchemaParser
        self._spec_parser: Java = package.PartitionSpecParser
        self._file_parser: Java = package.ContentFileParser
        self._json: Java = package.util.JsonUtil.mapper()
        self._always: Java = package.expressions.Expressions.alwaysTrue()
        self._list: Java = jvm.java.util.ArrayList
        self._hash_map: Java = jvm.java.util.HashMap
        self._in_place: Java = jvm.com.google.common.util.concurrent.MoreExecutors.newDirectExecutorService()
        activate(spark)
        self._catalog: Java = self._session.sessionState().catalogManager().catalog(CATALOG).icebergCatalog()

    def load(self, db: str, table: str) -> Java:
        """A fresh Table. Raises NO_SUCH_TABLE."""
        try:
            return self._catalog.loadTable(self._identifier(db, table))
        except Py4JJavaError as error:
            if java_class(error) == NOT_FOUND:
                raise SyncError(Code.NO_SUCH_TABLE, db=db, table=table) from None
            raise

    def namespaces(self) -> list[str]:
        return [str(namespace.toString()) for namespace in self._catalog.listNamespaces()]

    def create_namespace(self, db: str) -> None:
        self._catalog.createNamespace(self._namespace(db))

    def drop_namespace(self, db: str) -> None:
        self._catalog.dropNamespace(self._namespace(db))

    def tables(self, db: str) -> list[str]:
        return [str(identifier.name()) for identifier in self._catalog.listTables(self._namespace(db))]

    def views(self, db: str) -> list[str]:
        """Those of other engines: we make none."""
        if not is_instance_of(SparkContext._gateway, self._catalog, VIEW_CATALOG):  # noqa: SLF001
            return []
        return [str(identifier.name()) for identifier in self._catalog.listViews(self._namespace(db))]

    def table_exists(self, db: str, table: str) -> bool:
        return bool(self._catalog.tableExists(self._identifier(db, table)))

    def drop_table(self, db: str, table: str) -> bool:
        """Drops the table and its files; False where there was none."""
        return bool(self._catalog.dropTable(self._identifier(db, table), True))

    def create_table(
        self,
        db: str,
        table: str,
        fields: Iterable[Field],
        identifier: Iterable[int],
        partition: Iterable[tuple[str, str, int | None]],
        location: str,
        properties: Mapping[str, str],
    ) -> str:
        """`partition`: (transform, column, width) for Iceberg's PartitionSpec builder. Returns the table's uuid."""
        schema = self._schema(fields, identifier)
        builder = self._package.PartitionSpec.builderFor(schema)
        for transform, column, width in partition:
            arguments = [column] if width is None else [column, width]
            builder = getattr(builder, transform)(*arguments)
        name, values = self._identifier(db, table), self._map(properties)
        return self.uuid(self._catalog.createTable(name, schema, builder.build(), location, values))

    def scratch_table(self, fields: Iterable[Field], identifier: Iterable[int], folder: str) -> Java:
        """A table in a folder, in no catalog."""
        tables = self._package.hadoop.HadoopTables(self._hadoop)
        spec = self._package.PartitionSpec.unpartitioned()
        properties = self._map({FORMAT_VERSION: "3"})
        return tables.create(self._schema(fields, identifier), spec, properties, folder)

    def _schema(self, fields: Iterable[Field], identifier: Iterable[int]) -> Java:
        document = {
            "type": "struct",
            "schema-id": 0,
            "identifier-field-ids": list(identifier),
            "fields": [
                {"id": f.id, "name": f.name, "required": f.required, "type": f.type} | ({"doc": f.doc} if f.doc else {})
                for f in fields
            ],
        }
        return self._schema_parser.fromJson(json.dumps(document))

    def layout(self, table: Java) -> Layout:
        schema = json.loads(self._schema_parser.toJson(table.schema()))
        spec = json.loads(self._spec_parser.toJson(table.spec()))
        return layout_of(schema, spec)

    def properties(self, table: Java) -> dict[str, str]:
        found = {str(key): str(value) for key, value in dict(table.properties()).items()}
        metadata = table.operations().current()
        changes = int(metadata.previousFiles().size()) + int(metadata.snapshots().size())
        return found | {FORMAT_VERSION: str(self.format_version(table)), UUID: self.uuid(table), CHANGES: str(changes)}

    def uuid(self, table: Java) -> str:
        """One that was dropped and made anew has another."""
        return str(table.uuid())

    def use_pool(self, name: str) -> None:
        """Which scheduler pool the calling thread's Spark jobs go to from now on."""
        self.spark.sparkContext.setLocalProperty("spark.scheduler.pool", name)

    def token(self, table: Java, key: str) -> int:
        """A number in the table's properties, 0 where it is not there."""
        return int(table.properties().get(key) or 0)

    def property(self, table: Java, key: str) -> str | None:
        value = table.properties().get(key)
        return None if value is None else str(value)

    def codec(self, table: Java) -> str:
        """How its Parquet files are compressed."""
        return str(table.properties().get("write.parquet.compression-codec") or "zstd")

    def history(self, table: Java, marks: Iterable[str], *, expired: bool = False) -> Iterator[Snapshot]:
        """The current snapshot and its ancestors, newest first, as far back as they were not expired; or `expired`, as
        far back as older metadata of the table list them, which are read only where one is missing.
        """
        known = tuple(marks)
        older = self._older_metadata(table) if expired else iter(())
        snapshot = table.currentSnapshot()
        while snapshot is not None:
            parent = snapshot.parentId()
            summary = snapshot.summary()
            found = {mark: summary.get(mark) for mark in known}
            yield Snapshot(
                id=int(snapshot.snapshotId()),
                parent=None if parent is None else int(parent),
                operation=str(snapshot.operation()),
                marks={mark: str(value) for mark, value in found.items() if value is not None},
            )
            snapshot = None if parent is None else table.snapshot(parent)
            while parent is not None and snapshot is None and (metadata := next(older, None)) is not None:
                table = metadata
                snapshot = table.snapshot(parent)

    def _older_metadata(self, table: Java) -> Iterator[Java]:
        """Newest first, as far back as their files are there."""
        io = table.io()
        for entry in reversed(listed(table.operations().current().previousFiles())):
            try:
                yield self._metadata_parser.read(io, entry.file())
            except Py4JJavaError:  # removed, or no longer what it was
                return

    def files(self, table: Java, folder: str, partition: Mapping[str, str]) -> list[Java]:
        """DataFiles, with column bounds, of a folder of Parquet files; none where there is no folder."""
        path = self._path(folder)
        if not path.getFileSystem(self._hadoop).exists(path):
            return []
        metrics = self._metrics.forTable(table)
        spec = table.spec()
        place = self._map(partition)
        return listed(self._migration.listPartition(place, folder, "parquet", spec, self._hadoop, metrics, None))

    def folders(self, root: str) -> list[str]:
        """The folders right below `root`, by name; none where there is no `root`."""
        path = self._path(root)
        system = path.getFileSystem(self._hadoop)
        if not system.exists(path):
            return []
        return [str(status.getPath().getName()) for status in system.listStatus(path) if status.isDirectory()]

    def delete(self, *paths: str) -> None:
        """Files and folders that nothing names."""
        for name in paths:
            path = self._path(name)
            path.getFileSystem(self._hadoop).delete(path, True)

    def file_text(self, table: Java, file: Java) -> str:
        """A data or delete file in Iceberg's JSON, without column bounds."""
        return str(self._file_parser.toJson(file.copyWithoutStats(), table.specs().get(file.specId())))

    def file_of(self, specs: Java, text: str) -> Java:
        """The inverse."""
        return self._file_parser.fromJson(self._json.readTree(text), specs)

    def location(self, file: Java) -> str:
        """The path of a data or delete file, as the manifests write it."""
        return str(file.location())

    def equality_delete(self, table: Java, file: Java, key_ids: Iterable[int]) -> Java:
        """A DataFile of key rows as equality DeleteFile; its bounds let readers skip it."""
        spec = table.spec()
        builder = self._file_metadata.deleteFileBuilder(spec).ofEqualityDeletes(self._ints(key_ids))
        if spec.isPartitioned():
            builder = builder.withPartition(file.partition())
        builder = builder.withPath(file.location()).withFormat("parquet").withFileSizeInBytes(file.fileSizeInBytes())
        return builder.withMetrics(self._metrics_of(file)).build()

    def _metrics_of(self, file: Java) -> Java:
        return self._file_metrics(
            file.recordCount(),
            file.columnSizes(),
            file.valueCounts(),
            file.nullValueCounts(),
            file.nanValueCounts(),
            file.lowerBounds(),
            file.upperBounds(),
        )

    def record_count(self, file: Java) -> int:
        """Rows of a data or delete file."""
        return int(file.recordCount())

    def file_bytes(self, file: Java) -> int:
        """Of a data or delete file."""
        return int(file.fileSizeInBytes())

    def format_version(self, table: Java) -> int:
        return int(table.operations().current().formatVersion())

    def strings(self, values: Iterable[str]) -> Java:
        """A Java list."""
        found = self._list()
        for value in values:
            found.add(value)
        return found

    def begin(self, table: Java) -> Java:
        """A transaction; Iceberg refreshes the table as it opens one."""
        return table.newTransaction()

    def table_of(self, transaction: Java) -> Java:
        """The table as the transaction found it: what is to hold when it commits must be read from here."""
        return transaction.table()

    def add(self, delta: Java, rows: Iterable[Java], deletes: Iterable[Java], marks: Mapping[str, str]) -> None:
        for file in rows:
            delta.addRows(file)
        for file in deletes:
            delta.addDeletes(file)
        for mark, value in marks.items():
            delta.set(mark, value)
        delta.commit()

    def set_properties(self, transaction: Java, values: Mapping[str, str]) -> None:
        update = transaction.updateProperties()
        for key, value in values.items():
            update = update.set(key, value)
        update.commit()

    def finish(self, transaction: Java) -> int:
        """Commits; the snapshot that it made. An error of `jvm.REFUSED`: nothing was done, or nobody knows what."""
        transaction.commitTransaction()
        return int(transaction.table().currentSnapshot().snapshotId())

    def commit(self, transaction: Java) -> None:
        """An error of `jvm.REFUSED`: nothing was done, or nobody knows what."""
        transaction.commitTransaction()

    def update_schema(self, transaction: Java) -> Java:
        """An UpdateSchema; its own commit puts it into the transaction, which no newer schema then takes."""
        return transaction.updateSchema()

    def add_column(self, update: Java, name: str, kind: str, doc: str, initial: str | None) -> None:
        """An optional column; `initial`: what rows from before show, in the JSON of Iceberg's specification."""
        wanted = self._package.types.Types.fromPrimitiveString(kind)
        value = None
        if initial is not None:
            parsed = self._package.SingleValueParser.fromJson(wanted, initial)
            value = self._package.expressions.Expressions.lit(parsed)
        update.addColumn(None, name, wanted, doc or None, value)

    def retype_column(self, update: Java, name: str, kind: str) -> None:
        """To a type that its own may be promoted to."""
        update.updateColumn(name, self._package.types.Types.fromPrimitiveString(kind))

    def empty(self, transaction: Java, marks: Mapping[str, str], part: Part | None = None) -> None:
        """Deletes every row, of a part by which the table is cut or of all of it; refused if anyone added or deleted
        some since the transaction opened.
        """
        self.replace(transaction, (), marks, part)

    def replace(
        self, transaction: Java, rows: Iterable[Java], marks: Mapping[str, str], part: Part | None = None
    ) -> None:
        """These files in the place of every row, refused as `empty` is; nothing of a table that has none."""
        snapshot = transaction.table().currentSnapshot()
        if snapshot is None:
            return
        overwrite = transaction.newOverwrite().overwriteByRowFilter(self._rows_of(part))
        overwrite = overwrite.validateFromSnapshot(snapshot.snapshotId()).conflictDetectionFilter(self._always)
        overwrite = overwrite.validateNoConflictingData().validateNoConflictingDeletes()
        for file in rows:
            overwrite.addFile(file)
        for mark, value in marks.items():
            overwrite.set(mark, value)
        overwrite.commit()

    def _rows_of(self, part: Part | None) -> Java:
        """A condition; of a part by which the table is cut whole files meet it, or none of their rows."""
        return self._always if part is None else self._package.expressions.Expressions.equal(part.column, part.value)

    def has_rows(self, table: Java, part: Part) -> bool:
        """Whether a part has any, be they deleted."""
        with closing_java(table.newScan().filter(self._rows_of(part)).planFiles()) as files:
            return bool(files.iterator().hasNext())

    def sequence(self, table: Java, snapshot: int) -> int | None:
        """A snapshot's number in the order of the table's commits; None where older metadata do not list it either."""
        for metadata in chain((table,), self._older_metadata(table)):
            found = metadata.snapshot(snapshot)
            if found is not None:
                return int(found.sequenceNumber())
        return None

    def pin(self, transaction: Java) -> None:
        """Refuses the transaction where anybody commits anything before it: a change of the spec, and be it none, is
        made for the metadata that it was begun with.
        """
        transaction.updateSpec().commit()

    def fenced_delta(self, transaction: Java) -> Java:
        """A RowDelta that is refused if anyone changed rows or deletes since the transaction opened."""
        table = transaction.table()
        delta = transaction.newRowDelta()
        snapshot = table.currentSnapshot()
        if snapshot is not None:
            delta = self.in_place(table, delta.validateFromSnapshot(snapshot.snapshotId()))
        return (
            delta.conflictDetectionFilter(self._always)
            .validateNoConflictingDataFiles()
            .validateNoConflictingDeleteFiles()
        )

    def in_place(self, table: Java, update: Java) -> Java:
        """A snapshot update that reads manifests in the calling thread where they are few: Iceberg looks only every
        10 ms whether its own threads are done, several times in a commit.
        """
        totals = self.current(table)
        if totals is None or totals.data_files + totals.delete_files > FEW_FILES:
            return update
        return update.scanManifestsWith(self._in_place)

    def current(self, table: Java) -> Totals | None:
        """What the current snapshot's summary counts; None on an empty table."""
        snapshot = table.currentSnapshot()
        if snapshot is None:
            return None
        summary = snapshot.summary()

        def total(name: str) -> int:
            return int(summary.get(f"total-{name}") or 0)

        return Totals(
            snapshot=int(snapshot.snapshotId()),
            data_files=total("data-files"),
            data_bytes=total("files-size"),
            delete_files=total("delete-files"),
            equality_deletes=total("equality-deletes"),
        )

    def hit_paths(self, table: Java) -> set[str]:
        """The data files that any delete file may concern."""
        with closing_java(table.newScan().planFiles()) as tasks:
            return {str(task.file().location()) for task in iterated(tasks) if not task.deletes().isEmpty()}

    def spark_paths(self, location: str) -> tuple[str, ...]:
        """One of them is Spark's _metadata.file_path: Hadoop writes local URIs with one slash or three."""
        path = self._path(location)
        uri = str(path.getFileSystem(self._hadoop).makeQualified(path).toUri().toString())
        local = re.fullmatch("file:/+(.*)", uri)
        return (f"file:/{local[1]}", f"file:///{local[1]}") if local else (uri,)

    def unplaced_files(self, table: Java, folder: str) -> list[Java]:
        """DataFiles, with column bounds, of a folder of Parquet files, as if the table had no partitions."""
        metrics = self._metrics.forTable(table)
        spec, none = self._package.PartitionSpec.unpartitioned(), self._map({})
        return listed(self._migration.listPartition(none, folder, "parquet", spec, self._hadoop, metrics, None))

    def placed(self, table: Java, file: Java, like: Java) -> Java:
        """A DataFile in the partition and spec of another."""
        builder = self._package.DataFiles.builder(table.specs().get(like.specId())).withPath(file.location())
        builder = builder.withFormat("parquet").withFileSizeInBytes(file.fileSizeInBytes())
        return builder.withMetrics(self._metrics_of(file)).withPartition(like.partition()).build()

    def named_files(self, table: Java, snapshots: int) -> Iterator[tuple[str, int]]:
        """Location and size of every manifest in force, and of the files that the newest snapshots added."""
        snapshot, io = table.currentSnapshot(), table.io()
        if snapshot is None:
            return
        for manifest in snapshot.allManifests(io):
            yield str(manifest.path()), int(manifest.length())
        for _ in range(snapshots):
            for added in (snapshot.addedDataFiles(io), snapshot.addedDeleteFiles(io)):
                for file in iterated(added):
                    yield str(file.location()), int(file.fileSizeInBytes())
            parent = snapshot.parentId()
            snapshot = None if parent is None else table.snapshot(parent)
            if snapshot is None:
                return

    def specs_in_use(self, table: Java) -> set[int]:
        """Of the data files that the table has."""
        snapshot = table.currentSnapshot()
        if snapshot is None or table.specs().size() == 1:
            return set() if snapshot is None else {int(table.spec().specId())}
        manifests = listed(snapshot.dataManifests(table.io()))
        live = (each for each in manifests if each.hasAddedFiles() or each.hasExistingFiles())
        return {int(each.partitionSpecId()) for each in live}

    def behind(self, table: Java, now: float) -> float:
        """Seconds by which a clock at `now` is behind the table's last commit; 0 for one that has left its name."""
        current = table.operations().current()
        return 0.0 if current is None else float(current.lastUpdatedMillis()) / 1000 - now

    def writers(self, table: Java, mark: str, since: int) -> set[str]:
        """The values of a mark in the summaries of snapshots from `since` on, Unix milliseconds."""
        found: set[str] = set()
        for snapshot in self.history(table, (mark,)):
            if (self.committed_at(table, snapshot.id) or 0) < since:
                break
            found |= {snapshot.marks[mark]} if mark in snapshot.marks else set()
        return found

    def committed_at(self, table: Java, snapshot: int) -> int | None:
        """When, in Unix milliseconds; None where it was expired."""
        found = table.snapshot(snapshot)
        return None if found is None else int(found.timestampMillis())

    def snapshots(self, table: Java) -> frozenset[int]:
        """All that may be read."""
        return frozenset(int(snapshot.snapshotId()) for snapshot in listed(table.snapshots()))

    def older_snapshots(self, table: Java, snapshot: int) -> int:
        """How many known snapshots come before one; 0 where that one was expired. They are listed oldest first."""
        found = table.snapshot(snapshot)
        return 0 if found is None else int(table.snapshots().indexOf(found))

    def oldest_kept(self, table: Java, kept: Kept) -> int | None:
        """Before which snapshot all others may go; None: none may. A table that was rolled back is left as it is."""
        if kept.point is not None:
            return kept.point
        if not kept.last or table.currentSnapshot() is None:
            return None
        if not all(self._snapshot_util.isAncestorOf(table, last) for last in kept.last):
            return None
        then = self._snapshot_util.nullableSnapshotIdAsOfTime(table, int(kept.since * 1000))
        if then is None:
            return None
        return min((int(then), *kept.last), key=lambda snapshot: self.older_snapshots(table, snapshot))

    def _namespace(self, db: str) -> Java:
        gateway = SparkContext._gateway  # noqa: SLF001
        assert gateway is not None
        levels = gateway.new_array(self.jvm.java.lang.String, 1)
        levels[0] = db
        return self._package.catalog.Namespace.of(levels)

    def _identifier(self, db: str, table: str) -> Java:
        return self._package.catalog.TableIdentifier.of(self._namespace(db), table)

    def _ints(self, values: Iterable[int]) -> Java:
        gateway = SparkContext._gateway  # noqa: SLF001
        assert gateway is not None
        known = list(values)
        array = gateway.new_array(self.jvm.int, len(known))
        for index, value in enumerate(known):
            array[index] = value
        return array

    def _map(self, values: Mapping[str, str]) -> Java:
        result = self._hash_map()
        for key, value in values.items():
            result.put(key, value)
        return result
