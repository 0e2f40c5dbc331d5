"""What was done with DDL, in SQL.

Owns: the records of a job, and how its channels become those after a statement.
Must not know: why a statement was followed or refused.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, select, update

from syncmgr.job.ddl.ddl_step import DdlRecord, DdlState, DdlStep
from syncmgr.job.epoch import Epoch
from syncmgr.job.sync_job import JobId
from syncmgr.meta import channels, codec
from syncmgr.meta.tables import CHANNELS, DDL, EPOCHS

Connecting = Callable[[], AbstractContextManager[Connection]]
KEPT: Final = 1000  # records of a job
LONGEST: Final = 64 << 10  # characters of a statement in one; whoever owns a source writes any number of long ones
_SETTLED: Final = tuple(
    state.value for state in (DdlState.DONE, DdlState.REFUSED, DdlState.GONE, DdlState.STOPPED, DdlState.RESYNCED)
)


class DdlLog:
    """What was done with DDL on the tables of all jobs. Safe to use from any thread; every call is one transaction."""

    def __init__(self, reading: Connecting, writing: Connecting) -> None:
        self._reading = reading
        self._writing = writing

    def of(self, job_id: JobId) -> list[DdlRecord]:
        """Oldest first."""
        return self.of_jobs([job_id]).get(job_id, [])

    def of_jobs(self, job_ids: Sequence[JobId]) -> dict[JobId, list[DdlRecord]]:
        """As `of`, without jobs that have none."""
        with self._reading() as connection:
            return _by_job(connection, DDL.c.job_id.in_(job_ids))

    def refused(self, job_id: JobId) -> list[DdlRecord]:
        """For the tables whose newest statement did not let them join the job, that statement; oldest first."""
        return self.refused_of([job_id]).get(job_id, [])

    def refused_of(self, job_ids: Sequence[JobId]) -> dict[JobId, list[DdlRecord]]:
        """As `refused`, without jobs that have none."""
        refused = DDL.c.job_id.in_(job_ids) & (DDL.c.state == DdlState.REFUSED.value)
        with self._reading() as connection:
            some = connection.execute(select(DDL.c.job_id).where(refused).distinct()).scalars().all()
            newest = {(job_id, name): found for job_id in some for found, name, _ in _named(connection, job_id)}
            return _by_job(connection, refused, among=frozenset(newest.values())) if some else {}

    def mark_gone(self, job_id: JobId, *, but: Collection[str]) -> None:
        """Tables that were refused no longer exist, or match no pattern, except these."""
        with self._writing() as connection:
            gone = [
                found
                for found, name, state in _named(connection, job_id)
                if name not in but and state == DdlState.REFUSED.value
            ]
            if gone:
                connection.execute(update(DDL).where(DDL.c.id.in_(gone)).values(state=DdlState.GONE.value))

    def refuse(self, job_id: JobId, record: DdlRecord) -> None:
        """A statement pauses the job, perhaps not for the first time; it is the only one that does."""
        with self._writing() as connection:
            connection.execute(delete(DDL).where(_unsettled(job_id)))
            _record(connection, job_id, record)

    def note(self, job_id: JobId, record: DdlRecord) -> None:
        """Something was done with a statement that no channel had to follow."""
        with self._writing() as connection:
            _record(connection, job_id, record)

    def cure(self, job_id: JobId, tokens: Collection[str]) -> None:
        """These tables, which statements may have stopped, are read on; except those that are stopped by now."""
        with self._writing() as connection:
            read = [
                channel
                for channel in channels.of(connection, [job_id]).get(job_id, ())
                if channel.history.stopped is None
            ]
            labels = {channel.source.label for channel in read if channel.token in tokens}
            cured = [
                found
                for found, name, state in _named(connection, job_id)
                if name in labels and state == DdlState.STOPPED.value
            ]
            if cured:
                connection.execute(update(DDL).where(DDL.c.id.in_(cured)).values(state=DdlState.RESYNCED.value))

    def overturn(self, job_id: JobId, token: str, reason: str) -> None:
        """A table stops, since its rows are not what a statement was recorded to have made of them: the newest one, if
        none of its rows was read since.
        """
        with self._writing() as connection:
            this = select(CHANNELS.c.description, CHANNELS.c.last_epoch).where(CHANNELS.c.token == token)
            channel = connection.execute(this).one()
            label = codec.channel_of(channel.description).source.label
            last = max((found for found, name, _ in _named(connection, job_id) if name == label), default=None)
            newest = connection.execute(select(DDL).where(DDL.c.id == last)).first()
            if newest is None or newest.state != DdlState.DONE.value:
                return
            begun = _epoch_of(connection, newest)
            if begun is None or channel.last_epoch > begun or _has_rows(connection, job_id, token, after=begun):
                return
            values = {"state": DdlState.STOPPED.value, "outcome": f"{newest.outcome}; then the table stopped: {reason}"}
            connection.execute(update(DDL).where(DDL.c.id == newest.id).values(values))

    def settle(self, job_id: JobId, instead: str | None) -> bool:
        """What RESUME does with the statement that pauses the job; `instead` None: nothing. False: there is none."""
        state = DdlState.SKIP if instead is None else DdlState.APPLY
        values = {"state": state.value, "instead": instead}
        with self._writing() as connection:
            return connection.execute(update(DDL).where(_unsettled(job_id)).values(values)).rowcount > 0


def follow(connection: Connection, job_id: JobId, epoch: Epoch, step: DdlStep) -> None:
    """The channels are as they read after the statement, except those that RESYNC has changed meanwhile; what paused
    the job before has been settled.
    """
    stored = connection.execute(select(CHANNELS).where(CHANNELS.c.job_id == job_id)).all()
    before = {row.token: codec.channel_of(row.description) for row in stored}
    renewed = {row.token for row in stored if channels.is_renewed(row)}
    for token, channel in step.without(renewed - step.dropped).channels.items():
        this = CHANNELS.c.token == token
        connection.execute(update(CHANNELS).where(this).values(description=codec.channel_json(channel)))
    channels.mark(connection, leaving=(), resyncing=dict.fromkeys(step.resynced))
    connection.execute(delete(DDL).where(_unsettled(job_id)))
    for token, done in step.done.items():
        record = DdlRecord(
            position=epoch.end,
            at=step.at,
            table=before[token].source.label,
            statement=step.statement,
            state=DdlState.DONE,
            outcome=done,
        )
        _record(connection, job_id, record, epoch.number)


def _named(connection: Connection, job_id: JobId) -> list[tuple[int, str, str]]:
    """Id, table and state of the records of a job, oldest first, whose names are compared here: a server may compare
    them regardless of case, accents and last spaces.
    """
    query = select(DDL.c.id, DDL.c.table_name, DDL.c.state).where(DDL.c.job_id == job_id).order_by(DDL.c.id)
    return [(row.id, row.table_name, row.state) for row in connection.execute(query)]


def _epoch_of(connection: Connection, record: Row[Any]) -> int | None:
    """The epoch of a statement; None: it has none, or one that was deleted before records knew it."""
    if record.epoch is not None:
        return int(record.epoch)
    kept = select(EPOCHS.c.number, EPOCHS.c.end).where(EPOCHS.c.job_id == record.job_id).order_by(EPOCHS.c.number)
    return next((row.number for row in connection.execute(kept).all() if row.end == record.position), None)


def _has_rows(connection: Connection, job_id: JobId, token: str, *, after: int) -> bool:
    """Whether rows of a channel wait that were read after an epoch: those epochs are kept."""
    since = (EPOCHS.c.job_id == job_id) & (EPOCHS.c.number > after)
    return any(token in row.files for row in connection.execute(select(EPOCHS.c.files).where(since)))


def _unsettled(job_id: JobId) -> ColumnElement[bool]:
    return and_(DDL.c.job_id == job_id, DDL.c.state.not_in(_SETTLED))


def _by_job(
    connection: Connection, these: ColumnElement[bool], *, among: Collection[int] | None = None
) -> dict[JobId, list[DdlRecord]]:
    """Oldest first. `among`: only records of these ids; None: all."""
    found = defaultdict[JobId, list[DdlRecord]](list)
    for row in connection.execute(select(DDL).where(these).order_by(DDL.c.id)):
        if among is None or row.id in among:
            found[JobId(row.job_id)].append(_read(row))
    return found


def _read(row: Row[Any]) -> DdlRecord:
    return DdlRecord(
        position=codec.position_of(row.position),
        at=row.at,
        table=row.table_name,
        statement=row.statement,
        state=DdlState(row.state),
        outcome=row.outcome,
        instead=row.instead,
    )


def _record(connection: Connection, job_id: JobId, record: DdlRecord, epoch: int | None = None) -> None:
    values = {
        "epoch": epoch,
        "job_id": job_id,
        "position": codec.position_json(record.position),
        "at": record.at,
        "table_name": record.table,
        "statement": _shortened(record.statement),
        "state": record.state.value,
        "outcome": record.outcome,
        "instead": record.instead,
    }
    connection.execute(insert(DDL).values(values))
    kept = select(DDL.c.id).where(DDL.c.job_id == job_id).order_by(DDL.c.id.desc()).offset(KEPT).limit(1)
    oldest = connection.execute(kept).scalar()
    if oldest is not None:
        connection.execute(delete(DDL).where(DDL.c.job_id == job_id, DDL.c.id <= oldest))


def _shortened(statement: str) -> str:
    rest = len(statement) - LONGEST
    return statement if rest <= 0 else f"{statement[:LONGEST]}... ({rest} more characters)"
