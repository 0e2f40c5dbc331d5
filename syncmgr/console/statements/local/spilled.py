"""What queries use on the disk: SQLite's temporary files, for what it sorts and groups beyond its memory.

Owns: how much that is, of all queries together, and which of them has to end.
Must not know: what is queried. The files are unlinked, so they are found among the open ones.
"""

import os
import time
from collections.abc import Callable
from typing import Final

SHARES: Final = 32  # a query that has written less than this part of the bound is not the one that fills the disk
LOOK_SECOND: Final = 0.05
_OPEN: Final = "/proc/self/fd"
_OWN: Final = "/proc/thread-self/io"
_NAME: Final = "/etilqs_"  # as SQLite begins the names of its temporary files


class Spilled:
    """Of one query, on its thread. `most`: bytes that all queries may use on the disk."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._next = clock()
        self._before = _written()
        self.is_too_much = False

    def look(self) -> bool:
        """To be called repeatedly; whether this query has to end."""
        if self._clock() >= self._next:
            self._next = self._clock() + LOOK_SECOND
            is_large = _written() - self._before > self._most // SHARES
            self.is_too_much = is_large and on_disk() > self._most
        return self.is_too_much


def _written() -> int:
    """Bytes that this thread has written since it began."""
    with open(_OWN) as file:  # noqa: PTH123 - twenty times a second
        return next(int(line.split()[1]) for line in file if line.startswith("wchar"))


def on_disk() -> int:
    """Bytes of the temporary files of all queries."""
    return sum(map(_size, os.listdir(_OPEN)))  # noqa: PTH208 - the same


def _size(descriptor: str) -> int:
    try:
        path = f"{_OPEN}/{descriptor}"
        return os.stat(path).st_size if _NAME in os.readlink(path) else 0  # noqa: PTH115, PTH116 - the same
    except OSError:  # it was closed meanwhile
        return 0
