"""What of a check can be repaired, and what is stored then."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from syncmgr.control.checking.bracket import UnsteadyError
from syncmgr.control.checking.record import Check, CheckedTable, CheckState
from syncmgr.control.checking.repairs import Repairs
from syncmgr.errors import Code, SyncError
from syncmgr.job.check.check_options import CheckOptions
from syncmgr.job.check.verdict import Found, Kind
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import JobId
from tests.unit.control.checking.test_table_check import CHANNEL, TABLE
from tests.unit.job.factories import make_job, make_target

JOB = make_job(id=JobId(1), channels=(CHANNEL,), state=JobState.RUNNING)
TOKEN = CHANNEL.token


@dataclass
class House:
    """One job: how it is stored, how its rows were read, and what was stored of it."""

    job: Any = JOB
    resyncing: bool = False
    load: Any = None
    altered: list[Any] = field(default_factory=list)
    renewed: list[JobId] = field(default_factory=list)
    changing: threading.RLock = field(default_factory=threading.RLock)  # type: ignore[arg-type]

    @contextmanager
    def unless_unanswered(self, _job_id: JobId) -> Iterator[None]:
        yield

    def renew(self, job_id: JobId) -> None:
        self.renewed.append(job_id)

    @property
    def repairs(self) -> Repairs:
        last = SimpleNamespace(epoch=0, snapshot=None)
        at = SimpleNamespace(resyncing=self.resyncing, last=last)
        store: Any = SimpleNamespace(
            jobs=SimpleNamespace(by_id=lambda _: self.job, alter=lambda *_, resyncing: self.altered.append(resyncing)),
            epochs=SimpleNamespace(progress=lambda _: {TOKEN: at}),
            loads=SimpleNamespace(of=lambda _: {} if self.load is None else {TOKEN: self.load}),
        )
        catalog: Any = SimpleNamespace(table=lambda _db, _name: make_target(), is_other=lambda *_: False)
        house: Any = self
        return Repairs(store, house, catalog)


def checked(*found: Found, state: CheckState = CheckState.DONE, generation: int | None = None) -> Check:
    table = CheckedTable(job=JOB, channel=CHANNEL, state=state, table=TABLE, generation=generation)
    for each in found:
        table.finds(each, 100)
    return Check(id=7, options=CheckOptions.of({}), tables=(table,))


MISSING, EXTRA = Found(key=("1",), kind=Kind.MISSING), Found(key=("-2",), kind=Kind.EXTRA)


def test_exactly_the_rows_that_differ_are_read_again_by_the_next_run() -> None:
    house = House()
    [repair] = house.repairs.of(JOB, checked(MISSING, EXTRA, Found(key=("3",), kind=Kind.UNSETTLED)), None, 10)
    house.repairs.store(JOB, [repair])
    assert house.altered == [{TOKEN: repair.part}]
    assert (repair.part.lake, house.renewed) == ("`id` IN (1, -2)", [JOB.id])


@pytest.mark.parametrize(
    ("house", "check", "reason"),
    [
        (House(), checked(MISSING, state=CheckState.RUNNING), "still compares"),
        (House(), checked(), "no row that differs"),
        (House(), checked(Found(key=("3",), kind=Kind.UNSETTLED)), "no row that differs"),
        (House(resyncing=True), checked(MISSING), "read again since"),
        (House(load=SimpleNamespace(generation=2, caught_up=True)), checked(MISSING, generation=1), "read again since"),
        (
            House(load=SimpleNamespace(generation=1, caught_up=False, excerpt=None)),
            checked(MISSING, generation=1),
            "wait until its phase",
        ),
    ],
)
def test_what_cannot_be_repaired_is_refused_with_the_reason(house: House, check: Check, reason: str) -> None:
    with pytest.raises(SyncError, match=reason) as raised:
        house.repairs.of(JOB, check, None, 10)
    assert raised.value.code is Code.REPAIR_REFUSED


def test_a_table_that_the_job_no_longer_reads_or_another_one_is_refused() -> None:
    for job, token, reason in ((make_job(channels=()), None, "no longer reads"), (JOB, "other", "no row that differs")):
        with pytest.raises(SyncError, match=reason):
            House().repairs.of(job, checked(MISSING), token, 10)


def test_what_changes_before_it_is_stored_refuses_it() -> None:
    """Another statement: the rows were read again, the columns have changed, or the job is gone."""
    [repair] = House().repairs.of(JOB, checked(MISSING), None, 10)
    other = replace(CHANNEL, columns=(*CHANNEL.columns[:1], replace(CHANNEL.columns[1], expression="`id`")))
    changes: list[Callable[[], House]] = [
        lambda: House(resyncing=True),
        lambda: House(job=replace(JOB, channels=(other,))),
        lambda: House(job=None),
    ]
    for change in changes:
        house = change()
        with pytest.raises(SyncError):
            house.repairs.store(JOB, [repair])
        assert not house.altered


def test_keys_are_compared_once_their_rows_are_there() -> None:
    for house in (House(resyncing=True), House(), House(load=SimpleNamespace(generation=1, caught_up=False))):
        with pytest.raises(UnsteadyError):
            house.repairs.await_read(JOB, TOKEN)
    House(load=SimpleNamespace(generation=1, caught_up=True)).repairs.await_read(JOB, TOKEN)


def test_the_first_check_knows_which_rows_are_right_now() -> None:
    """Those that the check after it does not find; of one that was stopped nothing is known."""
    check = checked(MISSING, EXTRA)
    [repair] = House().repairs.of(JOB, check, None, 10)
    after = CheckedTable(job=JOB, channel=CHANNEL)
    after.ends(CheckState.STOPPED)
    assert not House().repairs.ended(repair, after)
    after.finds(EXTRA, 10)
    after.ends(CheckState.DONE)
    assert House().repairs.ended(repair, after)
    assert set(check.tables[0].repaired) == set(after.repaired) == {("1",)}
