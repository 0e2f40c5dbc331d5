"""How far each channel is, and at which snapshot of its table, in SQL.

Owns: that all channels of one table are at the same snapshot.
Must not know: epochs, chunks, what a channel commits.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, select, update

from syncmgr.job.epoch import ChannelCommitted
from syncmgr.job.sync_job import JobId
from syncmgr.meta.tables import CHANNELS


def record(connection: Connection, outcomes: Mapping[str, ChannelCommitted], epoch: int | None = None) -> None:
    """The effect of these commits on channels of one job, by token. `epoch`: the one that they have committed, None: no
    whole one.

    If others commit to a table too, its newest snapshot is that of each of them: a consistent point has the rows of
    all.
    """
    shared: dict[str, tuple[int, int]] = {}
    for token, outcome in outcomes.items():
        values: dict[str, Any] = {} if epoch is None else {"last_epoch": epoch}
        if outcome.snapshot is not None and outcome.shared:
            shared[token] = outcome.sequence, outcome.snapshot
        elif outcome.snapshot is not None:
            values |= {"last_snapshot": outcome.snapshot, "last_sequence": outcome.sequence}
        if values:
            connection.execute(update(CHANNELS).where(CHANNELS.c.token == token).values(**values))
    for tokens, (sequence, snapshot) in _newest(connection, shared):
        older = CHANNELS.c.token.in_(tokens) & (CHANNELS.c.last_sequence < sequence)
        connection.execute(update(CHANNELS).where(older).values(last_snapshot=snapshot, last_sequence=sequence))


def _newest(
    connection: Connection, shared: Mapping[str, tuple[int, int]]
) -> Iterator[tuple[list[str], tuple[int, int]]]:
    """For each table, all channels that commit to it and the newest of these (sequence, snapshot)."""
    if not shared:
        return
    job = select(CHANNELS.c.job_id).where(CHANNELS.c.token == next(iter(shared))).scalar_subquery()
    query = select(CHANNELS.c.token, CHANNELS.c.description).where(CHANNELS.c.job_id == job)
    tables: dict[tuple[str, str], list[str]] = {}
    for row in connection.execute(query):
        tables.setdefault((row.description["target_db"], row.description["target"]), []).append(row.token)
    for tokens in tables.values():
        found = [shared[token] for token in tokens if token in shared]
        if found:
            yield tokens, max(found)


def snapshots(connection: Connection, job_id: JobId) -> dict[str, int | None]:
    """What each channel of a job committed last."""
    query = select(CHANNELS.c.token, CHANNELS.c.last_snapshot).where(CHANNELS.c.job_id == job_id)
    return {row.token: row.last_snapshot for row in connection.execute(query).all()}
