"""The outcomes of checks, in SQL.

Owns: reading and writing them.
Must not know: what is in a row, how a check runs.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select, update

from syncmgr.job.sync_job import JobId
from syncmgr.meta.tables import CHECKS

Connecting = Callable[[], AbstractContextManager[Connection]]
Row = tuple[object, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """Of one table of a check. `row`, `found`: as the tables of information_schema show them. `over`: it has ended."""

    check: int
    place: int
    job_id: JobId
    row: Row
    found: tuple[Row, ...] = ()
    over: bool = False


class Outcomes:
    """Of a frontend. Safe to use from any thread; every call is one transaction. All raise META_DOWN."""

    def __init__(self, reading: Connecting, writing: Connecting) -> None:
        self._reading = reading
        self._writing = writing

    def all(self) -> list[Outcome]:
        """In order. Those of jobs that are forgotten are gone."""
        with self._reading() as connection:
            rows = connection.execute(select(CHECKS).order_by(CHECKS.c.check_id, CHECKS.c.place)).all()
        return [
            Outcome(
                check=row.check_id,
                place=row.place,
                job_id=JobId(row.job_id),
                row=tuple(row.shown),
                found=tuple(map(tuple, row.found)),
                over=row.ended,
            )
            for row in rows
        ]

    def begin(self, outcomes: Sequence[Outcome], forgotten: Collection[int]) -> None:
        """Of a new check; older ones are forgotten."""
        with self._writing() as connection:
            connection.execute(delete(CHECKS).where(CHECKS.c.check_id.in_(forgotten)))
            connection.execute(insert(CHECKS), [_values(each) for each in outcomes])

    def change(self, outcome: Outcome) -> None:
        this = (CHECKS.c.check_id == outcome.check) & (CHECKS.c.place == outcome.place)
        with self._writing() as connection:
            connection.execute(update(CHECKS).where(this).values(_values(outcome)))


def _values(outcome: Outcome) -> dict[str, object]:
    return {
        "check_id": outcome.check,
        "place": outcome.place,
        "job_id": outcome.job_id,
        "shown": list(outcome.row),
        "found": list(map(list, outcome.found)),
        "ended": outcome.over,
    }
