"""Commits, folds and compactions beside somebody else, by a model of Iceberg's rules and in any order."""

import itertools
import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.epoch import ChannelCommit, ChannelCommitted, StagedFile
from syncmgr.job.rows.batch import OP, SEQ, ChangeKind
from syncmgr.lake.commit.commit import Commit
from syncmgr.lake.commit.vectors import POSITIONS
from syncmgr.lake.iceberg.puffin import puffin, vector_rows
from syncmgr.lake.iceberg.snapshot_files import Contents, contents_of, vector_of
from syncmgr.lake.index.arrow import arrow_schema
from syncmgr.lake.index.index import TableIndex
from syncmgr.lake.index.indexing import Budget, Indexing
from syncmgr.lake.upkeep.candidates import Calm
from syncmgr.lake.upkeep.compaction import Compaction
from syncmgr.lake.upkeep.fold import Fold
from tests.contract.index_state import entries
from tests.unit.lake.iceberg_model import (
    LAYOUT,
    NUMBERS,
    Catalog,
    Change,
    File,
    IcebergModel,
    Meta,
    RefusedError,
    Table,
    as_file,
    data_file,
)

TOKEN = "token"
FIRST_OF_OTHERS = 1000
Rows = dict[int, int]


class Others:
    """Somebody who works on rows of his own, and on files whosever rows they hold. He commits in one step."""

    def __init__(self, catalog: Catalog, dice: random.Random) -> None:
        self.catalog, self.dice, self.rows = catalog, dice, Rows()
        self.often = 0.0
        self._keys = iter(range(FIRST_OF_OTHERS, 10**9))

    def work(self) -> None:
        if self.dice.random() < self.often:
            often = [self.insert, self.rewrite]
            self.dice.choice([*often, *often, self.delete, self.upsert, self.expire])()

    def _commit(self, change: Change) -> None:
        self.catalog.meta = self.catalog.meta.after(change, next(NUMBERS))

    def written(self, rows: Rows) -> File:
        path = self.catalog.folder / f"others-{uuid.uuid4()}.parquet"
        columns = [pa.array(rows.keys(), pa.int64()), pa.array(rows.values(), pa.int64())]
        pq.write_table(pa.Table.from_arrays(columns, schema=arrow_schema(LAYOUT.fields)), path)
        return data_file(path)

    def insert(self, *keys: int) -> None:
        rows = dict.fromkeys(keys or (next(self._keys), next(self._keys)), -1)
        self.rows |= rows
        self._commit(Change("append", (self.written(rows),)))

    def rewrite(self) -> None:
        files = list(places(self.catalog))
        chosen = [each for each in files if self.dice.random() < 0.6]
        if not chosen:
            return
        rows = {key: value for file, _, live in chosen for key, value, _ in live}
        gone = [file for file, vector, _ in chosen for file in (file, vector) if file is not None]
        current = self.catalog.meta.current
        assert current is not None
        new = (replace(self.written(rows), sequence=current.sequence),) if rows else ()
        self._commit(Change("replace", new, tuple(gone)))

    def delete(self) -> None:
        """One row of his, by a vector, or the whole file where it holds nothing else."""
        for file, vector, live in places(self.catalog):
            mine = [(key, row) for key, _, row in live if key in self.rows]
            if not mine:
                continue
            old = () if vector is None else (vector,)
            if len(mine) == len(live):
                self.rows = {key: value for key, value in self.rows.items() if key not in {key for key, _ in mine}}
                self._commit(Change("delete", (), (file, *old)))
                return
            key, row = mine[0]
            del self.rows[key]
            if self.catalog.version < 3:
                self._commit(Change("overwrite", (self._positions(file, row),)))
            else:
                self._commit(Change("overwrite", (self._vector(file, vector, row),), old))
            return

    def _positions(self, file: File, row: int) -> File:
        path = self.catalog.folder / f"others-{uuid.uuid4()}.parquet"
        pq.write_table(pa.table([[file.location()], [row]], schema=POSITIONS), path)
        return File({**data_file(path).facts, "content": "position-deletes"})

    def _vector(self, file: File, vector: File | None, row: int) -> File:
        dead = dead_rows(vector) | BitMap([row])
        content, where = puffin({file.location(): dead})
        path = self.catalog.folder / f"others-{uuid.uuid4()}.puffin"
        path.write_bytes(content)
        [data] = [each for each in contents(self.catalog).data if each.path == file.location()]
        return as_file(vector_of(data, str(path), len(content), where[file.location()]))

    def upsert(self) -> None:
        """As a stream of Flink does: an equality delete beside the new row."""
        if not self.rows:
            return
        key = self.dice.choice(sorted(self.rows))
        self.rows[key] -= 1
        gone = self.written({key: 0})
        facts = {**gone.facts, "content": "equality-deletes", "equality-ids": [1]}
        self._commit(Change("overwrite", (self.written({key: self.rows[key]}), File(facts))))

    def expire(self) -> None:
        """All snapshots but the current one."""
        current = self.catalog.meta.current
        if current is not None:
            self.catalog.meta = replace(self.catalog.meta, known={current.id: current})


def contents(catalog: Catalog) -> Contents:
    return contents_of(IcebergModel(Catalog(catalog.folder)), Table(catalog))  # type: ignore[arg-type]


def dead_rows(vector: File | None) -> BitMap:
    if vector is None:
        return BitMap()
    with Path(vector.location()).open("rb") as file:
        file.seek(vector.facts["content-offset"])
        return vector_rows(file.read(vector.facts["content-size-in-bytes"]))


def places(catalog: Catalog) -> Iterator[tuple[File, File | None, list[tuple[int, int, int]]]]:
    """Each data file with its vector and its live rows (key, value, row), as the specification says."""
    files = catalog.meta.files.values()
    vectors = {f.facts["referenced-data-file"]: f for f in files if "referenced-data-file" in f.facts}
    positions = [f for f in files if f.facts["content"] == "position-deletes" and "referenced-data-file" not in f.facts]
    struck = [(p, each) for f in positions for each in pq.read_table(f.location()).to_pylist() for p in [f.sequence]]
    gone: dict[int, int] = {}
    for file in files:
        if file.facts["content"] == "equality-deletes":
            for key in pq.read_table(file.location())["id"].to_pylist():
                gone[key] = max(gone.get(key, 0), file.sequence)
    for file in files:
        if file.is_data:
            vector = vectors.get(file.location())
            dead, rows = dead_rows(vector), pq.read_table(file.location())
            dead |= BitMap(
                each["pos"] for at, each in struck if each["file_path"] == file.location() and at >= file.sequence
            )
            pairs = zip(rows["id"].to_pylist(), rows["v"].to_pylist(), strict=True)
            live = [
                (key, value, row)
                for row, (key, value) in enumerate(pairs)
                if row not in dead and gone.get(key, 0) <= file.sequence
            ]
            yield file, vector, live


class House:
    """A table, its index, the source's rows, and somebody else."""

    def __init__(self, folder: Path, seed: int, version: int = 3) -> None:
        self.dice = random.Random(seed)
        self.catalog = Catalog(folder, version)
        self.iceberg = IcebergModel(self.catalog)
        self.others = Others(self.catalog, self.dice)
        self.catalog.others = self.others.work
        self.indexing = Indexing(folder / "index", Budget(lambda: 10**9))
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
        with self.busy(0.04):
            return Commit(self.iceberg, channel, [], self.indexing).run()  # type: ignore[arg-type]

    def rolled_back(self, *, answered: bool) -> bool:
        """Somebody takes back what was committed last; the job, which may have had no answer yet, must stop."""
        before = self.catalog.meta.current
        if before is None:
            return False
        channel = self.prepared(self.changes(3, new=False))
        done = Commit(self.iceberg, channel, [], self.indexing).run()  # type: ignore[arg-type]
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
            last_epoch=self.epoch - 1,
            last_snapshot=self.last_snapshot,
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
        with self.busy(0.2):
            for work in (
                Fold(self.iceberg, None, "demo", "t", self.indexing),  # type: ignore[arg-type]
                Compaction(self.iceberg, "demo", "t", self.indexing, Calm.IDLE),
            ):  # type: ignore[arg-type]
                try:
                    work.run()
                except RefusedError:  # it gave way
                    continue

    def assert_right(self) -> None:
        """Each key once, and an index that holds knows where."""
        live = [(key, value) for _, _, rows in places(self.catalog) for key, value, _ in rows]
        assert sorted(live) == sorted({**self.others.rows, **self.source}.items())
        table = Table(self.catalog)
        with self.indexing.lock:
            index = self.indexing.usable(self.iceberg, table)  # type: ignore[arg-type]
        assert index is not None, self.indexing.standing()
        fresh = TableIndex(index.shape)
        fresh.follow(contents(self.catalog))
        assert entries(index) == entries(fresh)
        assert self.indexing.standing().missing == 0


KINDS = ["new", "mixed", "lost", "taken", "upkeep", "rolled back"]
STEPS = st.lists(st.sampled_from(KINDS), min_size=1, max_size=12)


def lived_through(steps: list[str], seed: int, version: int = 3) -> None:
    with TemporaryDirectory() as folder:
        house = House(Path(folder), seed, version)
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


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS, seed=st.integers(0, 2**32), version=st.sampled_from([2, 3]))
def test_rows_and_index_are_right_whoever_comes_between(steps: list[str], seed: int, version: int) -> None:
    """Whatever others insert, delete, rewrite or expire between two steps, and whichever answer is lost, the table has
    the rows of both sides once, no file that it names is deleted, and the index knows each row; a roll-back is told.
    """
    lived_through(steps, seed, version)


def test_the_model_finds_an_index_that_goes_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the look at the parent of our own snapshot rows are lost or doubled, and the test above sees it."""

    def unguarded(self: TableIndex, _before: object, snapshot: int | None, how: object) -> None:
        how()  # type: ignore[operator]
        self._snapshot, self.lost = snapshot, False

    monkeypatch.setattr(TableIndex, "advanced", unguarded)
    dice = random.Random(1)
    lives = [(dice.choices(["new", "mixed", "taken", "upkeep"], k=10), seed) for seed in range(100)]
    with pytest.raises(AssertionError):
        list(itertools.starmap(lived_through, lives))


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
        assert Compaction(house.iceberg, "demo", "t", house.indexing, Calm.IDLE).run()  # type: ignore[arg-type]
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
