"""The connection to a source: when it is made again, and how it is cut from another thread.

Owns: the back-off between attempts, the socket that may be shut down, the error that ended it.
Must not know: protocols, what is read.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import Final

from syncmgr.errors import SyncError
from syncmgr.job.backoff import Retry, Series
from syncmgr.job.rows.batch import Batch

STEADY_SECOND: Final = 30.0  # a connection that lived this long ends a series of failures


class Reconnector:
    """Belongs to the thread that reads; `close` and `closed` are for any."""

    def __init__(self, retry: Retry, trouble: Callable[[SyncError | None], None]) -> None:
        """`trouble` is called with each failure that is retried, and with None once it has passed."""
        self._retry = retry
        self._trouble = trouble
        self._series = Series()
        self._connected_at = self._retry_at = 0.0
        self._failure: SyncError | None = None
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def get(self, read: Callable[[], Batch | None], last: Callable[[], Batch | None]) -> Batch | None:
        """What `read` returns; None once it is closed. An error of `read` is final: every further call raises it again,
        the first time after what `last` still has.
        """
        if self.closed:
            return None
        if self._failure is not None:
            raise self._failure
        try:
            return read()
        except SyncError as error:
            self._failure = error
        batch = last()
        if batch is None:
            raise self._failure
        return batch

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    @property
    def steady(self) -> bool:
        """Whether the former connection had lived for long."""
        return bool(self._connected_at) and time.monotonic() - self._connected_at > STEADY_SECOND

    def is_due(self, deadline: float) -> bool:
        """Whether it is time for the next attempt; waits for that no longer than until the deadline (monotonic)."""
        now = time.monotonic()
        if self._retry_at > now:
            self._closed.wait(min(self._retry_at, deadline) - now)
        return time.monotonic() >= self._retry_at

    def opened(self, connected: socket.socket) -> None:
        """A socket exists, before the first byte."""
        with self._lock:
            self._socket = connected
            if self.closed:
                shut(connected)

    def connected(self) -> None:
        """The other side has accepted us: the error has passed."""
        self._connected_at = time.monotonic()
        if self._series.failures:
            self._trouble(None)

    def progressed(self) -> None:
        """Rows arrived: the next failure begins a new series."""
        self._series = Series()

    def lost(self, error: SyncError) -> None:
        """The connection is gone, or could not be made. Raises the error if that has lasted too long."""
        if self.closed:
            return
        if self.steady:
            self._series = Series()
        now = time.monotonic()
        self._series = self._series.failed(now)
        self._retry_at, self._connected_at = now + self._series.wait(self._retry), 0.0
        if self._series.is_over(self._retry, now):
            raise error
        self._trouble(error)

    def dropped(self) -> None:
        """The socket is no longer ours to shut down."""
        with self._lock:
            self._socket = None

    def close(self) -> None:
        """From any thread, at once: a waiting reader gets the end of the stream."""
        self._closed.set()
        with self._lock:
            if self._socket is not None:
                shut(self._socket)


def shut(connected: socket.socket) -> None:
    """A TLS socket's own shutdown would destroy its state while the reader uses it."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connected, socket.SHUT_RDWR)
