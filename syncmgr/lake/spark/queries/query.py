"""SELECT: one query of one console connection.

Owns: what may be queried, how a query stops.
Must not know: connections, MySQL's types, the form in which rows travel, why its JVM ends.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from syncmgr.errors import Code, SyncError
from syncmgr.lake.spark import query_errors
from syncmgr.lake.spark.jvm import JAVA_ERRORS, is_lost
from syncmgr.lake.spark.launch import CATALOG
from syncmgr.lake.spark.queries import answer
from syncmgr.lake.spark.queries.frame import AnalyzedQuery, SparkOfQueries, SparkSessionOfQueries
from syncmgr.lake.spark.queries.gateway import JavaFailedError

CANCEL_AGAIN_SECONDS: Final = (0.05, 0.1, 0.2, 0.5, 1, 1, 2, 2, 5, 10)
EXPLAIN: Final = re.compile(
    r"(?:\s|--[^\n\\]*\n|/\*[^*/]*\*/)*EXPLAIN\s+(?P<mode>(?:EXTENDED|FORMATTED|COST|CODEGEN)\s+)?", re.IGNORECASE
)

# What Iceberg reads as a part of a table where it follows its name: its metadata, a branch or a state of it.
OF_A_TABLE: Final = re.compile(
    r"entries|history|metadata_log_entries|snapshots|refs|manifests|partitions|position_deletes|changes"
    r"|(?:all_)?(?:data_|delete_)?files|all_(?:manifests|entries)"
    r"|(?:branch|tag)_.+|(?:snapshot_id|at_timestamp)_[0-9]+",
    re.IGNORECASE,
)
ENDING: Final = re.compile(r"SparkContext was shut down|stopped SparkContext")  # of a JVM that is about to end

Refuse = Callable[[tuple[str, str] | None], None]


class QueryColumn(NamedTuple):
    """`type`: Spark's simpleString."""

    name: str
    type: str
    nullable: bool


def of_lake(name: tuple[str, ...] | None) -> tuple[str, str] | None:
    """Database and table of what a query reads; for one of Iceberg's metadata tables, those of its table.

    None for what no grant can cover: another catalog's tables, files, Iceberg's way to name a table by its path, and
    tables of a namespace in another one.
    """
    if name is None or len(name) not in {3, 4} or name[0] != CATALOG or any("/" in part for part in name):
        return None
    if len(name) == 4 and OF_A_TABLE.fullmatch(name[3]) is None:
        return None
    return name[1], name[2]


class Query:
    """A SELECT, which may be cancelled before it reaches a JVM. Call `understand` first; its rows are computed as
    `batches` is read.

    `held`: bytes of memory that the last returned rows take. `given_up`: when it was cancelled. `stages`: Spark's, as
    far as they were looked up.
    """

    def __init__(self, db: str | None, tag: str) -> None:
        self._db, self.tag = db, tag
        self._spark: SparkOfQueries | None = None
        self._why_lost: Callable[[], str] = str
        self._on_cancel: Callable[[Query], None] | None = None
        self.held = 0
        self.given_up: float | None = None
        self.stages: set[int] = set()
        self.ended = threading.Event()  # there is no reader any more
        self._idle = threading.Event()  # not in the middle of a call into Spark
        self._idle.set()
        self.columns: tuple[QueryColumn, ...] = ()
        self._frame: AnalyzedQuery | None = None

    @property
    def is_busy(self) -> bool:
        """In the middle of a call into Spark."""
        return not self._idle.is_set()

    def run_in(self, spark: SparkOfQueries, why_lost: Callable[[], str], on_cancel: Callable[["Query"], None]) -> None:
        """`why_lost`: why that JVM is gone, once it is. `on_cancel`: called to ensure that nothing of it goes on."""
        self._spark, self._why_lost, self._on_cancel = spark, why_lost, on_cancel

    def understand(self, session: Callable[[], SparkSessionOfQueries], sql: str, refuse: Refuse | None) -> None:
        """`refuse` raises for a table that may not be read, None for what is not a table of the lake. Raises the errors
        of the text.
        """
        self._idle.clear()
        try:
            self._refuse_if_cancelled()
            self._understand(session(), sql, refuse)
        except BaseException as error:
            self.ended.set()
            if isinstance(error, JAVA_ERRORS):
                raise self._failed(error) from error
            raise
        finally:
            self._idle.set()

    def _understand(self, session: SparkSessionOfQueries, sql: str, refuse: Refuse | None) -> None:
        explain = EXPLAIN.match(sql)
        asked = sql if explain is None else sql[explain.end() :]  # nothing but this is ever run
        try:
            session.refuse_all_but_queries(asked)
            session.spark.begin_job_group(self.tag)
            self._refuse_if_cancelled()
            inner = session.sql(asked)
            inner.refuse_scripts()
            if refuse is not None:
                for name in inner.tables_read():  # whatever it was called in the text
                    refuse(of_lake(name))
            frame = inner
            if explain is not None:
                inner.plan()  # EXPLAIN would report the errors as rows
                frame = session.sql(f"EXPLAIN {explain['mode'] or ''}{asked}")
            schema = frame.schema()
        except JAVA_ERRORS:
            if refuse is not None:
                self._check_names(session, asked, refuse)
            raise
        self._frame = frame
        self.columns = tuple(QueryColumn(f.name, f.dataType.simpleString(), f.nullable) for f in schema.fields)

    def _check_names(self, session: SparkSessionOfQueries, asked: str, refuse: Refuse) -> None:
        """Before Spark's message about a failed query is shown: it may name columns of a table."""
        try:
            named = session.tables_named(asked)
        except JAVA_ERRORS:
            return  # it does not even parse, so Spark has looked nothing up
        if named is None:
            refuse(None)
        for name in named or ():
            if len(name) == 1 and self._db is not None:
                refuse((self._db, name[0]))
            elif len(name) > 1:
                refuse(of_lake((CATALOG, *name) if name[0] != CATALOG else name))

    def batches(self) -> Iterator[Sequence[tuple[object, ...]]]:
        """The rows, a thousand or a few MiB at a time.

        Raises INTERRUPTED after `cancel`, otherwise the error of the query.
        """
        assert self._frame is not None
        self._idle.clear()
        try:
            self._refuse_if_cancelled()
            self._frame.session.spark.begin_job_group(self.tag)  # the caller may read in another thread
            for batch, held in answer.batches(self._frame):
                self._refuse_if_cancelled()
                self.held = held
                self._idle.set()
                yield batch
                self._idle.clear()
            self._refuse_if_cancelled()
        except JAVA_ERRORS as error:
            raise self._failed(error) from error
        except (ValueError, OverflowError) as error:  # dates and times that Python cannot represent
            raise SyncError(Code.QUERY_FAILED, reason=str(error)) from error
        finally:
            self._idle.set()
            self.ended.set()

    def cancel(self) -> None:
        """From any thread, at any time: what runs ends at once, and nothing more of it starts.

        Repeated until it has: Spark remembers a cancelled group for jobs, not for the stages of a shuffle, so one
        submitted right after the cancel would run to its end.
        """
        if self.given_up is None:
            self.given_up = time.monotonic()
        self.ended.set()
        if self._on_cancel is not None:
            self._on_cancel(self)
        if self._spark is None:
            return  # it sees the cancel before it begins
        try:
            for pause in CANCEL_AGAIN_SECONDS:
                self._spark.cancel_job_group(self.tag)
                if self._idle.wait(pause):
                    return
        except JAVA_ERRORS as error:
            if not is_lost(error):  # otherwise it has ended with its JVM
                raise self._failed(error) from error

    def look_for_tasks(self) -> bool:
        """Whether Spark still computes something of it."""
        assert self._spark is not None
        self.stages |= self._spark.stages(self.tag)
        return self._spark.running_tasks(self.stages) > 0

    def _refuse_if_cancelled(self) -> None:
        if self.given_up is not None:
            raise SyncError(Code.INTERRUPTED)

    def _failed(self, error: BaseException) -> SyncError:
        if self.given_up is not None:
            return SyncError(Code.INTERRUPTED)
        if is_lost(error) or (isinstance(error, JavaFailedError) and ENDING.search(error.text)):
            return SyncError(Code.QUERIES_ENDED, reason=self._why_lost())
        if isinstance(error, JavaFailedError):
            return query_errors.query_error(error.text, error.parameters, self._db)
        return query_errors.query_error(str(error), {}, self._db)
