import threading
from collections.abc import Collection, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from syncmgr.console.table_columns import TABLES
from syncmgr.control.checking.checks import Checks
from syncmgr.control.checking.record import INTERRUPTED, REASON
from syncmgr.control.checking.repairs import Repairs
from syncmgr.errors import Code, SyncError
from syncmgr.job.check.check_options import CheckLimits
from syncmgr.job.position import Position
from syncmgr.job.show_sync import WantedRows
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import JobId, SyncJob
from syncmgr.meta.checks.outcomes import Outcome
from syncmgr.pipeline.witness import Witnesses
from syncsql import CheckSync, Name, Property
from tests.support.until import until
from tests.unit.control.checking.test_table_check import CHANNEL
from tests.unit.job.factories import make_job, make_target

LIMITS = CheckLimits(running=4, kept=5, wait_second=60.0, repaired_rows=10)


class Server:
    """It is never settled: its job does not run."""

    def __init__(self) -> None:
        self.given_up = threading.Event()

    def give_up(self) -> None:
        self.given_up.set()

    def bounds(self, _channel: object, _rows: int) -> tuple[tuple[str, ...], int]:
        return (), 10


class Kept:
    """The outcomes that are stored. `fails`: nothing more can be."""

    def __init__(self) -> None:
        self.stored: dict[tuple[int, int], Outcome] = {}
        self.fails = False

    def all(self) -> list[Outcome]:
        return [self.stored[place] for place in sorted(self.stored)]

    def begin(self, outcomes: Sequence[Outcome], forgotten: Collection[int]) -> None:
        self.stored = {place: each for place, each in self.stored.items() if each.check not in forgotten}
        for each in outcomes:
            self.change(each)

    def change(self, outcome: Outcome) -> None:
        if self.fails:
            raise SyncError(Code.META_DOWN, reason="gone")
        self.stored[outcome.check, outcome.place] = outcome


class House:
    """The rest of the frontend: one job, which does not run, and another one."""

    def __init__(self, job: SyncJob, server: Server | None, kept: Kept | None = None) -> None:
        self.kept = kept or Kept()
        self.epochs: list[Any] = []
        jobs = SimpleNamespace(
            by_name=lambda _db, _name: job, by_id=lambda _: job, all=lambda *, live: [job] if live else []
        )
        store: Any = SimpleNamespace(
            jobs=jobs,
            checks=self.kept,
            epochs=SimpleNamespace(of=lambda *_: self.epochs),
            loads=SimpleNamespace(of=lambda _: {}),
        )
        runs: Any = SimpleNamespace(of=lambda _: None)
        queries: Any = SimpleNamespace(cancel=lambda _: None)
        self.checks = Checks(
            store=store,
            runs=runs,
            witnesses=Witnesses(),
            server_of=lambda _: server,  # type: ignore[arg-type,return-value]
            target_of=lambda _db, _name: make_target(),
            queries=queries,
            repairs=Repairs(store, runs, SimpleNamespace()),  # type: ignore[arg-type]
            limits=lambda: LIMITS,
        )


JOB = make_job(id=JobId(1), channels=(CHANNEL,))


def stored(offset: int, committed_at: float | None) -> Any:
    return SimpleNamespace(epoch=SimpleNamespace(end=Position(offset=offset)), committed_at=committed_at)


NODE = CheckSync(job=Name(name="job1"))


@pytest.fixture
def house() -> Iterator[House]:
    made = House(JOB, Server())
    yield made
    made.checks.close()


def state(house: House) -> list[object]:
    return [row[8] for row in house.checks.rows("sync_checks")]


def test_a_check_waits_for_its_job_and_is_stopped(house: House) -> None:
    found = house.checks.start(NODE, "demo")
    until(lambda: house.checks.rows("sync_checks")[0][REASON] == "its job does not run", why="the reason")
    assert (state(house), house.checks.outcome(found)) == (["WAITING"], None)
    assert house.checks.jobs_of(found) == {("demo", "job1")}
    house.checks.stop(found)
    until(lambda: state(house) == ["STOPPED"], why="the end")
    assert house.checks.outcome(found) == [("demo.orders", "check", "error", "STOPPED")]
    house.checks.stop(found)


@pytest.mark.parametrize(
    ("job", "server", "code"),
    [
        (JOB, None, Code.CHECK_REFUSED),
        (make_job(channels=(CHANNEL,), state=JobState.CANCELLED), Server(), Code.ILLEGAL_TRANSITION),
        (make_job(channels=(CHANNEL,), properties={"on_value_error": "null"}), Server(), Code.CHECK_REFUSED),
    ],
)
def test_what_can_never_be_compared_is_refused_at_once(job: SyncJob, server: Server | None, code: Code) -> None:
    with pytest.raises(SyncError) as raised:
        House(job, server).checks.start(NODE, "demo")
    assert raised.value.code is code


@pytest.mark.parametrize(
    ("node", "code"),
    [
        (CheckSync(job=Name(name="job1"), tables=(Name(name="other"),)), Code.NO_SUCH_CHANNEL),
        (CheckSync(job=Name(name="job1"), properties=(Property(key="round", value="1"),)), Code.PROPERTY_UNKNOWN),
    ],
)
def test_what_is_not_there_is_refused(house: House, node: CheckSync, code: Code) -> None:
    with pytest.raises(SyncError) as raised:
        house.checks.start(node, "demo")
    assert raised.value.code is code


def test_a_target_that_no_job_fills_is_refused_and_others_are_compared(house: House) -> None:
    with pytest.raises(SyncError) as raised:
        house.checks.start_targets([Name(name="elsewhere")], "demo")
    assert raised.value.code is Code.CHECK_REFUSED
    assert house.checks.jobs_of(house.checks.start_targets([Name(name="orders")], "demo")) == {("demo", "job1")}


def test_only_so_many_go_on_at_a_time(house: House) -> None:
    for _ in range(LIMITS.running):
        house.checks.start(NODE, "demo")
    with pytest.raises(SyncError) as raised:
        house.checks.start(NODE, "demo")
    assert raised.value.code is Code.TOO_MANY_CHECKS


def test_a_check_that_does_not_exist_is_unknown(house: House) -> None:
    for ask in (house.checks.stop, house.checks.outcome, house.checks.jobs_of):
        with pytest.raises(SyncError) as raised:
            ask(7)
        assert raised.value.code is Code.NO_SUCH_CHECK


def test_an_intent_is_not_what_the_target_has(house: House) -> None:
    """The newest epoch may have been begun and be in no table."""
    assert house.checks.stored_end(JOB.id) is None
    house.epochs = [stored(1, 10.0), stored(2, 11.0), stored(3, None)]
    assert house.checks.stored_end(JOB.id) == Position(offset=2)


def test_a_check_that_ends_with_its_frontend_says_so_after_the_next_start(house: House) -> None:
    """It has no result; one that had ended keeps its own, and numbers are not given again."""
    stopped, cut = house.checks.start(NODE, "demo"), house.checks.start(NODE, "demo")
    house.checks.stop(stopped)
    until(lambda: house.kept.stored[stopped, 0].over, why="it is stored")
    before = house.checks.rows("sync_checks")[0]
    after = House(JOB, Server(), house.kept).checks
    after.recover()
    rows = after.rows("sync_checks")
    assert rows[0] == before
    assert [(row[3], row[8], row[9], row[REASON]) for row in rows[1:]] == [(cut, "FAILED", None, INTERRUPTED)]
    assert [each.over for each in house.kept.all()] == [True, True]
    assert after.jobs_of(cut) == {("demo", "job1")}
    after.stop(cut)
    assert after.start(NODE, "demo") == cut + 1
    after.close()


def test_the_oldest_are_forgotten(house: House) -> None:
    """Those of an earlier life first."""
    shown = tuple(range(len(TABLES["sync_checks"])))
    for number in range(1, LIMITS.kept + 1):
        house.kept.change(Outcome(check=number, place=0, job_id=JOB.id, row=shown, over=True))
    house.checks.recover()
    found = house.checks.start(NODE, "demo")
    assert found == LIMITS.kept + 1
    assert [each.check for each in house.kept.all()] == list(range(2, LIMITS.kept + 2))
    assert len(house.checks.rows("sync_checks")) == LIMITS.kept


def test_only_rows_that_are_wanted_are_made(house: House) -> None:
    """Of one check, of some jobs, or of the newest, of this life of the frontend and of earlier ones alike."""
    for number in (1, 2):
        row = (JOB.id, JOB.db, JOB.name, number, "RUNNING")
        found = tuple((*row, at) for at in range(3))
        house.kept.change(Outcome(check=number, place=0, job_id=JOB.id, row=row, found=found, over=True))
    house.checks.recover()
    house.checks.start(NODE, "demo")

    def ids(table: str, **wanted: Any) -> list[object]:
        return [row[3] for row in house.checks.rows(table, WantedRows(**wanted))]

    assert ids("sync_checks") == [1, 2, 3]
    assert ids("sync_checks", newest=2) == [2, 3]
    assert ids("sync_checks", check=2) == [2]
    assert ids("sync_checks", check=3) == [3]
    assert ids("sync_checks", job=lambda _id, _db, name: name != JOB.name) == []
    assert ids("sync_check_rows", newest=4) == [1, 2, 2, 2]
    assert [row[-1] for row in house.checks.rows("sync_check_rows", WantedRows(check=1, newest=2))] == [1, 2]


def test_a_check_whose_end_cannot_be_stored_ends(house: House) -> None:
    found = house.checks.start(NODE, "demo")
    house.kept.fails = True
    house.checks.stop(found)
    until(lambda: state(house) == ["STOPPED"], why="the end")
