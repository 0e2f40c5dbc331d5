"""What is printed: the standard output and error of the frontend, if these are files.

Owns: how large such a file may become.
Must not know: what is printed, who reads it.
"""

import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

OUT_BYTES: Final = 16 * 1024 * 1024
KEPT_BYTES: Final = 1024 * 1024
DESCRIPTORS: Final = (1, 2)


def append_only() -> None:
    """So that a writer does not leave a hole after the file was truncated; also for processes that have inherited
    it.
    """
    for number in DESCRIPTORS:
        with suppress(OSError):
            fcntl.fcntl(number, fcntl.F_SETFL, fcntl.fcntl(number, fcntl.F_GETFL) | os.O_APPEND)


def bound() -> None:
    """Of a file that is too large only the end is kept."""
    for number in DESCRIPTORS:
        with suppress(OSError):
            found = os.fstat(number)
            if stat.S_ISREG(found.st_mode) and found.st_size > OUT_BYTES:
                end = _end(number, found.st_size)
                os.ftruncate(number, 0)
                os.write(number, b"(what was printed before was cut off)\n" + end)


def _end(number: int, size: int) -> bytes:
    """Nothing if the file can no longer be read, or a system has no such path."""
    try:
        with Path(f"/proc/self/fd/{number}").open("rb") as file:
            file.seek(size - KEPT_BYTES)
            return file.read(KEPT_BYTES).partition(b"\n")[2]
    except OSError:
        return b""
