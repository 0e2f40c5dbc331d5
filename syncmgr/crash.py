"""Places at which the acceptance tests let a process die, as a power cut would.

Owns: their names, and death.
Must not know: what is done before and after them.
"""

import os
import signal
from enum import StrEnum
from typing import Final

VARIABLE: Final = "SYNCMGR_CRASH_AT"


class CrashPoint(StrEnum):
    """Each stands between two steps of a commit."""

    EPOCH_STAGED = "epoch staged"
    INTENT_STORED = "intent stored"
    FILES_WRITTEN = "files written"
    VECTORS_WRITTEN = "vectors written"
    TABLE_COMMITTED = "table committed"
    CHANNELS_COMMITTED = "channels committed"
    EPOCH_STORED = "epoch stored"
    ACKED = "acked"
    STAGED_FILES_DROPPED = "staged files dropped"


def wanted(text: str | None) -> CrashPoint | None:
    """The point that VARIABLE names. Raises ValueError for a name that is none."""
    return CrashPoint(text) if text else None


_WANTED: Final = wanted(os.environ.get(VARIABLE))


def passing(point: CrashPoint) -> None:
    """Ends the process here if this is the point that was asked for."""
    if point is _WANTED:
        os.kill(os.getpid(), signal.SIGKILL)
