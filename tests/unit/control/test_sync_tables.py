from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

from syncmgr.control.sync_tables import History
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_state import Stop
from syncmgr.job.epoch import LastCommit
from syncmgr.job.overview import Facts, overview
from syncmgr.job.show_sync import WantedRows
from syncmgr.job.state import JobState
from tests.unit.job.factories import make_channel, make_job

NO_LAKE: Any = SimpleNamespace()
NO_CHECKS: Any = SimpleNamespace()


def test_a_table_that_leaves_meanwhile_is_no_error() -> None:
    """The rows are read in several steps, and ALTER SYNC does not wait for them."""
    job = make_job(channels=(make_channel(token="stays"), make_channel(token="left", target="gone")))
    at = SimpleNamespace(last=LastCommit(epoch=3, snapshot=7))
    letter = SimpleNamespace(token="joined since")
    store: Any = SimpleNamespace(
        jobs=SimpleNamespace(all=lambda: [job]),
        epochs=SimpleNamespace(progress_of=lambda _: {"stays": at}),
        dead_letters=SimpleNamespace(of=lambda _: [(1, letter)], counts=lambda _: {job.id: 1}),
    )
    jobs: Any = SimpleNamespace(overviews=lambda jobs: {job.id: overview(job, Facts(), 0.0) for job in jobs})
    history = History(store, jobs, NO_LAKE, NO_CHECKS)
    assert [(row[6], row[11]) for row in history.rows("sync_channels")] == [("orders", "STREAMING")]
    assert history.rows("sync_dead_letters") == []


def test_tables_of_a_job_that_has_ended_have_no_state() -> None:
    """They look neither as if they streamed nor as if somebody were to look after them."""
    job = make_job(state=JobState.CANCELLED, channels=(make_channel(token="a", stopped=Stop(reason="why")),))
    store: Any = SimpleNamespace(
        jobs=SimpleNamespace(all=lambda: [job]),
        epochs=SimpleNamespace(progress_of=lambda _: {"a": SimpleNamespace(last=LastCommit(epoch=3, snapshot=7))}),
    )
    jobs: Any = SimpleNamespace(overviews=lambda jobs: {job.id: overview(job, Facts(), 0.0) for job in jobs})
    assert [row[11:] for row in History(store, jobs, NO_LAKE, NO_CHECKS).rows("sync_channels")] == [(None,) * 5]


def test_points_whose_snapshots_have_gone_are_not_listed() -> None:
    """As where a table was set to an older state, expired by others or dropped; each table is asked for once."""
    channels = (make_channel(token="a"), make_channel(token="b", target="dropped"))
    points = [
        SimpleNamespace(epoch=SimpleNamespace(number=number), committed_at=0.0, snapshots={"a": at, "b": at})
        for number, at in ((1, 10), (2, 20), (3, None))
    ]
    store: Any = SimpleNamespace(
        jobs=SimpleNamespace(all=lambda: [make_job(channels=channels)]), epochs=SimpleNamespace(of=lambda *_: points)
    )
    asked: list[str] = []

    def snapshots(db: str, table: str) -> frozenset[int]:
        asked.append(table)
        if table == "dropped":
            raise SyncError(Code.NO_SUCH_TABLE, db=db, table=table)
        return frozenset({20, 30})

    history = History(store, SimpleNamespace(), SimpleNamespace(snapshots=snapshots), NO_CHECKS)  # type: ignore[arg-type]
    assert [(row[3], row[6], row[7]) for row in history.rows("sync_points")] == [(2, "orders", 20)]
    assert sorted(asked) == ["dropped", "orders"]


STATUS = '{"binlog_left_second": 7, "lag_bytes": 9, "lag_second": 0.6, "needs_operator": true, "error": 20103}'

FIGURES = (7, 9, 0.6, None, "YES", 20103, *[None] * 7)


def test_only_the_jobs_that_are_wanted_are_computed() -> None:
    """A row of sync_jobs takes several questions to the metadata, and so do the tables of a job."""
    jobs = [make_job(id=number, name=f"job{number}") for number in (1, 2, 3)]
    store: Any = SimpleNamespace(jobs=SimpleNamespace(all=lambda: jobs))
    asked: list[str] = []

    def show(_db: str | None, ids: Collection[str]) -> list[tuple[str, ...]]:
        asked.extend(ids)
        return [(each, "job2", "MYSQL", "RUNNING", "s.t->t", STATUS) for each in ids]

    history = History(store, SimpleNamespace(show=show), NO_LAKE, NO_CHECKS)  # type: ignore[arg-type]
    rows = history.rows("sync_jobs", WantedRows(job=lambda _id, _db, name: name == "job2"))
    assert (asked, rows) == (["2"], [(2, "demo", "job2", "MYSQL", "RUNNING", "s.t->t", STATUS, *FIGURES)])
