"""Whose turn it is: a read of late rows, or a statement that must not interfere with it.

Owns: that one waits for the other, and that a read gives way after a chunk.
Must not know: what is read, which statement.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

LOOK_SECOND: Final = 0.2  # how often the request to end is checked


class Ending(Protocol):
    """The request that a read ends after a chunk."""

    def is_set(self) -> bool: ...
    def wait(self, timeout: float) -> bool: ...


@dataclass(frozen=True, slots=True)
class _AnyOf:
    """Either of two requests to end."""

    one: Ending
    other: Ending

    def is_set(self) -> bool:
        return self.one.is_set() or self.other.is_set()

    def wait(self, timeout: float) -> bool:
        """The other is checked after it."""
        return self.one.wait(timeout) or self.other.is_set()


class ReadStatementLock:
    """One thread reads, another one has statements."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted, self._renewed = threading.Event(), threading.Event()

    @contextmanager
    def reading(self, ending: Ending) -> Iterator[Ending]:
        """When it is to end; a statement waits for that."""
        with self._lock:
            self._renewed.clear()
            yield _AnyOf(ending, self._wanted)

    @contextmanager
    def statement(self) -> Iterator[None]:
        """After it there is something to read at once."""
        self._wanted.set()
        with self._lock:
            self._wanted.clear()
            try:
                yield
            finally:
                self._renewed.set()

    def rests(self, second: float, ending: Ending) -> bool:
        """The reader waits this long, and for a statement; returns whether it is to end."""
        until = time.monotonic() + second
        while self._wanted.is_set() or (time.monotonic() < until and not self._renewed.is_set()):
            if ending.wait(LOOK_SECOND):
                break
        return ending.is_set()
