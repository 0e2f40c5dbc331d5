"""How much a JVM has written to its folders.

Owns: sizes of what is below them, how often they are measured.
Must not know: who writes there, how much is too much.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

LOOK_SECOND: Final = 2.0  # between two measurements: each queries the size of every file


class SpillSize:
    """Bytes below some folders, at the last measurement. One thread measures, any may ask."""

    def __init__(self, folders: Iterable[Path], clock: Callable[[], float] = time.monotonic) -> None:
        self.folders, self._clock = tuple(folders), clock
        self._next = clock()
        self.bytes = 0

    def look(self) -> None:
        """To be called repeatedly."""
        if self._clock() >= self._next:
            self.bytes = sum(_sizes(map(str, self.folders)))
            self._next = self._clock() + LOOK_SECOND


def _sizes(folders: Iterable[str]) -> Iterator[int]:
    """Of each file. A file that disappears meanwhile is skipped."""
    waiting = list(folders)
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        yield _size(entry)
        except OSError:
            continue


def _size(entry: "os.DirEntry[str]") -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0
