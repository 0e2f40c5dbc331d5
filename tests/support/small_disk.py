"""A disk that is soon full: a small tmpfs.

Owns: mounting it, filling it, making room again.
Must not know: who writes to it.
"""

import errno
import os
import subprocess
from pathlib import Path

FILLER = "filler"


class NoMountError(Exception):
    """Mounting is not allowed here; the message says why."""


class SmallDisk:
    """Mounted on a folder, over whatever is there."""

    def __init__(self, folder: Path, mebibytes: int) -> None:
        """Raises NoMountError."""
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        run("mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", str(folder))

    def fill(self, leave: int = 0) -> None:
        """Up to the last `leave` bytes that are free now."""
        room = os.statvfs(self.folder)
        left = room.f_bavail * room.f_frsize - leave
        with (self.folder / FILLER).open("ab", buffering=0) as filler:  # a buffer would fail once more when it closes
            try:
                while left > 0:
                    left -= filler.write(bytes(min(left, 1 << 20)))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def free(self) -> None:
        (self.folder / FILLER).unlink(missing_ok=True)

    def unmount(self) -> None:
        subprocess.run(["umount", "-l", str(self.folder)], check=False)


def run(*command: str) -> None:
    """Raises NoMountError."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise NoMountError(str(error)) from error
    if done.returncode:
        raise NoMountError(done.stderr.strip())
