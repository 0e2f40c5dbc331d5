"""Which channel of a job a statement means.

Owns: the names by which a table of a job is found, including its former ones.
Must not know: what is done with it.
"""

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import SyncJob
from syncsql import Name


def channel_of(job: SyncJob, table: Name) -> ChannelDescription:
    """The one that reads a source table. Raises NO_SUCH_CHANNEL."""
    found = [c for c in job.channels if c.source.name == table.name and table.db in {None, c.source.db}]
    if len(found) != 1:
        label = table.name if table.db is None else f"{table.db}.{table.name}"
        names = ", ".join(channel.source.label for channel in found or job.channels)
        raise SyncError(Code.NO_SUCH_CHANNEL, job=job.name, table=label, tables=names)
    return found[0]


def resynced(job: SyncJob, table: Name) -> ChannelDescription:
    """The one that reads a source table, or that is no longer read and once had that name: if names were changed back,
    it is found there; if the name was given to another table, that one is chosen. Raises NO_SUCH_CHANNEL.
    """
    try:
        return channel_of(job, table)
    except SyncError:
        all_stand = job.state is JobState.PAUSED_BY_ERROR
        found = [c for c in job.channels if (all_stand or c.history.stopped is not None) and _had(c, table)]
        if len(found) != 1:
            raise
        return found[0]


def place(channel: ChannelDescription, table: Name) -> Table:
    """Where the table in question is."""
    if channel.source.name == table.name and table.db in {None, channel.source.db}:
        return source_name(channel)
    return next(
        (s.db, s.name) for s in channel.history.shadows if s.left and s.name == table.name and table.db in {None, s.db}
    )


def leaves_name(job: SyncJob, table: Name) -> bool:
    """Whether RESYNC of that table means another one than its channel has read. Raises NO_SUCH_CHANNEL."""
    channel = resynced(job, table)
    return place(channel, table) != source_name(channel)


def source_name(channel: ChannelDescription) -> Table:
    return channel.source.db, channel.source.name


def _had(channel: ChannelDescription, table: Name) -> bool:
    return any(s.left and s.name == table.name and table.db in {None, s.db} for s in channel.history.shadows)


def refuse_cancelled(job: SyncJob) -> None:
    if job.state is JobState.CANCELLED:
        raise SyncError(Code.ILLEGAL_TRANSITION, state=job.state.shown, event="altered")


def refuse_lost(job: SyncJob, what: str) -> None:
    """`what`: would bring rows of one table, which the job could not follow. Raises POSITION_LOST_FOR_ALL."""
    if job.paused_by == Code.SOURCE_POSITION_LOST.number:
        raise SyncError(Code.POSITION_LOST_FOR_ALL, what=what)


def kind_of(job: SyncJob) -> str:
    """Of its source, as statements name it."""
    return job.source.kind.lower()
