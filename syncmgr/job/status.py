"""What SHOW SYNC JOB says of a job.

Owns: Doris' twelve columns and their formats, the Status JSON, the meaning of lag.
Must not know: where the figures were measured.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from syncmgr.errors import SyncError
from syncmgr.job.chunk import Load, load_facts
from syncmgr.job.ddl_step import DdlRecord
from syncmgr.job.description import ChannelDescription
from syncmgr.job.failure import advice, time_text
from syncmgr.job.position import Position
from syncmgr.job.sync_job import SyncJob

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
class Reading:
    """How far a running job is behind its source. Times are unix seconds.

    `heard_at`: last sign of life of the source. `waiting_since`: source time of the oldest row that was read and is
    not in the lake yet, None if there is none. `drained`: nothing that was read waits. `idle`: the source had nothing
    more to give. `read_time`: source time of the newest event read, of whatever table.
    `silence_second`: how long the source may be silent, heartbeats included, before that counts as lag. `server`: who
    is read now.
    """

    heard_at: float
    read_time: float
    idle: bool
    waiting_since: float | None
    drained: bool
    committed_time: float
    silence_second: float
    server: str = ""


def lag_second(reading: Reading, now: float) -> float:
    """Seconds that the lake is behind the source: 0 only when caught up and in touch with the source."""
    if reading.waiting_since is not None:
        return max(0.0, now - reading.waiting_since)
    if reading.drained and reading.heard_at and (reading.idle or reading.read_time):
        behind = now - (reading.heard_at if reading.idle else reading.read_time)
        return 0.0 if behind <= reading.silence_second else behind
    return max(0.0, now - reading.committed_time) if reading.committed_time else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """What a job has committed since it was created. `position` None: nothing is known yet.

    `prepared`: XA transactions that are open there and have rows of synced tables. `dead_letters`: changes that were
    kept out of the targets.
    """

    position: Position | None
    rows: int
    bytes: int
    commits: int
    prepared: int = 0
    dead_letters: int = 0


class Ran(Protocol):
    """An upkeep that ended `at` (unix seconds)."""

    @property
    def kind(self) -> str: ...
    @property
    def at(self) -> float: ...


def last_upkeep(log: Iterable[Ran]) -> dict[str, str | None]:
    """When each kind of upkeep ran last, from a log that is oldest first."""
    return {str(ran.kind): _time(ran.at) for ran in log}


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


class Behind(Protocol):
    """A channel that is behind the others of its job. `since`: unix seconds. `error` None: it is catching up."""

    @property
    def table(self) -> str: ...
    @property
    def epochs(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def since(self) -> float: ...
    @property
    def error(self) -> SyncError | None: ...


def behind_facts(channel: Behind) -> dict[str, str | int | None]:
    """What the Status column says of a channel that is behind."""
    error = channel.error
    return {
        "epochs": channel.epochs,
        "bytes": channel.bytes,
        "since": _time(channel.since),
        "error": None if error is None else error.code.number,
        "reason": None if error is None else str(error),
        "advice": None if error is None else advice(error.code.number),
    }


def snapshot_facts(
    job: SyncJob, loads: Mapping[str, Load], rates: Mapping[str, float], failures: Mapping[str, SyncError]
) -> dict[str, dict[str, str | int | float | None]]:
    """What the Status column says of a job's snapshot, by target. All mappings by channel token."""
    targets = {channel.token: channel.filled for channel in job.channels}
    return {
        targets[token]: {**load_facts(load, rates.get(token)), "error": _reason(failures.get(token))}
        for token, load in loads.items()
    }


def _reason(error: SyncError | None) -> str | None:
    return None if error is None else str(error)


def snapshot_row(
    channel: ChannelDescription, load: Load, rate: float | None, error: SyncError | None
) -> tuple[str | int | float | None, ...]:
    """One row of information_schema.sync_snapshots behind its job. `error`: why it does not go on."""
    facts = load_facts(load, rate)
    return (
        *(channel.source.db, channel.source.name, channel.target_db, channel.target),
        *(facts["phase"], facts["rows"], facts["estimated_rows"], facts["chunks"], facts["chunks_done"]),
        *(facts["rows_per_second"], facts["left_second"], _reason(error), facts["where"]),
    )


def status_json(
    figures: Figures,
    *,
    lag: float | None,
    server: str | None,
    last_error: str | None,
    advised: str | None,
    behind: Mapping[str, Mapping[str, str | int | None]],
    upkeep: Mapping[str, Mapping[str, str | None]],
    index: Mapping[str, Mapping[str, str | int | None]],
    snapshot: Mapping[str, Mapping[str, str | int | float | None]],
) -> str:
    """The Status column. `server`: who is read now. `advised`: what to do about the last error.
    `behind`: by target table, the channels that the others do not wait for.
    `upkeep`: by target table, when each kind ran last.
    `index`: by target table with a key, how its key index stands.
    `snapshot`: by target table that began with one, how far it is.
    """
    at = figures.position
    facts = {
        "position": None if at is None else {"gtid": at.gtids, "file": at.file, "offset": at.offset},
        "torn": at is not None and at.ordinal > 0,
        "server": server,
        "consumed_rows": figures.rows,
        "consumed_bytes": figures.bytes,
        "commits": figures.commits,
        "prepared_xa": figures.prepared,
        "dead_letters": figures.dead_letters,
        "lag_second": None if lag is None else round(lag, 3),
        "last_error": last_error,
        "advice": advised,
        "behind": behind,
        "upkeep": upkeep,
        "index": index,
        "snapshot": snapshot,
    }
    return json.dumps(facts, ensure_ascii=False)


def show_row(job: SyncJob, status: str) -> tuple[str | None, ...]:
    """One row of SHOW SYNC JOB, in the order of SHOW_COLUMNS."""
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
        None if job.fail is None else job.fail.text,
    )


def ddl_row(record: DdlRecord) -> tuple[str, ...]:
    """Table, time, position, state, outcome and statement, as information_schema.sync_ddl has them."""
    at = record.position
    where = at.gtids or f"{at.file}:{at.offset}"
    return record.table, str(_time(record.at)), where, record.state.value, record.outcome, record.statement


def _time(at: float | None) -> str | None:
    return None if at is None else time_text(at)
