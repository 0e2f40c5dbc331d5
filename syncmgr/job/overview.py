"""All tables of a job as SHOW reports them, whether the job runs or not.

Owns: which source of facts counts for a table: the run, or else what is stored; the freshness of the job; when it needs
an operator.
Must not know: where these facts come from, their shape in SHOW. Times are unix seconds.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from syncmgr.errors import Code, Diagnostic, SyncError
from syncmgr.job.advice.treatment import JobKind
from syncmgr.job.channel.channel_state import ChannelState, Rows, Shown, Standing, Stop, resting, shown
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.stopped_table import standstill
from syncmgr.job.epoch import Backlog
from syncmgr.job.failure import FailMsg, advice, fail_type, needs_person
from syncmgr.job.freshness import Reading, of_reading, of_table, oldest
from syncmgr.job.snapshot.chunk import Load
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import STOPPED_TABLES, SyncJob, fail_msg


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """What is known of a job besides the job itself; all mappings by channel token.

    `standings`: as its run reports; none: it does not run. `resyncing`: tables that the next run is to read again, and
    the source time up to which their targets are complete until then, as in a Load. `committed`: up to this source time
    everything is known to be committed, except what waits. `reading`: what its run reads now.
    """

    loads: Mapping[str, Load] = field(default_factory=dict)
    backlogs: Mapping[str, Backlog] = field(default_factory=dict)
    standings: Mapping[str, Standing] = field(default_factory=dict)
    resyncing: Mapping[str, float | None] = field(default_factory=dict)
    committed: float | None = None
    reading: Reading | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TableOverview:
    """One table. `backlog`: what was read of it and waits. `synced_until`: the source time up to which its target is
    complete, None: not known, or its rows were never complete. `lag_second`: since then.
    """

    channel: ChannelDescription
    shown: Shown
    synced_until: float | None
    lag_second: float | None
    backlog: Backlog | None = None


def overview(job: SyncJob, facts: Facts, now: float) -> tuple[TableOverview, ...]:
    """In the order of the job's channels."""
    reads = job.state in {JobState.PENDING, JobState.RUNNING}
    pause = job.fail if job.state is JobState.PAUSED_BY_ERROR else None
    ended = job.state is JobState.CANCELLED
    synced = _synced(job, facts, now)
    of_job = _OfJob(kind=job.kind, reads=reads, ended=ended, pause=pause, synced=synced, now=now)
    return tuple(_table(channel, facts, of_job) for channel in job.channels)


def _synced(job: SyncJob, facts: Facts, now: float) -> float | None:
    """Of tables for which nothing waits. A source's clock may be ahead."""
    read = 0.0 if facts.reading is None else of_reading(facts.reading, now)
    return min(now, max(job.synced_until or 0.0, facts.committed or 0.0, read)) or None


@dataclass(frozen=True, kw_only=True, slots=True)
class _OfJob:
    """`reads`: its rows are being read. `ended`: it cannot be altered any more. `pause`: the error that has paused it,
    if any. `synced`: up to where the tables are complete for which nothing waits.
    """

    kind: JobKind
    reads: bool
    ended: bool
    pause: FailMsg | None
    synced: float | None
    now: float


def _table(channel: ChannelDescription, facts: Facts, of_job: _OfJob) -> TableOverview:
    token = channel.token
    load, backlog = facts.loads.get(token), facts.backlogs.get(token)
    waits = None if backlog is None else backlog.since
    resyncing = token in facts.resyncing
    stale = facts.resyncing[token] if resyncing else None if load is None else load.stale
    stored = resting(
        stop=channel.history.stopped,
        rows=Rows(replaces=True, begun=False) if resyncing else rows_of(channel, load),
        begun_at=None if load is None or resyncing else load.begun_at,
        waits=waits,
    )
    reported = facts.standings.get(token, stored)
    standing = stored if resyncing else reported
    if standing.state is ChannelState.SNAPSHOT and standing.since is None:
        standing = replace(standing, since=stored.since)
    synced = of_table(channel, waits=waits, job=of_job.synced, stale=stale)
    kind = replace(of_job.kind, shares=channel.part is not None)
    return TableOverview(
        channel=channel,
        shown=_with_pause(
            shown(standing, kind, reads=of_job.reads, whole=load is None or load.caught_up),
            channel,
            replace(of_job, kind=kind, pause=None if resyncing else of_job.pause),
        ),
        synced_until=synced,
        lag_second=None if synced is None else max(0.0, of_job.now - synced),
        backlog=backlog,
    )


LOST: Final = (
    "Nothing for this table alone: the job has lost its position, and its own advice in Status helps all of them."
)


def _with_pause(known: Shown, channel: ChannelDescription, of_job: _OfJob) -> Shown:
    """With the error that has paused the job, if it names the table: it is no longer retried, so nothing else says why
    the table waits. Nothing is advised that the state of the job refuses.
    """
    pause, waits = of_job.pause, {ChannelState.SNAPSHOT, ChannelState.BEHIND}
    if of_job.ended:
        return replace(known, advice=None)
    is_lost = pause is not None and pause.code == Code.SOURCE_POSITION_LOST.number
    if is_lost and known.state is ChannelState.STOPPED:
        return replace(known, advice=LOST)
    names = {
        channel.source.label,
        *(f"{channel.target_db}.{target}" for target in (channel.target, channel.target_label)),
    }
    if pause is None or known.error is not None or known.state not in waits or pause.table not in names:
        return known
    remedy = advice(pause.code, of_job.kind)
    return replace(known, error=pause.code, reason=pause.message, advice=remedy, heals=pause.heals)


def rows_of(channel: ChannelDescription, load: Load | None, *, begun: bool = True) -> Rows | None:
    """Those of a table that are being read; None: all are in the target."""
    if load is None or load.upper is not None:
        return None
    return Rows(exact=not channel.keys, replaces=load.replaces, reshapes=load.reshapes, begun=begun)


def synced_until(tables: Sequence[TableOverview]) -> float | None:
    """Of the oldest table, in every state of the job: one that has ended left its targets like that. None until the
    first rows of all tables are complete.
    """
    return oldest(table.synced_until for table in tables)


def lag_second(tables: Sequence[TableOverview]) -> float | None:
    """Of the oldest table; None as `synced_until` is."""
    lags = [table.lag_second for table in tables if table.lag_second is not None]
    return None if synced_until(tables) is None else max(lags, default=None)


def needs_operator(job: SyncJob, tables: Sequence[TableOverview], refused: Collection[str] = ()) -> bool:
    """Whether something never passes with time alone, though it may be retried meanwhile. `refused`: tables that match
    its patterns, and could not join it.
    """
    if job.state is JobState.CANCELLED:
        return False
    paused = job.fail is not None and needs_person(job.fail.code) and not job.fail.heals
    return paused or bool(refused) or any(table.shown.needs_operator for table in tables)


def with_trouble(job: SyncJob, unstored: FailMsg | None) -> SyncJob:
    """Including what its run is retrying and could not store, as while the disk of the metadata is full."""
    return job if unstored is None or job.state is not JobState.RUNNING else replace(job, fail=unstored)


def as_reported(job: SyncJob, tables: Sequence[TableOverview]) -> SyncJob:
    """Including what its run is about to report: a table is stored as stopped before Msg says so."""
    shown = [(table.channel, table.shown) for table in tables if table.shown.state is ChannelState.STOPPED]
    found = standstill(
        [replace(each, history=replace(each.history, stopped=Stop(reason=of.reason or ""))) for each, of in shown]
    )
    is_due = job.fail is None or (job.fail.code in STOPPED_TABLES and job.fail.message != str(found))
    if found is None or not is_due or job.state is not JobState.RUNNING:
        return job
    at = max((of.since for _, of in shown if of.since is not None), default=job.last_start_at or job.created_at)
    return replace(job, fail=fail_msg(found, fail_type(found.code), at=at))


MOST_LISTED: Final = 10  # tables
_FROM_ITS_ROWS: Final = (
    'a new job started at the position of Status will not have them; the default "start" copies them into an empty '
    "target"
)
_BY_HAND: Final = "no other job brings them; bring the target in line with the source"


def lost_by_stop(job: SyncJob, tables: Sequence[TableOverview]) -> tuple[Diagnostic, ...]:
    """What the targets of a job lack if it is stopped now, and would not lack at another position."""
    lacking = [table for table in tables if table.shown.state is not ChannelState.STREAMING]
    cure = _FROM_ITS_ROWS if job.kind.has_rows else _BY_HAND
    texts = [_lost(table, cure) for table in lacking[:MOST_LISTED]]
    if len(lacking) > MOST_LISTED:
        texts.append(f"{len(lacking) - MOST_LISTED} other tables lack rows, too; {cure}")
    return tuple(Diagnostic(level="Warning", code=Code.LOST_BY_STOP, text=text) for text in texts)


def _lost(table: TableOverview, cure: str) -> str:
    channel, waits = table.channel, table.backlog
    match table.shown.state:
        case ChannelState.SNAPSHOT:
            reason = "they were still being read"
        case ChannelState.STOPPED:
            reason = "it was not read any more"
        case _ if waits is None:
            reason = "they are there, but from different moments"
        case _:
            reason = f"{waits.epochs} epochs ({waits.bytes} bytes) were read, and not committed"
    target = f"{channel.target_db}.{channel.target_label}"
    facts = {"target": target, "table": channel.source.label, "reason": reason, "cure": cure}
    return str(SyncError(Code.LOST_BY_STOP, **facts))
