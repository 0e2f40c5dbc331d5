"""Places at which the acceptance tests let a process die, as in a power cut.

Owns: their names, and death.
Must not know: what is done before and after them.
"""

import os
import signal
from enum import StrEnum
from pathlib import Path
from typing import Final

VARIABLE: Final = "SYNCMGR_CRASH_FOLDER"  # if it names a folder, a file there with the name of a point arms it once


class CrashPoint(StrEnum):
    """Each is between two steps of a job."""

    # staging: the worker dies
    ROWS_STAGED = "rows staged"
    SEGMENTS_CLOSED = "segments closed"
    EPOCH_CLOSED = "epoch closed"
    EPOCH_SENT = "epoch sent"
    # the commit of an epoch: from here on the frontend dies
    EPOCH_STAGED = "epoch staged"
    INTENT_STORED = "intent stored"
    FILES_WRITTEN = "files written"
    VECTORS_WRITTEN = "vectors written"
    TABLE_COMMITTED = "table committed"
    CHANNELS_COMMITTED = "channels committed"
    EPOCH_STORED = "epoch stored"
    ACKED = "acked"
    STAGED_FILES_DROPPED = "staged files dropped"
    # a DDL statement: the worker dies at the first two, the frontend at the others
    DDL_SENT = "ddl sent"
    DDL_ANSWERED = "ddl answered"
    DDL_DECIDED = "ddl decided"
    TABLE_ALTERED = "table altered"
    DDL_STORED = "ddl stored"
    # the snapshot of a job
    PLAN_STORED = "plan stored"
    CHUNK_STORED = "chunk stored"
    SNAPSHOT_STORED = "snapshot stored"
    # a channel that was behind
    LAGGARD_COMMITTED = "laggard committed"
    LAGGARD_STORED = "laggard stored"
    # the life of a job
    TARGETS_MADE = "targets made"
    JOB_ADDED = "job added"
    START_STORED = "start stored"
    STAGING_SWEPT = "staging swept"
    SOURCE_CHECKED = "source checked"
    SOURCE_STORED = "source stored"
    PAUSE_STORED = "pause stored"
    RESUME_STORED = "resume stored"
    STOP_STORED = "stop stored"
    STAGING_REMOVED = "staging removed"
    # upkeep
    FOLD_WRITTEN = "fold written"
    FOLDED = "folded"
    COMPACTION_WRITTEN = "compaction written"
    COMPACTED = "compacted"
    EXPIRY_BEGUN = "expiry begun"
    EXPIRED = "expired"
    # a backup and a restore: their own process dies
    BACKUP_HELD = "backup held"
    BACKUP_NOTED = "backup noted"
    RESTORE_COPIED = "restore copied"


_FOLDER: Final = os.environ.get(VARIABLE)


def passing(point: CrashPoint) -> None:
    """Ends the process here if this point is armed."""
    if _FOLDER is not None:
        _die_if_armed(Path(_FOLDER) / point)


def _die_if_armed(file: Path) -> None:
    """The process that takes the file dies, and none after it."""
    try:
        file.unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
