"""The clock of the frontend.

Owns: the APScheduler ticks: jobs, and each kind of upkeep, by the time that passes, whatever the clock is set to.
Must not know: what a tick does.
"""

import logging
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

JOBS: Final = "jobs"
STEP_SECOND: Final = 0.5  # the clock of the machine was set, if it differs by more from the time that has passed
LOOK_SECOND: Final = 1.0  # how often it is compared

logging.getLogger("apscheduler").setLevel(logging.ERROR)  # a tick that still runs when the next is due is no news


class Scheduler:
    """Calls `tick` every `period_second` and at once on `wake`, each kind of upkeep with its own period.

    None overlaps itself, and none waits for another.
    """

    def __init__(
        self,
        tick: Callable[[], None],
        period_second: float,
        upkeep: Mapping[str, Callable[[], None]],
        upkeep_second: float,
    ) -> None:
        # A thread for each kind of tick: a long upkeep must not delay the start of a job.
        self._scheduler = _SteadyScheduler(
            executors={name: ThreadPoolExecutor(1) for name in ("default", JOBS, *upkeep)},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
            timezone=UTC,
        )
        self._scheduler.add_job(
            tick,
            "interval",
            seconds=period_second,
            id=JOBS,
            executor=JOBS,
            next_run_time=datetime.now(UTC),
        )
        for name, kind in upkeep.items():
            self._scheduler.add_job(kind, "interval", seconds=upkeep_second, id=name, executor=name)
        self._tick = tick

    def start(self) -> None:
        self._scheduler.start()

    def wake(self) -> None:
        """A state has changed: tick now, on the scheduler's thread. Never waits; after stop it does nothing."""
        if self._scheduler.running:
            self._scheduler.add_job(self._tick, executor=JOBS, max_instances=1000)

    def stop(self) -> None:
        """No further tick; one that is under way ends by itself."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)


class _SteadyScheduler(BackgroundScheduler):  # type: ignore[misc] # APScheduler has no types
    """APScheduler computes what is due from the machine's clock: after that was set back by an hour nothing would be
    due for an hour. What is due here moves with the clock.
    """

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self._ahead = _clock_ahead()

    def _process_jobs(self) -> float:
        step = _clock_ahead() - self._ahead
        if abs(step) > STEP_SECOND:
            self._ahead += step
            for job in self.get_jobs():
                job.modify(next_run_time=job.next_run_time + timedelta(seconds=step))
        wait: float | None = super()._process_jobs()
        return LOOK_SECOND if wait is None else min(wait, LOOK_SECOND)


def _clock_ahead() -> float:
    """Seconds; they differ only after the clock was set."""
    return time.time() - time.monotonic()
