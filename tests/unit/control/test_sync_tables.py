from types import SimpleNamespace
from typing import Any

from syncmgr.control.sync_tables import History
from syncmgr.job.channel.channel_state import Stop
from syncmgr.job.overview import Facts, overview
from syncmgr.job.state import JobState
from tests.unit.job.factories import make_channel, make_job


def test_a_table_that_leaves_meanwhile_is_no_error() -> None:
    """The rows are read in several steps, and ALTER SYNC does not wait for them."""
    job = make_job(channels=(make_channel(token="stays"), make_channel(token="left", target="gone")))
    at = SimpleNamespace(last_epoch=3, last_snapshot=7)
    letter = SimpleNamespace(token="joined since")
    store: Any = SimpleNamespace(
        jobs=lambda: [job],
        progress=lambda _: {"stays": at},
        dead_letters=SimpleNamespace(of=lambda _: [(1, letter)]),
    )
    jobs: Any = SimpleNamespace(overview=lambda job: overview(job, Facts(), 0.0))
    history = History(store, jobs)
    assert [(row[6], row[11]) for row in history.rows("sync_channels")] == [("orders", "STREAMING")]
    assert history.rows("sync_dead_letters") == []


def test_tables_of_a_job_that_has_ended_have_no_state() -> None:
    """They look neither as if they streamed nor as if somebody were to look after them."""
    job = make_job(state=JobState.CANCELLED, channels=(make_channel(token="a", stopped=Stop(reason="why")),))
    store: Any = SimpleNamespace(
        jobs=lambda: [job], progress=lambda _: {"a": SimpleNamespace(last_epoch=3, last_snapshot=7)}
    )
    jobs: Any = SimpleNamespace(overview=lambda job: overview(job, Facts(), 0.0))
    assert [row[11:] for row in History(store, jobs).rows("sync_channels")] == [(None,) * 5]
