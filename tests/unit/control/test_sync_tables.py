from types import SimpleNamespace
from typing import Any

from syncmgr.control.sync_tables import History
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_state import Stop
from syncmgr.job.epoch import LastCommit
from syncmgr.job.overview import Facts, overview
from syncmgr.job.show_sync import Figures, JobStatus, ShownJob, WantedRows
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import SyncJob
from syncmgr.meta.jobs import JobLabel
from tests.unit.job.factories import make_channel, make_job

NO_LAKE: Any = SimpleNamespace()
NO_CHECKS: Any = SimpleNamespace()


def jobs_of(job: SyncJob) -> Any:
    label = JobLabel(job.id, job.db, job.name)
    return SimpleNamespace(labels=lambda: [label], of=lambda ids: [job for _ in ids])


def test_a_table_that_leaves_meanwhile_is_no_error() -> None:
    """The rows are read in several steps, and ALTER SYNC does not wait for them."""
    job = make_job(channels=(make_channel(token="stays"), make_channel(token="left", target="gone")))
    at = SimpleNamespace(last=LastCommit(epoch=3, snapshot=7))
    asked: list[object] = []
    store: Any = SimpleNamespace(
        jobs=jobs_of(job),
        epochs=SimpleNamespace(progress_of=lambda _: {"stays": at}),
        dead_letters=SimpleNamespace(wanted=lambda *of: asked.append(of[1]) or (), counts=lambda _: {job.id: 1}),
    )
    jobs: Any = SimpleNamespace(overviews=lambda jobs: {job.id: overview(job, Facts(), 0.0) for job in jobs})
    history = History(store, jobs, NO_LAKE, NO_CHECKS)
    assert [(row[6], row[11]) for row in history.rows("sync_channels")] == [("orders", "STREAMING")]
    assert (history.rows("sync_dead_letters"), asked) == ([], [("stays", "left")])


def test_tables_of_a_job_that_has_ended_have_no_state() -> None:
    """They look neither as if they streamed nor as if somebody were to look after them."""
    job = make_job(state=JobState.CANCELLED, channels=(make_channel(token="a", stopped=Stop(reason="why")),))
    store: Any = SimpleNamespace(
        jobs=jobs_of(job),
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
        jobs=jobs_of(make_job(channels=channels)), epochs=SimpleNamespace(of=lambda *_: points)
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


FIGURES = (7, 9, 0.6, None, "YES", 20103, "do it", "error", None, 4, 5, 6, 0)


def status() -> JobStatus:
    paused = {"paused_by": "error", "resume_at": None, "error": 20103, "advice": "do it"}
    given: dict[str, Any] = {key: {} for key in ("upkeep", "index", "snapshot", "refused")}
    return JobStatus(
        figures=Figures(position=None, rows=4, bytes=5, commits=6),
        tables=(),
        synced=None,
        lag=0.6,
        lag_bytes=9,
        binlog_left=7.2,
        needs_operator=True,
        server=None,
        paused=paused,
        **given,
    )


def test_only_the_jobs_that_are_wanted_are_loaded_and_computed() -> None:
    """A row of sync_jobs takes several questions to the metadata, a job as long as it has channels. The figures of
    Status are those of its columns.
    """
    jobs = {number: make_job(id=number, name=f"job{number}") for number in (1, 2, 3)}
    loaded: list[int] = []

    def of(ids: list[int]) -> list[SyncJob]:
        loaded.extend(ids)
        return [jobs[each] for each in ids]

    def shown(wanted: list[SyncJob]) -> list[ShownJob]:
        return [ShownJob(job=job, status=status(), is_ending=False, warning=None) for job in wanted]

    labels = [(number, job.db, job.name) for number, job in jobs.items()]
    store: Any = SimpleNamespace(jobs=SimpleNamespace(labels=lambda: [JobLabel(*each) for each in labels], of=of))
    history = History(store, SimpleNamespace(shown=shown), NO_LAKE, NO_CHECKS)  # type: ignore[arg-type]
    [row] = history.rows("sync_jobs", WantedRows(job=lambda _id, _db, name: name == "job2"))
    assert loaded == [2]
    assert row == (2, "demo", "job2", *shown([jobs[2]])[0].row[2:], *FIGURES)
