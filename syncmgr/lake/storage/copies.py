"""The folder in which one process keeps copies of files that are not on the local disk.

Owns: that no other process writes or deletes there, and that what a killed one has left is removed; how much may be
copied there at once.
Must not know: what is copied.
"""

import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import IO, Final

from syncmgr.host.folders import lock_of

LOCK: Final = ".lock"
FOLD_BYTES: Final = 2**30
TASK_BYTES: Final = 16 * 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """Bytes, now. `fold`: of data files that a fold copies at once, unless one is larger; `task`: of staged rows that
    travel with Spark's tasks, and not through files.
    """

    fold: Callable[[], int] = lambda: FOLD_BYTES
    task: Callable[[], int] = lambda: TASK_BYTES


class Copies:
    """Below `parent`, from the first use on. From any thread."""

    def __init__(self, parent: Path, room: Room | None = None) -> None:
        self._parent, self.room = parent, room or Room()
        self._lock = Lock()
        self._owned: tuple[Path, IO[bytes]] | None = None

    @property
    def folder(self) -> Path:
        """Raises OSError."""
        with self._lock:
            if self._owned is None:
                self._parent.mkdir(parents=True, exist_ok=True)
                _remove_left(self._parent)
                self._owned = _owned(self._parent)
            return self._owned[0]

    def close(self) -> None:
        """Removes the folder; the next use makes another one."""
        with self._lock:
            owned, self._owned = self._owned, None
        if owned is not None:
            folder, lock = owned
            with lock:
                shutil.rmtree(folder, ignore_errors=True)
                folder.with_suffix(LOCK).unlink(missing_ok=True)


def _owned(parent: Path) -> tuple[Path, IO[bytes]]:
    """A new folder, and the lock that others see; one who removes what is left may have it for a moment."""
    while True:
        folder = parent / str(uuid.uuid4())
        lock = lock_of(folder.with_suffix(LOCK))
        if lock is not None:
            folder.mkdir(mode=0o700)
            return folder, lock


def _remove_left(parent: Path) -> None:
    for path in parent.glob(f"*{LOCK}"):
        lock = lock_of(path)
        if lock is not None:
            with lock:
                shutil.rmtree(path.with_suffix(""), ignore_errors=True)
                path.unlink(missing_ok=True)
