"""A commit that is held between every two of its calls while somebody else works on the table."""

from collections.abc import Callable

import pytest

from syncmgr.job.batch import ChangeKind
from syncmgr.spark.fold import Fold
from syncmgr.spark.upkeep import Kind, Ran, compact
from tests.spark_session import SPARK, LakeTable, Rival, Tables, commit_beside
from tests.until import until

INS, UPD, DEL = ChangeKind
pytestmark = SPARK
MOST_CALLS = 60


def fold(table: LakeTable) -> None:
    Fold(table.lake.iceberg(), table.lake.upkeep_session(), table.db, table.name).run()


def until_it_ran(table: LakeTable) -> tuple[Ran, ...]:
    """The first upkeep once the table is quiet."""
    found: list[tuple[Ran, ...]] = []

    def tick() -> bool:
        found.append(table.lake.upkeep(table.db, table.name, None))
        return bool(found[-1])

    until(tick, deadline=30)
    return found[-1]


def compaction(table: LakeTable) -> None:
    compact(table.lake.upkeep_session(), table.db, table.name, {"rewrite-all": "true"})


def test_a_second_writer_of_an_epoch_is_passed_over(tables: Tables) -> None:
    """Wherever a second writer of the same epoch comes in between, the epoch is in the table once."""
    table = tables.make(key_may_exist=False)
    expected: list[tuple[object, ...]] = []
    for at in range(MOST_CALLS):
        commit = table.prepared([(INS, at, at)])
        rival = Rival(lambda commit=commit: table.lake.commit(commit))
        done, calls = commit_beside(table.lake, commit, at, rival)
        table.last_snapshot = done.snapshot
        expected.append((at, at))
        assert expected == table.rows(), f"held before call {at}"
        assert rival.ran == (at < calls)
        if not rival.ran:
            break
    else:
        pytest.fail("a commit takes more calls than this test tries")
    assert set() == table.stray_files()


@pytest.mark.parametrize("work", [fold, compaction])
def test_upkeep_beside_a_commit(tables: Tables, work: Callable[[LakeTable], None]) -> None:
    """Wherever fold or compaction comes in between, no row is lost and none comes back."""
    table = tables.make()
    table.commit([(INS, key, 0) for key in range(10)])
    model = dict.fromkeys(range(10), 0)
    for at in range(0, MOST_CALLS, 3):
        commit = table.prepared([(DEL, at % 10, 0), (INS, at % 10, at), (DEL, (at + 5) % 10, 0)])
        model[at % 10] = at
        model.pop((at + 5) % 10, None)
        rival = Rival(lambda: work(table))
        table.last_snapshot = commit_beside(table.lake, commit, at, rival)[0].snapshot
        assert sorted(model.items()) == table.rows(), f"held before call {at}"
        if not rival.ran:
            return
    pytest.fail("a commit takes more calls than this test tries")


def test_a_commit_beside_upkeep(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """An epoch that is committed between the scan of a fold and its commit stays, and so do its deletes."""
    table = tables.make()
    table.commit([(INS, key, 0) for key in range(10)])
    table.commit([(UPD, key, 1) for key in range(5)])
    iceberg = table.lake.iceberg()
    real = type(iceberg).fold

    def after_a_commit(self: object, *arguments: object) -> None:
        table.commit([(DEL, 0, 0), (UPD, 1, 2), (INS, 10, 2)])
        real(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(type(iceberg), "fold", after_a_commit)
    fold(table)
    monkeypatch.undo()
    expected = [(1, 2), *((key, 1) for key in range(2, 5)), *((key, 0) for key in range(5, 10)), (10, 2)]
    assert expected == table.rows()
    fold(table)
    assert expected == table.rows()


def test_a_fold_beside_a_compaction_gives_way(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deleted rows do not come back when the files that a fold scanned were rewritten before it committed."""
    table = tables.make()
    table.commit([(INS, key, 0) for key in range(10)])
    table.commit([(DEL, key, 0) for key in range(5)])
    iceberg = table.lake.iceberg()
    real = type(iceberg).fold

    def after_a_compaction(self: object, *arguments: object) -> None:
        compaction(table)
        real(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(type(iceberg), "fold", after_a_compaction)
    [ran] = until_it_ran(table)
    monkeypatch.undo()
    assert (ran.kind, ran.done) == (Kind.FOLD, 0)
    expected = [(key, 0) for key in range(5, 10)]
    assert expected == table.rows()
    fold(table)
    assert expected == table.rows()
    assert set() == table.stray_files()
