"""Iceberg through py4j, the counterpart of `jvm`: these two make every Java call.

Owns: its catalog, and data and delete files, as methods on plain values; metadata and transactions have modules of
their own.
Must not know: epochs, jobs, when something is called.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Protocol

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from syncmgr.errors import Code, SyncError
from syncmgr.lake.iceberg.java_api import closing_java, iterated
from syncmgr.lake.iceberg.layout import FORMAT_VERSION, Field, JsonValue
from syncmgr.lake.iceberg.transactions import Transactions
from syncmgr.lake.spark.jvm import Java, java_class

VIEW_CATALOG: Final = "org.apache.iceberg.catalog.ViewCatalog"
NO_SUCH_TABLE: Final = "org.apache.iceberg.exceptions.NoSuchTableException"
TAKEN: Final = "org.apache.iceberg.exceptions.AlreadyExistsException"
FILE_MISSING: Final = "org.apache.iceberg.exceptions.NotFoundException"


class PendingDrops(Protocol):
    """What is known of tables that are being dropped from an embedded catalog."""

    def begin(self, uuid: str, metadata: str) -> None: ...
    def confirm(self) -> None: ...
    def shared_with(self, uuid: str, metadata: str) -> str | None: ...
    def end(self, uuid: str) -> None: ...


@contextmanager
def passing_over_missing() -> Iterator[None]:
    """Around a deletion: what a file that is gone has named, nothing names any more."""
    try:
        yield
    except Py4JJavaError as error:
        if java_class(error) != FILE_MISSING:
            raise


class Iceberg(Transactions):
    """The catalog of one Spark session."""

    def load(self, db: str, table: str) -> Java:
        """A fresh Table. Raises NO_SUCH_TABLE."""
        try:
            self._must_have_files(db, table)
            return self._catalog.loadTable(self._identifier(db, table))
        except Py4JJavaError as error:
            if java_class(error) == NO_SUCH_TABLE:
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
        """Those of other engines: we create none."""
        if not is_instance_of(SparkContext._gateway, self._catalog, VIEW_CATALOG):  # noqa: SLF001
            return []
        return [str(identifier.name()) for identifier in self._catalog.listViews(self._namespace(db))]

    def table_exists(self, db: str, table: str) -> bool:
        self._must_have_files(db, table)
        return bool(self._catalog.tableExists(self._identifier(db, table)))

    def drop_table(self, db: str, table: str, drops: PendingDrops | None = None) -> str | None:
        """Drops the table, if there is one, and its files, unless another table has them, too: then returns its label.
        `drops`: confirms that the catalog's change is on the disk, before which no file is deleted, and notes what is
        left by a failure; None: the catalog takes care of it.
        """
        identifier = self._identifier(db, table)
        if drops is None:
            self._deleting.dropTable(identifier, True)
            return None
        try:
            self._must_have_files(db, table)
            operations = self._catalog.loadTable(identifier).operations()
            io, metadata = operations.io(), operations.current()
        except Py4JJavaError as error:
            if java_class(error) == NO_SUCH_TABLE:
                return None
            if java_class(error) != FILE_MISSING:
                raise
            metadata = None  # a power failure lost the metadata, and nothing else names the files
        if metadata is None:
            self._catalog.dropTable(identifier, False)
            drops.confirm()
            return None
        uuid, location = str(metadata.uuid()), str(metadata.metadataFileLocation())
        drops.begin(uuid, location)
        dropped = bool(self._catalog.dropTable(identifier, False))
        drops.confirm()
        other = drops.shared_with(uuid, location)
        if dropped and other is None:
            with passing_over_missing():  # any other error: the next start tries again
                self._package.CatalogUtil.dropTableData(io, metadata)
        drops.end(uuid)
        return other

    def expire(self, session: SparkSession, db: str, table: str, until: int) -> bool:
        """Expires the snapshots before `until`, Unix milliseconds, and deletes the files that only they name; whether
        it did: a catalog that then answers with what the table was before its last commits names too few files.
        """
        loaded = self._deleting.loadTable(self._identifier(db, table))
        before = int(loaded.operations().current().lastSequenceNumber())
        java: Java = session._jsparkSession  # noqa: SLF001
        action = self._package.spark.actions.SparkActions.get(java).expireSnapshots(loaded).expireOlderThan(until)
        action.expireFiles()  # commits, and looks at the table again
        if int(loaded.operations().current().lastSequenceNumber()) < before:
            return False
        action.execute()
        return True

    def create_table(
        self,
        db: str,
        table: str,
        fields: Iterable[Field],
        identifier: Iterable[int],
        partition: Iterable[tuple[str, str, int | None]],
        location: str | None,
        properties: Mapping[str, str],
    ) -> str:
        """`partition`: (transform, column, width) for Iceberg's PartitionSpec builder. Returns the table's uuid. Raises
        TABLE_EXISTS.
        """
        schema = self._schema(fields, identifier)
        builder = self._package.PartitionSpec.builderFor(schema)
        for transform, column, width in partition:
            arguments = [column] if width is None else [column, width]
            builder = getattr(builder, transform)(*arguments)
        name, values = self._identifier(db, table), self._map(properties)
        try:
            return self.uuid(self._catalog.createTable(name, schema, builder.build(), location, values))
        except Py4JJavaError as error:
            if java_class(error) == TAKEN:
                raise SyncError(Code.TABLE_EXISTS, table=f"{db}.{table}") from None
            raise

    def scratch_table(self, fields: Iterable[Field], identifier: Iterable[int], folder: str) -> Java:
        """A table in a folder, in no catalog."""
        tables = self._package.hadoop.HadoopTables(self.hadoop)
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
        return self._classes.schema_parser.fromJson(json.dumps(document))

    def use_pool(self, name: str) -> None:
        """Which scheduler pool the calling thread's Spark jobs go to from now on."""
        self.spark.sparkContext.setLocalProperty("spark.scheduler.pool", name)

    def files(self, table: Java, folder: str, partition: Mapping[int, JsonValue]) -> list[Java]:
        """DataFiles, with column bounds, of a folder of Parquet files; none if there is no folder. `partition`: values
        in the JSON of Iceberg's specification, by the ids of the fields of the table's spec; those that are NULL are
        missing.
        """
        if not self.has_files(folder):
            return []
        found = self.unplaced_files(table, folder)
        if not partition and int(table.spec().specId()) == 0 and table.spec().isUnpartitioned():
            return found
        struct = self._package.SingleValueParser.fromJson(table.spec().partitionType(), json.dumps(partition))
        return [self._in_partition(table.spec(), file, struct) for file in found]

    def file_text(self, table: Java, file: Java) -> str:
        """A data or delete file in Iceberg's JSON, without column bounds."""
        return str(self._classes.file_parser.toJson(file.copyWithoutStats(), table.specs().get(file.specId())))

    def file_of(self, specs: Java, text: str) -> Java:
        """The inverse."""
        return self._classes.file_parser.fromJson(self._classes.json_mapper.readTree(text), specs)

    def equality_delete(self, table: Java, file: Java, key_ids: Iterable[int]) -> Java:
        """A DataFile of key rows as equality DeleteFile; its bounds let readers skip it."""
        spec = table.spec()
        builder = self._classes.file_metadata.deleteFileBuilder(spec).ofEqualityDeletes(self._ints(key_ids))
        if spec.isPartitioned():
            builder = builder.withPartition(file.partition())
        builder = builder.withPath(file.location()).withFormat("parquet").withFileSizeInBytes(file.fileSizeInBytes())
        return builder.withMetrics(self.metrics_of(file)).build()

    def hit_paths(self, table: Java) -> set[str]:
        """The data files that any delete file may affect."""
        with closing_java(table.newScan().planFiles()) as tasks:
            return {str(task.file().location()) for task in iterated(tasks) if not task.deletes().isEmpty()}

    def spark_paths(self, location: str) -> tuple[str, ...]:
        """One of them is Spark's _metadata.file_path: Hadoop writes local URIs with one slash or three."""
        path = self._classes.path(location)
        uri = str(path.getFileSystem(self.hadoop).makeQualified(path).toUri().toString())
        local = re.fullmatch("file:/+(.*)", uri)
        return (f"file:/{local[1]}", f"file:///{local[1]}") if local else (uri,)

    def placed(self, table: Java, file: Java, like: Java) -> Java:
        """A DataFile in the partition and spec of another."""
        return self._in_partition(table.specs().get(like.specId()), file, like.partition())

    def in_own_spec(self, table: Java, file: Java) -> Java:
        """A DataFile that was made for the spec of a table, as one of that."""
        return self._in_partition(table.spec(), file, file.partition())

    def _in_partition(self, spec: Java, file: Java, partition: Java) -> Java:
        return self.data_file(spec, file, file.location()).withPartition(partition).build()

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
