"""What was measured of a frontend and its jobs at one moment.

Owns: the shape of a sample, and how it follows from what is known of a job.
Must not know: who measures, how often, who reads it. Times are unix seconds.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from syncmgr.job.channel.channel_state import ChannelState
from syncmgr.job.metrics.histogram import CommitTimes
from syncmgr.job.overview import TableOverview, lag_second, needs_operator, synced_until
from syncmgr.job.show_sync import PAUSED_BY, Figures
from syncmgr.job.snapshot.chunk import Load, load_facts
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import SyncJob


@dataclass(frozen=True, kw_only=True, slots=True)
class SnapshotSample:
    """A table whose first rows are being read. `estimated_rows` None: it is not known yet how many there are."""

    table: str
    rows: int
    estimated_rows: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Trouble:
    """What is wrong with a job, or with a table of it. `error`: its number; 0: it has none. `at`: when it was met,
    None: not known.
    """

    error: int
    message: str
    advice: str | None
    at: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Nature:
    """What a job is, besides its figures. `kind`: of its source. `server`: who is read now; None: nobody. `paused_by`:
    user or error. `resume_at`: when it resumes by itself. `targets`: database and name.
    """

    kind: str
    server: str | None = None
    paused_by: str | None = None
    resume_at: float | None = None
    targets: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSample:
    """A job. `id`: its JobId. `trouble`: what Msg says; None: nothing. `failures`: how often an error has paused it in
    a row. `stopped`: tables that are no longer read, by source. `tables`: how many are in each state, all states.
    `behind_bytes`: what waits, by target. `left_second`: until the last of its snapshots is read, None: not known.
    """

    id: int
    db: str
    name: str
    state: JobState
    needs_operator: bool
    trouble: Trouble | None
    failures: int
    stopped: Mapping[str, Trouble]
    tables: Mapping[ChannelState, int]
    lag_second: float | None
    synced_until: float | None
    figures: Figures
    behind_bytes: Mapping[str, int]
    snapshots: tuple[SnapshotSample, ...]
    left_second: float | None
    nature: Nature


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """A frontend. `meta_up`: its metadata have answered, otherwise `jobs` are those of the last answer.
    `spark_up`: by engine. `disk_free`: bytes, by the setting that names the folder. `commit_times`: by the id of the
    job; one without has not committed since the start.
    """

    at: float
    started_at: float
    version: str
    meta_up: bool
    spark_up: Mapping[str, bool]
    disk_free: Mapping[str, int]
    jobs: tuple[JobSample, ...] = ()
    commit_times: Mapping[int, CommitTimes] = field(default_factory=dict)


def job_sample(
    job: SyncJob,
    figures: Figures,
    *,
    tables: Sequence[TableOverview],
    refused: Collection[str],
    loads: Mapping[str, Load],
    rates: Mapping[str, float],
    server: str | None,
) -> JobSample:
    """`job`: as SHOW has it. `server`: who is read now. `refused`: tables that could not join it. `loads`, `rates`: by
    channel token.
    """
    reads = [table for table in tables if table.shown.state is ChannelState.SNAPSHOT and table.channel.token in loads]
    facts = {_target(each): load_facts(loads[each.channel.token], rates.get(each.channel.token)) for each in reads}
    return JobSample(
        id=job.id,
        db=job.db,
        name=job.name,
        state=job.state,
        needs_operator=needs_operator(job, tables, refused),
        trouble=_trouble(job),
        failures=job.failures,
        stopped={} if job.state is JobState.CANCELLED else _stopped(tables),
        tables=_counted(() if job.state is JobState.CANCELLED else tables),
        lag_second=lag_second(tables),
        synced_until=synced_until(tables),
        figures=figures,
        behind_bytes={_target(each): each.backlog.bytes for each in tables if each.backlog is not None},
        snapshots=tuple(
            SnapshotSample(table=target, rows=_number(of["rows"]) or 0, estimated_rows=_number(of["estimated_rows"]))
            for target, of in facts.items()
        ),
        left_second=_longest(of["left_second"] for of in facts.values()),
        nature=_nature(job, server),
    )


def _nature(job: SyncJob, server: str | None) -> Nature:
    return Nature(
        kind=job.source.kind,
        server=server,
        paused_by=PAUSED_BY.get(job.state),
        resume_at=job.resume_at,
        targets=tuple(sorted({(each.target_db, each.target) for each in job.channels})),
    )


def newest(jobs: Iterable[JobSample]) -> tuple[JobSample, ...]:
    """One of each name: a name that a cancelled job has left may belong to another one."""
    found: dict[tuple[str, str], JobSample] = {}
    for job in sorted(jobs, key=lambda each: each.id):
        found[job.db, job.name] = job
    return tuple(found.values())


def _trouble(job: SyncJob) -> Trouble | None:
    """Not what a user has done."""
    if job.fail is None or not job.fail.code:
        return None
    return Trouble(error=job.fail.code, message=job.fail.message, advice=job.advised, at=job.fail.at)


def _stopped(tables: Iterable[TableOverview]) -> dict[str, Trouble]:
    stopped = [table for table in tables if table.shown.state is ChannelState.STOPPED]
    return {
        each.channel.source.label: Trouble(
            error=each.shown.error or 0, message=each.shown.reason or "", advice=each.shown.advice
        )
        for each in stopped
    }


def _counted(tables: Iterable[TableOverview]) -> dict[ChannelState, int]:
    counts = dict.fromkeys(ChannelState, 0)
    for table in tables:
        counts[table.shown.state] += 1
    return counts


def _target(table: TableOverview) -> str:
    return f"{table.channel.target_db}.{table.channel.target_label}"


def _number(fact: str | float | None) -> int | None:
    return int(fact) if isinstance(fact, int | float) else None


def _longest(left: Iterable[str | float | None]) -> float | None:
    """None if one of them is not known."""
    known = [float(each) if isinstance(each, int | float) else None for each in left]
    numbers = [each for each in known if each is not None]
    return max(numbers, default=None) if len(numbers) == len(known) else None
