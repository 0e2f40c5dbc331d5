"""Folders of one frontend.

Owns: whether a folder takes files, the lock that excludes all others, the mark of an unfinished restore.
Must not know: what is in them.
"""

import contextlib
import fcntl
import os
from pathlib import Path
from typing import IO, Final

from syncmgr.errors import Code, SyncError

LOCK: Final = "lock"
RESTORING: Final = "restoring"  # a file of that name says that a restore has not ended


def make_writable(folder: Path) -> None:
    """The folder exists and takes files. Raises NOT_WRITABLE."""
    probe = folder / "writable"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise SyncError(Code.NOT_WRITABLE, folder=folder, reason=error.strerror) from error


def locked(folder: Path) -> IO[bytes]:
    """An open file whose lock excludes other frontends; it ends with the process. Raises META_IN_USE."""
    file = lock_of(folder / LOCK)
    if file is None:
        raise SyncError(Code.META_IN_USE, folder=folder)
    return file


def lock_of(path: Path) -> IO[bytes] | None:
    """The open file, locked; None if another process has its lock. It belongs to the owner of its folder: root, who
    makes a backup once, takes it from nobody.
    """
    file = path.open("ab")
    if os.geteuid() == 0:
        owner = path.parent.stat()
        with contextlib.suppress(OSError):  # a file system on which root may not either
            os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def refuse_unfinished(folder: Path) -> None:
    """Raises RESTORE_UNFINISHED if a restore into it was interrupted."""
    if (folder / RESTORING).exists():
        raise SyncError(Code.RESTORE_UNFINISHED, folder=folder)
