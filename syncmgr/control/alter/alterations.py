"""How ALTER SYNC changes a stored job.

Owns: which change of a job is refused, and what of it is stored.
Must not know: the runs of jobs, and when they apply what is stored.
"""

from typing import assert_never

from syncmgr.control.alter.named_channel import channel_of, refuse_cancelled
from syncmgr.control.alter.resync import LookedAt, Resyncs
from syncmgr.control.statement_text import altered, excluding, forgetting, means, renamed, without
from syncmgr.errors import Code, SyncError
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import SyncJob, refuse_long_name
from syncmgr.meta.store import Store
from syncsql import AlterSync, JobAlteration, LeaveTable, Name, RenameSync, ResyncTable, SettleDdl


class Alterations:
    """Stores; one call at a time."""

    def __init__(self, store: Store, resyncs: Resyncs) -> None:
        self._store = store
        self._resyncs = resyncs

    def looked_at(self, job: SyncJob, node: JobAlteration) -> LookedAt | None:
        """What RESYNC has to know beforehand. Blocks as long as source and lake take. Raises as Resyncs does."""
        return self._resyncs.looked_at(job, node)

    def alter(self, job: SyncJob, node: JobAlteration, looked_at: LookedAt | None = None) -> bool:
        """Whether the job's run must be restarted. Nothing here waits for source or lake."""
        refuse_cancelled(job)
        match node:
            case AlterSync():
                self._store.jobs.save(altered(job, node))
            case LeaveTable(table=table):
                return self._leave(job, table)
            case ResyncTable():
                self._resyncs.store(job, node, looked_at)
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
        """A table that could not join is excluded from the patterns that match it."""
        without_it = None if table.db is None else excluding(job, table.db, table.name)
        if without_it is not None:
            self._store.jobs.save(without_it)
            return True
        channel = channel_of(job, table)
        if not any(means(job, other) for other in job.channels if other is not channel):
            raise SyncError(Code.LAST_CHANNEL, job=job.name, table=channel.source.label)
        self._store.jobs.alter(without(job, channel), leaving=(channel.token,))
        return True

    def _rename(self, job: SyncJob, to: str) -> None:
        refuse_long_name(to)
        names = {each.name for each in self._store.jobs.labels(job.db, live=True)}
        if to in names:
            raise SyncError(Code.JOB_EXISTS, job=to, db=job.db)
        self._store.jobs.save(renamed(job, to))

    def _settle(self, job: SyncJob, node: SettleDdl) -> None:
        """What RESUME does with the statement that paused the job. Raises NO_DDL_TO_SETTLE."""
        is_paused = job.state in {JobState.PAUSED, JobState.PAUSED_BY_ERROR}
        if is_paused and self._store.ddl.settle(job.id, node.instead):
            return
        stopped = ", ".join(channel.source.label for channel in job.channels if channel.history.stopped is not None)
        more = f"; ALTER SYNC JOB ... RESYNC TABLE brings back what is not read any more: {stopped}" if stopped else ""
        raise SyncError(Code.NO_DDL_TO_SETTLE, job=job.name).saying(more)

    def let_go(self, job: SyncJob) -> bool:
        """Channels whose targets were dropped with their sources leave a job without a run; False: it has no other."""
        dropped = [channel for channel in job.channels if channel.history.dropped]
        if dropped and len(dropped) < len(job.channels):
            self._store.jobs.alter(forgetting(job, dropped), leaving=[channel.token for channel in dropped])
        return len(dropped) < len(job.channels)
