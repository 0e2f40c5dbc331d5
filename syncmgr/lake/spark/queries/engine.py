"""One JVM that answers queries, from its start to its end.

Owns: the process, its sessions, the queries that are under way in it, its heartbeat.
Must not know: when another one is needed, who queries.
"""

import logging
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.host.private import is_secret
from syncmgr.lake.spark import launch
from syncmgr.lake.spark.jvm import JAVA_ERRORS, is_lost, words
from syncmgr.lake.spark.queries.cancelled import CancelledQueries
from syncmgr.lake.spark.queries.frame import begun
from syncmgr.lake.spark.queries.gateway import Gateway
from syncmgr.lake.spark.queries.health import PULSE_SECOND, PulseTimes, excused, hoards
from syncmgr.lake.spark.queries.query import Query, Refuse
from syncmgr.lake.spark.queries.sessions import Sessions
from syncmgr.lake.spark.queries.spilled import SpillSize
from syncmgr.lake.spark.queries.starved import CpuStarvation, cores, times_of

LOOK_SECOND: Final = 0.5  # between two checks of what goes on after it was cancelled
COLLECT_SECOND: Final = 60.0  # between two full garbage collections
REAPED_SECOND: Final = 5.0  # between the end of a connection and that of the process
OUT_OF_MEMORY: Final = 52  # Spark's exit status

logger = logging.getLogger(__name__)


class QueryEngine:
    """Lives until `end`, or until its JVM dies. Every method may be called from any thread."""

    def __init__(
        self,
        conf: Mapping[str, str],
        environment: Mapping[str, str],
        progress: Callable[[str], None],
        *,
        spill: int,
        nice: int,
        deadline: float,
    ) -> None:
        """Blocks until it answers. `spill`: bytes that it may use on the disk.

        Raises LAKE_FAILED, LAKE_STARTING, JAVA_MISSING.
        """
        self._spill, scratch = spill, Path(tempfile.mkdtemp(prefix="syncmgr-queries-"))
        self._spilled = SpillSize([scratch])
        conf = launch.with_scratch(conf, str(scratch))
        self._process = launch.Jvm(conf, environment, progress, name=launch.QUERIES, nice=nice)
        self._reason: str | None = None
        try:
            self._gateway = Gateway(*self._process.connection(deadline))
            self._spark = begun(self._gateway, filter(is_secret, conf))
            elsewhere = (folder for folder in self._spark.folders() if not folder.is_relative_to(scratch))
            self._spilled = SpillSize([scratch, *elsewhere])
        except BaseException as error:
            self._process.kill()
            self._sweep()
            if isinstance(error, JAVA_ERRORS):
                code = Code.LAKE_STARTING if is_lost(error) else Code.LAKE_FAILED
                raise SyncError(code, reason=words(error)) from error
            raise
        self._lock = threading.Lock()
        self._sessions = Sessions(self._spark)
        self._queries: weakref.WeakSet[Query] = weakref.WeakSet()
        self._cancelled = CancelledQueries(self._spark)
        self._used = time.monotonic()
        self._pulse_since: float | None = None
        self._collected = time.monotonic()
        self._starved = CpuStarvation(lambda: times_of(self.pid), cores())
        self._over = threading.Event()
        threading.Thread(target=self._beat, name="query-pulse", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def status(self) -> int | None:
        """Of the process that has ended; None: it lives."""
        return self._process.poll()

    def understand(
        self, query: Query, sql: str, db: str | None, refuse: Refuse | None, time_zone: str, *, calls_java: bool = False
    ) -> None:
        """`calls_java`: a text of ours may. Raises the error of the text, QUERIES_ENDED."""
        query.run_in(self._spark, self.why_lost, self._cancelled.add)
        with self._lock:
            self._queries.add(query)
            self._used = time.monotonic()
        query.understand(lambda: self._sessions.of(db, time_zone, calls_java=calls_java), sql, refuse)

    def vitals(self) -> PulseTimes:
        """Time in which the JVM waited for a core does not count against it."""
        with self._lock:
            in_use = any(not query.ended.is_set() for query in self._queries)
            if in_use:
                self._used = time.monotonic()
        pulse, now = self._pulse_since, time.monotonic()
        self._starved.look()
        if in_use:
            self._spilled.look()
        return PulseTimes(
            pulse_since=None if pulse is None else self._without_hunger(pulse, now),
            given_up=[self._without_hunger(moment, now) for moment in self._cancelled.given_up()],
            in_use=in_use,
            used=self._used,
            spilled=self._spilled.bytes,
        )

    def _without_hunger(self, since: float, now: float) -> float:
        """The moment from which the same time would have passed with a core available."""
        return since + excused(now - since, self._starved.since(since))

    def _beat(self) -> None:
        """The only calls into the JVM without a request. The reader of `vitals` notices one that hangs."""
        while not self._over.is_set():
            self._pulse_since = time.monotonic()
            try:
                self._spark.pulse()
                self._collect_garbage()
                self._sessions.close_left()
                lingers = self._cancelled.look()
            except JAVA_ERRORS as error:
                if is_lost(error):
                    return
                logger.warning("a heartbeat of the query engine failed: %s", words(error))
                lingers = False
            self._pulse_since = None
            self._over.wait(LOOK_SECOND if lingers else PULSE_SECOND)

    def _collect_garbage(self) -> None:
        """Spark removes the files of a shuffle when Java's memory has forgotten it, which may be long after its end."""
        if hoards(self._spilled.bytes, self._spill) and time.monotonic() - self._collected > COLLECT_SECOND:
            self._spark.collect_garbage()
            self._collected = time.monotonic()

    def why_lost(self) -> str:
        """In words for the client."""
        if self._reason is None:
            self._process.wait_for(REAPED_SECOND)
        status = self.status()
        if self._reason is not None:
            return self._reason
        return "it needed more memory than it may have" if status == OUT_OF_MEMORY else f"its JVM ended ({status})"

    def end(self, reason: str) -> None:
        """At once, since it has nothing to save. Its callers get the reason."""
        self._reason = self._reason or reason
        self._over.set()
        self._gateway.let_go()
        self._process.kill()
        self._gateway.close_connections()
        self._sweep()

    def _sweep(self) -> None:
        """Removes what a killed JVM has spilled and unpacked, which would otherwise remain."""
        for folder in self._spilled.folders:
            shutil.rmtree(folder, ignore_errors=True)
