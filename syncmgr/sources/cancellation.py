"""Queries to sources that may be given up.

Owns: the sockets of the callers, which may all be shut down from any thread, and until when that is possible.
Must not know: protocols, what is queried, who gives up.
"""

import contextlib
import socket
import threading
import weakref
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Final, TypeAlias

from syncmgr.errors import Code, SyncError
from syncmgr.sources.reconnect import shut

Opened: TypeAlias = Callable[[socket.socket], None]


class Cancellation:
    """`give_up` and `is_given_up` are for any thread, the rest for those that query."""

    def __init__(self) -> None:
        self._given_up = False
        self._has_answers = self._is_storing = False
        self._lock = threading.Lock()
        self._sockets = weakref.WeakSet[socket.socket]()

    @contextlib.contextmanager
    def here(self) -> Iterator[None]:
        """Whatever this thread queries inside, anywhere in the call, is given up with this."""
        token = _here.set(self)
        try:
            with self.interrupted():
                yield
        finally:
            _here.reset(token)

    @contextlib.contextmanager
    def interrupted(self) -> Iterator[None]:
        """Raises INTERRUPTED instead of any error that ends its context once this is given up."""
        try:
            yield
        except SyncError as error:
            if self.is_given_up:
                raise SyncError(Code.INTERRUPTED) from error
            raise

    def opened(self, made: socket.socket) -> None:
        """A socket exists on which the caller will wait. Raises INTERRUPTED."""
        with self._lock:
            self._sockets.add(made)
        self.check()

    def check(self) -> None:
        """Raises INTERRUPTED."""
        if self.is_given_up:
            raise SyncError(Code.INTERRUPTED)

    @property
    def is_given_up(self) -> bool:
        return self._given_up

    def has_answers(self) -> None:
        """All queries that changes depend on are done: no time limit ends what follows. Raises INTERRUPTED."""
        with self._lock:
            self.check()
            self._has_answers = True

    def is_storing(self) -> None:
        """What follows is completed, and no longer given up. Raises INTERRUPTED."""
        self.has_answers()
        with self._lock:
            self.check()
            self._is_storing = True

    def give_up(self) -> bool:
        """Gives up all present and future queries. Returns at once: whether it was not too late."""
        with self._lock:
            return self._end(too_late=self._is_storing)

    def time_is_over(self) -> bool:
        """The same, unless it has all answers."""
        with self._lock:
            return self._end(too_late=self._has_answers)

    def _end(self, *, too_late: bool) -> bool:
        self._given_up = self._given_up or not too_late
        for made in self._sockets if self._given_up else ():
            shut(made)
        return self._given_up


_here: Final = ContextVar[Cancellation | None]("_here", default=None)


def opened(made: socket.socket) -> None:
    """To the one for whom this thread queries, if that may give up. Raises INTERRUPTED."""
    asking = _here.get()
    if asking is not None:
        asking.opened(made)


def check() -> None:
    """Between queries. Raises INTERRUPTED if they are given up."""
    asking = _here.get()
    if asking is not None:
        asking.check()


def has_answers() -> None:
    """Before the first change. What is changed from here on is undone if it is given up. Raises INTERRUPTED."""
    asking = _here.get()
    if asking is not None:
        asking.has_answers()


def is_storing() -> None:
    """Before the change that nothing undoes: what follows is completed. Raises INTERRUPTED."""
    asking = _here.get()
    if asking is not None:
        asking.is_storing()


def connected(host: str, port: int, seconds: float, opened: Opened) -> socket.socket:
    """As socket.create_connection does it; `opened` gets the socket before it is connected."""
    failure = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        made = socket.socket(family, kind, protocol)
        try:
            opened(made)
            made.settimeout(seconds)
            made.connect(address)
            opened(made)  # it may have been shut down before it began to connect, which has no effect
        except BaseException as error:
            made.close()
            if not isinstance(error, OSError):
                raise
            failure = error
        else:
            return made
    raise failure
