"""The life of the one Spark session: starts in the background, restarts when its JVM dies, ends on stop.

Owns: when a session is started, used and given up.
Must not know: what the session is used for.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from pyspark.sql import SparkSession

from syncmgr.errors import Code, SyncError
from syncmgr.host.private import is_secret
from syncmgr.job import backoff
from syncmgr.lake.spark import jvm, launch
from syncmgr.lake.spark.fetching import JarCache
from syncmgr.lake.spark.master import at_own_address

START_TIMEOUT_SECOND: Final = 600.0
STOP_GRACE_SECOND: Final = 5.0
LOOK_SECOND: Final = 5.0
READY: Final = "ready"

logger = logging.getLogger(__name__)


class Session:
    """One Spark session after another. Every method may be called from any thread."""

    def __init__(self, place: launch.LakePlace, progress: Callable[[str], None]) -> None:
        self._place = place
        self.jars = JarCache(place)
        self._report = progress
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._process: launch.Jvm | None = None
        self._spark: SparkSession | None = None
        self._state = "not started"
        self._failure: SyncError | None = None
        self._thread = threading.Thread(target=self._run, name="spark-session", daemon=True)

    @property
    def state(self) -> str:
        """What it is doing, in words for LAKE_STARTING."""
        return self._state

    def start(self) -> None:
        self._state = "Spark is starting"
        self._thread.start()

    def ready(self, timeout: float) -> SparkSession:
        """The session, waited for. Raises LAKE_STARTING, or the error of a start that failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._spark is not None or self._failure is not None, timeout)
            return self.current()

    def current(self) -> SparkSession:
        """The session as it is now. Raises LAKE_STARTING, or the error of a start that failed."""
        spark = self._spark
        if spark is not None:
            return spark
        if self._failure is not None:
            raise SyncError(self._failure.code, **self._failure.context)
        raise SyncError(Code.LAKE_STARTING, reason=self._state)

    @property
    def pid(self) -> int | None:
        """Process id of the JVM."""
        return self._process.pid if self._process else None

    def stop(self) -> None:
        """Ends session and JVM; returns when both are gone."""
        self._stopping.set()
        self.jars.stop()
        with self._changed:
            process, self._spark, self._state = self._process, None, "Spark is stopping"
        if process is not None:
            jvm.let_go()
            process.close(STOP_GRACE_SECOND)
        if self._thread.is_alive():
            self._thread.join(STOP_GRACE_SECOND)

    def _run(self) -> None:
        failures, served = 0, False
        while not self._stopping.is_set():
            try:
                process, spark = self._launch()
            except Exception as raised:  # noqa: BLE001 - the thread's top: without it no JVM would ever start again
                error = _as_sync_error(raised)
                was_killed = error.code is Code.LAKE_STARTING
                self._failed(error, reported=not was_killed and (failures > 0 or not served))
                failures += 1
                self._stopping.wait(backoff.JVM.wait(failures))
                continue
            failures, served = 0, True
            self._is_ready(spark)
            if not self._place.local:
                threading.Thread(target=self._watch, args=(process, spark), name="spark-watch", daemon=True).start()
            status = process.wait()  # the watcher: returns the moment the JVM is gone
            self._is_lost(status)
            jvm.forget()

    def _watch(self, process: launch.Jvm, spark: SparkSession) -> None:
        """A master that was restarted knows nothing of the session, and gives it no executors ever again."""
        waited = 0
        while process.poll() is None and not self._stopping.wait(LOOK_SECOND):
            with suppress(*jvm.JAVA_ERRORS):
                waited = waited + 1 if jvm.waits_for_executors(spark) else 0
            if waited * LOOK_SECOND >= self._place.executor_wait_second:
                logger.warning("%s has given no executor for %.0f s", self._place.master, waited * LOOK_SECOND)
                process.kill()

    def _launch(self) -> tuple[launch.Jvm, SparkSession]:
        self._place.lake_dir.mkdir(parents=True, exist_ok=True)
        conf = at_own_address(launch.settings(self._place))
        jars = self.jars.of_the_lake(self._progress)
        self._progress("Spark is starting")
        process, port, secret = self._announced(launch.with_jars(conf, self._place, jars))
        try:
            return process, jvm.connect(port, secret, filter(is_secret, conf))
        except BaseException:
            process.kill()
            jvm.forget()
            raise

    def _announced(self, conf: dict[str, str]) -> tuple[launch.Jvm, int, str]:
        """A JVM, py4j's port and secret."""
        process = launch.Jvm(conf, self._place.environment, self._progress)
        self._process = process
        if self._stopping.is_set():
            process.kill()
        return process, *process.connection(time.monotonic() + START_TIMEOUT_SECOND)

    def _progress(self, words: str) -> None:
        self._state = words
        self._report(words)

    def _is_ready(self, spark: SparkSession) -> None:
        with self._changed:
            self._spark, self._failure, self._state = spark, None, READY
            self._changed.notify_all()
        logger.info("Spark is ready")

    def _is_lost(self, status: int) -> None:
        with self._changed:
            self._spark = None
            self._state = "Spark's JVM ended and is started again"
        if not self._stopping.is_set():
            logger.warning("Spark's JVM ended with status %s; starting another", status)

    def _failed(self, error: SyncError, *, reported: bool) -> None:
        """Waiting callers get the error, except for the first failure after a JVM that served, and for JVMs that were
        killed while they started: the next one is starting.
        """
        with self._changed:
            self._failure, self._state = error if reported else None, _words(error)
            self._changed.notify_all()
        if not self._stopping.is_set():
            logger.warning("Spark did not start: %s", error)


def _as_sync_error(raised: Exception) -> SyncError:
    if isinstance(raised, SyncError):
        return raised
    logger.error("starting Spark failed", exc_info=raised)
    return SyncError(Code.LAKE_FAILED, reason=f"Spark could not be started: {raised}")


def _words(error: SyncError) -> str:
    """The words of LAKE_STARTING are put around the state when it is reported."""
    return str(error.context["reason"] if error.code is Code.LAKE_STARTING else error)
