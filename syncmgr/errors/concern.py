"""Whom an error concerns.

Owns: the one table of that: a statement, one table of a job while the others go on, the whole job, or every job.
Must not know: what is done about it (job/failure.py), who asks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from syncmgr.errors.code import Code


class Whom(StrEnum):
    """From the least to the most."""

    STATEMENT = "statement"  # whoever has sent it
    TABLE = "table"
    JOB = "job"
    FRONTEND = "every job"


class Phase(StrEnum):
    """What is done with a table when an error is met."""

    JOIN = "join"  # it becomes part of a job
    COPY = "copy"  # its existing rows are read
    READ = "read"  # its changes are read
    COMMIT = "commit"  # its rows are committed


@dataclass(frozen=True, slots=True)
class Concerned:
    """`alone`: the phases in which the error concerns only the table that meets it; in the others, the whole job."""

    whom: Whom
    alone: frozenset[Phase]


def _concern(whom: Whom, *alone: Phase) -> Concerned:
    return Concerned(whom, frozenset(alone))


_FRONTEND: Final = _concern(Whom.FRONTEND)
_JOB: Final = _concern(Whom.JOB, Phase.JOIN, Phase.COMMIT)
_ACCESS: Final = _concern(Whom.JOB, Phase.COMMIT)  # no table could join
_COMMIT: Final = _concern(Whom.TABLE, Phase.JOIN, Phase.COMMIT)
_READ: Final = _concern(Whom.TABLE, Phase.JOIN, Phase.READ, Phase.COMMIT)
_COPY: Final = _concern(Whom.TABLE, Phase.JOIN, Phase.COPY, Phase.COMMIT)
_TABLE: Final = _concern(Whom.TABLE, *Phase)

CONCERNS: Final[Mapping[Code, Concerned]] = {
    # a MySQL server, or what is in its binlog
    Code.SOURCE_UNREACHABLE: _JOB,
    Code.SOURCE_LOCKED: _JOB,
    Code.SOURCE_TLS: _JOB,
    Code.SOURCE_TOO_LARGE: _JOB,
    Code.SOURCE_ASKS_FILE: _JOB,
    Code.SOURCE_ANSWER: _JOB,
    Code.SOURCE_CLEAR_PASSWORD: _JOB,
    Code.PEM_FILE: _JOB,
    Code.SOURCE_ACCESS_DENIED: _ACCESS,
    Code.SOURCE_GRANT_MISSING: _JOB,
    Code.SOURCE_BINLOG_OFF: _JOB,
    Code.SOURCE_NOT_ROW: _JOB,
    Code.SOURCE_UNSEEN: _JOB,
    Code.SOURCE_LATE: _JOB,
    Code.SOURCE_POSITION_LOST: _JOB,
    Code.SOURCE_MOVED: _JOB,
    Code.SOURCE_SERVER_ID: _JOB,
    Code.SOURCE_PROTOCOL: _JOB,
    Code.SOURCE_XA: _JOB,
    Code.SOURCE_UNLOGGED: _JOB,
    Code.SOURCE_FILTERED: _JOB,
    Code.REPLICA_FILTERED: _JOB,
    Code.PREPARED_LOST: _JOB,
    # a table of it
    Code.SOURCE_ROW_IMAGE: _READ,
    Code.SOURCE_SCHEMA: _READ,
    Code.SOURCE_DDL: _READ,  # as "on_ddl_stop" of the job says
    Code.SOURCE_UNSUPPORTED: _READ,
    Code.SOURCE_VALUE: _TABLE,
    Code.SNAPSHOT_REFUSED: _COPY,
    Code.SNAPSHOT_BROKEN: _COPY,
    Code.SNAPSHOT_WAITS: _COPY,
    Code.SNAPSHOT_OPEN: _COMMIT,
    Code.TABLE_STOPPED: _COMMIT,
    Code.TABLES_STOPPED: _COMMIT,
    Code.APPEND_CHANGE: _COMMIT,
    Code.DEAD_LETTERS_FULL: _JOB,
    # a canal server
    Code.CANAL_UNREACHABLE: _JOB,
    Code.CANAL_REFUSED: _JOB,
    Code.CANAL_IN_USE: _JOB,
    Code.CANAL_PROTOCOL: _JOB,
    Code.CANAL_ACCESS_DENIED: _JOB,
    Code.CANAL_POSITION_LOST: _JOB,
    Code.CANAL_UNSUPPORTED: _JOB,
    Code.CANAL_INEXACT: _JOB,
    # the engine of the lake, and its storage
    Code.LAKE_STARTING: _FRONTEND,
    Code.JAVA_MISSING: _FRONTEND,
    Code.JAR_ALTERED: _JOB,
    Code.JARS_MISSING: _JOB,
    Code.LAKE_DAMAGED: _FRONTEND,
    Code.LAKE_DENIED: _ACCESS,
    Code.LAKE_FAILED: _JOB,
    Code.LAKE_FULL: _JOB,
    Code.LAKE_SLOW: _JOB,
    Code.LAKE_CLOCK: _COMMIT,
    Code.FENCED: _FRONTEND,
    # a target
    Code.TARGET_REPLACED: _COPY,
    Code.TARGET_SET_BACK: _COPY,
    Code.OTHER_HISTORY: _COMMIT,
    Code.TABLE_BROKEN: _COPY,
    Code.WRITES_LOST: _COPY,
    Code.NO_SUCH_TABLE: _COPY,
    Code.UNKNOWN_COLUMN: _COPY,
    Code.NO_CHANNEL_KEY: _JOB,
    Code.COLUMN_REPLACED: _COPY,
    Code.FOREIGN_CHANGE: _COPY,
    Code.COLUMN_NOT_COVERED: _COPY,
    Code.BAD_EXPRESSION: _COPY,
    Code.TYPE_DOES_NOT_FIT: _COPY,
    Code.SPEC_CHANGED: _COMMIT,
    Code.CHANNEL_BEHIND: _COMMIT,
    Code.BACKLOG_WAITS: _JOB,
    Code.BACKLOG_STUCK: _JOB,
    # the frontend and its disks
    Code.DISK_FULL: _JOB,
    Code.NOT_WRITABLE: _JOB,
    Code.STAGED_LOST: _COMMIT,
    Code.WORKER_DIED: _JOB,
    Code.META_DOWN: _FRONTEND,
    Code.META_PACKET: _FRONTEND,
    Code.META_UNFIT: _FRONTEND,
    Code.INTERNAL: _FRONTEND,
}
# If a job meets one of these nevertheless, it is like an error of the job.
_OTHERS: Final = _concern(Whom.STATEMENT, Phase.JOIN, Phase.COMMIT)


def whom(code: Code) -> Whom:
    """The most that an error concerns."""
    return CONCERNS.get(code, _OTHERS).whom


def is_of_one_table(code: Code, phase: Phase) -> bool:
    """Whether the other tables of the job go on."""
    return phase in CONCERNS.get(code, _OTHERS).alone
