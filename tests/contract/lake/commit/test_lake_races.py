"""A commit that is held between every two of its calls while somebody else works on the table."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from syncmgr.errors import SyncError
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.upkeep.compaction import Compaction, RewrittenGroup
from syncmgr.lake.upkeep.fold import Fold
from syncmgr.lake.upkeep.upkeep import Kind, Ran, compact, expire
from tests.contract.index_state import entries, held, rebuilt
from tests.support.spark_session import SPARK, LakeTable, Rival, Tables, commit_beside, in_pyiceberg
from tests.support.until import until

INS, UPD, DEL = ChangeKind
pytestmark = SPARK
MOST_CALLS = 90
SOME = pytest.param(False, id="some calls")
EACH = pytest.param(True, id="each call", marks=pytest.mark.long)


def fold(table: LakeTable) -> None:
    Fold(table.lake.iceberg(), table.lake.upkeep_session(), table.db, table.name, table.indexing).run()


def until_it_ran(table: LakeTable) -> tuple[Ran, ...]:
    """The first upkeep once the table is quiet."""
    found: list[tuple[Ran, ...]] = []

    def tick() -> bool:
        found.append(table.lake.upkeep(table.db, table.name))
        return bool(found[-1])

    until(tick)
    return found[-1]


def compaction(table: LakeTable) -> None:
    compact(table.lake.upkeep_session(), table.db, table.name, {"rewrite-all": "true"})


@pytest.mark.parametrize("each", [SOME, EACH])
def test_a_second_writer_of_an_epoch_is_passed_over(tables: Tables, *, each: bool) -> None:
    """Wherever a second writer of the same epoch comes in between, the epoch is in the table once."""
    table = tables.make()
    expected: list[tuple[object, ...]] = []
    for at in range(0, MOST_CALLS, 1 if each else 3):
        commit = table.prepared([(INS, at, at)])
        rival = Rival(lambda commit=commit: table.lake.commit(commit), locks=True)
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


def own_compaction(table: LakeTable) -> None:
    Compaction(table.lake.iceberg(), table.db, table.name, table.indexing).run()


def foreign_delete(table: LakeTable) -> None:
    """Somebody deletes a row that no epoch of the test touches."""
    table.sql("DELETE FROM {table} WHERE id = 100")


def off(table: LakeTable) -> None:
    table.indexing.give_up(ValueError("switched off by the test"))


@pytest.mark.parametrize("each", [SOME, EACH])
@pytest.mark.parametrize("place", ["", pytest.param("DISTRIBUTED BY HASH(id) BUCKETS 4", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("work", "locks", "indexed"),
    [
        pytest.param(fold, True, True, id="fold, indexed"),
        pytest.param(fold, True, False, id="fold, not indexed", marks=pytest.mark.long),
        pytest.param(compaction, False, True, id="compaction, indexed", marks=pytest.mark.slow),
        pytest.param(compaction, False, False, id="compaction, not indexed", marks=pytest.mark.long),
        pytest.param(own_compaction, True, True, id="own compaction, indexed"),
        pytest.param(own_compaction, True, False, id="own compaction, not indexed", marks=pytest.mark.long),
        pytest.param(foreign_delete, False, True, id="foreign delete, indexed"),
        pytest.param(foreign_delete, False, False, id="foreign delete, not indexed", marks=pytest.mark.long),
    ],
)
def test_upkeep_beside_a_commit(
    tables: Tables, work: Callable[[LakeTable], None], *, locks: bool, indexed: bool, place: str, each: bool
) -> None:
    """Wherever fold, compaction or another writer comes in between, no row is lost and none comes back."""
    table = tables.make(f"(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) {place}")
    if not indexed:
        off(table)
    table.commit([(INS, key, 0) for key in range(10)] + [(INS, 100, 0)])
    model = dict.fromkeys(range(10), 0)
    step = 1 if each else 7  # no divisor of 10: each key has its turn
    for at in range(0, MOST_CALLS, step):
        commit = table.prepared([(DEL, at % 10, 0), (INS, at % 10, at), (DEL, (at + 5) % 10, 0)])
        model[at % 10] = at
        model.pop((at + 5) % 10, None)
        rival = Rival(lambda: work(table), locks=locks)
        table.last_snapshot = commit_beside(table.lake, commit, at, rival)[0].snapshot
        assert sorted(model.items()) == [row for row in table.rows() if row[0] != 100], f"held before call {at}"
        if indexed:
            assert entries(held(table)) == entries(rebuilt(table)), f"held before call {at}"
        if not rival.ran:
            return
    pytest.fail("a commit takes more calls than this test tries")


@pytest.mark.slow
def test_an_expiry_beside_a_compaction(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """All older snapshots go, with their files, while a compaction has copied rows and has not committed yet."""
    table = tables.make()
    last = [table.commit([(UPD, key, epoch) for key in range(epoch, epoch + 3)]).snapshot for epoch in range(10)][-1]
    assert last is not None
    real = Compaction._swap

    def after_expiry(self: Compaction, copied: RewrittenGroup) -> int:
        monkeypatch.undo()
        assert expire(table.lake.iceberg(), table.lake.upkeep_session(snapshots=True), table.db, table.name, last) == 9
        return real(self, copied)

    monkeypatch.setattr(Compaction, "_swap", after_expiry)
    before = table.rows()
    own_compaction(table)
    assert table.files(0) == 1
    assert before == table.in_spark() == in_pyiceberg(table)
    assert entries(held(table)) == entries(rebuilt(table))


def held_up(monkeypatch: pytest.MonkeyPatch, work: Callable[[], None]) -> None:
    """Somebody works between the scan of a fold and its commit."""
    real = Fold._commit

    def after_work(self: Fold, *arguments: object, **options: object) -> int:
        monkeypatch.undo()
        work()
        return real(self, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Fold, "_commit", after_work)


@pytest.mark.parametrize(
    "indexed", [pytest.param(True, id="indexed"), pytest.param(False, id="not indexed", marks=pytest.mark.long)]
)
def test_a_commit_beside_upkeep(tables: Tables, monkeypatch: pytest.MonkeyPatch, *, indexed: bool) -> None:
    """An epoch that is committed between the scan of a fold and its commit stays, and so do its deletes."""
    table = tables.make()
    table.commit([(INS, key, 0) for key in range(10)])
    off(table)
    table.commit([(UPD, key, 1) for key in range(5)])
    if indexed:
        table.indexing._off_until = 0.0
    held_up(monkeypatch, lambda: table.commit([(DEL, 0, 0), (UPD, 1, 2), (INS, 10, 2)]) and None)
    with contextlib.suppress(Py4JJavaError):
        fold(table)
    expected = [(1, 2), *((key, 1) for key in range(2, 5)), *((key, 0) for key in range(5, 10)), (10, 2)]
    assert expected == table.rows()
    fold(table)
    assert expected == table.rows()


def test_a_fold_beside_a_compaction_gives_way(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deleted rows do not come back when the files that a fold scanned were rewritten before it committed."""
    table = tables.make()
    off(table)
    table.commit([(INS, key, 0) for key in range(10)])
    table.commit([(DEL, key, 0) for key in range(5)])
    held_up(monkeypatch, lambda: compaction(table))
    [ran] = until_it_ran(table)
    assert (ran.kind, ran.done) == (Kind.FOLD, 0)
    expected = [(key, 0) for key in range(5, 10)]
    assert expected == table.rows()
    fold(table)
    assert expected == table.rows()
    assert set() == table.stray_files()


def test_two_folds_of_one_table(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second fold that was faster leaves the first nothing: no file ever has two vectors."""
    table = tables.make()
    off(table)
    table.commit([(INS, key, 0) for key in range(10)])
    table.commit([(DEL, key, 0) for key in range(5)])
    held_up(monkeypatch, lambda: fold(table))
    with contextlib.suppress(Py4JJavaError):
        fold(table)
    assert table.rows() == [(key, 0) for key in range(5, 10)]
    assert (table.files(1), table.files(2)) == (1, 0)


def test_a_compaction_leaves_rows_that_a_roll_back_brought_back(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were dead when their file was copied; a refused commit of the job has renewed the index since."""
    table = tables.make()
    for start in range(0, 900, 100):
        table.commit([(INS, start + place, 0) for place in range(3)])
    before, expected = table.last_snapshot, table.rows()
    table.commit([(DEL, 1, 0), (DEL, 2, 0)])
    real = Compaction._swap

    def after_a_roll_back(self: Compaction, copied: Any) -> int:
        monkeypatch.undo()
        table.sql(f"CALL lake.system.rollback_to_snapshot('{table.db}.{table.name}', {before})")
        with pytest.raises(SyncError):
            table.apply(table.prepared([(INS, 5000, 0)]))
        return real(self, copied)

    monkeypatch.setattr(Compaction, "_swap", after_a_roll_back)
    Compaction(table.lake.iceberg(), table.db, table.name, table.indexing).run()
    assert table.rows() == expected
