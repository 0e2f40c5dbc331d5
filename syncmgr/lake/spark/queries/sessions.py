"""The sessions of one JVM of the queries, one for each database and time zone in use.

Owns: how many are kept, and that each closes its connections to the catalog once nobody uses it.
Must not know: what is queried.
"""

import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import Final

from syncmgr.lake.spark.jvm import Java
from syncmgr.lake.spark.queries import answer
from syncmgr.lake.spark.queries.frame import SparkOfQueries, SparkSessionOfQueries

SESSIONS: Final = 16  # databases and time zones whose sessions are kept
SETTINGS: Final[Mapping[str, str]] = answer.SETTINGS | {
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",  # fewer and bigger partitions stream faster
}


class Sessions:
    """From any thread."""

    def __init__(self, spark: SparkOfQueries) -> None:
        self._spark, self._lock = spark, threading.Lock()
        self._kept: OrderedDict[tuple[str | None, str, bool], SparkSessionOfQueries] = OrderedDict()
        self._left = deque[Java]()  # neither kept nor in use

    def of(self, db: str | None, time_zone: str, *, calls_java: bool = False) -> SparkSessionOfQueries:
        """No two callers in different ones share it."""
        place = db, time_zone, calls_java
        with self._lock:
            if place in self._kept:
                self._kept.move_to_end(place)
                return self._kept[place]
        made = self._spark.new_session({**SETTINGS, "spark.sql.session.timeZone": time_zone}, db, calls_java=calls_java)
        weakref.finalize(made, self._left.append, made.java).atexit = False
        with self._lock:
            self._kept[place] = made
            while len(self._kept) > SESSIONS:
                self._kept.popitem(last=False)
        return made

    def close_left(self) -> None:
        """Java would do so once its memory forgets them, which may be long after the catalog takes no connection."""
        while self._left:
            self._spark.close_catalog(self._left.popleft())
