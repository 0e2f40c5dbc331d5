"""ALTER SYNC JOB ... RESYNC TABLE.

Owns: what is queried from source and lake before it, when the columns are renewed.
Must not know: the runs of jobs, how rows are read.
"""

from dataclasses import dataclass, replace

from syncmgr.control.alter.named_channel import (
    kind_of,
    place,
    refuse_cancelled,
    refuse_lost,
    resynced,
    source_name,
)
from syncmgr.control.alter.part_of_rows import ResyncTargets, is_changed, is_other, refusal
from syncmgr.control.planning import Planner
from syncmgr.control.statement_text import excerpt
from syncmgr.control.sync_request import Inspect
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.ddl.stopped_table import made_anew
from syncmgr.job.freshness import of_table
from syncmgr.job.job_properties import parsed
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.job.snapshot.renewal import Renewal, renewed, terms_of
from syncmgr.job.source import Can, SourceDescription
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import SyncJob
from syncmgr.job.types.schema import TargetTable
from syncmgr.meta.store import Store
from syncmgr.sources.port import Inspected
from syncsql import Expression, JobAlteration, ResyncTable


@dataclass(frozen=True, kw_only=True, slots=True)
class LookedAt:
    """What source and lake say of a table that is to be read again. `renewal`: what its channel and its target become;
    None: they stay as they are. `is_other`: whether the target is another table, which lacks what the channel has
    committed, or has another column for one; None: that did not matter.
    """

    target: TargetTable
    renewal: Renewal | None = None
    is_other: bool | None = None


class Resyncs:
    """Of tables of stored jobs."""

    def __init__(self, store: Store, catalog: ResyncTargets, planner: Planner, inspect: Inspect) -> None:
        self._store = store
        self._catalog = catalog
        self._planner = planner
        self._inspect = inspect

    def looked_at(self, job: SyncJob, node: JobAlteration) -> LookedAt | None:
        """For RESYNC. Blocks as long as source and lake take. A table that is read properly is not renewed: its changes
        come through the binlog.

        Raises RESYNC_COLUMNS, NO_CHANNEL_KEY, SNAPSHOT_REFUSED.
        """
        refuse_cancelled(job)
        if not isinstance(node, ResyncTable) or Can.READ_ROWS not in job.source.can:
            return None
        stored = resynced(job, node.table)
        channel = self._after_statement(job, stored)
        name = place(stored, node.table) if source_name(stored) == source_name(channel) else source_name(channel)
        if node.where is None and not channel.keys:
            self._planner.check_exact(job.source, [replace(channel.source, db=name[0], name=name[1])])
        target = self._catalog.table(channel.target_db, channel.target)
        is_asked = channel.history.stopped is None if node.where is not None else not self._is_left(job, channel)
        other = is_other(self._store, self._catalog, job, channel, target) if is_asked else None
        found = LookedAt(target=target, is_other=other)
        if node.where is not None or not self._is_renewed(job, channel, found):
            return found
        inspected = self._asked(channel, name, job.source.joining)
        return replace(found, renewal=self._renewal(job, channel, target, inspected))

    def _after_statement(self, job: SyncJob, channel: ChannelDescription) -> ChannelDescription:
        """Under the name that the source's table has once the stored statement is followed."""
        for epoch in self._store.epochs.intents(job.id):
            if epoch.ddl is not None and channel.token in epoch.ddl.channels:
                named = epoch.ddl.channels[channel.token].source
                channel = replace(channel, source=replace(channel.source, db=named.db, name=named.name))
        return channel

    def _asked(self, channel: ChannelDescription, name: Table, source: SourceDescription) -> Inspected:
        """For a missing one, where it may be found: it was not followed to there."""
        try:
            return self._inspect(source, [name])
        except SyncError as error:
            left = [f"{shadow.db}.{shadow.name}" for shadow in channel.history.shadows if shadow.left]
            if error.code is not Code.SOURCE_UNKNOWN_TABLE or not left or name != source_name(channel):
                raise
            names = " or ".join(f"RESYNC TABLE {each}" for each in left)
            raise error.saying(f"; if it has a name again that it had before, ALTER SYNC JOB ... {names}") from error

    def _renewal(self, job: SyncJob, channel: ChannelDescription, target: TargetTable, inspected: Inspected) -> Renewal:
        """From the server's present position: what the table has missed comes with its rows."""
        load, at = self._store.loads.of(job.id).get(channel.token), self._store.epochs.progress(job.id)[channel.token]
        pending = (*at.changes, *(load.changes if load is not None and load.reshapes else ()))
        terms = terms_of(parsed(job.properties))
        try:
            renewal = renewed(channel, inspected.tables[0], inspected.unique_keys[0], target, terms, pending)
        except SyncError as error:
            raise error.saying(f"; {made_anew(job.kind)}") from error
        history = replace(renewal.channel.history, after=inspected.start, known_at=inspected.known_at, stopped=None)
        again = replace(renewal.channel, history=history)
        return replace(renewal, channel=again, stale_since=self._stale_since(job, channel))

    def _stale_since(self, job: SyncJob, channel: ChannelDescription) -> float:
        """The source time up to which the target is complete until its rows are there, if no change of them is
        committed meanwhile. 0.0: not known.
        """
        load, at = self._store.loads.of(job.id).get(channel.token), self._store.epochs.progress(job.id)[channel.token]
        waits = self._store.epochs.waiting(job.id).get(channel.token)
        of_job = max(job.synced_until or 0.0, self._store.epochs.figures(job.id).synced_until or 0.0)
        found = of_table(
            channel,
            stale=at.stale_since if at.resyncing else None if load is None else load.stale,
            waits=None if waits is None else waits.since,
            job=of_job or None,
        )
        return found or 0.0

    def store(self, job: SyncJob, node: ResyncTable, looked_at: LookedAt | None) -> None:
        """Its rows, or those that match a condition, are read again, and replace those in the target. Waits for nobody:
        the jobs are locked.
        """
        channel = resynced(job, node.table)
        if Can.READ_ROWS not in job.source.can:
            raise SyncError(Code.NOT_SUPPORTED, what=f"RESYNC TABLE with {kind_of(job)}, which has no rows to read")
        refuse_lost(job, f"RESYNC of table '{channel.source.label}'")
        assert looked_at is not None, "a table is looked at before it is read again"
        renewal = looked_at.renewal
        excerpt = None if node.where is None else self._excerpt(job, channel, looked_at, node.where)
        if node.where is None and self._is_renewed(job, channel, looked_at) != (renewal is not None):
            raise SyncError(Code.STALE_JOB, job=job.name)
        changed = () if renewal is None else (renewal,)
        waits = renewal is None and not channel.keys  # a table with a key follows its changes meanwhile
        stale = {channel.token: self._stale_since(job, channel)} if waits else {}
        self._store.jobs.alter(job.resynced(), resyncing={channel.token: excerpt}, changed=changed, stale=stale)

    def _excerpt(self, job: SyncJob, channel: ChannelDescription, found: LookedAt, where: Expression) -> KeyRange:
        """Raises RESYNC_WHERE, SOURCE_UNKNOWN_COLUMN, NOT_SUPPORTED, STALE_JOB."""
        if not channel.keys:
            raise SyncError(
                Code.NOT_SUPPORTED, what="RESYNC TABLE ... WHERE of a target without a key; leave out WHERE"
            )
        reason = refusal(self._store, job, channel, found.target, other=bool(found.is_other))
        if reason:
            raise SyncError(Code.RESYNC_WHERE, table=channel.source.label, condition=where.sql(), reason=reason)
        if found.is_other is None:  # the table was stopped then
            raise SyncError(Code.STALE_JOB, job=job.name)
        return excerpt(channel, found.target, where)

    def _is_renewed(self, job: SyncJob, channel: ChannelDescription, found: LookedAt) -> bool:
        """Whether RESYNC of the whole table has to adapt channel and target to the present source: nothing else
        will.
        """
        return self._is_left(job, channel) or _is_changed(job, channel, found)

    def _is_left(self, job: SyncJob, channel: ChannelDescription) -> bool:
        """Whether what is stored of the table says so."""
        return self._stands(job, channel) or self._is_pending(job, channel)

    def _is_pending(self, job: SyncJob, channel: ChannelDescription) -> bool:
        """Whether a statement on the table is stored that RESUME will follow."""
        steps = [epoch.ddl for epoch in self._store.epochs.intents(job.id) if epoch.ddl is not None]
        return job.state is JobState.PAUSED and any(channel.token in step.concerned for step in steps)

    def _stands(self, job: SyncJob, channel: ChannelDescription) -> bool:
        """Whether no change of the table is read, or can be committed: until the cause of its stop is settled, or, if
        it has no key, or gets other columns, until its rows are there.
        """
        load = self._store.loads.of(job.id).get(channel.token)
        waits = load is not None and load.upper is None and (load.reshapes or not channel.keys)
        return waits or channel.history.stopped is not None or job.state is JobState.PAUSED_BY_ERROR


def _is_changed(job: SyncJob, channel: ChannelDescription, found: LookedAt) -> bool:
    return is_changed(job, channel, found.target, other=bool(found.is_other))
