"""Which of several reads of a table without a key is in the table, and where its changes begin."""

import json
from dataclasses import replace

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.epoch import ChannelCommit, ChannelCommitted
from syncmgr.job.position import Position
from syncmgr.job.snapshot.chunk import MOST_POINTS, ChunkPlan, Load
from syncmgr.meta.codec import plan_json, plan_of
from syncmgr.pipeline.snapshot.snapshot import Snapshot
from tests.unit.pipeline.snapshot.test_snapshot import EXACT, Bench, CountingLake, GivenPoint

AWAY = SyncError(Code.SNAPSHOT_BROKEN, table="shop.two", reason="no answer")
PLAN = ChunkPlan(id="0-p", key=(), bounds=(), rows=1)


def at(number: int) -> Position:
    return replace(EXACT, offset=EXACT.offset + number)


class LateLake(CountingLake):
    """Table "two" has the rows of the read that came so many attempts before, whose answer was lost."""

    def __init__(self, attempts: int, *, unnamed: bool = False) -> None:
        super().__init__()
        self.attempts, self.unnamed, self.reads = attempts, unnamed, list[str]()
        self.plans: list[str] = []

    def commit(self, commit: ChannelCommit) -> ChannelCommitted:
        assert commit.chunk is not None
        done = super().commit(commit)
        if commit.token != "two":
            return done
        self.reads.append(commit.chunk.read)
        if not self.plans:
            self.plans.append(commit.chunk.plan)
        if commit.chunk.plan != self.plans[0]:
            return done
        if len(self.reads) < self.attempts:
            raise AWAY
        return replace(done, passed_over=True, read=None if self.unnamed else self.reads[0])


def bench_of(lake: CountingLake, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Each read has a later point."""
    bench = Bench(keys=(), retry_most=lambda: 0.0)
    bench.source.chunks, bench.lake = 1, lake
    bench.loads.known["one"] = Load(token="one", caught_up=True, upper=EXACT)
    plans = iter(range(1, 100))
    plan = bench.source.plan
    bench.source.plan = lambda *asked: replace(plan(*asked), id=f"p{next(plans)}")  # type: ignore[method-assign]
    points = iter(range(1, 100))
    monkeypatch.setattr(GivenPoint, "find", lambda *_: at(next(points)))
    return bench


def begun(bench: Bench, runs: int) -> Snapshot:
    """`runs`: in as many lives of the process."""
    for _ in range(runs):
        snapshot = bench.run()
    return snapshot


@pytest.mark.parametrize("attempts", [1, 2, 4])
def test_changes_follow_the_read_that_the_table_names(monkeypatch: pytest.MonkeyPatch, attempts: int) -> None:
    """However many others followed it, in whatever processes."""
    lake = LateLake(attempts)
    bench = bench_of(lake, monkeypatch)
    snapshot = begun(bench, attempts)
    assert len(set(lake.reads)) == attempts
    assert (snapshot.points(), bench.loads.known["two"].done) == ({"two": at(1)}, {1})
    assert not bench.loads.known["two"].replaces


def test_rows_of_a_read_that_is_not_known_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an earlier version left them: at once, by another plan, whose own point counts."""
    bench = bench_of(LateLake(2, unnamed=True), monkeypatch)
    snapshot = begun(bench, 2)
    load = bench.loads.known["two"]
    assert (load.replaces, load.done, snapshot.points()) == (True, {1}, {"two": at(3)})
    assert load.plan is not None
    assert load.plan.replaces
    assert snapshot.failures() == {}


def test_rows_of_a_read_before_what_was_read_since_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others went on without the table: what they passed over of it is not read again."""
    bench = bench_of(LateLake(2), monkeypatch)
    begun(bench, 1)
    bench.loads.last = replace(bench.loads.last, end=at(2))
    snapshot = begun(bench, 1)
    assert (bench.loads.known["two"].replaces, snapshot.points()) == (True, {"two": at(3)})


def test_points_are_stored_with_their_reads() -> None:
    """The last ones; a plan of an earlier version has only one, of no known read."""
    plan = PLAN
    for number in range(MOST_POINTS + 1):
        plan = plan.read_at(f"r{number}", at(number))
    stored = plan_of(json.loads(json.dumps(plan_json(plan))))
    assert stored == plan
    assert [stored.paired(read, since=at(0)) is None for read in ("r0", "r1", f"r{MOST_POINTS}")] == [
        True,
        False,
        False,
    ]
    earlier = {name: value for name, value in plan_json(replace(PLAN, point=at(1))).items() if name != "points"}
    assert plan_of(earlier) == replace(PLAN, point=at(1))
    assert plan_of(earlier).paired(None, since=at(0)) is None
