"""Whose turn it is: every target of a live job, whatever the others meet."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from syncmgr.control.upkeep import TargetUpkeep
from syncmgr.errors import Code, SyncError
from syncmgr.job.snapshot.retention import Kept
from syncmgr.job.sync_job import JobId, SyncJob
from tests.support.memory_tables import databases
from tests.support.memory_upkeep import MemoryUpkeep
from tests.unit.job.factories import make_job, make_target


def targets(**failing: Exception) -> MemoryUpkeep:
    """A lake in which some tables fail."""
    tables = databases("demo")
    for name in "abc":
        tables.create_table(make_target(db="demo", name=name), for_job=False)
    return MemoryUpkeep(tables, failing=failing)


class OneJob:
    """A job of three tables."""

    @property
    def jobs(self) -> "OneJob":
        return self

    @property
    def epochs(self) -> "OneJob":
        return self

    def all(self, *, live: bool) -> Collection[SyncJob]:
        job = make_job()
        [channel] = job.channels
        return [replace(job, channels=tuple(replace(channel, token=name, target=name) for name in "abc"))]

    def kept(self, job_id: JobId, tokens: Sequence[str], since: float) -> Kept:
        return Kept()


def upkeep_of(lake: MemoryUpkeep) -> TargetUpkeep:
    return TargetUpkeep(lake, OneJob(), lambda _job: False, lambda: 60.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("work", [TargetUpkeep.upkeep, TargetUpkeep.expire])
def test_metadata_that_do_not_answer_are_not_logged_at_each_tick(
    work: object, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither those of the jobs nor those of one table: the lease logs when that begins, and when it ends."""

    def down(*_: object, **__: object) -> None:
        raise SyncError(Code.META_DOWN, reason="away")

    lake = targets(a=SyncError(Code.META_DOWN, reason="away"))
    with caplog.at_level(logging.DEBUG):
        work(upkeep_of(lake))  # type: ignore[operator]
        monkeypatch.setattr(OneJob, "all", down)
        work(upkeep_of(targets()))  # type: ignore[operator]
    assert caplog.messages == []


@pytest.mark.parametrize("error", [SyncError(Code.LAKE_FAILED, reason="a reason"), KeyError(7)])
@pytest.mark.parametrize("work", [TargetUpkeep.upkeep, TargetUpkeep.expire])
def test_a_table_that_fails_keeps_no_other_from_its_turn(
    work: object, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever one table meets is logged, and the tick goes on with the tables after it."""
    lake = targets(b=error)
    with caplog.at_level(logging.WARNING):
        work(upkeep_of(lake))  # type: ignore[operator]
    assert sorted(lake.done) == ["a", "c"]
    assert any(".b: " in message for message in caplog.messages)


def test_a_failure_is_shown_until_the_next_success() -> None:
    """Of its own table alone, with what failed: an operator does not read the log of a job that goes on."""
    lake = targets(b=SyncError(Code.LAKE_FAILED, reason="a reason"))
    upkeep, [job] = upkeep_of(lake), OneJob().all(live=True)
    db = job.channels[0].target_db
    upkeep.upkeep()
    upkeep.expire()
    assert upkeep.failure(db, "a") is None
    assert (upkeep.failure(db, "b") or "").count("a reason") == 2
    lake.failing.clear()
    upkeep.upkeep()
    assert (upkeep.failure(db, "b") or "").startswith("expiry: ")
    upkeep.expire()
    assert upkeep.failure(db, "b") is None


def test_nothing_is_tried_while_the_lake_starts() -> None:
    """So it is for every table."""
    lake = targets(b=SyncError(Code.LAKE_STARTING, reason="a reason"))
    upkeep_of(lake).upkeep()
    assert len(lake.done) == 1
