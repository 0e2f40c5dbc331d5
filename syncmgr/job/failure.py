"""What an error does to a job.

Owns: the classification of errors, the back-off of retries and of auto-resume.
Must not know: clocks, threads, where an error came from.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from syncmgr.errors import Code


class FailType(StrEnum):
    """Doris' SyncFailMsg types."""

    USER_CANCEL = "USER_CANCEL"
    SUBMIT_FAIL = "SUBMIT_FAIL"  # reading or staging
    RUN_FAIL = "RUN_FAIL"  # committing
    SCHEDULE_FAIL = "SCHEDULE_FAIL"  # could not start
    UNKNOWN = "UNKNOWN"


class Remedy(StrEnum):
    """Who mends an error."""

    RETRY = "RETRY"  # time: it is tried again inside RUNNING, and paused only after max_retry
    RESUME = "RESUME"  # time, but not soon: the job pauses and resumes by itself
    OPERATOR = "OPERATOR"  # a person: the job pauses until RESUME SYNC JOB


# Whatever is not here pauses the job and resumes by itself: an unknown error may pass, and pausing loses nothing.
REMEDIES: Final[Mapping[Code, Remedy]] = {
    Code.SOURCE_UNREACHABLE: Remedy.RETRY,
    Code.CANAL_UNREACHABLE: Remedy.RETRY,
    Code.CANAL_REFUSED: Remedy.RETRY,
    Code.CANAL_IN_USE: Remedy.RETRY,
    Code.WORKER_DIED: Remedy.RETRY,
    Code.LAKE_STARTING: Remedy.RETRY,
    Code.LAKE_FAILED: Remedy.RETRY,
    Code.DISK_FULL: Remedy.RETRY,
    Code.NOT_WRITABLE: Remedy.RETRY,
    Code.SOURCE_SERVER_ID: Remedy.RESUME,
    Code.SOURCE_PROTOCOL: Remedy.RESUME,
    Code.CANAL_PROTOCOL: Remedy.RESUME,
    Code.INTERNAL: Remedy.RESUME,
    Code.SOURCE_ACCESS_DENIED: Remedy.OPERATOR,
    Code.SOURCE_GRANT_MISSING: Remedy.OPERATOR,
    Code.SOURCE_BINLOG_OFF: Remedy.OPERATOR,
    Code.SOURCE_NOT_ROW: Remedy.OPERATOR,
    Code.SOURCE_ROW_IMAGE: Remedy.OPERATOR,
    Code.SOURCE_POSITION_LOST: Remedy.OPERATOR,
    Code.SOURCE_UNKNOWN_TABLE: Remedy.OPERATOR,
    Code.SOURCE_UNKNOWN_COLUMN: Remedy.OPERATOR,
    Code.SOURCE_SCHEMA: Remedy.OPERATOR,
    Code.SOURCE_DDL: Remedy.OPERATOR,
    Code.SOURCE_VALUE: Remedy.OPERATOR,
    Code.SOURCE_UNSUPPORTED: Remedy.OPERATOR,
    Code.CANAL_INEXACT: Remedy.OPERATOR,
    Code.CANAL_ACCESS_DENIED: Remedy.OPERATOR,
    Code.CANAL_POSITION_LOST: Remedy.OPERATOR,
    Code.CANAL_UNSUPPORTED: Remedy.OPERATOR,
    Code.SOURCE_XA: Remedy.OPERATOR,
    Code.PREPARED_LOST: Remedy.OPERATOR,
    Code.APPEND_CHANGE: Remedy.OPERATOR,
    Code.TARGET_REPLACED: Remedy.OPERATOR,
    Code.FENCED: Remedy.OPERATOR,
    Code.OTHER_HISTORY: Remedy.OPERATOR,
    Code.BAD_EXPRESSION: Remedy.OPERATOR,
    Code.TYPE_DOES_NOT_FIT: Remedy.OPERATOR,
    Code.NO_SUCH_TABLE: Remedy.OPERATOR,
    Code.TABLE_BROKEN: Remedy.OPERATOR,
}

# The worker has tried these max_retry times by itself before it ends; its end is not tried again.
RETRIED_BY_WORKER: Final = frozenset(
    {Code.SOURCE_UNREACHABLE, Code.CANAL_UNREACHABLE, Code.CANAL_REFUSED, Code.CANAL_IN_USE}
)

RESUME_FIRST_SECOND: Final = 10.0
RESUME_MAX_SECOND: Final = 300.0
RETRY_FIRST_SECOND: Final = 0.5
RETRY_MAX_SECOND: Final = 30.0


def remedy(code: Code) -> Remedy:
    return REMEDIES.get(code, Remedy.RESUME)


def resume_after(failures: int) -> float:
    """Seconds until a job that failed for the n-th time in a row (n from 1) resumes by itself."""
    return _backed_off(RESUME_FIRST_SECOND, RESUME_MAX_SECOND, failures)


def retry_after(failures: int) -> float:
    """Seconds until a step that failed for the n-th time in a row (n from 1) is tried again."""
    return _backed_off(RETRY_FIRST_SECOND, RETRY_MAX_SECOND, failures)


def _backed_off(first: float, most: float, failures: int) -> float:
    return min(first * 2.0 ** min(failures - 1, 16), most)


@dataclass(frozen=True, kw_only=True, slots=True)
class FailMsg:
    """Root cause, code and time (unix seconds) of what happened to a job."""

    type: FailType
    code: int
    message: str
    at: float

    @property
    def text(self) -> str:
        """As Doris prints it, with the error's number where it has one."""
        number = f" (error {self.code})" if self.code else ""
        return f"SyncFailMsg [type={self.type}, msg={self.message}{number}]"
