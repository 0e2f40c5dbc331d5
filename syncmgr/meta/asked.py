"""Until when the source of a job was queried about objects that the job does not read, in SQL.

Owns: that this second only grows, until it is declared not to matter any more.
Must not know: what was queried, what follows from it.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy import Connection, or_, select, update

from syncmgr.job.sync_job import JobId
from syncmgr.meta.tables import JOBS

Connecting = Callable[[], AbstractContextManager[Connection]]


class Asked:
    """Of all jobs. Safe to use from any thread; every call is one transaction."""

    def __init__(self, reading: Connecting, writing: Connecting) -> None:
        self._reading = reading
        self._writing = writing

    def until(self, job_id: JobId) -> int:
        """The newest second in which an answer was given, by the clock of the source; 0: none that matters."""
        with self._reading() as connection:
            return connection.execute(select(JOBS.c.asked_until).where(JOBS.c.id == job_id)).scalar() or 0

    def keep(self, job_id: JobId, second: int) -> None:
        older = or_(JOBS.c.asked_until.is_(None), JOBS.c.asked_until < second)
        with self._writing() as connection:
            connection.execute(update(JOBS).where(JOBS.c.id == job_id, older).values(asked_until=second))

    def settle(self, job_id: JobId) -> None:
        """What was judged by the answers until now is right, or was corrected."""
        with self._writing() as connection:
            connection.execute(update(JOBS).where(JOBS.c.id == job_id).values(asked_until=None))
