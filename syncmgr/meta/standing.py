"""At which snapshot of its table each channel stands, in SQL.

Owns: that all channels of one table stand at the same.
Must not know: epochs, chunks, what a channel commits.
"""

from sqlalchemy import Connection, select, update

from syncmgr.job.epoch import ChannelCommitted
from syncmgr.job.sync_job import JobId
from syncmgr.meta.tables import CHANNELS


def stand(connection: Connection, token: str, outcome: ChannelCommitted) -> None:
    """The snapshot of its table is that of its commit. Where others commit to the table too, the newest is that of
    each of them: a consistent point has the rows of all.
    """
    if outcome.snapshot is None:
        return
    if outcome.sequence is None:
        this = CHANNELS.c.token == token
        connection.execute(update(CHANNELS).where(this).values(last_snapshot=outcome.snapshot))
        return
    older = CHANNELS.c.token.in_(_of_one_target(connection, token)) & (CHANNELS.c.last_sequence < outcome.sequence)
    values = {"last_snapshot": outcome.snapshot, "last_sequence": outcome.sequence}
    connection.execute(update(CHANNELS).where(older).values(**values))


def _of_one_target(connection: Connection, token: str) -> list[str]:
    """The channels of its job that commit to the table to which this one does."""
    mine = select(CHANNELS.c.job_id).where(CHANNELS.c.token == token).scalar_subquery()
    query = select(CHANNELS.c.token, CHANNELS.c.description).where(CHANNELS.c.job_id == mine)
    targets = {
        row.token: (row.description["target_db"], row.description["target"]) for row in connection.execute(query)
    }
    return [each for each, target in targets.items() if target == targets[token]]


def snapshots(connection: Connection, job_id: JobId) -> dict[str, int | None]:
    """What each channel of a job committed last."""
    query = select(CHANNELS.c.token, CHANNELS.c.last_snapshot).where(CHANNELS.c.job_id == job_id)
    return {row.token: row.last_snapshot for row in connection.execute(query).all()}
