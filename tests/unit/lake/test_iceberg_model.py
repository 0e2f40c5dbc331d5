"""Commits, folds and compactions beside somebody else, by a model of Iceberg's rules and in any order."""

import itertools
import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.epoch import ChannelCommit, ChannelCommitted, LastCommit, StagedFile
from syncmgr.job.rows.batch import OP, SEQ, ChangeKind
from syncmgr.lake.commit import commit as commit_module
from syncmgr.lake.commit.commit import Commit
from syncmgr.lake.index.index import TableIndex
from syncmgr.lake.index.indexing import IndexBudget, Indexing
from syncmgr.lake.upkeep.candidates import IdleTime
from syncmgr.lake.upkeep.compaction import Compaction
from syncmgr.lake.upkeep.fold import Fold
from tests.contract.index_state import entries
from tests.unit.lake.iceberg_model import (
    LAYOUT,
    Catalog,
    IcebergModel,
    Meta,
    RefusedError,
    Table,
)
from tests.unit.lake.others_model import CHANGES, SPECS, Others, Rows, contents, places, without_spark

TOKEN = "token"
CURES = 20  # that others undo before a commit comes through


@dataclass(frozen=True, kw_only=True)
class Life:
    """`indexed`: whether there is room for a key index. `changes`: which of the table itself others make."""

    version: int = 3
    indexed: bool = True
    changes: tuple[str, ...] = ()

    @property
    def may_stop(self) -> bool:
        """Whether there may be no index where others change the partition spec."""
        return not self.indexed or "identifier" in self.changes


class House:
    """A table, its index, the source's rows, and somebody else."""

    def __init__(self, folder: Path, seed: int, life: Life = Life()) -> None:
        self.dice, self.life = random.Random(seed), life
        self.catalog = Catalog(folder, life.version)
        self.iceberg = IcebergModel(self.catalog)
        self.others = Others(self.catalog, self.dice, life.changes)
        self.catalog.others = self.others.work
        self.indexing = Indexing(folder / "index", IndexBudget(lambda: 10**9 if life.indexed else 0))
        self.source: Rows = {}
        self.folder, self.number, self.epoch, self.seq = folder, 0, 0, 0
        self.last_snapshot: int | None = None

    @contextmanager
    def busy(self, often: float) -> Iterator[None]:
        self.others.often = often
        try:
            yield
        finally:
            self.others.often = 0.0

    def commit(self, changes: list[tuple[int, int, int]], *, answered: bool = True) -> None:
        """Again, where the answer was lost: whoever lives after a crash knows no more than the one before."""
        channel = self.prepared(changes)
        for _ in range(1 if answered else 2):
            done = self.run(channel)
        assert done.passed_over is not answered
        self.last_snapshot = self.last_snapshot if done.snapshot is None else done.snapshot

    def prepared(self, changes: list[tuple[int, int, int]]) -> ChannelCommit:
        self.epoch += 1
        return self._channel(changes)

    def run(self, channel: ChannelCommit) -> ChannelCommitted:
        """A table that is stopped for its partition spec is cured as the error advises, and then the same epoch goes
        on; with an index it is never stopped, unless its identifier is another one.
        """
        for _ in range(CURES):
            try:
                with self.busy(0.04):
                    return Commit(self.iceberg, channel, [], self.indexing).run()  # type: ignore[arg-type]
            except SyncError as error:
                if error.code is not Code.SPEC_CHANGED or not self.life.may_stop:
                    raise
                self.others.move()
        raise AssertionError(f"{CURES} cures have not helped")

    def rolled_back(self, *, answered: bool) -> bool:
        """Somebody takes back what was committed last; the job, which may have had no answer yet, must stop."""
        before = self.catalog.meta.current
        if before is None:
            return False
        channel = self.prepared(self.changes(3, new=False))
        done = self.run(channel)
        if answered:
            self.last_snapshot = done.snapshot
            channel = self.prepared(self.changes(3, new=True))
        known = {**self.catalog.meta.known, before.id: before}
        self.catalog.meta = replace(self.catalog.meta, current=before, known=known)
        with pytest.raises(SyncError) as caught:
            self.run(channel)
        assert caught.value.code is Code.TARGET_REPLACED
        return True

    def _channel(self, changes: list[tuple[int, int, int]]) -> ChannelCommit:
        self.seq += len(changes)
        kinds, keys, values = zip(*changes, strict=True)
        rows = {
            "id": pa.array(keys, pa.int64()),
            "v": pa.array(values, pa.int64()),
            OP: pa.array(kinds, pa.int8()),
            SEQ: pa.array(range(self.seq - len(changes), self.seq), pa.int64()),
        }
        path = self.folder / f"{uuid.uuid4()}.staged"
        pq.write_table(pa.table(rows), path)
        return ChannelCommit(
            token=TOKEN,
            epoch=self.epoch,
            fingerprint="",
            db="demo",
            table="t",
            files=(StagedFile(path=str(path), rows=len(changes), bytes=path.stat().st_size),),
            columns=tuple(MappedColumn(target=name, expression=f"`{name}`") for name in ("id", "v")),
            keys=("id",),
            where=None,
            last=LastCommit(epoch=self.epoch - 1, snapshot=self.last_snapshot),
        )

    def epoch_of(self, count: int, *, new: bool, answered: bool = True) -> None:
        self.commit(self.changes(count, new=new), answered=answered)

    def changes(self, count: int, *, new: bool) -> list[tuple[int, int, int]]:
        changes = []
        for _ in range(count):
            self.number += 1
            known = [] if new else sorted(self.source)
            if not known or self.dice.random() < 0.4:
                kind, key = ChangeKind.INSERT, self.number
            else:
                kind, key = self.dice.choice([ChangeKind.UPDATE, ChangeKind.DELETE]), self.dice.choice(known)
            changes.append((int(kind), key, self.number))
            self.source.pop(key, None) if kind is ChangeKind.DELETE else self.source.update({key: self.number})
        return changes

    def take_over(self) -> None:
        """The source gets a key that somebody else has inserted."""
        if self.others.rows:
            key = self.dice.choice(sorted(self.others.rows))
            self.number += 1
            self.source[key] = self.number
            often, self.others.often = self.others.often, 0.0
            del self.others.rows[key]
            self.commit([(int(ChangeKind.INSERT), key, self.number)])
            self.others.often = often

    def upkeep(self) -> None:
        """Often there is something to fold."""
        if self.dice.random() < 0.5:
            self.others.upsert()
        with self.busy(0.2):
            for work in (
                Fold(self.iceberg, None, "demo", "t", self.indexing),  # type: ignore[arg-type]
                Compaction(self.iceberg, "demo", "t", self.indexing, IdleTime.IDLE),
            ):  # type: ignore[arg-type]
                try:
                    work.run()
                except RefusedError:  # it gave way
                    continue

    def assert_right(self) -> None:
        """Each key once, and an index that holds knows where; there is one wherever one can be."""
        live = [(key, value) for _, _, rows in places(self.catalog) for key, value, _ in rows]
        assert sorted(live) == sorted({**self.others.rows, **self.source}.items())
        table = Table(self.catalog)
        with self.indexing.lock:
            index = self.indexing.usable(self.iceberg, table)  # type: ignore[arg-type]
        if not self.life.indexed or table.meta.layout.identifier != LAYOUT.identifier:
            return
        assert index is not None, self.indexing.standing()
        fresh = TableIndex(index.shape)
        fresh.follow(contents(self.catalog))
        assert entries(index) == entries(fresh)
        assert self.indexing.standing().missing == 0


KINDS = ["new", "mixed", "lost", "taken", "upkeep", "rolled back"]
STEPS = st.lists(st.sampled_from(KINDS), min_size=1, max_size=12)
LIVES = st.builds(
    Life,
    version=st.sampled_from([2, 3]),
    indexed=st.booleans(),
    changes=st.sampled_from([(), *((each,) for each in CHANGES), CHANGES]),
)


def lived_through(steps: list[str], seed: int, life: Life) -> None:
    with TemporaryDirectory() as folder, without_spark():
        house = House(Path(folder), seed, life)
        for step in steps:
            match step:
                case "new":
                    house.epoch_of(3, new=True)
                case "mixed":
                    house.epoch_of(4, new=False)
                case "lost":
                    house.epoch_of(4, new=False, answered=False)
                case "taken":
                    house.take_over()
                case "upkeep":
                    house.upkeep()
                case "rolled back" if house.rolled_back(answered=house.dice.random() < 0.5):
                    return
            house.assert_right()


@settings(
    max_examples=30 if settings().derandomize else 300, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(steps=STEPS, seed=st.integers(0, 2**32), life=LIVES)
def test_rows_and_index_are_right_whoever_comes_between(steps: list[str], seed: int, life: Life) -> None:
    """Whatever others insert, delete, rewrite or expire between two steps, however they change the partition spec, the
    sort order and the identifier, whichever answer is lost, with an index and without, the table has the rows of both
    sides once, no file that it names is deleted, and the index knows each row; a roll-back is told, and a table that is
    stopped for its spec goes on after the cure.
    """
    lived_through(steps, seed, life)


def is_found(life: Life) -> None:
    """Some of a hundred lives go wrong."""
    dice = random.Random(1)
    kinds = ["new", "mixed", "taken", "upkeep", "upkeep", "upkeep"]
    lives = [(dice.choices(kinds, k=12), seed, life) for seed in range(100)]
    with pytest.raises(AssertionError):
        list(itertools.starmap(lived_through, lives))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("changes", [(), *((each,) for each in CHANGES)], ids=str)
def test_the_model_finds_an_index_that_goes_stale(
    monkeypatch: pytest.MonkeyPatch, version: int, changes: tuple[str, ...]
) -> None:
    """Without the look at the parent of our own snapshot rows are lost or doubled, and the test above sees it, whatever
    else others change.
    """

    def unguarded(self: TableIndex, _before: object, snapshot: int | None, how: object) -> None:
        how()  # type: ignore[operator]
        self._snapshot, self.lost = snapshot, False

    monkeypatch.setattr(TableIndex, "advanced", unguarded)
    is_found(Life(version=version, changes=changes))


@pytest.mark.parametrize("indexed", [False, True])
def test_the_model_finds_equality_deletes_that_do_not_reach_all_rows(
    monkeypatch: pytest.MonkeyPatch, *, indexed: bool
) -> None:
    """Without the look at the specs of a table's files rows stay double that others have moved to another partition:
    where there is no index, or none because of the identifier.
    """
    monkeypatch.setattr(commit_module, "refuse_unreachable", lambda *_: None)
    is_found(Life(indexed=indexed, changes=("spec",) if not indexed else ("spec", "identifier")))


def test_the_model_finds_an_index_of_other_columns_than_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the look at the identifier rows are not found by their key."""
    monkeypatch.setattr(commit_module, "refuse_other_key", lambda *_: None)
    is_found(Life(changes=("identifier",)))


def test_rows_that_are_moved_to_other_partitions_during_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Iceberg would repeat equality deletes for the old partitions beside the rows in the new ones, which double then;
    the commit begins anew instead.
    """
    house, finish = House(tmp_path, 1, Life(indexed=False)), IcebergModel.finish
    house.catalog.others = lambda: None  # but for this one
    house.catalog.meta = house.catalog.meta.partitioned(*SPECS[1])

    def moved(self: IcebergModel, transaction: Table) -> int:
        monkeypatch.setattr(IcebergModel, "finish", finish)
        house.catalog.meta = house.catalog.meta.partitioned(*SPECS[2])
        house.others.rewrite(1.0)
        return finish(self, transaction)

    with without_spark():
        house.epoch_of(6, new=True)
        monkeypatch.setattr(IcebergModel, "finish", moved)
        house.source = dict.fromkeys(house.source, 99)
        house.commit([(int(ChangeKind.UPDATE), key, 99) for key in house.source])
    house.assert_right()


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("indexed", [False, True])
def test_rows_that_were_deleted_while_a_rewrite_moved_them(tmp_path: Path, version: int, *, indexed: bool) -> None:
    """A rewrite into another partition spec takes its time, and Iceberg lets it pass beside equality deletes that no
    longer reach what it moves: an index, or a fold where there is none, still does.
    """
    house = House(tmp_path, 1, Life(version=version, indexed=False))
    house.catalog.others = lambda: None  # but for this one
    house.catalog.meta = house.catalog.meta.partitioned(*SPECS[1])
    with without_spark():
        house.epoch_of(6, new=True)
        house.others.insert()
        moving = house.others.moving(*SPECS[2])
        first, second, *_ = house.source
        house.source[first] = 99
        del house.source[second]
        house.commit([(int(ChangeKind.UPDATE), first, 99), (int(ChangeKind.DELETE), second, 0)])
        moving()
        with pytest.raises(AssertionError):
            house.assert_right()  # nobody who reads can know
        if indexed:
            house.life = Life(version=version)
            house.indexing = Indexing(tmp_path / "other", IndexBudget(lambda: 10**9))
            house.epoch_of(4, new=False)
        else:
            Fold(house.iceberg, None, "demo", "t", house.indexing).run()  # type: ignore[arg-type]
        house.assert_right()


@pytest.mark.parametrize("work", ["fold", "compaction"])
def test_upkeep_that_is_rolled_back_before_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: str
) -> None:
    """What has the same parent as our own snapshot is not taken for it: the index looks at the table."""
    house = House(tmp_path, 1)
    for _ in range(9):
        house.epoch_of(3, new=True)
    house.others.insert()
    if work == "fold":
        house.others.upsert()
    house.assert_right()
    before, refresh = house.catalog.meta, Table.refresh

    def rolled_back(table: Table) -> None:
        if house.catalog.meta.current is not before.current:
            monkeypatch.undo()
            house.catalog.meta = replace(house.catalog.meta, current=before.current)
            house.others.insert()
        refresh(table)

    monkeypatch.setattr(Table, "refresh", rolled_back)
    if work == "fold":
        assert Fold(house.iceberg, None, "demo", "t", house.indexing).run()  # type: ignore[arg-type]
    else:
        assert Compaction(house.iceberg, "demo", "t", house.indexing, IdleTime.IDLE).run()  # type: ignore[arg-type]
    assert Table.refresh is refresh
    house.assert_right()
    house.epoch_of(4, new=False)
    house.assert_right()


def test_an_index_that_holds_for_nothing_does_not_hold_for_an_empty_table(tmp_path: Path) -> None:
    """After a commit without an answer somebody replaces the table by an empty one, which keeps its uuid: no row of
    the old files is struck, and none is known.
    """
    house = House(tmp_path, 1)
    house.others.insert(5)
    house.assert_right()
    house.indexing.lost()
    house.catalog.meta, house.others.rows = Meta(), Rows()
    house.source[5] = 7
    house.commit([(int(ChangeKind.INSERT), 5, 7)])
    house.assert_right()


@pytest.mark.parametrize("new", [True, False])
def test_a_table_that_is_replaced_during_a_commit_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, new: bool
) -> None:
    """Iceberg validates nothing where the table has no snapshot any more; its uuid and properties have stayed. The
    commit must not land there: the next epoch would find it and go on without all rows from before.
    """
    house = House(tmp_path, 1)
    for _ in range(2):
        house.epoch_of(4, new=True)
    finish = IcebergModel.finish

    def replaced(self: IcebergModel, transaction: Table) -> int:
        monkeypatch.undo()
        house.catalog.meta = replace(house.catalog.meta, current=None)
        return finish(self, transaction)

    monkeypatch.setattr(IcebergModel, "finish", replaced)
    with pytest.raises(SyncError) as caught:
        house.epoch_of(3, new=new)
    assert caught.value.code is Code.TARGET_REPLACED
    assert house.catalog.meta.current is None
