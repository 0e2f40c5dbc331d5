from dataclasses import replace

from syncmgr.job.metrics.sample import JobSample
from syncmgr.job.state import JobState
from syncmgr.web.api.recent import KEPT, Recent, both
from tests.unit.job.metrics.factories import NOTHING, make_job_sample, make_sample


def at_rows(rows: int, **fields: object) -> JobSample:
    return make_job_sample(figures=replace(NOTHING, rows=rows), **fields)


def test_rows_a_second() -> None:
    """Over the last five seconds; not known from one sample, none while paused."""
    recent = Recent()
    recent.heard(make_sample(at_rows(0), at=1000.0))
    assert recent.rate(at_rows(0)) is None
    recent.heard(make_sample(at_rows(10), at=1001.0))
    assert recent.rate(at_rows(10)) == 10.0
    recent.heard(make_sample(at_rows(110), at=1006.0))
    assert recent.rate(at_rows(110)) == 20.0
    recent.heard(make_sample(at_rows(110, state=JobState.PAUSED), at=1007.0))
    assert recent.rate(at_rows(110)) is None
    recent.heard(make_sample(at_rows(150), at=1008.0))
    assert recent.rate(at_rows(150)) is None
    assert [point[0] for point in recent.points(1, 2)] == [1007.0, 1008.0]


def test_points_are_bounded_and_go_with_their_job() -> None:
    """A quarter of an hour of each job that there is."""
    recent = Recent()
    for second in range(KEPT + 10):
        recent.heard(make_sample(at_rows(second), at=float(second)))
    points = recent.points(1)
    assert (len(points), points[-1][0]) == (KEPT, KEPT + 9.0)
    recent.heard(make_sample(at=2000.0))
    assert recent.points(1) == []


def test_several_hear_of_a_sample() -> None:
    """In their order."""
    heard = list[str]()
    both(lambda _: heard.append("one"), lambda _: heard.append("two"))(make_sample())
    assert heard == ["one", "two"]
