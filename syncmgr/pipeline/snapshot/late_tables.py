"""Tables whose rows are read while the binlog of the others is read.

Owns: the thread that reads them, and when they are retried.
Must not know: how rows are read, what a statement changes.
"""

import logging
import threading
import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import replace

from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import LATE_TABLE, Series
from syncmgr.pipeline.snapshot.chunk_reading import ChunkReading
from syncmgr.pipeline.snapshot.handover import LOOK_SECOND, Ending, ReadStatementLock
from syncmgr.pipeline.snapshot.loading import Loading
from syncmgr.pipeline.snapshot.missing_rows import MissingRows

log = logging.getLogger(__name__)


class LateTables:
    """Of one snapshot, while statements may come in between: those with a key."""

    def __init__(
        self,
        missing: MissingRows,
        chunks: ChunkReading,
        loading: Loading,
        order: ReadStatementLock,
        *,
        bring: Callable[[AbstractSet[str], Ending], None],
        retry_most: Callable[[], float],
    ) -> None:
        """`bring`: loads the rows of these tables. `retry_most`: the longest wait, in seconds."""
        self._missing, self._chunks, self._loading, self._order = missing, chunks, loading, order
        self._bring, self._retry_most = bring, retry_most
        self._thread: threading.Thread | None = None

    def start(self, ending: threading.Event) -> None:
        """If it has not begun, and there is anything to read."""
        if self._missing.with_key() and not ending.is_set() and self._thread is None:
            self._thread = threading.Thread(target=self._run, args=(ending,), name="late-snapshot", daemon=True)
            self._thread.start()

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def _run(self, ending: threading.Event) -> None:
        """At once if others went on in an earlier process; a table that has just failed waits first."""
        failed = self._missing.failures().keys() & self._missing.with_key()
        series = Series().failed(time.monotonic()) if failed else Series()
        self._await_branches(ending)
        while self._missing.with_key() and not self._order.rests(next_wait(series, self._retry_most()), ending):
            try:
                with self._order.reading(ending) as end:
                    self._bring(self._missing.with_key(), end)
            except SyncError as error:
                log.warning("tables that failed alone fail again: %s", error)
                self._loading.fail(dict.fromkeys(self._missing.with_key() - self._missing.failures().keys(), error))
            except Exception as error:
                log.exception("the thread of late tables failed")
                internal = SyncError(Code.INTERNAL, message=repr(error))
                self._loading.fail(dict.fromkeys(self._missing.with_key(), internal))
            series = series.failed(time.monotonic())

    def _await_branches(self, ending: threading.Event) -> None:
        """Rows of a table that joined are missing in earlier XA transactions: they come only with its rows."""
        branches = self._chunks.branches()
        while branches & self._chunks.branches() and not ending.wait(LOOK_SECOND):
            pass


def next_wait(series: Series, most: float) -> float:
    """Seconds until failed tables are retried."""
    if not series.failures:
        return 0.0
    return series.wait(replace(LATE_TABLE, first=min(LATE_TABLE.first, most), most=most))
