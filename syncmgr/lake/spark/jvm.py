"""Spark through PySpark's py4j: with `iceberg` the only module that calls into the lake's JVM.

Owns: the gateway, what a Java error means, plans and job groups.
Must not know: epochs, jobs, when something is called.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from py4j.java_gateway import JVMView
from py4j.protocol import DEFAULT_JVM_ID, DEFAULT_JVM_NAME, Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession

from syncmgr.errors import Code, SyncError
from syncmgr.lake.spark import query_errors as spark_words
from syncmgr.lake.storage_errors import of_lake

Java = Any  # an object of the JVM

REFUSED: Final = frozenset(
    {
        "org.apache.iceberg.exceptions.ValidationException",  # another writer changed what we relied on
        "org.apache.iceberg.exceptions.CommitFailedException",  # another writer was faster, as far as the catalog knows
        "org.apache.iceberg.exceptions.CommitStateUnknownException",  # the table itself shows which
    },
)
CERTAIN: Final = REFUSED - {"org.apache.iceberg.exceptions.CommitStateUnknownException"}  # the outcome is known
MOST_CAUSES: Final = 10
LOST: Final = (Py4JNetworkError, ConnectionError, EOFError)
JAVA_ERRORS: Final = (Py4JError, PySparkException, ConnectionError, EOFError)  # whatever a call into the JVM may raise


def connect(port: int, secret: str, secrets: Iterable[str] = ()) -> SparkSession:
    """The session of a JVM that has announced its port.

    `secrets`: keys of its settings to be removed from the properties of Java, where spark-submit puts all of them.

    Raises LAKE_FAILED; LAKE_STARTING if the JVM has died.
    """
    os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"] = str(port), secret
    try:
        gateway = launch_gateway()  # type: ignore[no-untyped-call] # PySpark leaves it untyped
        context = SparkContext(gateway=gateway)
        context.setLogLevel("ERROR")
        # it prints a stack when the JVM hangs up; reporting is left to the watcher of the process
        context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign] # noqa: SLF001
        for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):  # what they say is raised as well
            PySparkLogger.getLogger(name).setLevel("CRITICAL")
        session = SparkSession(context)
        for key in secrets:
            gateway.jvm.System.clearProperty(key)
        return session
    except JAVA_ERRORS as error:
        code = Code.LAKE_STARTING if is_lost(error) else Code.LAKE_FAILED
        raise SyncError(code, reason=words(error)) from error
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]


def let_go() -> None:
    """Java objects that Python forgets from now on are not reported to the JVM, which is about to end or has ended."""
    gateway = SparkContext._gateway  # noqa: SLF001 - PySpark has no public way back
    if gateway is not None:
        gateway._gateway_client.is_connected = False  # noqa: SLF001


def close_connections(client: Java) -> None:
    """Those of a client of py4j whose JVM has ended: it keeps one for each thread, and closes none."""
    while client.deque:
        with suppress(IndexError):  # a thread has just taken the last one, and meets the end of the JVM itself
            client.deque.pop().close()


def forget() -> None:
    """Clears what PySpark remembers of a dead JVM; otherwise no other can be used in this process."""
    let_go()
    gateway = SparkContext._gateway  # noqa: SLF001 - PySpark has no public way back
    if gateway is not None:
        close_connections(gateway._gateway_client)  # noqa: SLF001
    context = SparkContext._active_spark_context  # noqa: SLF001 - PySpark has no public way back
    if context is not None and context._accumulatorServer is not None:  # noqa: SLF001
        context._accumulatorServer.shutdown()  # noqa: SLF001
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None  # noqa: SLF001
    SparkSession._instantiatedSession = SparkSession._activeSession = None  # noqa: SLF001


def activate(session: SparkSession) -> None:
    """Spark looks a catalog's settings up in the session that is active in the calling thread."""
    jvm: Java = session._jvm  # noqa: SLF001 - this module is the way to it
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)  # noqa: SLF001


def waits_for_executors(session: SparkSession) -> bool:
    """Whether a job is under way, and no executor is there to run it. The driver counts as one, which runs none."""
    status = session.sparkContext._jsc.sc().statusTracker()  # noqa: SLF001 - this module is the way to it
    return len(status.getActiveJobIds()) > 0 and len(status.getExecutorInfos()) <= 1


def java_class(error: BaseException) -> str:
    """Name of the Java exception that caused an error, "" if there is none."""
    if isinstance(error, Py4JJavaError):
        return str(error.java_exception.getClass().getName())
    return ""


def is_lost(error: BaseException) -> bool:
    """Whether the JVM died in the middle of a call: py4j then reports an error without Java's trace."""
    return isinstance(error, LOST) or (type(error) is Py4JError and "Trace:" not in str(error))


def words(error: BaseException) -> str:
    """What happened, in one line without a stack."""
    if is_lost(error):
        return "Spark's JVM is gone"
    if isinstance(error, Py4JJavaError):
        return _line(message_of(error.java_exception))
    return spark_words.short(str(error)).split("\n", 1)[0]


def _line(text: str) -> str:
    return re.sub(r"^[\w.$]+(?:Exception|Error): ", "", text.split("\n", 1)[0])


def words_and_cause(error: BaseException) -> str:
    """The same, and its cause, if that says more."""
    what = words(error)
    if is_lost(error) or not isinstance(error, Py4JJavaError):
        return what
    cause = _line(causes(error.java_exception)[-1])
    return what if cause in what else f"{what}: {cause}"


def raise_for(error: BaseException) -> NoReturn:
    """Raises the error of a failed call that the operator is to see."""
    if is_lost(error):
        raise SyncError(Code.LAKE_STARTING, reason=words(error)) from error
    raise SyncError(of_lake(text_of(error)), reason=words_and_cause(error)) from error


@contextmanager
def asked() -> Iterator[None]:
    """What a failed call into the JVM means to the operator."""
    try:
        yield
    except JAVA_ERRORS as error:
        raise_for(error)


def condition_and_message(error: BaseException) -> tuple[str, str]:
    """Spark's condition and message of a failed call."""
    return spark_words.condition_and_message(text_of(error))


def text_of(error: BaseException) -> str:
    """Everything that Spark said, causes included."""
    return (
        "\n".join(causes(error.java_exception)) if isinstance(error, Py4JJavaError) else spark_words.short(str(error))
    )


def message_of(exception: Java) -> str:
    """Its class and message, as `short` has it. The middle of a long one stays in the JVM: a value in it may fill our
    memory.
    """
    there: Java = JVMView(exception._gateway_client, DEFAULT_JVM_NAME, id=DEFAULT_JVM_ID)  # noqa: SLF001
    whole = there.java.lang.StringBuilder().append(exception)
    length = int(whole.length())
    if length <= spark_words.LONGEST_HEAD + spark_words.LONGEST_TAIL:
        return spark_words.short(str(whole.toString()))
    tail = whole.substring(length - spark_words.LONGEST_TAIL)
    return spark_words.short(f"{whole.substring(0, spark_words.LONGEST_HEAD)}...{tail}")


def causes(exception: Java) -> list[str]:
    """The message of each, the outermost first."""
    found: list[str] = []
    cause = exception
    while cause is not None and len(found) < MOST_CAUSES:
        found.append(message_of(cause))
        cause = cause.getCause()
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class AnalyzedPlan:
    """An analyzed plan: its operators from the top, as long as each has one child, its text, and in Spark's JSON what
    the topmost computes.
    """

    operators: tuple[str, ...]
    deterministic: bool
    text: str
    computed: tuple[str, ...]


def parsed(session: SparkSession, expression: str) -> str:
    """In Spark's JSON, before anything in it is resolved or computed."""
    parser: Java = session._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 - this module is the way to it
    return str(parser.parseExpression(expression).toJSON())


def analyzed(frame: DataFrame) -> AnalyzedPlan:
    plan: Java = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - this module is the way to it
    operators, below = [], plan
    while below is not None:
        operators.append(str(below.nodeName()))
        children = below.children()
        below = children.head() if children.size() == 1 else None
    expressions = plan.expressions()
    return AnalyzedPlan(
        operators=tuple(operators),
        deterministic=bool(plan.deterministic()),
        text=str(plan.toString()),
        computed=tuple(str(expressions.apply(place).toJSON()) for place in range(expressions.size())),
    )


def begin_job_group(session: SparkSession, group: str, pool: str) -> None:
    """The calling thread's jobs belong to `group`, in that pool of the scheduler, from now on."""
    session.sparkContext.setJobGroup(group, pool, interruptOnCancel=True)
    session.sparkContext.setLocalProperty("spark.scheduler.pool", pool)


def end_job_group(session: SparkSession) -> None:
    """The calling thread's jobs no longer belong to a group."""
    try:
        session.sparkContext._jsc.sc().clearJobGroup()  # noqa: SLF001
    except JAVA_ERRORS:  # the JVM is gone, and its threads with it
        return


def cancel_job_group(session: SparkSession, group: str) -> None:
    """Ends its jobs, and those that it would start later."""
    session.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(group)  # noqa: SLF001
