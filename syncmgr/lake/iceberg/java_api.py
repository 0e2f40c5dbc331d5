"""The classes of Iceberg that are called by py4j, and Java's collections.

Owns: the names of those classes, each looked up once; how a Java collection is read and made.
Must not know: what is called when.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from pyspark import SparkContext
from pyspark.sql import SparkSession

from syncmgr.lake.spark.jvm import Java, activate
from syncmgr.lake.spark.launch import CATALOG


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
    """Of one Spark session and its catalog. `elsewhere`: where the metadata of a table are that are not on the local
    disk, as far as that is known without Iceberg.
    """

    def __init__(
        self, spark: SparkSession, elsewhere: Callable[[str, str], str | None] = lambda _db, _table: None
    ) -> None:
        self.spark, self._elsewhere = spark, elsewhere
        jvm: Java = spark._jvm  # noqa: SLF001 - this module is the way to it
        self.jvm = jvm
        self._session: Java = spark._jsparkSession  # noqa: SLF001
        self.hadoop: Java = spark._jsc.hadoopConfiguration()  # noqa: SLF001
        self._package: Java = jvm.org.apache.iceberg
        self._classes = Classes(jvm)
        activate(spark)
        self._catalog: Java = self._session.sessionState().catalogManager().catalog(CATALOG).icebergCatalog()

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
        place = self._elsewhere(db, table)
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
