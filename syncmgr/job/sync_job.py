"""A sync job as a value, and what events make of it.

Owns: the fields of a job and how an event changes them.
Must not know: clocks, stores, threads, who is asking.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NewType, assert_never

from syncmgr.errors import Code, SyncError
from syncmgr.job.advice.treatment import JobKind, Remedy
from syncmgr.job.backoff import RESUME, resume_after
from syncmgr.job.channel.channel_state import heals
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.failure import FailMsg, FailType, advice, remedy
from syncmgr.job.source import Can, SourceDescription
from syncmgr.job.state import JobEvent, JobState, next_state

JobId = NewType("JobId", int)
LONGEST_NAME: Final = 255  # characters, as many as the metadata hold in a MySQL server
SHOWN_NAME: Final = 100  # of one that is longer
CALM_SECOND: Final = RESUME.most  # a run that goes well for longer has ended a series of errors


def refuse_long_name(name: str) -> None:
    """Each SHOW has it, and each line of the log. Raises NAME_TOO_LONG."""
    if len(name) > LONGEST_NAME:
        raise SyncError(Code.NAME_TOO_LONG, name=f"{name[:SHOWN_NAME]}...", limit=LONGEST_NAME)


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncJob:
    """A job as it is stored. Times are unix seconds."""

    id: JobId
    db: str
    name: str
    source: SourceDescription
    channels: tuple[ChannelDescription, ...]
    #: CREATE SYNC as it was understood, passwords masked
    statement: str
    created_at: float
    #: settings that the job overrides
    properties: Mapping[str, str] = field(default_factory=dict)
    state: JobState = JobState.PENDING
    #: grows with every change; the store saves only the next one
    version: int = 1
    last_start_at: float | None = None
    last_stop_at: float | None = None
    finished_at: float | None = None
    fail: FailMsg | None = None
    #: how often in a row it was paused by an error, without CALM_SECOND of a run in between that had none
    failures: int = 0
    #: when it resumes by itself; None: never
    resume_at: float | None = None
    #: the source time up to which everything was committed when it was last paused; None: not known
    synced_until: float | None = None
    #: the account that has created it; None: it is of an earlier version
    creator: str | None = None

    @property
    def kind(self) -> JobKind:
        """The facts that decide which advice it gets."""
        has_rows = Can.READ_ROWS in self.source.can
        runs = self.state not in {JobState.PAUSED, JobState.PAUSED_BY_ERROR}
        shares = any(channel.part is not None for channel in self.channels)
        appends = any(not channel.keys for channel in self.channels)
        return JobKind(has_rows=has_rows, has_others=len(self.channels) > 1, runs=runs, shares=shares, appends=appends)

    @property
    def advised(self) -> str | None:
        """What to do about its Msg."""
        if self.fail is None or not self.fail.code:
            return None
        return ENDED if self.state is JobState.CANCELLED else advice(self.fail.code, self.kind)

    def on(self, event: JobEvent, *, at: float, fail: FailMsg | None = None) -> "SyncJob":
        """The job after an event. Raises ILLEGAL_TRANSITION."""
        after = replace(self, state=next_state(self.state, event), version=self.version + 1, resume_at=None)
        match event:
            case JobEvent.STARTED:
                return replace(after, last_start_at=at)
            case JobEvent.PAUSED_BY_USER:
                return replace(after, last_stop_at=at, fail=None, failures=0)
            case JobEvent.FAILED:
                return replace(after, last_stop_at=at, fail=fail)
            case JobEvent.RESUMED | JobEvent.FE_RESTARTED:
                return after
            case JobEvent.STOPPED:
                return _cancelled(after, at, FailMsg(type=FailType.USER_CANCEL, code=0, message=USER_CANCEL, at=at))
            case JobEvent.TARGET_DROPPED:
                number = Code.NO_SUCH_TABLE.number
                gone = FailMsg(type=FailType.SCHEDULE_FAIL, code=number, message=TARGET_GONE, at=at)
                return _cancelled(after, at, gone)
            case _:
                assert_never(event)

    @property
    def paused_by(self) -> int | None:
        """The number of the error that has paused it, until a user resumes or pauses it."""
        paused = self.state is JobState.PAUSED_BY_ERROR
        return self.fail.code if paused and self.fail is not None else None

    @property
    def settles_answers(self) -> bool:
        """Whether RESUME confirms that what was judged by answers of the source is right by now."""
        return self.paused_by == Code.SOURCE_LATE.number

    def failed(self, error: SyncError, kind: FailType, *, at: float) -> "SyncJob":
        """The job paused by an error; `resume_at` is set if time can fix it."""
        after = self.on(JobEvent.FAILED, at=at, fail=fail_msg(error, kind, at=at))
        failures = self._in_a_row(at) + 1
        resumes = remedy(error.code) in {Remedy.RETRY, Remedy.RESUME}
        return replace(after, failures=failures, resume_at=at + resume_after(failures) if resumes else None)

    def with_properties(self, properties: Mapping[str, str], statement: str) -> "SyncJob":
        """The same job with other properties; `statement`: the CREATE SYNC that has them."""
        return replace(self, properties=properties, statement=statement, version=self.version + 1)

    def with_source(self, source: SourceDescription, statement: str) -> "SyncJob":
        """The same job, whose history another server, or another login, gives from here on; `statement`: as
        with_properties.
        """
        return replace(self, source=source, statement=statement, version=self.version + 1)

    def renamed(self, to: str, statement: str) -> "SyncJob":
        """The same job under another name; `statement`: as with_properties."""
        return replace(self, name=to, statement=statement, version=self.version + 1)

    def with_statement(self, statement: str) -> "SyncJob":
        """The same job, as another CREATE SYNC would make it; its channels are stored separately."""
        return replace(self, statement=statement, version=self.version + 1)

    def resynced(self) -> "SyncJob":
        """The same job, one of whose tables is to be read again: its next run reports those that are still stopped."""
        stopped = self.fail is not None and self.fail.code in STOPPED_TABLES
        return replace(self, fail=None if stopped else self.fail, version=self.version + 1)

    def troubled(self, fail: FailMsg | None) -> "SyncJob":
        """The same job with another Msg: an error that is being retried, or None when it has passed, as far as can be
        seen: a source may answer, and send what cannot be read a moment later.
        """
        failures = self.failures if fail is None else self._in_a_row(fail.at)
        return replace(self, fail=fail, failures=failures, version=self.version + 1)

    def _in_a_row(self, at: float) -> int:
        """How often it was paused before an error of that time."""
        ran_well = self.fail is None and at - (self.last_start_at or at) > CALM_SECOND
        return 0 if ran_well else self.failures


def fail_msg(error: SyncError, kind: FailType, *, at: float) -> FailMsg:
    names = (error.context.get(part) for part in ("db", "table") if error.context.get("table"))
    table = ".".join(str(name) for name in names if name)
    return FailMsg(type=kind, code=error.code.number, message=str(error), at=at, table=table, heals=heals(error))


USER_CANCEL = "user cancel"
STOPPED_TABLES = frozenset({Code.TABLE_STOPPED.number, Code.TABLES_STOPPED.number})
ENDED = "Create target and job again if they are wanted."  # RESUME is for jobs that have not ended
TARGET_GONE = "The table has been deleted. Change job state to cancelled"


def _cancelled(job: SyncJob, at: float, fail: FailMsg) -> SyncJob:
    return replace(job, last_stop_at=at, finished_at=at, fail=fail)
