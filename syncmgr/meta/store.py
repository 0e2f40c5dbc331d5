"""What the frontend remembers, in SQL.

Owns: reading and writing jobs, intents and epochs, each change in one transaction.
Must not know: when a job may change, what an epoch holds.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sqlalchemy import (
    Connection,
    Row,
    Select,
    delete,
    func,
    insert,
    inspect,
    null,
    select,
    update,
)
from sqlalchemy.exc import DataError, IntegrityError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.epoch import Backlog, ChannelCommitted, Epoch, backlogs
from syncmgr.job.position import Position
from syncmgr.job.show_sync import Figures
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.job.snapshot.renewal import Renewal
from syncmgr.job.snapshot.retention import Kept, committed_last
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import JobId, SyncJob
from syncmgr.job.types.schema import SourceTable
from syncmgr.meta import asked, channels, codec, ddl_log, dead_letters, loads, progress, versions
from syncmgr.meta.accounts import AccountStore
from syncmgr.meta.channels import ChannelProgress, Joining
from syncmgr.meta.engine import engine_of, refuse_charset
from syncmgr.meta.tables import EPOCHS, JOBS, OWNER, TOTALS


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """A frontend, and how often it has given a sign of life."""

    frontend: str
    beat: int


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredEpoch:
    """`committed_at` None: an intent. `snapshots`: of each table by channel token; empty: no consistent point."""

    epoch: Epoch
    committed_at: float | None
    snapshots: Mapping[str, int | None]


class Store:
    """The metadata database. Safe to use from any thread; every call is one transaction."""

    def __init__(self, url: str, vault: codec.Vault, timeout: float | None = None) -> None:
        """`timeout`: seconds that the database's server may take to answer; None: as long as its driver lets it."""
        self._url, self._engine = url, engine_of(url, timeout)
        self._vault = vault
        self._frontend: str | None = None  # whose it is, once that matters
        self.dead_letters = dead_letters.DeadLetters(self._reading)
        try:
            self._prepare()
        except BaseException:
            self._engine.dispose()
            raise

    def _prepare(self) -> None:
        """Its owner can be told, whatever version it has. Raises META_CHARSET, META_NEWER."""
        refuse_charset(self._engine)
        versions.refuse_newer(self._engine)
        try:
            OWNER.create(self._engine, checkfirst=True)
        except SQLAlchemyError:  # another one has made it since we looked
            if not inspect(self._engine).has_table(OWNER.name):
                raise

    @property
    def accounts(self) -> AccountStore:
        """The users of the console, in the same database."""
        return AccountStore(self._engine, self._writing)

    @property
    def loads(self) -> loads.Loads:
        """The snapshots of all jobs, in the same database."""
        return loads.Loads(self._reading, self._writing)

    @property
    def asked(self) -> asked.Asked:
        """Until when the sources of all jobs have answered."""
        return asked.Asked(self._reading, self._writing)

    @property
    def ddl(self) -> ddl_log.DdlLog:
        """What was done with DDL."""
        return ddl_log.DdlLog(self._reading, self._writing)

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Raises META_DOWN."""
        with _naming_failures(), self._engine.connect() as connection:
            yield connection

    # -- whose it is

    def owner(self) -> Owner | None:
        """Which frontend had it last, or has it."""
        with self._engine.connect() as connection:
            row = connection.execute(select(OWNER)).first()
        return None if row is None else Owner(frontend=row.frontend, beat=row.beat)

    def take_over(self, frontend: str, seen: Owner | None) -> bool:
        """Whether it is ours now; False where the owner is not the one that was seen. Raises META_NEWER."""
        versions.refuse_newer(self._engine)  # the owner may have brought it there since we looked
        if seen is None:
            taken = self._is_first(frontend)
        else:
            this = (OWNER.c.frontend == seen.frontend) & (OWNER.c.beat == seen.beat)
            with self._engine.begin() as connection:
                changed = connection.execute(update(OWNER).where(this).values(frontend=frontend, beat=seen.beat + 1))
            taken = changed.rowcount == 1
        if taken:
            self._frontend = frontend
        return taken

    def _is_first(self, frontend: str) -> bool:
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(OWNER).values(id=1, frontend=frontend, beat=0))
        except IntegrityError:
            return False
        return True

    def migrate(self) -> None:
        """To this program's version. Only by the owner, whose signs of life go on meanwhile. Raises META_OWNED where
        another has taken over.
        """
        self.hold()
        patient = engine_of(self._url)  # a server may need longer for a step than for an answer
        try:
            versions.migrate(patient, between=self._hold_beside)
        finally:
            patient.dispose()

    def _hold_beside(self, migrating: Connection) -> None:
        """SQLite has one writer at a time: whoever waits for that to take over is told here that we live."""
        if migrating.dialect.name == "sqlite":
            self._hold(migrating)
        else:
            self.hold()

    def beat(self, frontend: str) -> bool:
        """A sign of life; False where it belongs to another."""
        with self._engine.begin() as connection:
            return _beat(connection, frontend)

    def disown(self, frontend: str) -> None:
        """It is free at once, and whatever is written late is refused."""
        with self._engine.begin() as connection:
            connection.execute(delete(OWNER).where(OWNER.c.frontend == frontend))

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """One transaction, which a takeover waits for or refuses. Raises META_OWNED, META_GIVEN_BACK, META_DOWN."""
        with _naming_failures(), self._engine.begin() as connection:
            self._hold(connection)
            yield connection

    def _hold(self, connection: Connection) -> None:
        if self._frontend is not None and not _beat(connection, self._frontend):
            raise _lost(connection.execute(select(OWNER.c.frontend)).scalar())

    def hold(self) -> None:
        """What was read is still so if nobody has taken over since. Raises META_OWNED, META_GIVEN_BACK, META_DOWN."""
        with self._writing():
            pass

    # -- jobs

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
        with self._writing() as connection:
            _refuse_taken(connection, job)
            result = connection.execute(insert(JOBS).values(**self._job_values(job)))
            assert result.inserted_primary_key is not None
            job_id = JobId(result.inserted_primary_key[0])
            channels.join(connection, job_id, Joining(channels=job.channels, loading=loading))
            begin = Epoch(number=0, end=start, last_seq=0, source_time=start_time)
            committed = {"committed_at": job.created_at, "snapshots": {}}
            connection.execute(insert(EPOCHS).values(job_id=job_id, **_epoch_values(begin), **committed))
            connection.execute(insert(TOTALS).values(job_id=job_id, rows=0, bytes=0, commits=0))
            return self._job(connection, select(JOBS).where(JOBS.c.id == job_id))[0]

    def save(self, job: SyncJob) -> SyncJob:
        """Compare and set: the stored job must be the one before. Its channels stay. Raises STALE_JOB."""
        with self._writing() as connection:
            self._save(connection, job)
        return job

    def keep_synced_until(self, job_id: JobId, at: float) -> None:
        """Up to where of its source's time a job's tables are known to have all, unix seconds; it never falls. The
        version of the job stays.
        """
        older = (JOBS.c.id == job_id) & (func.coalesce(JOBS.c.synced_until, 0.0) < at)
        with self._writing() as connection:
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
    ) -> None:
        """Save the job, with channels that it gets, and others that leave or are read anew from the next `part` on:
        a part of their rows, or all.

        `changed`: what some of them are from here on, and what their targets become with their rows.

        Raises STALE_JOB, TARGET_IN_USE.
        """
        with self._writing() as connection:
            self._save(connection, job)
            if joining is not None:
                _refuse_targets(connection, joining.channels, f"{job.db}.{job.name}")
                channels.join(connection, job.id, joining)
            channels.describe(connection, [renewal.channel for renewal in changed])
            channels.mark(connection, leaving=leaving, resyncing=resyncing)
            channels.renew(connection, changed)

    def part(self, job_id: JobId) -> None:
        """The channels that were told to leave are gone, with all that waits for them, and those that are to be read
        anew have nothing read. Nothing of the job may run.
        """
        with self._writing() as connection:
            channels.part(connection, job_id)
            channels.resync(connection, job_id)

    def jobs(self, db: str | None = None, *, live: bool = False) -> list[SyncJob]:
        """All jobs of a database (of all databases), by id. `live`: but for those that were cancelled."""
        query = select(JOBS).order_by(JOBS.c.id)
        query = query.where(JOBS.c.finished_at.is_(None)) if live else query
        with self._reading() as connection:
            return self._job(connection, query if db is None else query.where(JOBS.c.db == db))

    def count_live(self) -> int:
        """How many there are that were not cancelled."""
        query = select(func.count()).select_from(JOBS).where(JOBS.c.finished_at.is_(None))
        with self._reading() as connection:
            return int(connection.execute(query).scalar_one())

    def ended(self) -> list[tuple[JobId, float]]:
        """When each job was cancelled that is remembered, unix seconds."""
        query = select(JOBS.c.id, JOBS.c.finished_at).where(JOBS.c.finished_at.is_not(None)).order_by(JOBS.c.id)
        with self._reading() as connection:
            return [(JobId(row.id), row.finished_at) for row in connection.execute(query)]

    def by_id(self, job_id: JobId) -> SyncJob | None:
        with self._reading() as connection:
            found = self._job(connection, select(JOBS).where(JOBS.c.id == job_id))
        return found[0] if found else None

    def by_name(self, db: str, name: str) -> SyncJob:
        """The live job of that name, else the one that was cancelled last. Raises UNKNOWN_JOB."""
        with self._reading() as connection:
            query = select(JOBS).where(JOBS.c.db == db, JOBS.c.name == name).order_by(JOBS.c.id)
            found = self._job(connection, query)
        if not found:
            raise SyncError(Code.UNKNOWN_JOB, job=name, db=db)
        return next((job for job in found if job.state is not JobState.CANCELLED), found[-1])

    def forget(self, job_id: JobId) -> None:
        with self._writing() as connection:
            connection.execute(delete(JOBS).where(JOBS.c.id == job_id))

    def target_of(self, db: str, table: str) -> str | None:
        """The job, not cancelled, that a table is a target of."""
        with self._reading() as connection:
            return channels.owner(connection, db, table)

    def has_channel(self, token: str) -> bool:
        """Of any job that is remembered, cancelled ones too."""
        with self._reading() as connection:
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

    # -- intents and epochs

    def add_intent(self, job_id: JobId, epoch: Epoch) -> None:
        with self._writing() as connection:
            connection.execute(insert(EPOCHS).values(job_id=job_id, **_epoch_values(epoch)))
            dead_letters.add(connection, job_id, epoch.number, epoch.dead)

    def commit_epoch(
        self,
        job_id: JobId,
        epoch: Epoch,
        committed: Mapping[str, ChannelCommitted],
        *,
        at: float,
        keep_since: float,
        consistent: bool = True,
    ) -> None:
        """The epoch is done in the tables of `committed`; what the others have of it goes on waiting.

        Where none waits and it is `consistent` and whole, its consistent point is stored. The points before
        `keep_since` are forgotten.
        """
        waiting = {token: files for token, files in epoch.files.items() if token not in committed}
        with self._writing() as connection:
            progress.stand(connection, committed, epoch.number)
            this = (EPOCHS.c.job_id == job_id) & (EPOCHS.c.number == epoch.number)
            behind = waiting or _waits(connection, job_id)
            # a torn transaction has none either
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

    def learn(self, token: str, source: SourceTable) -> None:
        """The columns of a channel's source, which its first rows have told."""
        with self._writing() as connection:
            channels.learn(connection, token, source)

    def describe(self, channel: ChannelDescription) -> None:
        """A channel is another from here on."""
        with self._writing() as connection:
            channels.redescribe(connection, channel)

    def intents(self, job_id: JobId) -> list[Epoch]:
        """Epochs that were begun and not finished, in order."""
        query = select(EPOCHS).where(EPOCHS.c.job_id == job_id, EPOCHS.c.committed_at.is_(None))
        with self._reading() as connection:
            return [_epoch(row) for row in connection.execute(query.order_by(EPOCHS.c.number)).all()]

    def backlog(self, job_id: JobId) -> list[Epoch]:
        """Epochs that count and that some channel has not committed, in order; `files`: what waits."""
        query = select(EPOCHS).where(EPOCHS.c.job_id == job_id, EPOCHS.c.waiting.is_not(None))
        with self._reading() as connection:
            return [_epoch(row) for row in connection.execute(query.order_by(EPOCHS.c.number)).all()]

    def commit_channel(self, job_id: JobId, number: int, token: str, outcome: ChannelCommitted) -> None:
        """A channel has committed an epoch that counted already."""
        this = (EPOCHS.c.job_id == job_id) & (EPOCHS.c.number == number)
        with self._writing() as connection:
            progress.stand(connection, {token: outcome}, number)
            stored = connection.execute(select(EPOCHS.c.files).where(this)).scalar_one()
            files = {of: segment for of, segment in stored.items() if of != token}
            connection.execute(update(EPOCHS).where(this).values(files=files, waiting=len(files) or None))

    def gather(self, job_id: JobId, token: str, numbers: Sequence[int]) -> None:
        """What a channel has not committed of these epochs, in order, waits with the last of them."""
        these = select(EPOCHS).where(EPOCHS.c.job_id == job_id, EPOCHS.c.number.in_(numbers)).order_by(EPOCHS.c.number)
        with self._writing() as connection:
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

    def last_epoch(self, job_id: JobId) -> Epoch | None:
        """The newest epoch, committed or intended: where reading goes on."""
        query = select(EPOCHS).where(EPOCHS.c.job_id == job_id).order_by(EPOCHS.c.number.desc()).limit(1)
        with self._reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else _epoch(row)

    def epochs(self, job_id: JobId) -> list[StoredEpoch]:
        """All that are remembered, in order."""
        query = select(EPOCHS).where(EPOCHS.c.job_id == job_id).order_by(EPOCHS.c.number)
        with self._reading() as connection:
            rows = connection.execute(query).all()
        return [
            StoredEpoch(epoch=_epoch(row), committed_at=row.committed_at, snapshots=row.snapshots or {}) for row in rows
        ]

    def figures(self, job_id: JobId) -> Figures:
        newest = (
            select(EPOCHS.c.end, EPOCHS.c.prepared, EPOCHS.c.source_time)
            .where(EPOCHS.c.job_id == job_id, EPOCHS.c.committed_at.is_not(None))
            .order_by(EPOCHS.c.number.desc())
            .limit(1)
        )
        with self._reading() as connection:
            last = connection.execute(newest).first()
            totals = connection.execute(select(TOTALS).where(TOTALS.c.job_id == job_id)).one()
        return Figures(
            position=None if last is None else codec.position_of(last.end),
            rows=totals.rows,
            bytes=totals.bytes,
            commits=totals.commits,
            prepared=0 if last is None else sum(bool(p.files) for p in codec.prepared_of(last.prepared).values()),
            dead_letters=self.dead_letters.count(job_id),
            synced_until=(last.source_time or None) if last is not None else None,
        )

    def progress(self, job_id: JobId) -> dict[str, ChannelProgress]:
        """By channel token."""
        with self._reading() as connection:
            return channels.progress(connection, job_id)

    def waiting(self, job_id: JobId) -> dict[str, Backlog]:
        """What channels have not committed of epochs that count, by channel token."""
        return backlogs(self.backlog(job_id))

    def oldest_snapshot(self, token: str, job_id: JobId) -> int | None:
        """The snapshot of a channel's table at the oldest kept consistent point."""
        query = (
            select(EPOCHS.c.snapshots)
            .where(EPOCHS.c.job_id == job_id, EPOCHS.c.committed_at.is_not(None))
            .order_by(EPOCHS.c.number)
        )
        with self._reading() as connection:
            points = connection.execute(query).scalars().all()
        return next((point[token] for point in points if point.get(token) is not None), None)

    def kept(self, job_id: JobId, tokens: Sequence[str], since: float) -> Kept:
        """Which snapshots of a table must stay. `tokens`: of the channels that commit to it; `since`: from when on,
        where no point is kept.
        """
        point = self.oldest_snapshot(tokens[0], job_id)
        if point is not None:
            return Kept(point=point)
        last = committed_last(tokens, self.progress(job_id), self.loads.of(job_id))
        # Asked again: a point that was stored meanwhile is of what was committed before, or later.
        return Kept(point=self.oldest_snapshot(tokens[0], job_id), since=since, last=last)


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
)


@contextmanager
def _naming_failures() -> Iterator[None]:
    """What may pass: a database that is away, locked or full; and what does not: a value that it does not take."""
    try:
        yield
    except DataError as error:
        raise SyncError(Code.META_UNFIT, reason=str(error).splitlines()[0]) from error
    except (OperationalError, InterfaceError, PoolTimeoutError) as error:
        raise SyncError(Code.META_DOWN, reason=str(error).splitlines()[0]) from error


def _refuse_taken(connection: Connection, job: SyncJob) -> None:
    live = select(func.count()).where(
        JOBS.c.db == job.db,
        JOBS.c.name == job.name,
        JOBS.c.state != JobState.CANCELLED.value,
    )
    if connection.execute(live).scalar_one():
        raise SyncError(Code.JOB_EXISTS, job=job.name, db=job.db)
    _refuse_targets(connection, job.channels)


def _refuse_targets(connection: Connection, wanted: Iterable[ChannelDescription], job: str | None = None) -> None:
    """`job`: which gets them; a target of which each channel has a part may be its own."""
    for channel in wanted:
        owner = channels.owner(connection, channel.target_db, channel.target)
        if owner is not None and (channel.part is None or owner != job):
            raise SyncError(Code.TARGET_IN_USE, table=f"{channel.target_db}.{channel.target}", job=owner)


def _lost(owner: str | None) -> SyncError:
    """`owner`: who has it instead."""
    return SyncError(Code.META_GIVEN_BACK) if owner is None else SyncError(Code.META_OWNED, owner=owner)


def _beat(connection: Connection, frontend: str) -> bool:
    beaten = update(OWNER).where(OWNER.c.frontend == frontend).values(beat=OWNER.c.beat + 1)
    return connection.execute(beaten).rowcount == 1


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
