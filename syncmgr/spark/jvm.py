"""Spark and Iceberg behind py4j: the one module that calls into the JVM.

Owns: every Java call, and what a Java error means.
Must not know: epochs, jobs, when something is called.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession

from syncmgr.errors import Code, SyncError
from syncmgr.spark import words as spark_words
from syncmgr.spark.launch import CATALOG

Java = Any  # an object of the JVM

EQUALITY_DELETES: Final = 2  # FileContent ids of the Iceberg specification
POSITION_DELETES: Final = 1
REFUSED: Final = frozenset(
    {
        "org.apache.iceberg.exceptions.ValidationException",  # somebody changed what we relied on
        "org.apache.iceberg.exceptions.CommitFailedException",  # somebody was faster; nothing was committed
        "org.apache.iceberg.exceptions.CommitStateUnknownException",  # the table itself tells which
    },
)
NOT_FOUND: Final = "org.apache.iceberg.exceptions.NoSuchTableException"
MOST_CAUSES: Final = 10
LOST: Final = (Py4JNetworkError, ConnectionError, EOFError)
FAILURES: Final = (Py4JError, PySparkException, ConnectionError, EOFError)  # whatever a call into the JVM may raise


def connect(port: int, secret: str) -> SparkSession:
    """The session of a JVM that has announced its port. Raises LAKE_FAILED."""
    os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"] = str(port), secret
    try:
        gateway = launch_gateway()  # type: ignore[no-untyped-call] # PySpark leaves it untyped
        context = SparkContext(gateway=gateway)
        context.setLogLevel("ERROR")
        for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):  # what they say is raised as well
            PySparkLogger.getLogger(name).setLevel("CRITICAL")
        return SparkSession(context)
    except FAILURES as error:
        raise SyncError(Code.LAKE_FAILED, reason=words(error)) from error
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]


def forget() -> None:
    """Clears what PySpark remembers of a JVM that is gone; without it no other can be used in this process."""
    context = SparkContext._active_spark_context  # noqa: SLF001 - PySpark has no public way back
    if context is not None and context._accumulatorServer is not None:  # noqa: SLF001
        context._accumulatorServer.shutdown()  # noqa: SLF001
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None  # noqa: SLF001
    SparkSession._instantiatedSession = SparkSession._activeSession = None  # noqa: SLF001


def deterministic(rows: DataFrame) -> bool:
    """Whether computing the rows again gives the same values."""
    return bool(rows._jdf.queryExecution().analyzed().deterministic())  # noqa: SLF001 - Spark tells it nowhere else


def activate(session: SparkSession) -> None:
    """Spark looks a catalog's settings up in the session that is active in the calling thread."""
    jvm: Java = session._jvm  # noqa: SLF001 - this module is the way to it
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)  # noqa: SLF001


def java_class(error: BaseException) -> str:
    """Name of the Java exception behind an error, "" where there is none."""
    if isinstance(error, Py4JJavaError):
        return str(error.java_exception.getClass().getName())
    return ""


def words(error: BaseException) -> str:
    """What happened, in one line without a stack."""
    if isinstance(error, LOST):
        return "Spark's JVM is gone"
    if isinstance(error, Py4JJavaError):
        text = str(error.java_exception.toString())
        return re.sub(r"^[\w.$]+(?:Exception|Error): ", "", text.split("\n", 1)[0])
    return str(error).split("\n", 1)[0]


def failed(error: BaseException) -> NoReturn:
    """Raises what the operator is to see of a failed call."""
    if isinstance(error, LOST):
        raise SyncError(Code.LAKE_STARTING, reason=words(error)) from error
    raise SyncError(Code.LAKE_FAILED, reason=words(error)) from error


def query_error(error: BaseException, db: str | None) -> SyncError:
    """What the operator is to see of a query that failed. `db`: the database in use."""
    if isinstance(error, LOST):
        return SyncError(Code.LAKE_STARTING, reason=words(error))
    parameters = (error.getMessageParameters() or {}) if isinstance(error, PySparkException) else {}
    return spark_words.query_error(text_of(error), parameters, db)


def told(error: BaseException) -> tuple[str, str]:
    """Spark's condition and message of a failed call."""
    return spark_words.told(text_of(error))


def text_of(error: BaseException) -> str:
    """Everything that Spark said, causes included."""
    if not isinstance(error, Py4JJavaError):
        return str(error)
    said, cause = [], error.java_exception
    while cause is not None and len(said) < MOST_CAUSES:
        said.append(str(cause.toString()))
        cause = cause.getCause()
    return "\n".join(said)


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """An analyzed plan: its operators from the top, as far as each has one child, and its text."""

    operators: tuple[str, ...]
    deterministic: bool
    text: str


def analyzed(frame: DataFrame) -> Plan:
    plan: Java = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - this module is the way to it
    operators, below = [], plan
    while below is not None:
        operators.append(str(below.nodeName()))
        children = below.children()
        below = children.head() if children.size() == 1 else None
    return Plan(operators=tuple(operators), deterministic=bool(plan.deterministic()), text=str(plan.toString()))


def refuse_all_but_queries(session: SparkSession, sql: str) -> None:
    """Parses with Spark's rule for queries alone: no DDL, no DML, no SET, no script. Raises what Spark says."""
    jvm: Java = session._jvm  # noqa: SLF001 - this module is the way to it
    plan = jvm.org.apache.spark.sql.execution.SparkSqlParser().parseQuery(sql)
    if "ScriptTransformation" in plan.toString():
        raise SyncError(Code.NOT_SUPPORTED, what="TRANSFORM")


def forbid_java_calls(session: SparkSession) -> None:
    """Takes away the functions by which a SELECT could run any code in the JVM."""
    jvm: Java = session._jvm  # noqa: SLF001
    registry = session._jsparkSession.sessionState().functionRegistry()  # noqa: SLF001
    for name in ("reflect", "java_method", "try_reflect"):
        registry.dropFunction(jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name))


def begin_job_group(session: SparkSession, group: str) -> None:
    """The calling thread's jobs belong to `group`, in the pool of the queries, from now on."""
    session.sparkContext.setJobGroup(group, "query", interruptOnCancel=True)
    session.sparkContext.setLocalProperty("spark.scheduler.pool", "query")


def cancel_job_group(session: SparkSession, group: str) -> None:
    """Ends its jobs, and those that it would start later."""
    session.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(group)  # noqa: SLF001


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """A column of an Iceberg table: `type` is Iceberg's word for it, "decimal(12, 2)"."""

    id: int
    name: str
    type: str
    required: bool
    doc: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionField:
    """`transform` is Iceberg's word: "identity", "bucket[4]", "day"."""

    name: str
    transform: str
    source_id: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """Schema and partition spec of a table, as one of its metadata versions has them."""

    schema_id: int
    spec_id: int
    fields: tuple[Field, ...]
    partition: tuple[PartitionField, ...]
    identifier: tuple[int, ...] = ()

    def field(self, name: str) -> Field | None:
        folded = name.casefold()
        return next((f for f in self.fields if f.name.casefold() == folded), None)

    def by_id(self, field_id: int) -> Field:
        return next(f for f in self.fields if f.id == field_id)


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """`marks`: what we wrote into its summary."""

    id: int
    parent: int | None
    operation: str
    marks: Mapping[str, str]


def layout_of(schema: Mapping[str, Any], spec: Mapping[str, Any]) -> Layout:
    """From a schema and a partition spec as Iceberg's specification writes them in JSON."""
    fields = tuple(
        Field(
            id=f["id"],
            name=f["name"],
            type=f["type"] if isinstance(f["type"], str) else json.dumps(f["type"]),
            required=f["required"],
            doc=f.get("doc", ""),
        )
        for f in schema["fields"]
    )
    partition = tuple(
        PartitionField(name=f["name"], transform=f["transform"], source_id=f["source-id"]) for f in spec["fields"]
    )
    return Layout(
        schema_id=schema["schema-id"],
        spec_id=spec["spec-id"],
        fields=fields,
        partition=partition,
        identifier=tuple(schema.get("identifier-field-ids", ())),
    )


class Iceberg:
    """The catalog of one Spark session."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        jvm: Java = spark._jvm  # noqa: SLF001 - this module is the way to it
        self.jvm = jvm
        self._session: Java = spark._jsparkSession  # noqa: SLF001
        self._hadoop: Java = spark._jsc.hadoopConfiguration()  # noqa: SLF001
        self._package: Java = jvm.org.apache.iceberg
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
    ) -> None:
        """`partition`: (transform, column, width) for Iceberg's PartitionSpec builder."""
        schema = self._schema(fields, identifier)
        builder = self._package.PartitionSpec.builderFor(schema)
        for transform, column, width in partition:
            arguments = [column] if width is None else [column, width]
            builder = getattr(builder, transform)(*arguments)
        self._catalog.createTable(self._identifier(db, table), schema, builder.build(), location, self._map(properties))

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
        return self._package.SchemaParser.fromJson(json.dumps(document))

    def layout(self, table: Java) -> Layout:
        schema = json.loads(self._package.SchemaParser.toJson(table.schema()))
        spec = json.loads(self._package.PartitionSpecParser.toJson(table.spec()))
        return layout_of(schema, spec)

    def properties(self, table: Java) -> dict[str, str]:
        return {str(key): str(value) for key, value in dict(table.properties()).items()}

    def use_pool(self, name: str) -> None:
        """Which scheduler pool the calling thread's Spark jobs go to from now on."""
        self.spark.sparkContext.setLocalProperty("spark.scheduler.pool", name)

    def token(self, table: Java, key: str) -> int:
        """A number in the table's properties, 0 where it is not there."""
        return int(table.properties().get(key) or 0)

    def history(self, table: Java, marks: Iterable[str]) -> Iterator[Snapshot]:
        """The current snapshot and its ancestors, newest first, as far back as they were not expired."""
        known = tuple(marks)
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

    def files(self, table: Java, folder: str, partition: Mapping[str, str]) -> list[Java]:
        """DataFiles, with column bounds, of a folder of Parquet files; none where there is no folder."""
        path = self.jvm.org.apache.hadoop.fs.Path(folder)
        if not path.getFileSystem(self._hadoop).exists(path):
            return []
        metrics = self._package.MetricsConfig.forTable(table)
        spec = table.spec()
        migration = self._package.data.TableMigrationUtil
        return list(migration.listPartition(self._map(partition), folder, "parquet", spec, self._hadoop, metrics, None))

    def folders(self, root: str) -> list[str]:
        """The folders right below `root`, by name; none where there is no `root`."""
        path = self.jvm.org.apache.hadoop.fs.Path(root)
        system = path.getFileSystem(self._hadoop)
        if not system.exists(path):
            return []
        return [str(status.getPath().getName()) for status in system.listStatus(path) if status.isDirectory()]

    def delete_folder(self, root: str) -> None:
        path = self.jvm.org.apache.hadoop.fs.Path(root)
        path.getFileSystem(self._hadoop).delete(path, True)

    def equality_delete(self, table: Java, file: Java, key_ids: Iterable[int]) -> Java:
        """A DataFile of key rows as equality DeleteFile; its bounds let readers skip it."""
        metrics = self._package.Metrics(
            file.recordCount(),
            file.columnSizes(),
            file.valueCounts(),
            file.nullValueCounts(),
            file.nanValueCounts(),
            file.lowerBounds(),
            file.upperBounds(),
        )
        builder = self._package.FileMetadata.deleteFileBuilder(table.spec()).ofEqualityDeletes(self._ints(key_ids))
        return self._delete_file(builder, table.spec(), file).withMetrics(metrics).build()

    def position_delete(self, spec: Java, file: Java) -> Java:
        builder = self._package.FileMetadata.deleteFileBuilder(spec).ofPositionDeletes()
        return self._delete_file(builder, spec, file).withRecordCount(file.recordCount()).build()

    def _delete_file(self, builder: Java, spec: Java, file: Java) -> Java:
        if spec.isPartitioned():
            builder = builder.withPartition(file.partition())
        size = file.fileSizeInBytes()
        return builder.withPath(file.location()).withFormat("parquet").withFileSizeInBytes(size)

    def fenced_delta(self, transaction: Java) -> Java:
        """A RowDelta that is refused if anyone changed rows or deletes since the transaction opened."""
        table = transaction.table()
        delta = transaction.newRowDelta()
        snapshot = table.currentSnapshot()
        if snapshot is not None:
            delta = delta.validateFromSnapshot(snapshot.snapshotId())
        always = self._package.expressions.Expressions.alwaysTrue()
        return delta.conflictDetectionFilter(always).validateNoConflictingDataFiles().validateNoConflictingDeleteFiles()

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
        result = self.jvm.java.util.HashMap()
        for key, value in values.items():
            result.put(key, value)
        return result
