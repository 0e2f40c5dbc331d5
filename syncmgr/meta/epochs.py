"""The intents and epochs that the frontend stores, in SQL.

Owns: reading and writing epochs, what waits of them, consistent points, each change in one transaction.
Must not know: what an epoch holds, when it is committed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, func, insert, null, select, update

from syncmgr.job.epoch import Backlog, ChannelCommitted, Epoch, backlogs
from syncmgr.job.show_sync import Figures, WantedRows
from syncmgr.job.snapshot.retention import Kept, committed_last
from syncmgr.job.sync_job import JobId
from syncmgr.meta import channels, codec, ddl_log, dead_letters, progress
from syncmgr.meta.channels import ChannelProgress
from syncmgr.meta.database.database import Database
from syncmgr.meta.dead_letters import DeadLetters
from syncmgr.meta.loads import Loads
from syncmgr.meta.tables import EPOCHS, TOTALS

SOME: Final = 100  # epochs that are fetched at once by a search that may end with the first


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredEpoch:
    """`committed_at` None: an intent. `snapshots`: of each table by channel token; empty: no consistent point."""

    epoch: Epoch
    committed_at: float | None
    snapshots: Mapping[str, int | None]


class EpochStore:
    """Safe to use from any thread."""

    def __init__(self, database: Database, loads: Loads, letters: DeadLetters) -> None:
        self._database = database
        self._loads = loads
        self._letters = letters

    def add_intent(self, job_id: JobId, epoch: Epoch) -> None:
        with self._database.writing() as connection:
            connection.execute(insert(EPOCHS).values(job_id=job_id, **_epoch_values(epoch)))
            dead_letters.add(connection, job_id, epoch.number, epoch.dead)

    def commit(
        self,
        job_id: JobId,
        epoch: Epoch,
        committed: Mapping[str, ChannelCommitted],
        *,
        at: float,
        keep_since: float,
        consistent: bool = True,
    ) -> None:
        """The epoch is done in the tables of `committed`; the others' share of it keeps waiting.

        If none waits and it is `consistent` and whole, its consistent point is stored. The points before `keep_since`
        are deleted.
        """
        waiting = {token: files for token, files in epoch.files.items() if token not in committed}
        with self._database.writing() as connection:
            progress.record(connection, committed, epoch.number)
            this = (EPOCHS.c.job_id == job_id) & (EPOCHS.c.number == epoch.number)
            behind = waiting or _waits(connection, job_id)
            # a split transaction has none either
            is_point = consistent and epoch.end.whole and not behind
            point = progress.snapshots(connection, job_id) if is_point else {}
            files, count = codec.files_json(waiting), len(waiting) or None
            done = {"committed_at": at, "snapshots": point, "files": files, "waiting": count, "ddl": null()}
            connection.execute(update(EPOCHS).where(this).values(done))
            if epoch.ddl is not None:
                ddl_log.follow(connection, job_id, epoch, epoch.ddl)
            old = (EPOCHS.c.job_id == job_id) & (EPOCHS.c.number < epoch.number) & (EPOCHS.c.committed_at < keep_since)
            connection.execute(delete(EPOCHS).where(old, EPOCHS.c.waiting.is_(None)))
            stale = (EPOCHS.c.job_id == job_id) & (EPOCHS.c.number < epoch.number) & EPOCHS.c.prepared.is_not(null())
            connection.execute(update(EPOCHS).where(stale).values(prepared=null()))
            connection.execute(
                update(TOTALS)
                .where(TOTALS.c.job_id == job_id)
                .values(
                    rows=TOTALS.c.rows + epoch.rows,
                    bytes=TOTALS.c.bytes + epoch.bytes,
                    commits=TOTALS.c.commits + (0 if epoch.empty else 1),
                ),
            )

    def intents(self, job_id: JobId) -> list[Epoch]:
        """Epochs that were begun and not finished, in order."""
        query = select(EPOCHS).where(EPOCHS.c.job_id == job_id, EPOCHS.c.committed_at.is_(None))
        with self._database.reading() as connection:
            return [_epoch(row) for row in connection.execute(query.order_by(EPOCHS.c.number)).all()]

    def backlog(self, job_id: JobId) -> list[Epoch]:
        """Epochs that count and that some channel has not committed, in order; `files`: what waits."""
        query = select(EPOCHS).where(EPOCHS.c.job_id == job_id, EPOCHS.c.waiting.is_not(None))
        with self._database.reading() as connection:
            return [_epoch(row) for row in connection.execute(query.order_by(EPOCHS.c.number)).all()]

    def commit_channel(self, job_id: JobId, number: int, token: str, outcome: ChannelCommitted) -> None:
        """A channel has committed an epoch that already counted."""
        this = (EPOCHS.c.job_id == job_id) & (EPOCHS.c.number == number)
        with self._database.writing() as connection:
            progress.record(connection, {token: outcome}, number)
            stored = connection.execute(select(EPOCHS.c.files).where(this)).scalar_one()
            files = {of: segment for of, segment in stored.items() if of != token}
            connection.execute(update(EPOCHS).where(this).values(files=files, waiting=len(files) or None))

    def gather(self, job_id: JobId, token: str, numbers: Sequence[int]) -> None:
        """What a channel has not committed of these epochs, in order, waits with the last of them."""
        these = select(EPOCHS).where(EPOCHS.c.job_id == job_id, EPOCHS.c.number.in_(numbers)).order_by(EPOCHS.c.number)
        with self._database.writing() as connection:
            rows = connection.execute(these).all()
            gathered = [file for row in rows for file in row.files[token]]
            for row in rows:
                left = {of: segment for of, segment in row.files.items() if of != token}
                if row.number == numbers[-1]:
                    left[token] = gathered
                this = (EPOCHS.c.job_id == job_id) & (EPOCHS.c.number == row.number)
                values: dict[str, Any] = {"files": left, "waiting": len(left) or None}
                if row.number == numbers[-1]:
                    values["oldest_time"] = _epoch(rows[0]).since
                connection.execute(update(EPOCHS).where(this).values(values))

    def last(self, job_id: JobId) -> Epoch | None:
        """The newest epoch, committed or intended: where reading goes on."""
        query = select(EPOCHS).where(EPOCHS.c.job_id == job_id).order_by(EPOCHS.c.number.desc()).limit(1)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else _epoch(row)

    def all(self, job_id: JobId) -> list[StoredEpoch]:
        """All that are stored, in order."""
        return self.of(job_id, WantedRows())

    def of(self, job_id: JobId, wanted: WantedRows) -> list[StoredEpoch]:
        """Some of them, in order."""
        query = select(EPOCHS).where(EPOCHS.c.job_id == job_id, EPOCHS.c.number >= wanted.epoch)
        if wanted.since is not None:
            query = query.where(EPOCHS.c.committed_at >= wanted.since)
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(EPOCHS.c.number.desc()).limit(wanted.newest)).all()
        return [_stored(row) for row in reversed(rows)]

    def point(self, job_id: JobId, number: int | None) -> StoredEpoch | None:
        """The consistent point of that epoch; None: the newest one."""
        query = select(EPOCHS).where(EPOCHS.c.job_id == job_id, EPOCHS.c.committed_at.is_not(None))
        if number is not None:
            query = query.where(EPOCHS.c.number == number)
        newest_first = query.order_by(EPOCHS.c.number.desc()).execution_options(yield_per=SOME)
        with self._database.reading() as connection, connection.execute(newest_first) as rows:
            return next((_stored(row) for row in rows if row.snapshots), None)

    def figures(self, job_id: JobId) -> Figures:
        return self.figures_of([job_id])[job_id]

    def figures_of(self, job_ids: Sequence[JobId]) -> dict[JobId, Figures]:
        """Of those that are still stored."""
        found = (EPOCHS.c.job_id == TOTALS.c.job_id) & EPOCHS.c.committed_at.is_not(None)
        newest = select(EPOCHS.c.number).where(found).order_by(EPOCHS.c.number.desc()).limit(1).scalar_subquery()
        # each is searched from its end: there may be a thousand of each job, and their columns are long
        counted = select(TOTALS, newest.label("newest")).where(TOTALS.c.job_id.in_(job_ids)).subquery()
        query = select(counted, EPOCHS.c.end, EPOCHS.c.prepared, EPOCHS.c.source_time).outerjoin_from(
            counted, EPOCHS, (EPOCHS.c.job_id == counted.c.job_id) & (EPOCHS.c.number == counted.c.newest)
        )
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        letters = self._letters.counts(job_ids)
        return {JobId(row.job_id): _figures(row, letters.get(JobId(row.job_id), 0)) for row in rows}

    def progress(self, job_id: JobId) -> dict[str, ChannelProgress]:
        """By channel token."""
        return self.progress_of([job_id])

    def progress_of(self, job_ids: Sequence[JobId]) -> dict[str, ChannelProgress]:
        """Of the channels of all of them, by channel token."""
        with self._database.reading() as connection:
            return channels.progress(connection, job_ids)

    def resyncing(self, job_ids: Sequence[JobId]) -> dict[JobId, dict[str, float | None]]:
        """Which channels of these jobs are to be read again, and how stale they are until then."""
        with self._database.reading() as connection:
            return channels.resyncing(connection, job_ids)

    def waiting(self, job_id: JobId) -> dict[str, Backlog]:
        """What channels have not committed of epochs that count, by channel token."""
        return self.waiting_of([job_id]).get(job_id, {})

    def waiting_of(self, job_ids: Sequence[JobId]) -> dict[JobId, dict[str, Backlog]]:
        """Of jobs of which something waits."""
        query = select(EPOCHS).where(EPOCHS.c.job_id.in_(job_ids), EPOCHS.c.waiting.is_not(None))
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(EPOCHS.c.job_id, EPOCHS.c.number)).all()
        return {JobId(job_id): backlogs(map(_epoch, of)) for job_id, of in groupby(rows, lambda row: row.job_id)}

    def oldest_snapshot(self, token: str, job_id: JobId) -> int | None:
        """The snapshot of a channel's table at the oldest kept consistent point."""
        query = (
            select(EPOCHS.c.snapshots)
            .where(EPOCHS.c.job_id == job_id, EPOCHS.c.committed_at.is_not(None))
            .order_by(EPOCHS.c.number)
            .execution_options(yield_per=SOME)
        )
        with self._database.reading() as connection, connection.execute(query) as rows:
            return next((row.snapshots[token] for row in rows if row.snapshots.get(token) is not None), None)

    def kept(self, job_id: JobId, tokens: Sequence[str], since: float) -> Kept:
        """Which snapshots of a table must stay. `tokens`: of the channels that commit to it; `since`: from when on, if
        no point is kept.
        """
        point = self.oldest_snapshot(tokens[0], job_id)
        if point is not None:
            return Kept(point=point)
        last = committed_last(tokens, self.progress(job_id), self._loads.of(job_id))
        # Read again: a point that was stored meanwhile is of what was committed before, or later.
        return Kept(point=self.oldest_snapshot(tokens[0], job_id), since=since, last=last)


def begin(connection: Connection, job_id: JobId, epoch: Epoch, *, at: float) -> None:
    """The first of a new job, which counts from its beginning."""
    committed = {"committed_at": at, "snapshots": {}}
    connection.execute(insert(EPOCHS).values(job_id=job_id, **_epoch_values(epoch), **committed))
    connection.execute(insert(TOTALS).values(job_id=job_id, rows=0, bytes=0, commits=0))


def _waits(connection: Connection, job_id: JobId) -> bool:
    """Whether a channel of the job is behind."""
    query = select(func.count()).where(EPOCHS.c.job_id == job_id, EPOCHS.c.waiting.is_not(None))
    return bool(connection.execute(query).scalar_one())


def _epoch_values(epoch: Epoch) -> dict[str, Any]:
    return {
        "number": epoch.number,
        "end": codec.position_json(epoch.end),
        "last_seq": epoch.last_seq,
        "files": codec.files_json(epoch.files),
        "rows": epoch.rows,
        "bytes": epoch.bytes,
        "source_time": epoch.source_time,
        "oldest_time": epoch.oldest_time,
        "prepared": codec.prepared_json(epoch.prepared) if epoch.prepared else null(),
        "ddl": null() if epoch.ddl is None else codec.ddl_json(epoch.ddl),
    }


def _figures(row: Row[Any], dead_letters: int) -> Figures:
    is_begun = row.newest is not None
    return Figures(
        position=codec.position_of(row.end) if is_begun else None,
        rows=row.rows,
        bytes=row.bytes,
        commits=row.commits,
        prepared=sum(bool(one.files) for one in codec.prepared_of(row.prepared).values()) if is_begun else 0,
        dead_letters=dead_letters,
        synced_until=row.source_time or None,
    )


def _stored(row: Row[Any]) -> StoredEpoch:
    return StoredEpoch(epoch=_epoch(row), committed_at=row.committed_at, snapshots=row.snapshots or {})


def _epoch(row: Row[Any]) -> Epoch:
    return Epoch(
        number=row.number,
        end=codec.position_of(row.end),
        last_seq=row.last_seq,
        files=codec.files_of(row.files),
        rows=row.rows,
        bytes=row.bytes,
        source_time=row.source_time,
        oldest_time=row.oldest_time,
        prepared=codec.prepared_of(row.prepared),
        ddl=codec.ddl_of(row.ddl),
    )
