"""SELECT: one query of one console connection.

Owns: what may be asked, whose database is meant, how a query stops.
Must not know: connections, MySQL's types, the form in which rows travel.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

from syncmgr.errors import Code, SyncError
from syncmgr.spark import answer, jvm
from syncmgr.spark.launch import CATALOG

SESSIONS: Final = 16  # databases and time zones whose sessions are kept
UTC: Final = "UTC"
CANCEL_AGAIN_SECONDS: Final = (0.05, 0.1, 0.2, 0.5, 1, 1, 2, 2, 5, 10)
QUERY_SETTINGS: Final = answer.SETTINGS | {
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",  # fewer and bigger partitions stream faster
}
EXPLAIN: Final = re.compile(r"\s*EXPLAIN\s+(?:(?:EXTENDED|FORMATTED|COST|CODEGEN)\s+)?", re.IGNORECASE)

Refuse = Callable[[tuple[str, str] | None], None]


class QueryColumn(NamedTuple):
    """`type`: Spark's simpleString."""

    name: str
    type: str
    nullable: bool


class Sessions:
    """A Spark session for each database and time zone in use: those of one caller are never another's."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._lock = threading.Lock()
        self._of: OrderedDict[tuple[str | None, str], SparkSession] = OrderedDict()

    def of(self, db: str | None, time_zone: str = UTC) -> SparkSession:
        """Raises UNKNOWN_DATABASE."""
        place = db, time_zone
        with self._lock:
            found = self._of.pop(place, None) or self._new(*place)
            self._of[place] = found
            while len(self._of) > SESSIONS:
                self._of.popitem(last=False)
            return found

    def _new(self, db: str | None, time_zone: str) -> SparkSession:
        session = self._spark.newSession()
        for key, value in {**QUERY_SETTINGS, "spark.sql.session.timeZone": time_zone}.items():
            session.conf.set(key, value)
        jvm.forbid_java_calls(session)
        jvm.activate(session)
        session.catalog.setCurrentCatalog(CATALOG)
        if db is not None:
            session.catalog.setCurrentDatabase(f"`{db.replace('`', '``')}`")
        return session


def of_lake(name: tuple[str, ...] | None) -> tuple[str, str] | None:
    """Database and table of what a query reads, the table's own for one of Iceberg's metadata tables.

    None for what no grant can be about: another catalog's tables, files, and Iceberg's way to name a table by its path.
    """
    if name is None or len(name) not in {3, 4} or name[0] != CATALOG or any("/" in part for part in name):
        return None
    return name[1], name[2]


class Query:
    """A SELECT that was understood; its rows are computed as `batches` is read."""

    def __init__(self, session: SparkSession, sql: str, db: str | None, tag: str, refuse: Refuse | None = None) -> None:
        """`refuse` raises for a table that may not be read, None for what is no table of the lake."""
        self._session, self._tag, self._db, self._sql = session, tag, db, sql
        self._cancelled = threading.Event()
        self._idle = threading.Event()  # not in the middle of a call that computes rows
        self._idle.set()
        asked = EXPLAIN.sub("", sql, count=1)
        try:
            jvm.refuse_all_but_queries(session, asked)
            jvm.begin_job_group(session, tag)
            if asked != sql:
                jvm.plan(session.sql(asked))  # EXPLAIN would tell what is wrong as rows
            self._rows = session.sql(sql)
            schema = self._rows.schema
            if refuse is not None:
                self._check(asked, refuse)
        except jvm.FAILURES as error:
            if refuse is not None:
                self._check_names(asked, refuse)
            raise jvm.query_error(error, db) from error
        self.columns = tuple(QueryColumn(f.name, f.dataType.simpleString(), f.nullable) for f in schema.fields)

    def _check(self, asked: str, refuse: Refuse) -> None:
        """Spark's own analysis says what is read, whatever it was called in the text."""
        rows = self._rows if asked == self._sql else self._session.sql(asked)
        for name in jvm.tables_read(rows):
            refuse(of_lake(name))

    def _check_names(self, asked: str, refuse: Refuse) -> None:
        """Before Spark's words about a query that failed are told: they may name columns of a table."""
        try:
            named = jvm.tables_named(self._session, asked)
        except jvm.FAILURES:
            return  # it does not even parse, so Spark has looked nothing up
        for name in named:
            if len(name) == 1 and self._db is not None:
                refuse((self._db, name[0]))
            elif len(name) > 1:
                refuse(of_lake((CATALOG, *name) if name[0] != CATALOG else name))

    def batches(self) -> Iterator[Sequence[tuple[object, ...]]]:
        """The rows, a thousand or some MiB at a time.

        Raises INTERRUPTED after `cancel`, else what the query failed with.
        """
        self._idle.clear()
        try:
            self._refuse_if_cancelled()
            jvm.begin_job_group(self._session, self._tag)  # the caller may read in another thread than it asked in
            for batch in answer.batches(self._rows):
                self._refuse_if_cancelled()
                self._idle.set()
                yield batch
                self._idle.clear()
            self._refuse_if_cancelled()
        except jvm.FAILURES as error:
            self._refuse_if_cancelled()
            raise jvm.query_error(error, self._db) from error
        except (ValueError, OverflowError) as error:  # dates and times that Python has not
            raise SyncError(Code.QUERY_FAILED, reason=str(error)) from error
        finally:
            self._idle.set()

    def cancel(self) -> None:
        """From any thread, at any time: what runs ends at once, and nothing of it starts any more.

        Again and again until it has: Spark remembers a cancelled group for jobs, not for the stages of a shuffle, so
        that one submitted right behind the cancel would run to its end.
        """
        self._cancelled.set()
        try:
            for pause in CANCEL_AGAIN_SECONDS:
                jvm.cancel_job_group(self._session, self._tag)
                if self._idle.wait(pause):
                    return
        except jvm.FAILURES as error:
            raise jvm.query_error(error, self._db) from error

    def _refuse_if_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise SyncError(Code.INTERRUPTED)
