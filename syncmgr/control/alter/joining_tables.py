"""Tables that join a stored job: by ADD TABLE, and those that match its patterns and are created later.

Owns: what is refused, and that a job which has changed meanwhile gets none.
Must not know: the runs of jobs, and when they apply what is stored.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial

from syncmgr.control.alter.arrivals import Arrivals, arrivals, unseen
from syncmgr.control.alter.named_channel import kind_of, refuse_cancelled, refuse_lost
from syncmgr.control.planning import Planner
from syncmgr.control.statement_text import patterns, refuse_twice, with_channels
from syncmgr.control.sync_request import Plan, Survey, SyncRequest, Table
from syncmgr.errors import Code, SyncError
from syncmgr.job.job_properties import parsed
from syncmgr.job.source import Can
from syncmgr.job.sync_job import SyncJob
from syncmgr.meta.jobs import JobStore
from syncsql import AddTables, Channel, Shards, Tables


class JoiningTables:
    """Plans, which blocks, and stores."""

    def __init__(
        self, jobs: JobStore, planner: Planner, survey: Survey, chunk_rows: Callable[[Mapping[str, str]], int]
    ) -> None:
        """`chunk_rows`: of a job's properties."""
        self._jobs = jobs
        self._planner = planner
        self._survey = survey
        self._chunk_rows = chunk_rows

    def plan(self, job: SyncJob, channels: tuple[Channel | Tables | Shards, ...]) -> Plan:
        """Their rows come first, whatever the job's start was. Blocks as long as source and lake take.

        Raises the error of the first failed check.
        """
        refuse_cancelled(job)
        if Can.READ_ROWS not in job.source.can:
            raise SyncError(Code.NOT_SUPPORTED, what=f"ADD TABLE with {kind_of(job)}; name it in a job of its own")
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
        """The job gets the planned channels, which its text names from now on. Their targets exist.

        Raises STALE_JOB if the job is not the one that was examined, POSITION_LOST_FOR_ALL.
        """
        refuse_cancelled(job)
        refuse_lost(job, "ADD TABLE")
        _refuse_changed(job, looked_at)
        refuse_twice(channel.source.label for channel in (*job.channels, *plan.channels))
        refuse_twice(f"{channel.target_db}.{channel.target_label}" for channel in (*job.channels, *plan.channels))
        joining = Arrivals(plans=(plan,), refused={}).joining
        self._jobs.alter(with_channels(job, node.channels), joining=joining)

    def unseen(self, job: SyncJob) -> frozenset[Table]:
        """The tables that exist by now, match a job's patterns, and are not in the job yet. Blocks."""
        return unseen(job, self._survey)

    def arrivals(self, job: SyncJob, named: Collection[Table]) -> Arrivals:
        """For those of these tables that match a job's patterns and are not in the job yet. Blocks. Raises transient
        errors.
        """
        return arrivals(job, named, self._survey, partial(self.plan, job))

    def take_in(self, job: SyncJob, coming: Arrivals, looked_at: SyncJob) -> None:
        """All of them, or none; the job's text already covers them. Their targets exist.

        Raises STALE_JOB if the job is not the one that was examined.
        """
        _refuse_changed(job, looked_at)
        if _tables(job) != _tables(looked_at) or patterns(job) != patterns(looked_at):
            raise SyncError(Code.STALE_JOB, job=job.name)
        self._jobs.alter(job.with_statement(job.statement), joining=coming.joining)


def _refuse_changed(job: SyncJob, looked_at: SyncJob) -> None:
    """The plan is for one source, and depends on the job's properties. Raises STALE_JOB."""
    if (job.id, job.source, job.properties) != (looked_at.id, looked_at.source, looked_at.properties):
        raise SyncError(Code.STALE_JOB, job=job.name)


def _tables(job: SyncJob) -> frozenset[tuple[str, str, str]]:
    """What fills what."""
    return frozenset((each.source.label, each.target_db, each.target_label) for each in job.channels)
