"""The jobs that the frontend stores, in SQL.

Owns: reading and writing jobs and their channels, each change in one transaction.
Must not know: when a job may change, what an epoch holds.
"""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, delete, func, insert, select, update

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.epoch import Epoch
from syncmgr.job.position import Position
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.job.snapshot.renewal import Renewal
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import JobId, SyncJob
from syncmgr.job.types.schema import SourceTable
from syncmgr.meta import channels, codec, epochs
from syncmgr.meta.channels import Joining
from syncmgr.meta.database.database import Database
from syncmgr.meta.tables import JOBS

_PLAIN = (
    "db",
    "name",
    "version",
    "properties",
    "statement",
    "created_at",
    "last_start_at",
    "last_stop_at",
    "finished_at",
    "failures",
    "resume_at",
    "synced_until",
    "creator",
)


class Ended(NamedTuple):
    """A job that was cancelled: when (unix seconds), and the account that had created it, if that is known."""

    id: JobId
    at: float
    creator: str | None


class JobLabel(NamedTuple):
    """What a job is called."""

    id: JobId
    db: str
    name: str


class JobStore:
    """Safe to use from any thread."""

    def __init__(self, database: Database, vault: codec.Vault) -> None:
        self._database = database
        self._vault = vault

    def add(
        self,
        job: SyncJob,
        start: Position,
        start_time: float,
        loading: frozenset[str] = frozenset(),
    ) -> SyncJob:
        """Store a new job with its start as epoch 0; its id is given here. `loading`: tokens of the channels whose
        rows come by a snapshot first. Raises JOB_EXISTS, TARGET_IN_USE.
        """
        with self._database.writing() as connection:
            _refuse_taken(connection, job)
            result = connection.execute(insert(JOBS).values(**self._job_values(job)))
            assert result.inserted_primary_key is not None
            job_id = JobId(result.inserted_primary_key[0])
            channels.join(connection, job_id, Joining(channels=job.channels, loading=loading))
            begin = Epoch(number=0, end=start, last_seq=0, source_time=start_time)
            epochs.begin(connection, job_id, begin, at=job.created_at)
            return self._job(connection, select(JOBS).where(JOBS.c.id == job_id))[0]

    def save(self, job: SyncJob) -> SyncJob:
        """Compare and set: the stored job must be the one before. Its channels stay. Raises STALE_JOB."""
        with self._database.writing() as connection:
            self._save(connection, job)
        return job

    def keep_synced_until(self, job_id: JobId, at: float) -> None:
        """The source time up to which a job's tables are known to be complete, unix seconds; it never decreases. The
        version of the job stays.
        """
        older = (JOBS.c.id == job_id) & (func.coalesce(JOBS.c.synced_until, 0.0) < at)
        with self._database.writing() as connection:
            connection.execute(update(JOBS).where(older).values(synced_until=at))

    def _save(self, connection: Connection, job: SyncJob) -> None:
        this = (JOBS.c.id == job.id) & (JOBS.c.version == job.version - 1)
        if connection.execute(update(JOBS).where(this).values(**self._job_values(job))).rowcount != 1:
            raise SyncError(Code.STALE_JOB, job=job.name)

    def alter(
        self,
        job: SyncJob,
        *,
        joining: Joining | None = None,
        leaving: Collection[str] = (),
        resyncing: Mapping[str, KeyRange | None] = MappingProxyType({}),
        changed: Collection[Renewal] = (),
        stale: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        """Save the job, with channels that it gets, and others that from the next `part` on leave or are read again: a
        part of their rows, or all.

        `changed`: what some of them are from here on, and what their targets become with their rows. `stale`: the
        source time up to which targets are complete until then, of others whose changes wait meanwhile.

        Raises STALE_JOB, TARGET_IN_USE.
        """
        with self._database.writing() as connection:
            self._save(connection, job)
            if joining is not None:
                _refuse_targets(connection, joining.channels, f"{job.db}.{job.name}")
                channels.join(connection, job.id, joining)
            channels.describe(connection, [renewal.channel for renewal in changed])
            channels.mark(connection, leaving=leaving, resyncing=resyncing)
            channels.renew(connection, changed)
            channels.wait(connection, stale)

    def apply_pending(self, job_id: JobId) -> None:
        """Removes the channels that are to leave, with everything that waits for them, and marks those that are to be
        read again as having nothing read. Nothing of the job may run.
        """
        with self._database.writing() as connection:
            channels.remove_leaving(connection, job_id)
            channels.resync(connection, job_id)

    def learn(self, token: str, source: SourceTable) -> None:
        """The columns of a channel's source, as its first rows have shown."""
        with self._database.writing() as connection:
            channels.learn(connection, token, source)

    def describe(self, channel: ChannelDescription) -> None:
        """A channel is changed from here on."""
        with self._database.writing() as connection:
            channels.redescribe(connection, channel)

    def all(self, db: str | None = None, *, live: bool = False) -> list[SyncJob]:
        """All jobs of a database (of all databases), by id. `live`: without cancelled ones."""
        query = select(JOBS).order_by(JOBS.c.id)
        query = query.where(JOBS.c.finished_at.is_(None)) if live else query
        with self._database.reading() as connection:
            found = self._job(connection, query if db is None else query.where(JOBS.c.db == db))
        return [job for job in found if db in {None, job.db}]

    def labels(self, db: str | None = None, *, live: bool = False) -> list[JobLabel]:
        """As `all`, without their channels, of which a job may have thousands."""
        query = select(JOBS.c.id, JOBS.c.db, JOBS.c.name).order_by(JOBS.c.id)
        query = query.where(JOBS.c.finished_at.is_(None)) if live else query
        with self._database.reading() as connection:
            rows = connection.execute(query if db is None else query.where(JOBS.c.db == db)).all()
        return [JobLabel(JobId(row.id), row.db, row.name) for row in rows if db in {None, row.db}]

    def of(self, job_ids: Collection[JobId]) -> list[SyncJob]:
        """Those of them that are still stored, by id."""
        with self._database.reading() as connection:
            return self._job(connection, select(JOBS).where(JOBS.c.id.in_(job_ids)).order_by(JOBS.c.id))

    def count_live(self, creator: str | None = None) -> int:
        """How many there are that were not cancelled (of one account)."""
        query = select(JOBS.c.creator).where(JOBS.c.finished_at.is_(None))
        with self._database.reading() as connection:
            return sum(creator in {None, each} for each in connection.execute(query).scalars())

    def ended(self) -> list[Ended]:
        """The stored cancelled jobs, by id."""
        query = select(JOBS.c.id, JOBS.c.finished_at, JOBS.c.creator).where(JOBS.c.finished_at.is_not(None))
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(JOBS.c.id)).all()
        return [Ended(JobId(row.id), row.finished_at, row.creator) for row in rows]

    def by_id(self, job_id: JobId) -> SyncJob | None:
        with self._database.reading() as connection:
            found = self._job(connection, select(JOBS).where(JOBS.c.id == job_id))
        return found[0] if found else None

    def by_name(self, db: str, name: str) -> SyncJob:
        """The live job of that name, otherwise the one that was cancelled last. Raises UNKNOWN_JOB."""
        with self._database.reading() as connection:
            query = select(JOBS).where(JOBS.c.db == db, JOBS.c.name == name).order_by(JOBS.c.id)
            found = [job for job in self._job(connection, query) if (job.db, job.name) == (db, name)]
        if not found:
            raise SyncError(Code.UNKNOWN_JOB, job=name, db=db)
        return next((job for job in found if job.state is not JobState.CANCELLED), found[-1])

    def forget(self, job_id: JobId) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(JOBS).where(JOBS.c.id == job_id))

    def target_of(self, db: str, table: str) -> str | None:
        """The job, not cancelled, that a table is a target of."""
        with self._database.reading() as connection:
            return channels.owner(connection, db, table)

    def filled_columns(self, db: str, table: str) -> dict[str, str]:
        """The columns of a table that jobs, not cancelled, fill, folded as in the lake, each with its job."""
        with self._database.reading() as connection:
            return channels.filled(connection, db, table)

    def has_channel(self, token: str) -> bool:
        """Of any stored job, including cancelled ones."""
        with self._database.reading() as connection:
            return channels.is_known(connection, token)

    def _job(self, connection: Connection, query: Select[Any]) -> list[SyncJob]:
        rows = connection.execute(query).all()
        found = channels.of(connection, [JobId(row.id) for row in rows])
        return [self._value(row, found.get(JobId(row.id), ())) for row in rows]

    def _value(self, row: Row[Any], channels: tuple[ChannelDescription, ...]) -> SyncJob:
        plain = {name: getattr(row, name) for name in _PLAIN}
        return SyncJob(
            **plain,
            id=JobId(row.id),
            state=JobState(row.state),
            source=codec.source_of(row.source, self._vault),
            channels=channels,
            fail=codec.fail_of(row.fail),
        )

    def _job_values(self, job: SyncJob) -> dict[str, Any]:
        plain = {name: getattr(job, name) for name in _PLAIN}
        return plain | {
            "state": job.state.value,
            "properties": dict(job.properties),
            "source": codec.source_json(job.source, self._vault),
            "fail": codec.fail_json(job.fail),
        }


def _refuse_taken(connection: Connection, job: SyncJob) -> None:
    live = select(JOBS.c.db, JOBS.c.name).where(
        JOBS.c.db == job.db,
        JOBS.c.name == job.name,
        JOBS.c.state != JobState.CANCELLED.value,
    )
    if (job.db, job.name) in {tuple(row) for row in connection.execute(live)}:
        raise SyncError(Code.JOB_EXISTS, job=job.name, db=job.db)
    _refuse_targets(connection, job.channels)


def _refuse_targets(connection: Connection, wanted: Iterable[ChannelDescription], job: str | None = None) -> None:
    """`job`: the one that gets them; it may already have the target if each channel has a part of it."""
    for channel in wanted:
        owner = channels.owner(connection, channel.target_db, channel.target)
        if owner is not None and (channel.part is None or owner != job):
            raise SyncError(Code.TARGET_IN_USE, table=f"{channel.target_db}.{channel.target}", job=owner)
