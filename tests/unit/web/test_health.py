import pytest

from syncmgr.job.metrics.sample import Sample
from syncmgr.web.health import bootstrap, health, readiness
from tests.unit.job.metrics.factories import make_sample

NOW = 1001.0


@pytest.mark.parametrize(
    ("sample", "now", "alive", "ready"),
    [
        (None, NOW, "the frontend starts", "the frontend starts"),
        (make_sample(), NOW, None, None),
        (make_sample(spark_up={"lake": False}), NOW, None, None),
        (make_sample(meta_up=False), NOW, None, "the metadata do not answer"),
        (make_sample(), 1020.0, "nothing was measured for 20 s", "nothing was measured for 20 s"),
    ],
)
def test_alive_and_ready(sample: Sample | None, now: float, alive: str | None, ready: str | None) -> None:
    """What a restart does not help is no reason for one."""
    assert (health(sample, now).reason, readiness(sample, now).reason) == (alive, ready)


def test_answers_have_the_shapes_of_doris() -> None:
    """With the lake as its backend."""
    assert health(make_sample(), NOW).body == {
        "msg": "success",
        "code": 0,
        "data": {"online_backend_num": 1, "total_backend_num": 1},
        "count": 0,
    }
    assert health(make_sample(spark_up={"lake": False}), NOW).data["online_backend_num"] == 0
    assert set(bootstrap(9030).data) == {"replayedJournalId", "queryPort", "rpcPort", "version", "startTime"}
