from types import SimpleNamespace
from typing import Any

from syncmgr.history import History
from syncmgr.job.overview import Facts, overview
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
