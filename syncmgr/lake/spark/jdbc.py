"""The JDBC driver of MySQL, in the JVM of Spark.

Owns: when it is loaded.
Must not know: what is read with it, where its jar is from.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from syncmgr.errors import SyncError
from syncmgr.lake.spark import jvm

FAILURE_SECOND: Final = 4.0  # less than the wait before a table is retried


class JdbcDriver:
    """MySQL's, which a JVM does not load until rows of a source are needed. Any thread."""

    def __init__(self, bring: Callable[[], Path]) -> None:
        self._bring = bring
        self._lock = threading.Lock()
        self._failure: tuple[float, SyncError] | None = None  # monotonic

    def load(self, spark: SparkSession, name: str) -> None:
        """The class of that name, once for each JVM; one that the operator provides is left alone.

        Raises what Jars raise.
        """
        with self._lock:
            if not jvm.has_class(spark, name):
                jvm.add_jar(spark, self._brought())

    def _brought(self) -> Path:
        """A caller that has waited for another's attempt gets the result of that: each attempt starts a JVM."""
        if self._failure is not None and time.monotonic() - self._failure[0] < FAILURE_SECOND:
            raise SyncError(self._failure[1].code, **self._failure[1].context)
        try:
            return self._bring()
        except SyncError as error:
            self._failure = time.monotonic(), error
            raise
