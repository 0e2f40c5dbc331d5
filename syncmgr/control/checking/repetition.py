"""Checks that come again by themselves.

Owns: which job is due.
Must not know: how a check runs, when it is looked for jobs that are due.
"""

import logging
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import groupby
from typing import Final, Protocol

from syncmgr.control.checking.record import BEGIN_TIME, CHECK, OVER, REPAIRS, STATE, Row
from syncmgr.errors import SyncError
from syncmgr.job.show_sync import WantedRows
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import JobId, SyncJob
from syncsql import CheckSync, Name

HOUR: Final = 3600.0

log = logging.getLogger(__name__)


class RepeatedChecks(Protocol):
    """All checks of a frontend."""

    def start(self, node: CheckSync, db: str | None) -> int: ...
    def rows(self, table: str, wanted: WantedRows = ...) -> list[Row]: ...


class Repetition:
    """`every_hour`: of a job with these properties; 0: none. `now`: unix seconds."""

    def __init__(
        self,
        jobs: Callable[[], list[SyncJob]],
        checks: RepeatedChecks,
        every_hour: Callable[[Mapping[str, str]], float],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._jobs, self._checks, self._every_hour, self._now = jobs, checks, every_hour, now
        self._tried: dict[JobId, float] = {}

    def look(self) -> None:
        """A check of each job that is due. What one does not take is in the log, and tried again when it is due."""
        for job in self._jobs():
            second = self._every_hour(job.properties) * HOUR
            if second and job.state is JobState.RUNNING and self._is_due(job, second):
                self._tried[job.id] = self._now()
                try:
                    found = self._checks.start(CheckSync(job=Name(name=job.name, db=job.db)), job.db)
                    log.info("check %d of job %s.%s: by check_every_hour", found, job.db, job.name)
                except SyncError as error:
                    log.warning("job %s.%s is not checked: %s", job.db, job.name, error)

    def _is_due(self, job: SyncJob, second: float) -> bool:
        """None that is under way, or that began less than that ago and had all its tables, was found."""
        earliest = self._now() - second
        if self._tried.get(job.id, earliest) > earliest:
            return False
        rows = self._checks.rows("sync_checks", WantedRows(job=lambda job_id, *_: job_id == job.id))
        for _, group in groupby(rows, key=lambda row: row[CHECK]):
            tables = list(group)
            if any(row[STATE] not in OVER for row in tables):
                return False
            is_whole = len(tables) >= len(job.channels) and tables[0][REPAIRS] is None
            if is_whole and max(map(_begun, tables)) > earliest:
                return False
        return True


def _begun(row: Row) -> float:
    """Unix seconds; 0: it did not come to its first row."""
    told = row[BEGIN_TIME]
    return datetime.fromisoformat(str(told)).replace(tzinfo=UTC).timestamp() if told is not None else 0.0
