"""What SHOW SYNC JOB says of a job.

Owns: Doris' twelve columns and their formats, the Status JSON, rows of the sync_* tables.
Must not know: where the figures were measured.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from syncmgr.errors import SyncError
from syncmgr.job.channel.channel_state import ChannelState, Shown
from syncmgr.job.ddl.ddl_step import DdlRecord
from syncmgr.job.failure import time_text
from syncmgr.job.overview import TableOverview
from syncmgr.job.position import Position
from syncmgr.job.snapshot.chunk import Load, load_facts
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import SyncJob

PAUSED_BY: Final[Mapping[JobState, str]] = MappingProxyType(
    {JobState.PAUSED: "user", JobState.PAUSED_BY_ERROR: "error"}
)
WAITS: Final = "waits for the end of its last run"
SHOW_COLUMNS: Final = (
    "JobId",
    "JobName",
    "Type",
    "State",
    "Channel",
    "Status",
    "JobConfig",
    "CreateTime",
    "LastStartTime",
    "LastStopTime",
    "FinishTime",
    "Msg",
)


EXPLAIN_COLUMNS: Final = ("Source", "Target", "Item", "Value", "Outcome")


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """What a job has committed since it was created. `position` None: nothing is known yet.

    `prepared`: XA transactions that are open there and have rows of synced tables. `dead_letters`: changes that were
    kept out of the targets. `synced_until`: source time of the last commit, None: not known.
    """

    position: Position | None
    rows: int
    bytes: int
    commits: int
    prepared: int = 0
    dead_letters: int = 0
    synced_until: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class WantedRows:
    """Which rows of a sync_* table a reader needs at least; more do no harm.

    `job`: whether those of that job, by its id, database and name. `epoch`: the first one. `since`: the earliest
    commit in unix seconds; None: also epochs that are not committed. `newest`: so many rows with the highest epochs of
    each job, or of the highest checks; None: all. `check`: its id; None: any.
    """

    job: Callable[[int, str, str], bool] = lambda *_: True
    epoch: int = 0
    since: float | None = None
    newest: int | None = None
    check: int | None = None


class Ran(Protocol):
    """An upkeep that ended `at` (unix seconds)."""

    @property
    def kind(self) -> str: ...
    @property
    def at(self) -> float: ...


def upkeep_facts(log: Iterable[Ran], failure: str | None) -> dict[str, str | None]:
    """When each kind of upkeep ran last, from a log in ascending order; and why the last attempt failed, if it did."""
    return {str(ran.kind): _time(ran.at) for ran in log} | ({} if failure is None else {"error": failure})


class IndexStanding(Protocol):
    """The key index of a target. `reason`: why it is off. `missing`: changes that met no row."""

    @property
    def state(self) -> str: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def rows(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def snapshot(self) -> int | None: ...
    @property
    def equality_deletes(self) -> int: ...
    @property
    def missing(self) -> int: ...


def index_facts(at: IndexStanding) -> dict[str, str | int | None]:
    """What the Status column says of a key index."""
    return {
        "state": str(at.state),
        "reason": at.reason,
        "rows": at.rows,
        "bytes": at.bytes,
        "snapshot": at.snapshot,
        "equality_deletes": at.equality_deletes,
        "missing": at.missing,
    }


Fact = str | int | None


def behind_facts(tables: Iterable[TableOverview]) -> dict[str, dict[str, Fact]]:
    """What the Status column says of tables that do not stream, by target."""
    return {
        f"{table.channel.target_db}.{table.channel.target_label}": {
            "source": table.channel.source.label,
            "state": table.shown.state.value,
            "epochs": 0 if table.backlog is None else table.backlog.epochs,
            "bytes": 0 if table.backlog is None else table.backlog.bytes,
            **_reasons(table.shown),
        }
        for table in tables
        if table.shown.state is not ChannelState.STREAMING
    }


def stopped_facts(tables: Iterable[TableOverview]) -> dict[str, dict[str, Fact]]:
    """What the Status column says of tables that are no longer read, by source, as RESYNC TABLE names them."""
    stopped = [table for table in tables if table.shown.state is ChannelState.STOPPED]
    return {table.channel.source.label: _reasons(table.shown) for table in stopped}


@dataclass(frozen=True, kw_only=True, slots=True)
class Joining:
    """How a table that could not join a job does so, in words of statements.

    `table`: its name there. `add`: what ADD TABLE says of it. `filled_by`: the source of the channel of the job that
    fills its target. `is_successor`: that one is no longer read, and had its name before.
    """

    table: str
    add: str
    filled_by: str | None = None
    is_successor: bool = False

    @property
    def advice(self) -> str:
        left_out = f"if it is not to be synced, ALTER SYNC JOB ... DROP TABLE {self.table}."
        if self.is_successor:
            return f"ALTER SYNC JOB ... RESYNC TABLE {self.table} reads it in place of {self.filled_by}; or, {left_out}"
        if self.filled_by is not None:
            other = f"create a target of another name, and ALTER SYNC JOB ... ADD TABLE FROM {self.table} INTO that one"
            return f"The target of its name is that of {self.filled_by}: {other}; or, {left_out}"
        return f"Give the table what the reason says, and ALTER SYNC JOB ... ADD TABLE {self.add}; or, {left_out}"


def refused_facts(records: Iterable[DdlRecord], joining: Mapping[str, Joining]) -> dict[str, dict[str, Fact]]:
    """What the Status column says of tables that match patterns and could not join, by source. `joining`: those that
    count.
    """
    return {
        record.table: {
            "since": _time(record.at),
            "reason": record.outcome,
            "advice": joining[record.table].advice,
        }
        for record in records
        if record.table in joining
    }


def _reasons(shown: Shown) -> dict[str, Fact]:
    return {"since": _time(shown.since), "error": shown.error, "reason": shown.reason, "advice": shown.advice}


def channel_row(table: TableOverview, state: JobState) -> tuple[Fact, ...]:
    """State, since, error, reason and advice, as information_schema.sync_channels has them; NULL once the job, which
    has this state, has ended: the table is no longer read, and needs no attention.
    """
    if state is JobState.CANCELLED:
        return (None,) * 5
    shown = table.shown
    return shown.state.value, _time(shown.since), shown.error, shown.reason, shown.advice


def snapshot_facts(
    tables: Iterable[TableOverview], loads: Mapping[str, Load], rates: Mapping[str, float]
) -> dict[str, dict[str, str | int | float | None]]:
    """What the Status column says of a job's snapshot, by target. Mappings by channel token."""
    read = [table for table in tables if table.channel.token in loads]
    return {table.channel.target_label: _read_facts(table, loads, rates) for table in read}


def snapshot_row(
    table: TableOverview, loads: Mapping[str, Load], rates: Mapping[str, float]
) -> tuple[str | int | float | None, ...]:
    """One row of information_schema.sync_snapshots, after the column of its job."""
    channel, facts = table.channel, _read_facts(table, loads, rates)
    return (
        *(channel.source.db, channel.source.name, channel.target_db, channel.target),
        *(facts["phase"], facts["rows"], facts["estimated_rows"], facts["chunks"], facts["chunks_done"]),
        *(facts["rows_per_second"], facts["left_second"], facts["error"], facts["where"]),
    )


def _read_facts(
    table: TableOverview, loads: Mapping[str, Load], rates: Mapping[str, float]
) -> dict[str, str | int | float | None]:
    """The phase is not one of reading if the table is no longer read; the error is why the read fails."""
    token, shown = table.channel.token, table.shown
    facts = load_facts(loads[token], rates.get(token)) | {"error": None}
    match shown.state:
        case ChannelState.STOPPED:
            return facts | {"phase": "stopped", "error": shown.reason}
        case ChannelState.SNAPSHOT:
            return facts | {"error": None if shown.error is None else shown.reason}
        case _:
            return facts


def pause_facts(job: SyncJob) -> dict[str, str | int | None]:
    """Who or what has paused it, until when, and its last error, which stays while it is retried."""
    by = PAUSED_BY.get(job.state)
    fail = job.fail if job.fail is not None and job.fail.code else None
    return {
        "paused_by": by,
        "resume_at": _time(job.resume_at),
        "error": None if fail is None else fail.code,
        "error_at": None if fail is None else _time(fail.at),
        "last_error": None if fail is None else fail.message,
        "advice": job.advised,
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class JobStatus:
    """What Status says of a job at one moment. The columns of sync_jobs that have the same names show the same."""

    figures: Figures
    tables: Sequence[TableOverview]
    #: the source time up to which the oldest of its tables is complete
    synced: float | None
    #: seconds since then
    lag: float | None
    #: of the source's binlog that it has not committed when that was last asked; None: not known
    lag_bytes: int | None
    #: seconds until what it reads next may be purged at the source; None: never by itself, or not known
    binlog_left: float | None
    needs_operator: bool
    #: the one that is read now
    server: str | None
    #: see pause_facts
    paused: Mapping[str, str | int | None]
    #: by target table, when each kind ran last, and why it fails
    upkeep: Mapping[str, Mapping[str, str | None]]
    #: by target table with a key, how its key index stands
    index: Mapping[str, Mapping[str, str | int | None]]
    #: by target table that began with one, how far it is
    snapshot: Mapping[str, Mapping[str, str | int | float | None]]
    #: by source table that a pattern means, why it could not join
    refused: Mapping[str, Mapping[str, Fact]]

    def facts(self) -> dict[str, object]:
        """By the names that Status has for them, in its order."""
        figures, at = self.figures, self.figures.position
        return {
            "position": None if at is None else {"gtid": at.gtids, "file": at.file, "offset": at.offset},
            "torn": at is not None and at.ordinal > 0,
            "server": self.server,
            "consumed_rows": figures.rows,
            "consumed_bytes": figures.bytes,
            "commits": figures.commits,
            "prepared_xa": figures.prepared,
            "dead_letters": figures.dead_letters,
            "synced_until": _time(self.synced),
            "lag_second": None if self.lag is None else round(self.lag, 3),
            "lag_bytes": self.lag_bytes,
            "binlog_left_second": None if self.binlog_left is None else round(self.binlog_left),
            "needs_operator": self.needs_operator,
            **self.paused,
            "stopped": stopped_facts(self.tables),
            "refused": self.refused,
            "behind": behind_facts(self.tables),
            "upkeep": self.upkeep,
            "index": self.index,
            "snapshot": self.snapshot,
        }

    def text(self) -> str:
        """The Status column."""
        return json.dumps(self.facts(), ensure_ascii=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownJob:
    """A job as SHOW and sync_jobs have it. `is_ending`: its last run has yet to end. `warning`: of what is yet to
    come.
    """

    job: SyncJob
    status: JobStatus
    is_ending: bool
    warning: SyncError | None

    @property
    def row(self) -> tuple[str | None, ...]:
        """Of SHOW SYNC JOB, in the order of SHOW_COLUMNS."""
        return show_row(self.job, self.status.text(), is_ending=self.is_ending, warning=self.warning)


def show_row(
    job: SyncJob, status: str, *, is_ending: bool = False, warning: SyncError | None = None
) -> tuple[str | None, ...]:
    """One row of SHOW SYNC JOB, in the order of SHOW_COLUMNS. `is_ending`: its last run has yet to end. `warning`: of
    what is yet to come.
    """
    return (
        str(job.id),
        job.name,
        job.source.kind,
        job.state.shown,
        ", ".join(channel.label for channel in job.channels),
        status,
        job.source.config,
        _time(job.created_at),
        _time(job.last_start_at),
        _time(job.last_stop_at),
        _time(job.finished_at),
        _msg(job, is_ending=is_ending, warning=warning),
    )


def cancelled_last(job: SyncJob) -> tuple[bool, int]:
    """The order in which jobs are listed."""
    return job.state is JobState.CANCELLED, job.id


def _msg(job: SyncJob, *, is_ending: bool, warning: SyncError | None) -> str | None:
    if job.state is JobState.PENDING and is_ending:
        return WAITS
    texts = [] if job.fail is None else [job.fail.text]
    texts += [] if warning is None else [f"{warning} (warning {warning.code.number})"]
    return "; ".join(texts) or None


def ddl_row(record: DdlRecord) -> tuple[str, ...]:
    """Table, time, position, state, outcome and statement, as information_schema.sync_ddl has them."""
    at = record.position
    where = at.gtids or f"{at.file}:{at.offset}"
    return record.table, str(_time(record.at)), where, record.state.value, record.outcome, record.statement


def _time(at: float | None) -> str | None:
    return None if at is None else time_text(at)
