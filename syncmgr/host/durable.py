"""Makes what was written to a disk survive a power failure.

Owns: one system call.
Must not know: which files were written.
"""

import ctypes
import os
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)


def sync_file_system(folder: Path) -> None:
    """Writes everything of the file system that holds `folder` to its disk (Linux' syncfs).

    One call instead of an fsync of every data, manifest and metadata file and of every folder on the way to them:
    Iceberg does not tell all of their names, and a forgotten one would only be noticed after a power failure.
    Raises OSError where the disk reports a lost write.
    """
    descriptor = opened(folder)
    try:
        sync_opened(descriptor, folder)
    finally:
        os.close(descriptor)


def opened(folder: Path) -> int:
    """A descriptor that hears of each write that is lost from now on, whoever else hears of it."""
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)


def sync_opened(descriptor: int, folder: Path) -> None:
    """The same by a descriptor of `folder`. Raises OSError, once, where a write was lost since the call before."""
    if _libc.syncfs(descriptor) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(folder))
