"""What ALTER SYNC makes of a stored job.

Owns: which change of a job is refused, and what of it is stored.
Must not know: the runs of jobs, and when they take up what is stored.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Final, Protocol, assert_never

from syncmgr.control import sync_request
from syncmgr.control.arrivals import Arrivals, arrivals, unseen
from syncmgr.control.planning import Planner
from syncmgr.control.statement_text import (
    altered,
    excerpt,
    excluding,
    forgetting,
    means,
    patterns,
    refuse_twice,
    renamed,
    with_channels,
    without,
)
from syncmgr.control.sync_request import Inspect, Plan, Survey, SyncRequest
from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.ddl.stopped_table import made_anew, needs_all_rows
from syncmgr.job.epoch import Epoch
from syncmgr.job.freshness import of_table
from syncmgr.job.job_properties import parsed
from syncmgr.job.show_sync import Figures
from syncmgr.job.snapshot.chunk import Load
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.job.snapshot.renewal import Renewal, renewed, terms_of
from syncmgr.job.snapshot.resync_where import LEAVE_OUT
from syncmgr.job.source import Can, SourceDescription
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import JobId, SyncJob
from syncmgr.job.types.schema import TargetTable
from syncmgr.meta.channels import ChannelProgress, Joining
from syncmgr.sources.port import Inspected
from syncsql import (
    AddTables,
    AlterSync,
    Channel,
    Expression,
    JobAlteration,
    LeaveTable,
    Name,
    RenameSync,
    ResyncTable,
    SettleDdl,
    Shards,
    Tables,
)

GAP: Final = f"it is not read any more, and any of its rows may have changed since; {LEAVE_OUT}"
PLACE: Final = (
    "error {number} has paused the job, which RESUME meets again unless the table is read whole, as it is now;"
    f" {LEAVE_OUT}"
)
OPEN: Final = "its rows are being read; wait until its phase in information_schema.sync_snapshots is streaming"

log = logging.getLogger(__name__)


class Catalog(sync_request.Catalog, Protocol):
    """The databases and tables of the lake."""

    def make(self, table: TargetTable) -> TargetTable: ...
    def unmake(self, table: TargetTable) -> None: ...


class DdlLog(Protocol):
    """The memory of DDL."""

    def settle(self, job_id: JobId, instead: str | None) -> bool: ...


class Loads(Protocol):
    """The memory of snapshots."""

    def of(self, job_id: JobId) -> Mapping[str, Load]: ...


class Store(Protocol):
    """The memory of jobs."""

    def save(self, job: SyncJob) -> SyncJob: ...
    def alter(
        self,
        job: SyncJob,
        *,
        joining: Joining | None = None,
        leaving: Collection[str] = (),
        resyncing: Mapping[str, KeyRange | None] = MappingProxyType({}),
        changed: Collection[Renewal] = (),
    ) -> None: ...
    def jobs(self, db: str | None = None, *, live: bool = False) -> list[SyncJob]: ...
    def figures(self, job_id: JobId) -> Figures: ...
    def progress(self, job_id: JobId) -> Mapping[str, ChannelProgress]: ...
    def intents(self, job_id: JobId) -> Sequence[Epoch]: ...
    @property
    def ddl(self) -> DdlLog: ...
    @property
    def loads(self) -> Loads: ...


@contextmanager
def made(catalog: Catalog, tables: Sequence[TargetTable]) -> Iterator[None]:
    """The targets of what is stored here; where that fails they go again, as far as the lake lets them."""
    ready: list[TargetTable] = []
    try:
        for table in tables:
            ready.append(catalog.make(table))  # noqa: PERF401 - what is ready when one fails must be known
        passing(CrashPoint.TARGETS_MADE)
        yield
    except Exception:
        for table in ready:
            _unmake(catalog, table)
        raise


def _unmake(catalog: Catalog, table: TargetTable) -> None:
    """What is left behind is spare, and hides no error."""
    try:
        catalog.unmake(table)
    except Exception:
        log.exception("a target that nobody needs was left", extra={"table": table.label})


@dataclass(frozen=True, kw_only=True, slots=True)
class LookedAt:
    """What source and lake say of a table that is to be read anew. `renewal`: what its channel and its target become;
    None: they stay as they are.
    """

    target: TargetTable
    renewal: Renewal | None = None


class Alterations:
    """Stores; one call at a time, but for those that block, which store nothing."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        planner: Planner,
        inspect: Inspect,
        survey: Survey,
        chunk_rows: Callable[[Mapping[str, str]], int],
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._planner = planner
        self._inspect = inspect
        self._survey = survey
        self._chunk_rows = chunk_rows

    def looked_at(self, job: SyncJob, node: JobAlteration) -> LookedAt | None:
        """For RESYNC. Blocks for as long as source and lake take. A table that is read as it should be is not renewed:
        whatever changes it comes by the binlog.

        Raises RESYNC_COLUMNS, NO_CHANNEL_KEY, SNAPSHOT_REFUSED.
        """
        _refuse_cancelled(job)
        if not isinstance(node, ResyncTable) or Can.READ_ROWS not in job.source.can:
            return None
        found = _resynced(job, node.table)
        channel = self._after_statement(job, found)
        name = _place(found, node.table) if _source(found) == _source(channel) else _source(channel)
        if node.where is None and not channel.keys:
            self._planner.check_exact(job.source, [replace(channel.source, db=name[0], name=name[1])])
        target = self._catalog.table(channel.target_db, channel.target)
        if node.where is not None or not self._is_renewed(job, channel, target):
            return LookedAt(target=target)
        inspected = self._asked(channel, name, job.source.joining)
        return LookedAt(target=target, renewal=self._renewal(job, channel, target, inspected))

    def _after_statement(self, job: SyncJob, channel: ChannelDescription) -> ChannelDescription:
        """Under the name that the source has for its table once a statement is followed that is stored to be."""
        for epoch in self._store.intents(job.id):
            if epoch.ddl is not None and channel.token in epoch.ddl.channels:
                named = epoch.ddl.channels[channel.token].source
                channel = replace(channel, source=replace(channel.source, db=named.db, name=named.name))
        return channel

    def _asked(self, channel: ChannelDescription, name: Table, source: SourceDescription) -> Inspected:
        """Of one that is gone, where it may be found: nobody has followed it to there."""
        try:
            return self._inspect(source, [name])
        except SyncError as error:
            left = [f"{shadow.db}.{shadow.name}" for shadow in channel.shadows if shadow.left]
            if error.code is not Code.SOURCE_UNKNOWN_TABLE or not left or name != _source(channel):
                raise
            names = " or ".join(f"RESYNC TABLE {each}" for each in left)
            raise error.saying(f"; if it has a name again that it had before, ALTER SYNC JOB ... {names}") from error

    def _renewal(self, job: SyncJob, channel: ChannelDescription, target: TargetTable, inspected: Inspected) -> Renewal:
        """From where the server stands now: what the table has missed comes with its rows."""
        load, at = self._store.loads.of(job.id).get(channel.token), self._store.progress(job.id)[channel.token]
        pending = (*at.changes, *(load.changes if load is not None and load.reshapes else ()))
        read = None if load is None else load.stale
        since = at.stale_since if at.resyncing else read
        stale = of_table(channel, stale=since, waits=None, job=self._store.figures(job.id).synced_until)
        terms = terms_of(parsed(job.properties))
        try:
            renewal = renewed(channel, inspected.tables[0], inspected.unique_keys[0], target, terms, pending)
        except SyncError as error:
            raise error.saying(f"; {made_anew(job.kind)}") from error
        again = replace(renewal.channel, after=inspected.start, known_at=inspected.known_at)
        return replace(renewal, channel=replace(again, stopped=None), stale_since=stale or 0.0)

    def alter(self, job: SyncJob, node: JobAlteration, looked_at: LookedAt | None = None) -> bool:
        """Whether what runs of the job must be started anew. Nothing here waits for source or lake."""
        _refuse_cancelled(job)
        match node:
            case AlterSync():
                self._store.save(altered(job, node))
            case LeaveTable(table=table):
                return self._leave(job, table)
            case ResyncTable():
                self._resync(job, node, looked_at)
            case RenameSync(to=to):
                self._rename(job, to)
                return False
            case SettleDdl():
                self._settle(job, node)
                return False
            case _:
                assert_never(node)
        return True

    def _leave(self, job: SyncJob, table: Name) -> bool:
        """A table that could not join is left out by the patterns that mean it."""
        without_it = None if table.db is None else excluding(job, table.db, table.name)
        if without_it is not None:
            self._store.save(without_it)
            return True
        channel = _channel(job, table)
        if not any(means(job, other) for other in job.channels if other is not channel):
            raise SyncError(Code.LAST_CHANNEL, job=job.name, table=channel.source.label)
        self._store.alter(without(job, channel), leaving=(channel.token,))
        return True

    def _resync(self, job: SyncJob, node: ResyncTable, looked_at: LookedAt | None) -> None:
        """Its rows, or those that a condition means, are read once more, and take the place of those in the target."""
        channel = _resynced(job, node.table)
        if Can.READ_ROWS not in job.source.can:
            raise SyncError(Code.NOT_SUPPORTED, what=f"RESYNC TABLE with {_kind(job)}, which has no rows to read")
        if job.paused_by == Code.SOURCE_POSITION_LOST.number:
            raise SyncError(Code.RESYNC_POSITION, table=channel.source.label)
        assert looked_at is not None, "a table is looked at before it is read anew"
        target, renewal = looked_at.target, looked_at.renewal
        excerpt = None if node.where is None else self._excerpt(job, channel, target, node.where)
        if node.where is None and self._is_renewed(job, channel, target) != (renewal is not None):
            raise SyncError(Code.STALE_JOB, job=job.name)
        changed = () if renewal is None else (renewal,)
        self._store.alter(job.resynced(), resyncing={channel.token: excerpt}, changed=changed)

    def _excerpt(self, job: SyncJob, channel: ChannelDescription, target: TargetTable, where: Expression) -> KeyRange:
        """Raises RESYNC_WHERE, SOURCE_UNKNOWN_COLUMN, NOT_SUPPORTED."""
        if not channel.keys:
            raise SyncError(
                Code.NOT_SUPPORTED, what="RESYNC TABLE ... WHERE of a target without a key; leave out WHERE"
            )
        reason = self._refusal(job, channel)
        if reason:
            raise SyncError(Code.RESYNC_WHERE, table=channel.source.label, condition=where.sql(), reason=reason)
        return excerpt(channel, target, where)

    def _refusal(self, job: SyncJob, channel: ChannelDescription) -> str:
        """Why a part of the rows would not do; "": it does."""
        load = self._store.loads.of(job.id).get(channel.token)
        if channel.stopped is not None:
            return GAP
        if load is not None and load.upper is None and load.excerpt is None:
            return OPEN
        return PLACE.format(number=job.paused_by) if needs_all_rows(job.paused_by) else ""

    def _is_renewed(self, job: SyncJob, channel: ChannelDescription, target: TargetTable) -> bool:
        """Whether RESYNC of the whole table makes channel and target what the source is now: nothing else will."""
        return self._stands(job, channel) or self._is_pending(job, channel) or _is_short(channel, target)

    def _is_pending(self, job: SyncJob, channel: ChannelDescription) -> bool:
        """Whether a statement on the table is stored that RESUME will follow."""
        steps = [epoch.ddl for epoch in self._store.intents(job.id) if epoch.ddl is not None]
        return job.state is JobState.PAUSED and any(channel.token in step.concerned for step in steps)

    def _stands(self, job: SyncJob, channel: ChannelDescription) -> bool:
        """Whether no change of the table is read, or can be committed: until somebody has settled what stopped it, or,
        where it has no key, or gets other columns, until its rows are there.
        """
        load = self._store.loads.of(job.id).get(channel.token)
        waits = load is not None and load.upper is None and (load.reshapes or not channel.keys)
        return waits or channel.stopped is not None or job.state is JobState.PAUSED_BY_ERROR

    def _rename(self, job: SyncJob, to: str) -> None:
        names = {each.name for each in self._store.jobs(job.db, live=True)}
        if to in names:
            raise SyncError(Code.JOB_EXISTS, job=to, db=job.db)
        self._store.save(renamed(job, to))

    def _settle(self, job: SyncJob, node: SettleDdl) -> None:
        """What RESUME does with the statement that paused the job. Raises NO_DDL_TO_SETTLE."""
        is_paused = job.state in {JobState.PAUSED, JobState.PAUSED_BY_ERROR}
        if is_paused and self._store.ddl.settle(job.id, node.instead):
            return
        stopped = ", ".join(channel.source.label for channel in job.channels if channel.stopped is not None)
        more = f"; ALTER SYNC JOB ... RESYNC TABLE brings back what is not read any more: {stopped}" if stopped else ""
        raise SyncError(Code.NO_DDL_TO_SETTLE, job=job.name).saying(more)

    def let_go(self, job: SyncJob) -> bool:
        """Channels whose targets were dropped with their sources leave a job of which nothing runs; False: it has no
        other.
        """
        dropped = [channel for channel in job.channels if channel.dropped]
        if dropped and len(dropped) < len(job.channels):
            self._store.alter(forgetting(job, dropped), leaving=[channel.token for channel in dropped])
        return len(dropped) < len(job.channels)

    # -- more tables

    def plan(self, job: SyncJob, channels: tuple[Channel | Tables | Shards, ...]) -> Plan:
        """Their rows come first, whatever the job's start was. Blocks for as long as source and lake take.

        Raises what the first failed check says.
        """
        _refuse_cancelled(job)
        if Can.READ_ROWS not in job.source.can:
            raise SyncError(Code.NOT_SUPPORTED, what=f"ADD TABLE with {_kind(job)}; name it in a job of its own")
        wanted = SyncRequest(
            db=job.db,
            channels=channels,
            source=job.source.joining,
            without_key=parsed(job.properties).tables_without_key,
            chunk_rows=self._chunk_rows(job.properties),
            checked=parsed(job.properties).checked,
            shared=frozenset((each.target_db, each.target) for each in job.channels if each.part is not None),
        )
        return self._planner.plan(wanted)

    def add(self, job: SyncJob, node: AddTables, plan: Plan, looked_at: SyncJob) -> None:
        """The job gets the planned channels, which its text names from now on. Their targets are there.

        Raises STALE_JOB where the job is not the one that was looked at.
        """
        _refuse_cancelled(job)
        _refuse_changed(job, looked_at)
        refuse_twice(channel.source.label for channel in (*job.channels, *plan.channels))
        refuse_twice(f"{channel.target_db}.{channel.filled}" for channel in (*job.channels, *plan.channels))
        joining = Arrivals(plans=(plan,), refused={}).joining
        self._store.alter(with_channels(job, node.channels), joining=joining)

    # -- tables that come later

    def unseen(self, job: SyncJob) -> frozenset[tuple[str, str]]:
        """The tables that are there by now, that a job's patterns mean and that it has not. Blocks."""
        return unseen(job, self._survey)

    def arrivals(self, job: SyncJob, named: Collection[tuple[str, str]]) -> Arrivals:
        """For those of these tables that a job's patterns mean and that it has not. Blocks. Raises what may pass."""
        return arrivals(job, named, self._survey, partial(self.plan, job))

    def take_in(self, job: SyncJob, coming: Arrivals, looked_at: SyncJob) -> None:
        """All of them, or none; the job's text means them already. Their targets are there.

        Raises STALE_JOB where the job is not the one that was looked at.
        """
        _refuse_changed(job, looked_at)
        if _tables(job) != _tables(looked_at) or patterns(job) != patterns(looked_at):
            raise SyncError(Code.STALE_JOB, job=job.name)
        self._store.alter(job.with_statement(job.statement), joining=coming.joining)


def _is_short(channel: ChannelDescription, target: TargetTable) -> bool:
    """Whether the target lacks a column that the channel fills, as an older state of it does that was put back: no
    commit passes.
    """
    return any(target.column(mapped.target) is None for mapped in channel.columns)


def _refuse_changed(job: SyncJob, looked_at: SyncJob) -> None:
    """What was planned is of one source, and goes by the job's properties. Raises STALE_JOB."""
    if (job.id, job.source, job.properties) != (looked_at.id, looked_at.source, looked_at.properties):
        raise SyncError(Code.STALE_JOB, job=job.name)


def _tables(job: SyncJob) -> frozenset[tuple[str, str, str]]:
    """What fills what."""
    return frozenset((each.source.label, each.target_db, each.filled) for each in job.channels)


def _kind(job: SyncJob) -> str:
    """Of its source, as statements name it."""
    return job.source.kind.lower()


def _refuse_cancelled(job: SyncJob) -> None:
    if job.state is JobState.CANCELLED:
        raise SyncError(Code.ILLEGAL_TRANSITION, state=job.state.shown, event="altered")


def _channel(job: SyncJob, table: Name) -> ChannelDescription:
    """The one that reads a source table. Raises NO_SUCH_CHANNEL."""
    found = [c for c in job.channels if c.source.name == table.name and table.db in {None, c.source.db}]
    if len(found) != 1:
        label = table.name if table.db is None else f"{table.db}.{table.name}"
        names = ", ".join(channel.source.label for channel in found or job.channels)
        raise SyncError(Code.NO_SUCH_CHANNEL, job=job.name, table=label, tables=names)
    return found[0]


def _resynced(job: SyncJob, table: Name) -> ChannelDescription:
    """The one that reads a source table, or that is not read on and had that name once: whoever has changed names back
    finds it there, and whoever has given the name to another table chooses that one. Raises NO_SUCH_CHANNEL.
    """
    try:
        return _channel(job, table)
    except SyncError:
        all_stand = job.state is JobState.PAUSED_BY_ERROR
        found = [c for c in job.channels if (all_stand or c.stopped is not None) and _had(c, table)]
        if len(found) != 1:
            raise
        return found[0]


def _had(channel: ChannelDescription, table: Name) -> bool:
    return any(s.left and s.name == table.name and table.db in {None, s.db} for s in channel.shadows)


def _source(channel: ChannelDescription) -> Table:
    return channel.source.db, channel.source.name


def _place(channel: ChannelDescription, table: Name) -> Table:
    """Where the table is that is meant."""
    if channel.source.name == table.name and table.db in {None, channel.source.db}:
        return _source(channel)
    return next((s.db, s.name) for s in channel.shadows if s.left and s.name == table.name and table.db in {None, s.db})
