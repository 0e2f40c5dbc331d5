"""Changes that were kept out of their targets, in SQL.

Owns: reading and writing them; one counts once its epoch does.
Must not know: why a change was kept out.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, LargeBinary, Select, cast, func, insert, literal, select

from syncmgr.job.rows.dead_letter import DeadLetter
from syncmgr.job.show_sync import WantedRows
from syncmgr.job.sync_job import JobId
from syncmgr.meta.tables import DEAD_LETTERS, EPOCHS

Connecting = Callable[[], AbstractContextManager[Connection]]
EVERYTHING: Final = WantedRows()
_FIELDS = tuple(DeadLetter.__dataclass_fields__)


class DeadLetters:
    """Those of all jobs. Safe to use from any thread; every call is one transaction."""

    def __init__(self, reading: Connecting) -> None:
        self._reading = reading

    def of(self, job_id: JobId, *, under_way: bool = False) -> list[tuple[int, DeadLetter]]:
        """With their epochs, in order. `under_way`: including those of an epoch that does not count yet."""
        query = select(DEAD_LETTERS).where(DEAD_LETTERS.c.job_id == job_id)
        return self._found(query if under_way else query.where(_counts(job_id)))

    def wanted(
        self, job_id: JobId, tokens: Collection[str], rows: WantedRows = EVERYTHING
    ) -> list[tuple[int, DeadLetter]]:
        """Some of these channels, in order."""
        query = select(DEAD_LETTERS).where(
            *(DEAD_LETTERS.c.job_id == job_id, DEAD_LETTERS.c.token.in_(tokens), _counts(job_id)),
            DEAD_LETTERS.c.epoch >= rows.epoch,
        )
        return self._found(query.order_by(DEAD_LETTERS.c.epoch.desc(), DEAD_LETTERS.c.id.desc()).limit(rows.newest))

    def _found(self, query: Select[Any]) -> list[tuple[int, DeadLetter]]:
        with self._reading() as connection:
            rows = sorted(connection.execute(query).mappings(), key=lambda row: row["id"])
        return [(row["epoch"], DeadLetter(**{name: row[name] for name in _FIELDS})) for row in rows]

    def count(self, job_id: JobId) -> int:
        """Of all, including those of an epoch under way."""
        return self.counts([job_id]).get(job_id, 0)

    def counts(self, job_ids: Sequence[JobId]) -> dict[JobId, int]:
        """As `count`, without jobs that have none."""
        job = DEAD_LETTERS.c.job_id
        query = select(job, func.count().label("letters")).where(job.in_(job_ids)).group_by(job)
        with self._reading() as connection:
            return {JobId(row.job_id): row.letters for row in connection.execute(query)}

    def bytes(self, job_id: JobId) -> int:
        """Of the same, as DeadLetter.bytes."""
        with self._reading() as connection:
            sizes = (_size(connection, DEAD_LETTERS.c[name]) for name in ("column", "row"))
            query = select(func.coalesce(func.sum(sum(sizes, start=literal(0))), 0))
            return int(connection.execute(query.where(DEAD_LETTERS.c.job_id == job_id)).scalar_one())


def _counts(job_id: JobId) -> ColumnElement[bool]:
    """That of an epoch under way does not yet."""
    newest = select(func.max(EPOCHS.c.number)).where(EPOCHS.c.job_id == job_id, EPOCHS.c.committed_at.is_not(None))
    return DEAD_LETTERS.c.epoch <= newest.scalar_subquery()


def _size(connection: Connection, column: ColumnElement[str]) -> ColumnElement[int]:
    """In bytes; SQLite's own word for it is younger than some that are in use."""
    if connection.dialect.name == "sqlite":
        return func.length(cast(column, LargeBinary))
    return func.octet_length(column)


def add(connection: Connection, job_id: JobId, epoch: int, letters: Iterable[DeadLetter]) -> None:
    """Together with the intent of their epoch."""
    values = [{"job_id": job_id, "epoch": epoch, **asdict(letter)} for letter in letters]
    if values:
        connection.execute(insert(DEAD_LETTERS), values)
