import pytest

from syncmgr.job.metrics.histogram import BOUNDS, CommitTimes, Histogram


@pytest.mark.parametrize(
    ("second", "bucket"), [(0.0, "0.05"), (0.05, "0.05"), (0.051, "0.1"), (60.0, "60.0"), (61.0, "+Inf")]
)
def test_a_value_is_counted_from_the_first_bucket_that_holds_it(second: float, bucket: str) -> None:
    """And in all above, as Prometheus adds them up; a bound belongs to its own bucket."""
    found = Histogram().with_one(second).buckets()
    names = [name for name, _ in found]
    assert names == [*map(str, BOUNDS), "+Inf"]
    assert [count for _, count in found] == [int(at >= names.index(bucket)) for at in range(len(names))]


def test_observations_add_up() -> None:
    found = Histogram().with_one(0.2).with_one(0.3).with_one(100.0)
    assert (found.sum, found.buckets()[-1], dict(found.buckets())["0.25"]) == (100.5, ("+Inf", 3), 1)


def test_only_what_was_measured_is_counted() -> None:
    """No duration of a commit that an earlier process began, no delay without a source time, none below zero."""
    begun_elsewhere = CommitTimes().with_commit(intent_at=None, source_time=10.0, now=12.0)
    assert (begun_elsewhere.duration, begun_elsewhere.delay.sum) == (Histogram(), 2.0)
    timeless = CommitTimes().with_commit(intent_at=11.0, source_time=0, now=12.0)
    assert (timeless.duration.sum, timeless.delay) == (1.0, Histogram())
    ahead = CommitTimes().with_commit(intent_at=11.0, source_time=15.0, now=12.0)
    assert (ahead.delay.sum, ahead.delay.buckets()[0]) == (0.0, ("0.05", 1))
