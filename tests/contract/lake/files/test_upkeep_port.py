"""What every lake promises of the upkeep of its tables (`lake/port.py`): the one in memory, and Iceberg."""

import time
from itertools import pairwise
from typing import Protocol

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.job.show_sync import Ran, index_facts, upkeep_facts
from syncmgr.job.snapshot.retention import Kept
from syncmgr.lake.port import LakeTables, Upkeep
from tests.support.memory_tables import databases
from tests.support.memory_upkeep import MemoryUpkeep
from tests.support.spark_session import SPARK, LakeTable
from tests.support.until import until
from tests.unit.job.factories import make_target

FILES = 10  # more than it leaves
SNAPSHOTS = 24  # enough of them are old


class Bench(Protocol):
    """A table with a key, into which one channel commits."""

    lake: Upkeep
    tables: LakeTables
    db: str
    name: str

    def commit(self, key: int) -> int:
        """A row; returns the snapshot."""

    def rows(self) -> list[tuple[object, ...]]: ...


class InMemory:
    def __init__(self) -> None:
        self.tables = databases("demo")
        self.lake = MemoryUpkeep(self.tables)
        self.db, self.name = "demo", "orders"
        self.tables.create_table(make_target(db=self.db, name=self.name), for_job=False)
        self._keys: list[int] = []

    def commit(self, key: int) -> int:
        self._keys.append(key)
        known = self.tables.committed.setdefault((self.db, self.name), [])
        known.append(len(self._keys))
        if len(self._keys) == FILES:
            self.lake.due.add((self.db, self.name))
        return known[-1]

    def rows(self) -> list[tuple[object, ...]]:
        return [(key, key) for key in self._keys]


class InIceberg:
    def __init__(self, table: LakeTable) -> None:
        self._table = table
        self.lake, self.tables = table.lake, table.lake.tables
        self.db, self.name = table.db, table.name

    def commit(self, key: int) -> int:
        snapshot = self._table.commit([(ChangeKind.INSERT, key, key)]).snapshot
        assert snapshot is not None
        return snapshot

    def rows(self) -> list[tuple[object, ...]]:
        return self._table.rows()


def in_memory(_request: pytest.FixtureRequest) -> Bench:
    return InMemory()


def in_iceberg(request: pytest.FixtureRequest) -> Bench:
    return InIceberg(request.getfixturevalue("tables").make())


@pytest.fixture(params=[in_memory, pytest.param(in_iceberg, marks=SPARK)])
def bench(request: pytest.FixtureRequest) -> Bench:
    made: Bench = request.param(request)
    assert made.lake.serves
    return made


def test_what_ran_changes_no_row_and_is_in_the_log(bench: Bench) -> None:
    """Oldest first, with its kind and the time of its end, as SHOW has them."""
    begun = time.time()
    assert bench.lake.upkeep_log(bench.db, bench.name) == ()
    for key in range(FILES):
        bench.commit(key)
    before = bench.rows()
    ran = list[Ran]()
    until(lambda: ran.extend(bench.lake.upkeep(bench.db, bench.name)) or ran)
    assert bench.rows() == before
    log = bench.lake.upkeep_log(bench.db, bench.name)
    assert list(log[-len(ran) :]) == ran
    assert begun <= log[0].at <= log[-1].at <= time.time()
    assert all(one.at <= next_one.at for one, next_one in pairwise(log))
    assert {each.kind for each in log} == set(upkeep_facts(log, None))


def test_what_is_kept_stays(bench: Bench) -> None:
    """The snapshot of the oldest kept point and all after it; those before it go once there are enough of them."""
    *old, point, last = (bench.commit(key) for key in range(SNAPSHOTS))
    kept = Kept(point=point, last=(last,))
    until(lambda: bench.lake.expire(bench.db, bench.name, kept) and not is_held(bench, old[0]))
    assert is_held(bench, point)
    assert is_held(bench, last)
    log = bench.lake.upkeep_log(bench.db, bench.name)
    assert log
    assert bench.lake.expire(bench.db, bench.name, kept) == ()
    assert bench.lake.upkeep_log(bench.db, bench.name) == log


def is_held(bench: Bench, snapshot: int) -> bool:
    return snapshot in bench.tables.snapshots(bench.db, bench.name)


def test_the_index_is_that_of_the_newest_commit(bench: Bench) -> None:
    """With every key that the table has; that of a table without a commit is not ready."""
    assert bench.lake.index(bench.db, bench.name).state != "ready"
    bench.commit(1)
    newest = bench.commit(2)
    facts = index_facts(bench.lake.index(bench.db, bench.name))
    expected = {"state": "ready", "reason": None, "rows": 2, "equality_deletes": 0, "missing": 0}
    assert expected.items() <= facts.items()
    assert bench.lake.index(bench.db, bench.name).snapshot == newest


def test_a_table_that_is_not_there_is_an_error_of_its_own(bench: Bench) -> None:
    """Of its upkeep alone; its state can be asked for, and nothing ran."""
    for call in (
        lambda: bench.lake.upkeep(bench.db, "gone"),
        lambda: bench.lake.expire(bench.db, "gone", Kept()),
    ):
        with pytest.raises(SyncError) as refused:
            call()
        assert refused.value.code is Code.NO_SUCH_TABLE
    assert bench.lake.upkeep_log(bench.db, "gone") == ()
    assert bench.lake.index(bench.db, "gone").rows == 0
