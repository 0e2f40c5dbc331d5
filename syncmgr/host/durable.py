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
    Iceberg does not report all of their names, and a missed one would only be noticed after a power failure. Raises
    OSError if the disk reports a lost write.
    """
    descriptor = opened(folder)
    try:
        sync_opened(descriptor, folder)
    finally:
        os.close(descriptor)


def opened(folder: Path) -> int:
    """A descriptor that reports each write lost from now on, even if others report it, too."""
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)


def sync_opened(descriptor: int, folder: Path) -> None:
    """The same by a descriptor of `folder`. Raises OSError, once, if a write was lost since the previous call."""
    if _libc.syncfs(descriptor) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(folder))
