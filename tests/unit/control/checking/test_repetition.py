"""Jobs are checked again when it is time, and not more often."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from syncmgr.control.checking.record import BEGIN_TIME, CHECK, REPAIRS, STATE, Row
from syncmgr.control.checking.repetition import HOUR, Repetition
from syncmgr.errors import Code, SyncError
from syncmgr.job.show_sync import WantedRows
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import SyncJob
from syncsql import CheckSync
from tests.unit.job.factories import make_channel, make_job

JOB = make_job(state=JobState.RUNNING, properties={"check_every_hour": "2"}, channels=(make_channel(),))
EVERYTHING = WantedRows()
NOW = 1_800_000_000.0


@dataclass
class House:
    """Checks that have been, and what was begun. `refuses`: each new one."""

    stored: list[Row] = field(default_factory=list)
    begun: list[CheckSync] = field(default_factory=list)
    refuses: bool = False
    at: float = NOW

    def start(self, node: CheckSync, _db: str | None) -> int:
        self.begun.append(node)
        if self.refuses:
            raise SyncError(Code.CHECK_REFUSED, table="t", reason="canal")
        return 7

    def rows(self, _table: str, wanted: WantedRows = EVERYTHING) -> list[Row]:
        return [row for row in self.stored if wanted.job(int(str(row[0])), "", "")]

    def looks(self, job: SyncJob = JOB, *, times: int = 1) -> int:
        repetition = Repetition(lambda: [job], self, lambda given: float(given["check_every_hour"]), lambda: self.at)
        for _ in range(times):
            repetition.look()
        return len(self.begun)


def row(begun: float | None, **facts: Any) -> Row:
    """Of one table of a check of JOB."""
    told = None if begun is None else datetime.fromtimestamp(begun, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    cells: dict[int, object] = {0: JOB.id, CHECK: 1, STATE: "DONE", BEGIN_TIME: told, REPAIRS: None}
    changed = {{"state": STATE, "repairs": REPAIRS, "job": 0}[name]: value for name, value in facts.items()}
    return tuple((cells | changed).get(place) for place in range(REPAIRS + 2))


@pytest.mark.parametrize(
    ("rows", "is_due"),
    [
        ([], True),
        ([row(NOW - 2.1 * HOUR)], True),
        ([row(NOW - 1.9 * HOUR)], False),
        ([row(NOW - 9 * HOUR, state="WAITING")], False),
        ([row(None, state="FAILED")], True),
        ([row(NOW - HOUR, repairs=4)], True),
        ([row(NOW - HOUR, job=JOB.id + 1)], True),
    ],
)
def test_a_job_is_checked_when_none_of_its_checks_is_young_enough(rows: list[Row], *, is_due: bool) -> None:
    """One that is under way counts, and a repair, a check that ended with its frontend, or another job's do not."""
    assert House(rows).looks() == is_due


def test_a_check_of_some_tables_is_none_of_the_job() -> None:
    job = make_job(
        state=JobState.RUNNING, properties=JOB.properties, channels=(make_channel(), make_channel(token="2"))
    )
    assert House([row(NOW - HOUR)]).looks(job) == 1
    assert House([row(NOW - HOUR), row(NOW - HOUR)]).looks(job) == 0


@pytest.mark.parametrize("refuses", [False, True])
def test_it_is_tried_once_in_that_time(*, refuses: bool) -> None:
    assert House(refuses=refuses).looks(times=3) == 1


def test_only_jobs_that_run_and_have_a_period_are_checked() -> None:
    assert House().looks(make_job(state=JobState.PAUSED, properties=JOB.properties)) == 0
    assert House().looks(make_job(state=JobState.RUNNING, properties={"check_every_hour": "0"})) == 0
