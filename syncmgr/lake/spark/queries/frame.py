"""Spark's sessions and analyzed queries in the JVM of the queries.

Owns: every call of Spark there: what a text reads, its plan, its rows on the wire, job groups.
Must not know: who queries, what may be queried, when it is too much.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from pyspark.serializers import CPickleSerializer, SpecialLengths
from pyspark.sql import Row
from pyspark.sql.types import DataType, StructType
from pyspark.util import local_connect_and_auth

from syncmgr.errors import Code, SyncError
from syncmgr.lake.spark.jvm import Java
from syncmgr.lake.spark.launch import CATALOG
from syncmgr.lake.spark.queries.gateway import Gateway

POOL: Final = "query"
READ_NOTHING: Final = frozenset({"OneRowRelation", "OneRowRelation$", "Range", "LocalRelation", "CTERelationRef"})
JAVA_CALLS: Final = ("reflect", "java_method", "try_reflect")  # by which a SELECT could run any code in the JVM
SCRIPT: Final = "ScriptTransformation"
NAMED_WINDOWS: Final = "WithWindowDefinition"
TIME_TRAVEL: Final = "RelationTimeTravel"
COMPUTED_NAME: Final = "PlanWithUnresolvedIdentifier"  # IDENTIFIER(...)
MOST_NODES: Final = 10_000  # each takes several calls into the JVM
LONGEST_SCHEMA: Final = 1 << 20  # characters, for ten thousand columns
PYTHON_CLASS: Final = "pyClass"  # of a user-defined type in Spark's JSON
NEXT_PARTITION: Final = (1).to_bytes(4, "big")


def begun(gateway: Gateway, secrets: Iterable[str] = ()) -> "SparkOfQueries":
    """The Spark of a JVM that has none yet. `secrets`: keys to be removed from the properties of Java."""
    jvm: Java = gateway.jvm
    context = jvm.org.apache.spark.SparkContext(jvm.org.apache.spark.SparkConf(True))
    context.setLogLevel("ERROR")
    for key in secrets:
        jvm.System.clearProperty(key)
    return SparkOfQueries(jvm, jvm.org.apache.spark.sql.classic.SparkSession(context, jvm.java.util.HashMap()))


class SparkOfQueries:
    """The Spark of one JVM. Every method may be called from any thread."""

    def __init__(self, jvm: Java, first: Java) -> None:
        self.jvm, self._first = jvm, first
        self._context: Java = first.sparkContext()
        self._tracker: Java = self._context.statusTracker()
        self._sessions: Java = jvm.org.apache.spark.sql.classic.SparkSession

    def new_session(
        self, settings: dict[str, str], db: str | None, *, calls_java: bool = False
    ) -> "SparkSessionOfQueries":
        session = self._first.newSession()
        for key, value in settings.items():
            session.conf().set(key, value)
        registry = session.sessionState().functionRegistry()
        for name in () if calls_java else JAVA_CALLS:
            registry.dropFunction(self.jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name))
        self.activate(session)
        session.catalog().setCurrentCatalog(CATALOG)
        if db is not None:
            session.catalog().setCurrentDatabase(f"`{db.replace('`', '``')}`")
        return SparkSessionOfQueries(spark=self, java=session)

    def close_catalog(self, session: Java) -> None:
        """Of a session that nobody uses any more: its connections, which Java's memory would forget some day."""
        self.activate(session)
        catalog = session.sessionState().catalogManager().catalog(CATALOG).icebergCatalog()
        if self.jvm.java.lang.Class.forName("java.io.Closeable").isInstance(catalog):
            catalog.close()

    def activate(self, session: Java) -> None:
        """Spark looks a catalog's settings up in the session that is active in the calling thread."""
        self._sessions.setActiveSession(session)

    def begin_job_group(self, group: str) -> None:
        """The calling thread's jobs belong to it from now on."""
        self._context.setJobGroup(group, POOL, True)
        self._context.setLocalProperty("spark.scheduler.pool", POOL)

    def cancel_job_group(self, group: str) -> None:
        """Ends its jobs, and those that it would start later."""
        self._context.cancelJobGroupAndFutureJobs(group)

    def stages(self, group: str) -> set[int]:
        """Of its running jobs, and of the last ones that have ended."""
        jobs = (self._tracker.getJobInfo(job) for job in self._tracker.getJobIdsForGroup(group))
        return {int(stage) for job in jobs if job.isDefined() for stage in job.get().stageIds()}

    def running_tasks(self, stages: set[int]) -> int:
        """Including those that were asked to end, until they do."""
        found = (self._tracker.getStageInfo(stage) for stage in stages)
        return sum(int(stage.get().numActiveTasks()) for stage in found if stage.isDefined())

    def folders(self) -> list[Path]:
        """Where it spills: its own folder, within the one that the operator has configured."""
        disk = self._context.env().blockManager().diskBlockManager()
        return [Path(str(each.getAbsolutePath())) for each in disk.localDirs()]

    def collect_garbage(self) -> None:
        """Also removes the files of shuffles that are no longer needed."""
        self.jvm.java.lang.System.gc()

    def pulse(self) -> None:
        """A query that needs no task, and so no core."""
        self.activate(self._first)
        self._first.sql("SELECT 1").queryExecution().optimizedPlan()


@dataclass(frozen=True, kw_only=True, slots=True, weakref_slot=True)
class SparkSessionOfQueries:
    """One of its sessions."""

    spark: SparkOfQueries
    java: Java

    def refuse_all_but_queries(self, sql: str) -> None:
        """Parses with Spark's rule for queries only: no DDL, no DML, no SET, no script. Raises Spark's errors.

        A moment that a subquery computes is refused, too: Spark runs that during analysis, before it reports what is
        read.
        """
        parsed = self._parsed(sql)
        text = str(parsed.toString())
        if SCRIPT in text:
            raise SyncError(Code.NOT_SUPPORTED, what="TRANSFORM")
        if TIME_TRAVEL not in text:
            return
        nodes = _nodes(parsed)
        if nodes is None or any(kind == TIME_TRAVEL and node.subqueries().size() for kind, node in nodes):
            raise SyncError(Code.NOT_SUPPORTED, what="a subquery in TIMESTAMP AS OF (write the moment itself)")

    def tables_named(self, sql: str) -> frozenset[tuple[str, ...]] | None:
        """The names in places of tables, as they are typed; those of WITH may be among them.

        None: a name is computed, or there is too much to look through.
        """
        nodes = _nodes(self._parsed(sql))
        if nodes is None or any(kind == COMPUTED_NAME or self._hides_queries(kind, node) for kind, node in nodes):
            return None
        found = (node for kind, node in nodes if kind == "UnresolvedRelation")
        return frozenset(tuple(map(str, _each(node.multipartIdentifier()))) for node in found)

    def _hides_queries(self, kind: str, node: Java) -> bool:
        """Whether subqueries lie where `_nodes` does not look. Spark prints only the first parts of a long list."""
        if kind != NAMED_WINDOWS:
            return False
        subqueries = self.spark.jvm.org.apache.spark.sql.catalyst.expressions.SubqueryExpression
        return any(subqueries.hasSubquery(window) for window in _each(node.windowDefinitions().values().toSeq()))

    def _parsed(self, sql: str) -> Java:
        return self.spark.jvm.org.apache.spark.sql.execution.SparkSqlParser().parseQuery(sql)

    def sql(self, text: str) -> "AnalyzedQuery":
        """Analyzed, but nothing is computed."""
        self.spark.activate(self.java)
        return AnalyzedQuery(session=self, java=self.java.sql(text))


@dataclass(frozen=True, kw_only=True, slots=True)
class AnalyzedQuery:
    """A query that Spark has analyzed."""

    session: SparkSessionOfQueries
    java: Java

    def schema(self) -> StructType:
        """Raises NOT_SUPPORTED, STATEMENT_TOO_LARGE. In the JVM a type inside of many others is one object, here it is
        many.
        """
        schema = self.java.schema()
        if self.session.spark.jvm.java.lang.StringBuilder().append(schema).length() > LONGEST_SCHEMA:
            what, advice = "characters of the types of a result", "select fewer columns, or parts of nested ones"
            raise SyncError(Code.STATEMENT_TOO_LARGE, limit=LONGEST_SCHEMA, what=what, advice=advice)
        fields = json.loads(str(schema.json()))
        if _has_python_type(fields):
            raise SyncError(Code.NOT_SUPPORTED, what="a user-defined type in a result")
        return StructType.fromJson(fields)

    def plan(self) -> None:
        """Raises the errors of a query without running it."""
        self.java.queryExecution().executedPlan()

    def refuse_scripts(self) -> None:
        """TRANSFORM runs a command of the machine; the plan shows it wherever the text has hidden it.

        Raises NOT_SUPPORTED, STATEMENT_TOO_LARGE.
        """
        if any(SCRIPT in str(part.toString()) for part in _parts(self.java.queryExecution().analyzed())):
            raise SyncError(Code.NOT_SUPPORTED, what="TRANSFORM")

    def tables_read(self) -> frozenset[tuple[str, ...] | None]:
        """Catalog, database and name of the tables that it reads anywhere; None: it reads something that is not a
        table.

        Raises STATEMENT_TOO_LARGE.
        """
        return frozenset(map(_table, _leaves(self.java.queryExecution().analyzed()))) - {()}

    def cast(self, kinds: Sequence[DataType]) -> "AnalyzedQuery":
        """The same rows, each column in its type; names are lost, since they may be duplicated."""
        jvm = self.session.spark.jvm
        to_sequence = jvm.org.apache.spark.api.python.PythonUtils.toSeq
        named = self.java.toDF(to_sequence([f"c{place}" for place in range(len(kinds))]))
        read = jvm.org.apache.spark.sql.types.DataType.fromJson
        columns = [named.col(f"c{place}").cast(read(kind.json())) for place, kind in enumerate(kinds)]
        return AnalyzedQuery(session=self.session, java=named.select(to_sequence(columns)))

    def pickled(self) -> Iterator[tuple[int, list[Row]]]:
        """The rows, one Spark partition after the other, in lists as Spark sends them, a few MiB at most; with the
        bytes of each.
        """
        unpickled = CPickleSerializer()
        for data in _served(self.java.toPythonIterator(False)):
            yield len(data), unpickled.loads(data)  # type: ignore[no-untyped-call] # PySpark leaves it untyped

    def arrow(self, *, ahead_bytes: int) -> Iterator[bytes]:
        """The same as record batches without their schema, of the session's maxRecordsPerBatch.

        While a partition is sent, Spark computes the next one, unless partitions are estimated to exceed `ahead_bytes`.
        """
        spark = self.session.spark
        spark.activate(self.session.java)
        conf = self.session.java.sessionState().conf()
        # tasks outside of one of Spark's own executions learn the session's settings from it
        rows: Java = spark.jvm.org.apache.spark.sql.execution.SQLExecutionRDD(self.java.toArrowBatchRdd(), conf)
        size = int(str(self.java.queryExecution().optimizedPlan().stats().sizeInBytes()))
        ahead = size <= ahead_bytes * rows.getNumPartitions()
        yield from _served(spark.jvm.org.apache.spark.api.python.PythonRDD.toLocalIteratorAndServe(rows, ahead))


def _has_python_type(fields: object) -> bool:
    """Whether a schema in Spark's JSON names a class of Python, as the text of a query may: PySpark would import its
    module into this process, whatever that does.
    """
    waiting = [fields]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if PYTHON_CLASS in node:
                return True
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    return False


def _table(leaf: Java) -> tuple[str, ...] | None:
    """() if it reads nothing."""
    kind = str(leaf.getClass().getSimpleName())
    if kind in READ_NOTHING:
        return ()
    if kind != "DataSourceV2Relation" or leaf.identifier().isEmpty() or leaf.catalog().isEmpty():
        return None
    identifier = leaf.identifier().get()
    return str(leaf.catalog().get().name()), *map(str, identifier.namespace()), str(identifier.name())


def _parts(plan: Java) -> list[Java]:
    """A plan and its subqueries, at whatever depth. Raises STATEMENT_TOO_LARGE."""
    subqueries = plan.subqueriesAll()
    _refuse_more(int(subqueries.size()))
    return [plan, *_each(subqueries)]


def _leaves(plan: Java) -> Iterator[Java]:
    """Of a plan and of its subqueries, at whatever depth. Raises STATEMENT_TOO_LARGE."""
    parts = _parts(plan)
    found = len(parts)
    for part in parts:
        leaves = part.collectLeaves()
        found += int(leaves.size())
        _refuse_more(found)
        yield from _each(leaves)


def _refuse_more(found: int) -> None:
    if found > MOST_NODES:
        what, advice = "tables, subqueries and constant rows in a query", "ask for less at a time"
        raise SyncError(Code.STATEMENT_TOO_LARGE, limit=MOST_NODES, what=what, advice=advice)


def _nodes(parsed: Java) -> list[tuple[str, Java]] | None:
    """The parts of a text, each with its kind: also the queries of WITH and those in expressions. None: too many."""
    found: list[tuple[str, Java]] = []
    waiting = [parsed]
    while waiting:
        node = waiting.pop()
        kind = str(node.nodeName())
        found.append((kind, node))
        waiting += (*_each(node.children()), *_each(node.innerChildren()))
        if kind == TIME_TRAVEL:
            waiting.append(node.relation())
        if len(found) + len(waiting) > MOST_NODES:
            return None
    return found


def _each(sequence: Java) -> Iterator[Java]:
    """Of a Scala sequence."""
    return (sequence.apply(place) for place in range(sequence.size()))


def _served(by: Java) -> Iterator[bytes]:
    """What Spark's partition server sends, one after the other.

    PySpark's own iterator would leave its socket open, and read a partition to its end before it releases an abandoned
    query; and it takes the end of the JVM for the end of the rows.
    """
    connection, secret, server = by
    stream, socket = local_connect_and_auth(connection, secret)
    socket.settimeout(None)  # a partition takes as long as it takes; `cancel_job_group` ends it
    with socket, stream:
        while True:
            stream.write(NEXT_PARTITION)
            stream.flush()
            status = _number(stream)
            if status == 0:
                return
            if status < 0:
                server.getResult()  # raises what went wrong
            yield from partition(stream)


def partition(stream: BinaryIO) -> Iterator[bytes]:
    """What is sent up to the end mark. Raises EOFError if the stream ends without it."""
    while (size := _number(stream)) != SpecialLengths.END_OF_DATA_SECTION:
        yield _whole(stream, size)


def _number(stream: BinaryIO) -> int:
    return int.from_bytes(_whole(stream, 4), "big", signed=True)


def _whole(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError("the JVM hung up in the middle of a result")
    return data
