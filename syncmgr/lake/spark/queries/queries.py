"""The queries as the rest of the program sees them: run, cancelled, stopped.

Owns: when their engine starts, when it ends, and when another one replaces it.
Must not know: how an engine answers.
"""

import logging
import threading
import time
import weakref
from collections.abc import Callable
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.lake.spark import launch
from syncmgr.lake.spark.fetching import JarCache
from syncmgr.lake.spark.master import at_own_address
from syncmgr.lake.spark.queries.engine import QueryEngine
from syncmgr.lake.spark.queries.health import is_idle, overflowing, wedged
from syncmgr.lake.spark.queries.query import Query, Refuse
from syncmgr.lake.spark.session import READY

UTC: Final = "UTC"
WATCH_SECOND: Final = 0.5
EXECUTING: Final = "executing"  # MySQL's word

logger = logging.getLogger(__name__)


class Queries:
    """One engine after another; none without queries. Every method may be called from any thread.

    `lake_is_there` waits for the lake's own JVM, which fetches the jars and creates the catalog; it raises
    LAKE_STARTING and the errors for which that one could not start. `state_of_lake`: what that one is doing.

    `memory`: of the heap, in bytes. `spill`: what it may use on the disk. `nice`: of its process. `wait_second`: how
    long a start may take.
    """

    def __init__(
        self,
        place: launch.LakePlace,
        lake_is_there: Callable[[], None],
        state_of_lake: Callable[[], str],
        *,
        memory: int,
        spill: int,
        nice: int = 0,
        wait_second: float,
    ) -> None:
        self._place, self._lake_is_there, self._state_of_lake = place, lake_is_there, state_of_lake
        self._memory, self._spill, self._nice, self._wait_second = memory, spill, nice, wait_second
        self._starting = threading.Lock()
        self._engine: QueryEngine | None = None
        self._asked: weakref.WeakValueDictionary[str, Query] = weakref.WeakValueDictionary()
        self._stopping = threading.Event()

    @property
    def pid(self) -> int | None:
        """Process id of the JVM, None if there is none."""
        engine = self._engine
        return engine.pid if engine is not None else None

    @property
    def lake_state(self) -> str:
        """What a call to the lake waits for; "": nothing."""
        state = self._state_of_lake()
        return "" if state == READY else f"Waiting for the lake: {state}"

    @property
    def state(self) -> str:
        """What a query waits for."""
        engine = "Waiting for the query engine, which is starting" if self._starting.locked() else EXECUTING
        return self.lake_state or engine

    def query(self, sql: str, db: str | None, tag: str, refuse: Refuse | None = None, *, time_zone: str = UTC) -> Query:
        """A SELECT in the database `db`; `tag` is unique among all queries, `refuse` raises for what may not be read.

        Moments are read and shown as by a clock in `time_zone`, a name or an offset. The first one waits for the
        engine.
        Raises SYNTAX, NO_SUCH_TABLE, UNKNOWN_COLUMN, UNKNOWN_DATABASE, QUERY_FAILED, LAKE_STARTING, QUERIES_ENDED.
        """
        query = self._asked[tag] = Query(db, tag)
        self._started().understand(query, sql, db, refuse, time_zone)
        return query

    def own(self, sql: str, tag: str) -> list[tuple[object, ...]]:
        """The rows of a SELECT that we have written, in UTC. Raises INTERRUPTED after `cancel`."""
        query = self._asked[tag] = Query(None, tag)
        self._started().understand(query, sql, None, None, UTC, calls_java=True)
        return [tuple(row) for batch in query.batches() for row in batch]

    def cancel(self, tag: str) -> None:
        """Ends the query with that tag, even while it waits for the engine; does nothing if there is none."""
        query = self._asked.get(tag)
        if query is not None:
            query.cancel()

    def stop(self) -> None:
        """Ends the engine; returns when it is gone."""
        self._stopping.set()
        engine = self._engine
        if engine is not None:
            engine.end("the frontend is stopping")

    def _started(self) -> QueryEngine:
        with self._starting:
            if self._engine is None or self._engine.status() is not None:  # its watcher may not know yet
                self._engine = self._start()
            return self._engine

    def _start(self) -> QueryEngine:
        if self._stopping.is_set():
            raise SyncError(Code.QUERIES_ENDED, reason="the frontend is stopping")
        self._lake_is_there()
        conf = at_own_address(launch.query_settings(self._place, self._memory))
        begun = time.monotonic()
        deadline = begun + self._wait_second
        jars = JarCache(self._place).of_the_lake(logger.info)
        engine = QueryEngine(
            launch.with_jars(conf, self._place, jars),
            self._place.environment,
            logger.info,
            spill=self._spill,
            nice=self._nice,
            deadline=deadline,
        )
        logger.info("the query engine is ready after %.1f s", time.monotonic() - begun)
        threading.Thread(target=self._watch, args=(engine,), name="query-watch", daemon=True).start()
        if self._stopping.is_set():
            engine.end("the frontend is stopping")
        return engine

    def _watch(self, engine: QueryEngine) -> None:
        while engine.status() is None:
            vitals, now = engine.vitals(), time.monotonic()
            reason = wedged(vitals, now) or overflowing(vitals, self._spill)
            if reason is not None:
                logger.warning("the query engine is replaced: %s", reason)  # first: its end may take long
                self._leave(engine, reason)
                return
            if is_idle(vitals, now):
                self._leave(engine, "it was idle for a long time")
                logger.info("the query engine has ended: it was idle for a long time")
                return
            if self._stopping.wait(WATCH_SECOND):
                return
        reason = engine.why_lost()
        self._leave(engine, reason)
        logger.warning("the query engine has ended: %s; the next query starts another", reason)

    def _leave(self, engine: QueryEngine, reason: str) -> None:
        """The next query starts another one, whatever still runs in this one."""
        with self._starting:
            if self._engine is engine:
                self._engine = None
        engine.end(reason)
