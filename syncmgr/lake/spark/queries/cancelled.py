"""The queries of an engine that were cancelled, until they have ended.

Owns: which of them nevertheless go on, and that these are cancelled again.
Must not know: processes, sessions, who asks.
"""

import threading

from syncmgr.lake.spark.queries.frame import SparkOfQueries
from syncmgr.lake.spark.queries.query import Query


class CancelledQueries:
    """Every method may be called from any thread; `look` from one."""

    def __init__(self, spark: SparkOfQueries) -> None:
        self._spark = spark
        self._lock = threading.Lock()
        self._queries: set[Query] = set()  # to be watched, though nothing else remembers them
        self._lingering: set[Query] = set()  # those of them that were seen to go on

    def add(self, query: Query) -> None:
        with self._lock:
            self._queries.add(query)

    def look(self) -> bool:
        """Whether any of them goes on. It is cancelled again: a stage may have begun after the cancel of its group."""
        with self._lock:
            cancelled = set(self._queries)
        lingering = {query for query in cancelled if query.is_busy or query.look_for_tasks()}
        for query in lingering:
            self._spark.cancel_job_group(query.tag)
        with self._lock:
            self._lingering = lingering
            self._queries -= cancelled - lingering
        return bool(lingering)

    def given_up(self) -> list[float]:
        """When those that go on were cancelled, on the monotonic clock."""
        with self._lock:
            return [query.given_up for query in self._lingering if query.given_up is not None]
