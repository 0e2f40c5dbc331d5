"""The classes of Iceberg that are called by py4j, and Java's collections.

Owns: the names of those classes, each looked up once; how a Java collection is read and made, and how Parquet files
become Iceberg's DataFiles.
Must not know: what is called when.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from pyspark import SparkContext
from pyspark.sql import SparkSession

from syncmgr.lake.spark.jvm import Java, activate
from syncmgr.lake.spark.launch import CATALOG, DELETING
from syncmgr.lake.storage.copies import Copies
from syncmgr.lake.storage.java_files import JvmFiles
from syncmgr.lake.storage.locations import is_local
from syncmgr.lake.storage.table_files import TableFiles


def iterated(iterable: Java) -> Iterator[Java]:
    """A Java Iterable, one by one."""
    iterator = iterable.iterator()
    while iterator.hasNext():
        yield iterator.next()


def listed(elements: Java) -> list[Java]:
    """A Java List. Python's own iteration over it ends with a Java exception, whose translation takes 20 ms."""
    return [elements.get(place) for place in range(elements.size())]


@contextmanager
def closing_java(closeable: Java) -> Iterator[Java]:
    try:
        yield closeable
    finally:
        closeable.close()


class Classes:
    """py4j needs a call for each part of a name: the names that every commit uses are looked up once."""

    def __init__(self, jvm: Java) -> None:
        package = jvm.org.apache.iceberg
        self.path: Java = jvm.org.apache.hadoop.fs.Path
        self.migration: Java = package.data.TableMigrationUtil
        self.metrics_config: Java = package.MetricsConfig
        self.file_metadata: Java = package.FileMetadata
        self.file_metrics: Java = package.Metrics
        self.metadata_parser: Java = package.TableMetadataParser
        self.snapshot_util: Java = package.util.SnapshotUtil
        self.schema_parser: Java = package.SchemaParser
        self.spec_parser: Java = package.PartitionSpecParser
        self.file_parser: Java = package.ContentFileParser
        self.json_mapper: Java = package.util.JsonUtil.mapper()
        self.always_true: Java = package.expressions.Expressions.alwaysTrue()
        self.array_list: Java = jvm.java.util.ArrayList
        self.hash_map: Java = jvm.java.util.HashMap
        self.in_place: Java = jvm.com.google.common.util.concurrent.MoreExecutors.newDirectExecutorService()


class JavaApi:
    """Of one Spark session and its catalog. `copies`: of files that are not on the local disk. `elsewhere`: of our own
    catalog, where the metadata of a table are that are not there; None: the catalog is one of others.
    """

    def __init__(
        self,
        spark: SparkSession,
        copies: Copies,
        elsewhere: Callable[[str, str], str | None] | None = None,
    ) -> None:
        self.spark, self._elsewhere = spark, elsewhere
        jvm: Java = spark._jvm  # noqa: SLF001 - this module is the way to it
        self.jvm = jvm
        self._session: Java = spark._jsparkSession  # noqa: SLF001
        self.hadoop: Java = spark._jsc.hadoopConfiguration()  # noqa: SLF001
        self._package: Java = jvm.org.apache.iceberg
        self._classes = Classes(jvm)
        here = str(spark.sparkContext.master).startswith("local")
        self.storage = TableFiles(JvmFiles(jvm), copies, spark_is_here=here)
        activate(spark)
        catalogs: Java = self._session.sessionState().catalogManager()
        self._catalog: Java = catalogs.catalog(CATALOG).icebergCatalog()
        #: Nobody else commits through a connection that may be lost.
        self.embedded = elsewhere is not None
        has_two = spark.conf.get(f"spark.sql.catalog.{DELETING}", None) is not None
        #: That of what deletes files.
        self._deleting: Java = catalogs.catalog(DELETING if has_two else CATALOG).icebergCatalog()
        #: A replica or a cache of the catalog may answer with what a table was before its last commit.
        self.may_be_old = has_two

    def location(self, file: Java) -> str:
        """The path of a data or delete file, as the manifests write it."""
        return str(file.location())

    def record_count(self, file: Java) -> int:
        """Rows of a data or delete file."""
        return int(file.recordCount())

    def file_bytes(self, file: Java) -> int:
        """Of a data or delete file."""
        return int(file.fileSizeInBytes())

    def _must_have_files(self, db: str, table: str) -> None:
        """Raises Hadoop's error if it has no file system for the metadata: Iceberg would try 20 times, for more than a
        minute, to read them.
        """
        place = None if self._elsewhere is None else self._elsewhere(db, table)
        if place is not None:
            scheme = self._classes.path(place).toUri().getScheme()
            self.jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, self.hadoop)

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
        result = self._classes.hash_map()
        for key, value in values.items():
            result.put(key, value)
        return result


class StoredFiles(JavaApi):
    """Data files of tables: found where they were written, and uploaded if that is not where they belong."""

    def folders(self, root: str) -> list[str]:
        """The folders directly below `root`, by name; none if there is no `root`."""
        if not self.has_files(root):
            return []
        path = self._classes.path(self.storage.for_spark(root))
        system = path.getFileSystem(self.hadoop)
        return [str(status.getPath().getName()) for status in system.listStatus(path) if status.isDirectory()]

    def has_files(self, folder: str) -> bool:
        path = self._classes.path(self.storage.for_spark(folder))
        return bool(path.getFileSystem(self.hadoop).exists(path))

    def delete(self, *paths: str) -> None:
        """Files and folders that nothing names; of those elsewhere, what this process, or its Spark, has written."""
        for name in paths:
            if not is_local(name):
                self.storage.delete(name)
            else:
                path = self._classes.path(name)
                path.getFileSystem(self.hadoop).delete(path, True)

    def remove(self, db: str, table: str, files: Iterable[str]) -> None:
        """Files in a table's storage that nothing names, whoever wrote them."""
        io = self._deleting.loadTable(self._identifier(db, table)).io()
        for file in files:
            self.delete(file) if is_local(file) else io.deleteFile(file)

    def unplaced_files(self, table: Java, folder: str) -> list[Java]:
        """DataFiles, with column bounds, of a folder of Parquet files, as if the table had no partitions. Those that
        have copies are uploaded.
        """
        metrics = self._classes.metrics_config.forTable(table)
        spec, none = self._package.PartitionSpec.unpartitioned(), self._map({})
        at = self.storage.for_spark(folder)
        found = listed(self._classes.migration.listPartition(none, at, "parquet", spec, self.hadoop, metrics, None))
        return found if at == folder else [self._uploaded(table, file, folder) for file in found]

    def _uploaded(self, table: Java, copied: Java, folder: str) -> Java:
        location = f"{folder}/{str(copied.location()).rpartition('/')[2]}"
        self.storage.upload(table.io(), location)
        return self.data_file(self._package.PartitionSpec.unpartitioned(), copied, location).build()

    def data_file(self, spec: Java, file: Java, location: str) -> Java:
        """A builder of the same at another location, or in another spec."""
        builder = self._package.DataFiles.builder(spec).withPath(location)
        builder = builder.withFormat("parquet").withFileSizeInBytes(file.fileSizeInBytes())
        return builder.withMetrics(self.metrics_of(file))

    def metrics_of(self, file: Java) -> Java:
        return self._classes.file_metrics(
            file.recordCount(),
            file.columnSizes(),
            file.valueCounts(),
            file.nullValueCounts(),
            file.nanValueCounts(),
            file.lowerBounds(),
            file.upperBounds(),
        )
