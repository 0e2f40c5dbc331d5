import threading
import time

import pytest

from syncmgr.fe.sampler import Sampler, pause_after
from syncmgr.job.metrics.sample import Sample
from syncmgr.web.health import STALE_SECOND
from tests.support.until import until
from tests.unit.job.metrics.factories import make_sample


@pytest.mark.parametrize(("cost", "pause"), [(0.0, 1.0), (0.01, 0.99), (0.2, 3.8), (2.0, 10.0), (60.0, 10.0)])
def test_measuring_takes_a_twentieth_of_a_core(cost: float, pause: float) -> None:
    """Once a second, as long as it is cheap; with however many jobs never so seldom that the frontend seems dead."""
    assert pause_after(cost) == pytest.approx(pause)
    assert pause < STALE_SECOND


def test_a_measurement_that_waits_does_not_put_off_the_next() -> None:
    """One that has waited for metadata, or for a busy machine, is no costly one: nothing was measured for twenty times
    as long afterwards, so that /api/health asked for a restart, and no alert was raised.
    """
    measured = list[float]()

    def measure() -> Sample:
        time.sleep(0.0 if measured else 1.5)
        measured.append(time.monotonic())
        return make_sample()

    heard = threading.Event()
    sampler = Sampler(measure, lambda _: heard.set())
    sampler.start()
    try:
        until(lambda: len(measured) > 1, why="the next measurement")
    finally:
        sampler.stop()
    assert heard.is_set()
    assert measured[1] - measured[0] < 15
