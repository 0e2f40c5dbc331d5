import pytest

from syncmgr.fe.sampler import pause_after


@pytest.mark.parametrize(("cost", "pause"), [(0.0, 1.0), (0.01, 0.99), (0.2, 3.8), (2.0, 38.0)])
def test_measuring_takes_a_twentieth_of_the_time_at_most(cost: float, pause: float) -> None:
    """Once a second, as long as it is cheap."""
    assert pause_after(cost) == pytest.approx(pause)
