"""Ticks come in time and at once when asked for, one kind beside the other."""

import datetime as dt
import threading
import time
from collections.abc import Iterator

import pytest
from apscheduler.schedulers import base as schedulers_base

from syncmgr.control.running import scheduler as scheduler_module
from syncmgr.control.running.scheduler import Scheduler
from tests.support.until import HANG_SECOND, until

NEVER = 3600.0


class SetClock:
    """The machine's, as APScheduler and the product ask for it."""

    def __init__(self) -> None:
        self._step = 0.0
        clock = self

        class Datetime(dt.datetime):
            @classmethod
            def now(cls, tz: dt.tzinfo | None = None) -> dt.datetime:  # type: ignore[override]
                return dt.datetime.now(tz) + dt.timedelta(seconds=clock._step)

        self.datetime = Datetime

    def set(self, step: float) -> None:
        self._step = step

    def time(self) -> float:
        return time.time() + self._step

    def monotonic(self) -> float:
        return time.monotonic()


class Ticks:
    """Counts; while `held` is not set it stays in a tick, and it fails while `fails`."""

    def __init__(self) -> None:
        self.begun, self.inside, self.most = 0, 0, 0
        self.fails = False
        self.held = threading.Event()
        self.held.set()

    def __call__(self) -> None:
        self.begun += 1
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.held.wait(HANG_SECOND)
        self.inside -= 1
        if self.fails:
            raise ZeroDivisionError

    def until_more(self, than: int) -> None:
        until(lambda: self.begun > than, why="another tick")


@pytest.fixture
def jobs() -> Ticks:
    return Ticks()


@pytest.fixture
def upkeep() -> Iterator[Ticks]:
    ticks = Ticks()
    yield ticks
    ticks.held.set()


def test_ticks_come_again_and_again(jobs: Ticks, upkeep: Ticks) -> None:
    """With the period of their kind, also after one that failed."""
    scheduler = Scheduler(jobs, 0.01, {"upkeep": upkeep}, 0.01)
    scheduler.start()
    for ticks in (jobs, upkeep):
        ticks.fails = True
        ticks.until_more(5)
    scheduler.stop()


def test_jobs_tick_at_once_and_when_woken(jobs: Ticks, upkeep: Ticks) -> None:
    """However long their period is; upkeep is not woken."""
    scheduler = Scheduler(jobs, NEVER, {"upkeep": upkeep}, NEVER)
    scheduler.start()
    jobs.until_more(0)
    for _ in range(3):
        begun = jobs.begun
        scheduler.wake()
        jobs.until_more(begun)
    assert upkeep.begun == 0
    scheduler.stop()


@pytest.mark.parametrize("step", [-3600.0, 3600.0])
def test_a_clock_that_is_set_delays_no_tick(jobs: Ticks, monkeypatch: pytest.MonkeyPatch, step: float) -> None:
    """By an hour, back or ahead."""
    clock = SetClock()
    monkeypatch.setattr(scheduler_module, "time", clock)
    monkeypatch.setattr(schedulers_base, "datetime", clock.datetime)
    scheduler = Scheduler(jobs, 0.05, {}, NEVER)
    scheduler.start()
    jobs.until_more(2)
    clock.set(step)
    jobs.until_more(jobs.begun + 3)
    scheduler.stop()


def test_what_changes_during_a_tick_has_one_more(jobs: Ticks) -> None:
    """Which begins when that one has ended."""
    jobs.held.clear()
    scheduler = Scheduler(jobs, NEVER, {}, NEVER)
    scheduler.start()
    jobs.until_more(0)
    scheduler.wake()
    scheduler.wake()
    assert jobs.begun == 1
    jobs.held.set()
    jobs.until_more(1)
    assert jobs.most == 1
    scheduler.stop()


def test_a_long_upkeep_delays_no_job(jobs: Ticks, upkeep: Ticks) -> None:
    """And does not overlap itself."""
    upkeep.held.clear()
    scheduler = Scheduler(jobs, 0.01, {"upkeep": upkeep}, 0.01)
    scheduler.start()
    upkeep.until_more(0)
    jobs.until_more(jobs.begun + 5)
    assert upkeep.begun == 1
    upkeep.held.set()
    upkeep.until_more(1)
    assert upkeep.most == 1
    scheduler.stop()


def test_after_the_end_nothing_ticks(jobs: Ticks) -> None:
    """Neither in time nor when woken; one that is under way ends by itself, and is not waited for."""
    jobs.held.clear()
    scheduler = Scheduler(jobs, 0.01, {}, NEVER)
    scheduler.start()
    jobs.until_more(0)
    scheduler.stop()
    scheduler.wake()
    jobs.held.set()
    until(lambda: jobs.inside == 0, why="the end of the tick")
    assert jobs.begun == 1
