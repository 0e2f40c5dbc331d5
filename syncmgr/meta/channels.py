"""The channels of jobs, in SQL.

Owns: which channels a job has, how one joins a job or leaves it, how far each is.
Must not know: what a channel commits, when one may leave.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, delete, func, insert, null, select, update

from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.lake_change import LakeChange
from syncmgr.job.epoch import LastCommit
from syncmgr.job.snapshot.chunk import Load
from syncmgr.job.snapshot.key_range import KeyRange, widened
from syncmgr.job.snapshot.renewal import Renewal
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import JobId
from syncmgr.job.types.folding import folded_in_lake
from syncmgr.job.types.schema import SourceTable
from syncmgr.meta import codec, loads
from syncmgr.meta.tables import CHANNELS, DEAD_LETTERS, EPOCHS, JOBS

Connecting = Callable[[], AbstractContextManager[Connection]]


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelProgress:
    """How far a channel's table is. `resyncing`: it is to be read again, which has not begun; `stale_since` and
    `changes`: as that read will have them.
    """

    token: str
    last: LastCommit
    resyncing: bool = False
    stale_since: float | None = None
    changes: tuple[LakeChange, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Joining:
    """Channels that a job gets. `loading`: tokens of those whose rows come by a snapshot first."""

    channels: Sequence[ChannelDescription]
    loading: frozenset[str] = frozenset()


def of(connection: Connection, job_ids: Sequence[JobId]) -> dict[JobId, tuple[ChannelDescription, ...]]:
    """By job, in their order."""
    found = defaultdict[JobId, list[ChannelDescription]](list)
    query = select(CHANNELS.c.job_id, CHANNELS.c.description).where(CHANNELS.c.job_id.in_(job_ids))
    for row in connection.execute(query.order_by(CHANNELS.c.ordinal)):
        found[JobId(row.job_id)].append(codec.channel_of(row.description))
    return {job_id: tuple(channels) for job_id, channels in found.items()}


def join(connection: Connection, job_id: JobId, joining: Joining) -> None:
    """After those that the job has."""
    last = connection.execute(select(func.max(CHANNELS.c.ordinal)).where(CHANNELS.c.job_id == job_id)).scalar()
    for ordinal, channel in enumerate(joining.channels, 0 if last is None else last + 1):
        values = {
            "token": channel.token,
            "job_id": job_id,
            "ordinal": ordinal,
            "description": codec.channel_json(channel),
            "last_snapshot": None,
            "last_sequence": 0,
            "last_epoch": 0,
            "leaving": False,
            "resyncing": False,
            "excerpt": null(),
            "changes": null(),
            "stale_since": None,
        }
        connection.execute(insert(CHANNELS).values(values))
    loads.begin(connection, joining.loading)


def mark(connection: Connection, *, leaving: Collection[str], resyncing: Mapping[str, KeyRange | None]) -> None:
    """What happens to channels when the run that may still commit to them has ended."""
    connection.execute(update(CHANNELS).where(CHANNELS.c.token.in_(leaving)).values(leaving=True))
    for token, wanted in resyncing.items():
        this = CHANNELS.c.token == token
        row = connection.execute(select(CHANNELS.c.resyncing, CHANNELS.c.excerpt).where(this)).one()
        read = widened(codec.excerpt_of(row.excerpt), wanted) if row.resyncing else wanted
        connection.execute(update(CHANNELS).where(this).values(resyncing=True, excerpt=_stored(read)))


def renew(connection: Connection, changed: Iterable[Renewal]) -> None:
    """What targets become when their tables are read again, and how stale they are until then."""
    for renewal in changed:
        values = {"changes": codec.changes_json(renewal.changes), "stale_since": renewal.stale_since}
        connection.execute(update(CHANNELS).where(CHANNELS.c.token == renewal.channel.token).values(values))


def wait(connection: Connection, stale: Mapping[str, float]) -> None:
    """How stale targets are until their tables, which stay as they are, are read again."""
    for token, since in stale.items():
        connection.execute(update(CHANNELS).where(CHANNELS.c.token == token).values(stale_since=since))


def _stored(read: KeyRange | None) -> Any:  # noqa: ANN401 - JSON, or SQL's NULL
    return null() if read is None else codec.excerpt_json(read)


def remove_leaving(connection: Connection, job_id: JobId) -> None:
    """Removes channels that are to leave, with everything that waits for them. Only while nothing of the job runs."""
    mine = CHANNELS.c.job_id == job_id
    tokens = frozenset(connection.execute(select(CHANNELS.c.token).where(mine, CHANNELS.c.leaving)).scalars())
    if not tokens:
        return
    for row in connection.execute(select(EPOCHS).where(EPOCHS.c.job_id == job_id)).all():
        values = _without(row, tokens)
        if values:
            this = (EPOCHS.c.job_id == job_id) & (EPOCHS.c.number == row.number)
            connection.execute(update(EPOCHS).where(this).values(values))
    connection.execute(delete(DEAD_LETTERS).where(DEAD_LETTERS.c.job_id == job_id, DEAD_LETTERS.c.token.in_(tokens)))
    connection.execute(delete(CHANNELS).where(CHANNELS.c.token.in_(tokens)))


def resync(connection: Connection, job_id: JobId) -> None:
    """Marks channels that are to be read again as having nothing read."""
    rows = connection.execute(select(CHANNELS).where(CHANNELS.c.job_id == job_id, CHANNELS.c.resyncing)).all()
    # Until the binlog has passed the point of a read, a statement before that point may make its rows wrong.
    open_loads = {
        token: load for token, load in loads.loads_of(connection, [job_id])[job_id].items() if not load.caught_up
    }
    excerpts = {row.token: _wanted(row, open_loads.get(row.token)) for row in rows}
    these = CHANNELS.c.token.in_(excerpts)
    changes = {row.token: codec.changes_of(row.changes) for row in rows if row.changes is not None}
    stale = {row.token: row.stale_since for row in rows if row.stale_since is not None}
    done = {"resyncing": False, "excerpt": null(), "changes": null(), "stale_since": None}
    connection.execute(update(CHANNELS).where(these).values(done))
    loads.begin(connection, frozenset(excerpts), replaces=True, excerpts=excerpts, changes=changes, stale=stale)


def _wanted(row: Any, load: Load | None) -> KeyRange | None:  # noqa: ANN401 - a row of channels
    """Which part of a channel is to be read: at least what is already being read. None: all rows."""
    read = codec.excerpt_of(row.excerpt)
    if load is not None:
        read = widened(load.excerpt, read)
    return read if read is not None and read.fits(codec.channel_of(row.description)) else None


def _without(row: Any, tokens: frozenset[str]) -> dict[str, Any]:  # noqa: ANN401 - a row of epochs
    """What changes in an epoch if these channels have no part in it."""
    values: dict[str, Any] = {}
    files = codec.files_of(row.files)
    if files.keys() & tokens:
        left = {token: segment for token, segment in files.items() if token not in tokens}
        waiting = None if row.waiting is None else len(left) or None
        values |= {"files": codec.files_json(left), "waiting": waiting}
    prepared = codec.prepared_of(row.prepared)
    if prepared:
        values["prepared"] = codec.prepared_json({xid: one.without(tokens) for xid, one in prepared.items()})
    step = codec.ddl_of(row.ddl)
    if step is not None:
        values["ddl"] = codec.ddl_json(step.without(tokens))
    return values


def learn(connection: Connection, token: str, source: SourceTable) -> None:
    """The columns of a channel's source, as its first rows have shown."""
    stored = connection.execute(select(CHANNELS).where(CHANNELS.c.token == token)).one()
    if not is_renewed(stored):
        describe(connection, (replace(codec.channel_of(stored.description), source=source),))


def redescribe(connection: Connection, channel: ChannelDescription) -> None:
    """What a channel is for the run; RESYNC's changes made meanwhile are newer, except whether it is stopped."""
    stored = connection.execute(select(CHANNELS).where(CHANNELS.c.token == channel.token)).one()
    if is_renewed(stored):
        renewed = codec.channel_of(stored.description)
        channel = replace(renewed, history=replace(renewed.history, stopped=channel.history.stopped))
    describe(connection, (channel,))


def is_renewed(row: Any) -> bool:  # noqa: ANN401 - a row of channels
    """Whether RESYNC has changed the channel, which the run that has yet to end does not know."""
    return bool(row.resyncing) and row.changes is not None


def describe(connection: Connection, changed: Iterable[ChannelDescription]) -> None:
    """What channels are from here on."""
    for channel in changed:
        values = {"description": codec.channel_json(channel)}
        connection.execute(update(CHANNELS).where(CHANNELS.c.token == channel.token).values(values))


def progress(connection: Connection, job_ids: Sequence[JobId]) -> dict[str, ChannelProgress]:
    """By channel token."""
    # without the descriptions, which are long
    facts = [CHANNELS.c[name] for name in ("token", "last_epoch", "last_snapshot", "last_sequence")]
    facts += [CHANNELS.c[name] for name in ("resyncing", "stale_since", "changes")]
    rows = connection.execute(select(*facts).where(CHANNELS.c.job_id.in_(job_ids))).all()
    return {
        row.token: ChannelProgress(
            token=row.token,
            last=LastCommit(epoch=row.last_epoch, snapshot=row.last_snapshot, sequence=row.last_sequence),
            resyncing=row.resyncing,
            stale_since=row.stale_since,
            changes=() if row.changes is None else codec.changes_of(row.changes),
        )
        for row in rows
    }


def resyncing(connection: Connection, job_ids: Sequence[JobId]) -> dict[JobId, dict[str, float | None]]:
    """Of channels that are to be read again, by job and token, how stale they are until then."""
    found = defaultdict[JobId, dict[str, float | None]](dict)
    query = select(CHANNELS.c.job_id, CHANNELS.c.token, CHANNELS.c.stale_since)
    for row in connection.execute(query.where(CHANNELS.c.job_id.in_(job_ids), CHANNELS.c.resyncing)):
        found[JobId(row.job_id)][row.token] = row.stale_since
    return found


def is_known(connection: Connection, token: str) -> bool:
    return connection.execute(select(CHANNELS.c.token).where(CHANNELS.c.token == token)).first() is not None


def owner(connection: Connection, db: str, table: str) -> str | None:
    """The job, not cancelled, that a table is a target of."""
    return next((job for job, _ in _of_target(connection, db, table)), None)


def filled(connection: Connection, db: str, table: str) -> dict[str, str]:
    """The columns of a table that jobs, not cancelled, fill, folded as in the lake, each with its job."""
    return {
        folded_in_lake(column["target"]): job
        for job, description in _of_target(connection, db, table)
        for column in description["columns"]
    }


def _of_target(connection: Connection, db: str, table: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Jobs, not cancelled, that have a table as a target, each with the stored description of the channel."""
    query = (
        select(JOBS.c.db, JOBS.c.name, CHANNELS.c.description)
        .join(CHANNELS, CHANNELS.c.job_id == JOBS.c.id)
        .where(JOBS.c.state != JobState.CANCELLED.value)
    )
    for row in connection.execute(query).all():
        if (row.description["target_db"], row.description["target"]) == (db, table):
            yield f"{row.db}.{row.name}", row.description
