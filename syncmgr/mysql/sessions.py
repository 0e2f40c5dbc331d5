"""Connections for questions that may all be given up.

Owns: which are open, and that who waits on one of them is told.
Must not know: what is asked.
"""

import contextlib
import socket
import threading
import weakref
from collections.abc import Iterator

from syncmgr.errors import Code, SyncError
from syncmgr.line import shut
from syncmgr.mysql.address import Connection, MysqlAddress, connect


class Sessions:
    """Each may be used by one thread; `give_up` may be called from any."""

    def __init__(self) -> None:
        self._given_up = threading.Event()
        self._lock = threading.Lock()
        self._sockets = weakref.WeakSet[socket.socket]()

    @contextlib.contextmanager
    def open(self, address: MysqlAddress) -> Iterator[Connection]:
        """Raises INTERRUPTED in place of whatever error its context ends with once they are given up."""
        with self._interrupted():
            connection = connect(address, self._opened)
            try:
                self._opened(connection._sock)  # noqa: SLF001 - TLS has taken the place of the one before
                yield connection
            finally:
                connection.close()

    @contextlib.contextmanager
    def _interrupted(self) -> Iterator[None]:
        try:
            yield
        except SyncError as error:
            if self._given_up.is_set():
                raise SyncError(Code.INTERRUPTED) from error
            raise

    def _opened(self, connected: socket.socket) -> None:
        with self._lock:
            self._sockets.add(connected)
            if self._given_up.is_set():
                shut(connected)

    def give_up(self) -> None:
        """All that are open, and will be. Returns at once."""
        self._given_up.set()
        with self._lock:
            for connected in self._sockets:
                shut(connected)
