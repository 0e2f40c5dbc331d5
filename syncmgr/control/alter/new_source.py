"""ALTER SYNC JOB ... SET SOURCE.

Owns: what is asked of the new source before it is stored, and that a job which has changed meanwhile keeps its own.
Must not know: kinds of sources, the runs of jobs.
"""

from collections.abc import Callable, Sequence

from syncmgr.control.alter.named_channel import refuse_cancelled, source_name
from syncmgr.control.statement_text import moved
from syncmgr.control.sync_request import Table
from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import Code, SyncError
from syncmgr.job.position import Position
from syncmgr.job.source import SourceDescription
from syncmgr.job.sync_job import SyncJob
from syncmgr.meta.store import Store
from syncsql import SetSource

CheckContinues = Callable[[SourceDescription, SourceDescription, Position, Sequence[Table]], None]


class NewSources:
    """Of stored jobs."""

    def __init__(self, store: Store, check_continues: CheckContinues) -> None:
        """`check_continues`: raises if a job that has read the second up to a place cannot go on with the first."""
        self._store = store
        self._check_continues = check_continues

    def wanted(self, job: SyncJob, node: SetSource) -> SourceDescription:
        """Raises ILLEGAL_TRANSITION, PROPERTY_UNKNOWN, PROPERTY_WRONG, PROPERTY_MISSING."""
        refuse_cancelled(job)
        return moved(job, node).source

    def check(self, job: SyncJob, source: SourceDescription) -> None:
        """From where the job reads on now: a server that has that has what the job reads by the time that it is stored,
        or it would be refused later, too. Blocks as long as the source takes.
        """
        last = self._store.epochs.last(job.id)
        assert last is not None, "a job begins with an epoch"
        read = [source_name(channel) for channel in job.channels if channel.history.stopped is None]
        self._check_continues(source, job.source, last.end, read)
        passing(CrashPoint.SOURCE_CHECKED)

    def store(self, job: SyncJob, node: SetSource, checked: SourceDescription) -> None:
        """In one statement: whoever dies leaves the old one or the new one. Raises STALE_JOB."""
        refuse_cancelled(job)
        after = moved(job, node)
        if after.source != checked:
            raise SyncError(Code.STALE_JOB, job=job.name)
        self._store.jobs.save(after)
        passing(CrashPoint.SOURCE_STORED)
