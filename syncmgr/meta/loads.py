"""What the frontend stores of snapshots, in SQL.

Owns: reading and writing plans, done chunks and upper bounds, each change in one transaction.
Must not know: how a table is cut or read.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, Row, delete, false, func, insert, null, select, update

from syncmgr.job.ddl.lake_change import LakeChange
from syncmgr.job.epoch import ChannelCommitted
from syncmgr.job.position import Position
from syncmgr.job.snapshot.chunk import ChunkPlan, Load, numbers_of, numbers_text
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.job.sync_job import JobId
from syncmgr.meta import codec, dead_letters, progress
from syncmgr.meta.tables import CHANNELS, EPOCHS, LOADS, TOTALS

Connecting = Callable[[], AbstractContextManager[Connection]]


class Loads:
    """The snapshots of all jobs. Safe to use from any thread; every call is one transaction."""

    def __init__(self, reading: Connecting, writing: Connecting) -> None:
        self._reading = reading
        self._writing = writing

    def of(self, job_id: JobId) -> dict[str, Load]:
        """By channel token, in the order of the channels; empty for a job without a snapshot."""
        return self.of_jobs([job_id]).get(job_id, {})

    def of_jobs(self, job_ids: Sequence[JobId]) -> dict[JobId, dict[str, Load]]:
        """As `of`, without jobs that have none."""
        with self._reading() as connection:
            return loads_of(connection, job_ids)

    def begin_anew(self, excerpts: Mapping[str, KeyRange | None]) -> None:
        """Nothing of these tables has been read; new rows replace what they have, or that part."""
        with self._writing() as connection:
            begin(connection, frozenset(excerpts), replaces=True, excerpts=excerpts)

    def plan(self, token: str, plan: ChunkPlan) -> None:
        with self._writing() as connection:
            connection.execute(update(LOADS).where(LOADS.c.token == token).values(plan=codec.plan_json(plan)))

    def add_chunk(self, job_id: JobId, token: str, number: int, committed: ChannelCommitted) -> None:
        """A chunk is in the lake, except its dead letters. One that is already known counts once."""
        with self._writing() as connection:
            this = LOADS.c.token == token
            load = _load(connection.execute(select(LOADS).where(this)).one())
            if number in load.done:
                return
            done = numbers_text(load.done | {number})
            connection.execute(update(LOADS).where(this).values(done=done, rows=load.rows + committed.rows))
            progress.record(connection, {token: committed})
            dead_letters.add(connection, job_id, 0, committed.dead)
            came = {"rows": TOTALS.c.rows + committed.rows, "bytes": TOTALS.c.bytes + committed.bytes}
            totals = {**came, "commits": TOTALS.c.commits + 1}
            connection.execute(update(TOTALS).where(TOTALS.c.job_id == job_id).values(**totals))

    def end(self, tokens: Collection[str], upper: Position) -> None:
        """Every chunk of these tables is in the lake."""
        with self._writing() as connection:
            these = LOADS.c.token.in_(tokens)
            connection.execute(update(LOADS).where(these).values(upper=codec.position_json(upper)))

    def catch_up(self, job_id: JobId, tokens: Collection[str]) -> None:
        """The upper bounds of these tables have been passed.

        If they are all, and nothing had to be read for that, the start is a consistent point.
        """
        with self._writing() as connection:
            connection.execute(update(LOADS).where(LOADS.c.token.in_(tokens)).values(caught_up=True))
            others = LOADS.c.token.in_(_tokens(job_id)) & LOADS.c.caught_up.is_(false())
            left = connection.execute(select(func.count()).select_from(LOADS).where(others)).scalar_one()
            mine = EPOCHS.c.job_id == job_id
            newest = connection.execute(select(func.max(EPOCHS.c.number)).where(mine)).scalar_one()
            if newest == 0 and not left:
                point = progress.snapshots(connection, job_id)
                connection.execute(update(EPOCHS).where(mine, EPOCHS.c.number == 0).values(snapshots=point))


def loads_of(connection: Connection, job_ids: Sequence[JobId]) -> dict[JobId, dict[str, Load]]:
    """By job and channel token, in the order of the channels."""
    query = (
        select(LOADS, CHANNELS.c.job_id)
        .join(CHANNELS, CHANNELS.c.token == LOADS.c.token)
        .where(CHANNELS.c.job_id.in_(job_ids))
        .order_by(CHANNELS.c.ordinal)
    )
    found = defaultdict[JobId, dict[str, Load]](dict)
    for row in connection.execute(query).all():
        found[JobId(row.job_id)][row.token] = _load(row)
    return found


def begin(
    connection: Connection,
    tokens: frozenset[str],
    *,
    replaces: bool = False,
    excerpts: Mapping[str, KeyRange | None] = MappingProxyType({}),
    changes: Mapping[str, tuple[LakeChange, ...]] = MappingProxyType({}),
    stale: Mapping[str, float | None] = MappingProxyType({}),
) -> None:
    """Channels whose rows, or parts of them, come by a snapshot first, perhaps not for the first time.

    `changes`: of their targets, in the commit of the rows; what an earlier read was to make is still made. `stale`: up
    to where those are complete until then, if known; otherwise as an earlier, incomplete read recorded.
    """
    earlier = [_load(row) for row in connection.execute(select(LOADS).where(LOADS.c.token.in_(tokens))).all()]
    changes = {load.token: load.changes for load in earlier if load.reshapes} | dict(changes)
    stale = {load.token: load.stale_since for load in earlier if load.upper is None} | dict(stale)
    generations = {load.token: load.generation + 1 for load in earlier}
    now = time.time()
    connection.execute(delete(LOADS).where(LOADS.c.token.in_(tokens)))
    for token in sorted(tokens):
        values = {"plan": null(), "done": "", "rows": 0, "upper": null(), "caught_up": False, "replaces": replaces}
        excerpt = codec.excerpt_json(excerpts.get(token))
        values["excerpt"] = null() if excerpt is None else excerpt
        values["changes"] = codec.changes_json(changes[token]) if changes.get(token) else null()
        values |= {"generation": generations.get(token, 0), "begun_at": now}
        values |= {"stale_since": stale.get(token, None if replaces else 0.0)}
        connection.execute(insert(LOADS).values(token=token, **values))


def _tokens(job_id: JobId) -> Any:  # noqa: ANN401 - a subquery
    return select(CHANNELS.c.token).where(CHANNELS.c.job_id == job_id).scalar_subquery()


def _load(row: Row[Any]) -> Load:
    return Load(
        token=row.token,
        plan=None if row.plan is None else codec.plan_of(row.plan),
        done=numbers_of(row.done),
        rows=row.rows,
        upper=None if row.upper is None else codec.position_of(row.upper),
        caught_up=row.caught_up,
        replaces=row.replaces,
        excerpt=codec.excerpt_of(row.excerpt),
        changes=codec.changes_of(row.changes),
        begun_at=row.begun_at,
        generation=row.generation,
        stale_since=row.stale_since,
    )
