"""The life of a sync job, as one table.

Owns: which event leads from which state to which.
Must not know: threads, clocks, SQL, Spark, who is asking.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from syncmgr.errors import Code, SyncError


class JobState(StrEnum):
    """Where a job stands. SHOW prints `shown`."""

    PENDING = "PENDING"  # waits for the scheduler
    RUNNING = "RUNNING"  # its worker reads, its channels commit
    PAUSED = "PAUSED"  # by a user, until a user resumes it
    PAUSED_BY_ERROR = "PAUSED_BY_ERROR"  # Msg says why; after most errors it resumes by itself
    CANCELLED = "CANCELLED"  # for good

    @property
    def shown(self) -> str:
        """Doris has one word for both pauses."""
        return "PAUSED" if self is JobState.PAUSED_BY_ERROR else self.value


class JobEvent(StrEnum):
    """What can happen to a job. `words` complete "A RUNNING job cannot be ..."."""

    STARTED = "STARTED"
    PAUSED_BY_USER = "PAUSED_BY_USER"
    FAILED = "FAILED"
    RESUMED = "RESUMED"
    FE_RESTARTED = "FE_RESTARTED"
    STOPPED = "STOPPED"
    TARGET_DROPPED = "TARGET_DROPPED"

    @property
    def words(self) -> str:
        return _WORDS[self]


_WORDS: Final[Mapping[JobEvent, str]] = {
    JobEvent.STARTED: "started",
    JobEvent.PAUSED_BY_USER: "paused",
    JobEvent.FAILED: "failed",
    JobEvent.RESUMED: "resumed",
    JobEvent.FE_RESTARTED: "taken up after a restart",
    JobEvent.STOPPED: "stopped",
    JobEvent.TARGET_DROPPED: "cancelled",
}

_P, _R, _Z, _F, _C = JobState
_E = JobEvent

# Doris has this rule in five places, and they disagree.  Here it is in one; SHOW, docs and tests read it.
TRANSITIONS: Final[Mapping[JobState, Mapping[JobEvent, JobState]]] = MappingProxyType(
    {
        _P: {_E.STARTED: _R, _E.PAUSED_BY_USER: _Z, _E.FAILED: _F, _E.STOPPED: _C, _E.TARGET_DROPPED: _C},
        _R: {_E.FE_RESTARTED: _P, _E.PAUSED_BY_USER: _Z, _E.FAILED: _F, _E.STOPPED: _C, _E.TARGET_DROPPED: _C},
        _Z: {_E.RESUMED: _P, _E.STOPPED: _C, _E.TARGET_DROPPED: _C},
        _F: {_E.RESUMED: _P, _E.PAUSED_BY_USER: _Z, _E.STOPPED: _C, _E.TARGET_DROPPED: _C},
        _C: {},
    },
)


def next_state(state: JobState, event: JobEvent) -> JobState:
    """The state that an event leads to. Raises ILLEGAL_TRANSITION if the table has no entry."""
    try:
        return TRANSITIONS[state][event]
    except KeyError:
        raise SyncError(Code.ILLEGAL_TRANSITION, state=state.shown, event=event.words) from None
