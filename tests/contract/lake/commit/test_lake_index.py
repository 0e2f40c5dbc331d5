"""The key index against real tables: every snapshot clean, and the index what a rebuild would make it."""

import contextlib
import random
import threading
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syncmgr.errors import SyncError
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.index.index_store import HEAD
from syncmgr.lake.index.indexing import Indexing, IndexState
from syncmgr.lake.upkeep.compaction import Compaction
from syncmgr.lake.upkeep.fold import Fold
from syncmgr.lake.upkeep.upkeep import compact
from tests.contract.index_state import entries, held, rebuilt
from tests.support.slow import some_slow
from tests.support.spark_session import SPARK, LakeTable, Tables, in_pyiceberg

INS, UPD, DEL = ChangeKind
pytestmark = SPARK

PLAIN = "(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id)"
Change = tuple[object, ...]


def assert_right(table: LakeTable) -> None:
    """The index, its files and their dead rows are what a rebuild finds, and nothing was missed."""
    index, fresh = held(table), rebuilt(table)
    assert entries(index) == entries(fresh)
    dead = {file.content.path: file.dead for file in fresh.files.values()}
    assert {file.content.path: file.dead for file in index.files.values()} == dead
    assert table.indexing.standing().missing == 0


class Source:
    """A table of MySQL's, as a dict, and the changes it logs."""

    def __init__(self, key_of: Callable[[int], tuple[object, ...]], seed: int) -> None:
        self._key_of, self._dice = key_of, random.Random(seed)
        self.rows: dict[int, int] = {}

    def epoch(self, changes: int) -> list[Change]:
        """Inserts, updates and deletes of few keys, so that many meet."""
        log: list[Change] = []
        for value in range(changes):
            number = self._dice.randrange(60)
            if number not in self.rows:
                kind, self.rows[number] = INS, value
            elif self._dice.random() < 0.4:
                kind = DEL
                del self.rows[number]
            else:
                kind, self.rows[number] = UPD, value
            log.append((kind, *self._key_of(number), value))
        return log

    def expected(self) -> list[tuple[object, ...]]:
        return sorted((*self._key_of(number), value) for number, value in self.rows.items())


SHAPES = [
    pytest.param(PLAIN, ("id",), lambda n: (n,), {}, id="one integer", marks=pytest.mark.long),
    pytest.param(f"{PLAIN} DISTRIBUTED BY HASH(id) BUCKETS 4", ("id",), lambda n: (n,), {}, id="buckets"),
    pytest.param(f'{PLAIN} PROPERTIES ("format-version" = "2")', ("id",), lambda n: (n,), {}, id="format v2"),
    pytest.param(
        "(a VARCHAR(20) NOT NULL, b DECIMAL(10,2) NOT NULL, v BIGINT) UNIQUE KEY(a, b)",
        ("a", "b"),
        lambda n: (f"kéy {n % 7}", Decimal(n) / 4),
        {"a": pa.string(), "b": pa.decimal128(8, 2)},
        id="hashed",
        marks=pytest.mark.long,
    ),
    pytest.param(
        "(d DATE NOT NULL, f BINARY NOT NULL, v BIGINT) UNIQUE KEY(d, f) PARTITION BY (day(d))",
        ("d", "f"),
        lambda n: (np.datetime64("2020-01-01").astype(object).replace(day=1 + n % 3), bytes([n, 0])),
        {"d": pa.date32(), "f": pa.binary()},
        id="days and bytes",
        marks=pytest.mark.long,
    ),
]


@pytest.mark.parametrize(("definition", "keys", "key_of", "types"), SHAPES)
def test_every_snapshot_is_clean_and_right(
    tables: Tables,
    definition: str,
    keys: tuple[str, ...],
    key_of: Callable[[int], tuple[object, ...]],
    types: dict[str, pa.DataType],
) -> None:
    """After each of many epochs Spark and pyiceberg read the source's rows, no equality delete was ever written,
    and the index equals a rebuild.
    """
    table = tables.make(definition, (*keys, "v"), keys, types=types)
    source = Source(key_of, seed=5)
    for number in range(8):
        table.commit(source.epoch(40))
        assert table.rows() == source.expected()
        assert table.files(2) == 0
        if number % 3 == 0:
            assert_right(table)
    assert_right(table)
    assert in_pyiceberg(table) == source.expected()


def test_files_without_live_rows_leave_the_table(tables: Tables) -> None:
    """A hot key does not leave a data file and a vector for each epoch behind."""
    table = tables.make()
    for value in range(6):
        table.commit([(UPD if value else INS, 1, value)])
    assert (table.files(0), table.files(1)) == (1, 0)
    table.commit([(DEL, 1, 0)])
    assert (table.files(0), table.files(1)) == (0, 0)
    assert_right(table)


def test_an_update_of_an_unknown_row_is_counted(tables: Tables) -> None:
    """With rows that the source had before the job began, SHOW tells how many changes met no row."""
    table = tables.make()
    table.commit([(INS, 1, 0), (UPD, 2, 0), (DEL, 3, 0)])
    assert table.indexing.standing().missing == 2


def off(table: LakeTable) -> None:
    table.indexing.give_up(ValueError("switched off by the test"))


def on(table: LakeTable) -> None:
    table.indexing._off_until = 0.0


def test_equality_deletes_until_the_index_is_back(tables: Tables) -> None:
    """Without the index the epochs write equality deletes; the first epoch with it turns them all into vectors."""
    table = tables.make()
    source = Source(lambda n: (n,), seed=7)
    table.commit(source.epoch(40))
    off(table)
    for _ in range(3):
        table.commit(source.epoch(20))
    assert table.files(2) == 3
    assert table.rows() == source.expected()
    on(table)
    table.commit(source.epoch(20))
    assert table.files(2) == 0
    assert table.in_spark() == source.expected() == in_pyiceberg(table)
    assert_right(table)


def test_a_fold_uses_the_index(tables: Tables) -> None:
    """The fold of a quiet table needs no scan where the index can be made to hold."""
    table = tables.make()
    source = Source(lambda n: (n,), seed=8)
    table.commit(source.epoch(60))
    off(table)
    table.commit(source.epoch(60))
    on(table)
    assert fold(table) == 1
    assert table.files(2) == 0
    assert table.in_spark() == source.expected() == in_pyiceberg(table)
    assert_right(table)


@pytest.mark.parametrize("version", [pytest.param(2, marks=pytest.mark.long), 3])
def test_a_fold_without_the_index(tables: Tables, version: int) -> None:
    """Where there is no index a scan of the table finds what equality deletes hit, beside vectors that were there."""
    table = tables.make(f'{PLAIN} PROPERTIES ("format-version" = "{version}")')
    source = Source(lambda n: (n,), seed=9)
    table.commit(source.epoch(60))
    table.commit(source.epoch(20))
    off(table)
    for _ in range(2):
        table.commit(source.epoch(20))
    assert fold(table) == 2
    assert table.files(2) == 0
    assert table.in_spark() == source.expected() == in_pyiceberg(table)
    on(table)
    table.commit(source.epoch(20))
    assert table.rows() == source.expected()
    assert_right(table)


def fold(table: LakeTable) -> int:
    return Fold(table.lake.iceberg(), table.lake.upkeep_session(), table.db, table.name, table.indexing).run()


def own_compaction(table: LakeTable) -> int | None:
    return Compaction(table.lake.iceberg(), table.db, table.name, table.indexing).run()


def spark_compaction(table: LakeTable) -> None:
    with table.indexing.set_aside():
        compact(table.lake.upkeep_session(), table.db, table.name, {"rewrite-all": "true"})


FOREIGN = [
    pytest.param("INSERT INTO {table} SELECT id, 0 FROM range(100, 120)", id="insert"),
    pytest.param("DELETE FROM {table} WHERE id % 3 = 0", id="delete"),
    pytest.param("MERGE INTO {table} t USING (SELECT id FROM range(200)) s ON t.id = s.id "
                 "WHEN MATCHED AND s.id % 2 = 0 THEN UPDATE SET v = -1", id="merge"),
    pytest.param("DELETE FROM {table}", id="empty"),
]  # fmt: skip


@pytest.mark.parametrize("change", FOREIGN)
def test_what_others_do_is_noticed_before_the_next_commit(tables: Tables, change: str) -> None:
    """A foreign writer's rows and deletes are in the index before the next epoch looks anything up."""
    table = tables.make()
    table.commit([(INS, key, 1) for key in range(20)])
    table.sql(change)
    expected = {row[0]: row[1] for row in table.rows()}
    table.commit([(UPD, key, 2) for key in range(0, 200, 5)] + [(DEL, key, 0) for key in range(1, 200, 7)])
    expected |= dict.fromkeys(range(0, 200, 5), 2)
    last = {key: value for key, value in expected.items() if key % 7 != 1}
    assert table.rows() == sorted(last.items())
    assert entries(held(table)) == entries(rebuilt(table))
    assert table.files(2) == 0


def test_a_key_that_is_there_twice_keeps_the_index_off(tables: Tables) -> None:
    """A foreign writer doubled a key: nobody can tell which row is meant, so equality deletes hit both."""
    table = tables.make()
    table.commit([(INS, 1, 1), (INS, 2, 1)])
    table.sql("INSERT INTO {table} VALUES (1, 7)")
    table.commit([(UPD, 1, 2)])
    standing = table.indexing.standing()
    assert (standing.state, standing.reason) == (IndexState.OFF, "1 keys are in the table more than once")
    assert table.rows() == [(1, 2), (2, 1)]
    assert table.files(2) == 1


def test_a_table_that_was_rolled_back(tables: Tables) -> None:
    """Rows that live again are found again: the index is made anew from what the table holds."""
    table = tables.make()
    first = table.commit([(INS, key, 0) for key in range(10)]).snapshot
    table.commit([(DEL, key, 0) for key in range(5)])
    table.sql(f"CALL lake.system.rollback_to_snapshot('{table.db}.{table.name}', {first})")
    table.last_snapshot = first
    table.commit([(UPD, key, 3) for key in range(10)])
    assert table.rows() == [(key, 3) for key in range(10)]
    assert entries(held(table)) == entries(rebuilt(table))


def lineage(table: LakeTable) -> list[tuple[object, ...]]:
    """The identity of each row, which format v3 keeps when it moves to another file."""
    return table.in_spark("id, _row_id, _last_updated_sequence_number")


def row_groups(table: LakeTable) -> list[int]:
    """Of each data file: a reader pays for each."""
    iceberg, io = table.lake.iceberg(), table.loaded().io()
    found = []
    for row in iceberg.spark.sql(f"SELECT file_path FROM lake.{table.db}.{table.name}.data_files").collect():
        with iceberg.storage.whole(io, row.file_path) as path:
            found.append(pq.read_metadata(path).num_row_groups)
    return found


@pytest.mark.parametrize("place", ["", pytest.param("DISTRIBUTED BY HASH(id) BUCKETS 2", marks=pytest.mark.long)])
def test_own_compaction_beside_commits(tables: Tables, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Epochs go on while files are copied; what they delete meanwhile stays deleted in the new file."""
    table = tables.make(f"{PLAIN} {place}")
    source = Source(lambda n: (n,), seed=11)
    for _ in range(9):
        table.commit([(INS, 1000 + table.epoch, table.epoch), *source.epoch(12)])
    extra = [(1000 + epoch, epoch + 0) for epoch in range(9)]
    real = Compaction._swap
    swaps: list[int] = []

    def after_a_commit(self: Compaction, *arguments: object) -> int:
        table.commit(source.epoch(30))
        swaps.append(real(self, *arguments))  # type: ignore[arg-type]
        table.commit(source.epoch(10))
        return swaps[-1]

    ids = lineage(table)
    assert own_compaction(table)
    assert lineage(table) == ids
    assert row_groups(table) == [1] * table.files(0)
    monkeypatch.setattr(Compaction, "_swap", after_a_commit)
    for number in range(9):
        table.commit([(INS, 2000 + number, 0), *source.epoch(12)])
    extra += [(2000 + number, 0) for number in range(9)]
    assert own_compaction(table)
    assert any(swaps)
    assert table.rows() == sorted([*source.expected(), *extra])
    assert table.files(2) == 0
    assert_right(table)
    assert in_pyiceberg(table) == sorted([*source.expected(), *extra])


def test_compaction_by_spark_beside_commits(tables: Tables) -> None:
    """Where Spark compacts, epochs write equality deletes meanwhile, and the index follows to the new files."""
    table = tables.make()
    source = Source(lambda n: (n,), seed=12)
    for _ in range(6):
        table.commit(source.epoch(20))
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            table.commit(source.epoch(10))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(3):
            spark_compaction(table)
    finally:
        stop.set()
        writer.join()
    assert table.rows() == source.expected()
    assert_right(table)
    fold(table)
    assert in_pyiceberg(table) == source.expected()


def restarted(table: LakeTable) -> Indexing:
    """The table's index as the next process finds it."""
    found = Indexing(table.lake._indexes.folder, table.lake._indexes.budget, f"{table.db}.{table.name}")
    table.lake._upkeep[table.db, table.name].indexing = found
    return found


def test_two_tables_of_one_uuid_have_an_index_each(tables: Tables) -> None:
    """As another engine registers the metadata of a table under a second name: neither deletes the files of the other,
    and the index of an earlier version is taken over.
    """
    table = tables.make()
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    metadata = table.lake.iceberg().load(table.db, table.name).operations().current().metadataFileLocation()
    table.sql(f"CALL lake.system.register_table('{table.db}.other', '{metadata}')")
    other = replace(table, name="other")
    for each in (table, other, table, other):
        each.commit([(INS, 10 * each.epoch, 0), (UPD, 1, each.epoch)])
        each.indexing.save(now=True)
    for each in (table, other):
        before = {path.name for path in each.indexing._store._folder.iterdir()}  # type: ignore[union-attr]
        found = restarted(each)
        assert_right(each)
        assert {path.name for path in found._store._folder.iterdir()} == before  # type: ignore[union-attr]
    folder = table.indexing._store._folder  # type: ignore[union-attr]
    folder.rename(folder.with_name(str(table.lake.iceberg().load(table.db, table.name).uuid())))
    restarted(table)
    assert_right(table)
    other.indexing.drop()
    assert folder.exists()
    table.sql(f"DROP TABLE lake.{table.db}.other")


def test_an_index_outlives_a_restart(tables: Tables) -> None:
    """What was saved is used, and what was committed since is read from the new files alone."""
    table = tables.make()
    source = Source(lambda n: (n,), seed=13)
    for _ in range(3):
        table.commit(source.epoch(30))
    table.indexing.save(now=True)
    for _ in range(3):
        table.commit(source.epoch(30))
    restarted(table)
    assert_right(table)
    table.commit(source.epoch(30))
    assert table.rows() == source.expected()
    assert table.files(2) == 0
    table.indexing.save(now=True)
    restarted(table)
    assert_right(table)


def test_deletes_that_were_settled_after_the_index_was_saved(tables: Tables) -> None:
    """An index that was saved with equality deletes to settle, and finds them settled, follows a compaction."""
    table = tables.make()
    for key in range(9):
        table.commit([(INS, key, 0), (INS, 100 + key, 0)])
    off(table)
    table.commit([(UPD, 1, 1)])
    on(table)
    assert held(table).pending
    table.indexing.save(now=True)
    table.commit([(UPD, 2, 1)])
    restarted(table)
    assert own_compaction(table)
    table.commit([(UPD, 3, 1), (DEL, 4, 0)])
    values = dict.fromkeys([*range(9), *range(100, 109)], 0) | {1: 1, 2: 1, 3: 1}
    assert table.rows() == [(key, value) for key, value in values.items() if key != 4]
    assert_right(table)


def test_upkeep_opens_the_index_of_a_table_at_rest(tables: Tables) -> None:
    """After a restart SHOW tells the truth of a table to which nobody commits."""
    table = tables.make()
    table.commit([(INS, key, 0) for key in range(50)])
    table.indexing.save(now=True)
    restarted(table)
    table.lake.upkeep(table.db, table.name)
    standing = table.indexing.standing()
    assert (standing.state, standing.rows) == (IndexState.READY, 50)


def damages() -> list[Callable[[Path], None]]:
    def torn(folder: Path) -> None:
        for run in folder.glob("run-*"):
            run.write_bytes(run.read_bytes()[:-8])

    def flipped(folder: Path) -> None:
        for run in folder.glob("run-*"):
            content = bytearray(run.read_bytes())
            content[3] ^= 1
            run.write_bytes(bytes(content))

    def headless(folder: Path) -> None:
        (folder / HEAD).write_text("{", encoding="utf-8")

    def newer(folder: Path) -> None:
        (folder / HEAD).write_text((folder / HEAD).read_text().replace('"version": 2', '"version": 99'))

    def gone(folder: Path) -> None:
        for path in folder.glob("dead-*"):
            path.unlink()

    return [torn, flipped, headless, newer, gone]


@pytest.mark.parametrize("damage", damages(), ids=lambda damage: damage.__name__)
def test_a_damaged_index_is_built_anew(
    tables: Tables, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    """A torn, changed, unknown or foreign file is dropped with a line in the log, and never believed."""
    table = tables.make()
    table.commit([(INS, key, 0) for key in range(50)])
    table.indexing.save(now=True)
    [folder] = [path for path in table.lake._indexes.folder.iterdir() if path.name.startswith(table.indexing._table)]
    damage(folder)
    restarted(table)
    caplog.clear()
    assert_right(table)
    assert "is dropped and built again" in caplog.text


def test_a_big_table_is_indexed_in_the_background(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many keys to read beside a commit: epochs write equality deletes until upkeep has built the index."""
    monkeypatch.setattr("syncmgr.lake.index.indexing.AT_ONCE_BYTES", 16 * 100)
    table = tables.make()
    table.sql("INSERT INTO {table} SELECT id, 0 FROM range(1000)")
    table.commit([(UPD, 1, 1)])
    assert table.indexing.standing().state is IndexState.BUILDING
    assert table.files(2) == 1
    table.lake.upkeep(table.db, table.name)
    assert table.indexing.standing().state is IndexState.READY
    table.commit([(UPD, 2, 1)])
    assert table.files(2) == 0
    assert table.rows()[:4] == [(0, 0), (1, 1), (2, 1), (3, 0)]
    assert_right(table)


def test_no_memory_no_index(tables: Tables) -> None:
    """A table whose keys do not fit into key_index_max_bytes goes on with equality deletes, and SHOW says why."""
    table = tables.make()
    table.lake._indexes.budget._most = lambda: 100
    try:
        table.commit([(INS, key, 0) for key in range(50)])
        table.commit([(UPD, key, 1) for key in range(50)])
        standing = table.indexing.standing()
        assert standing.state is IndexState.OFF
        assert "key_index_max_bytes" in str(standing.reason)
        assert table.rows() == [(key, 1) for key in range(50)]
    finally:
        table.lake._indexes.budget._most = lambda: 2**30


def test_a_key_type_that_has_no_canonical_form(tables: Tables) -> None:
    """A timestamp that becomes text has no form that Spark and the index agree on: then there is no index."""
    table = tables.make(
        "(at VARCHAR(30) NOT NULL, v BIGINT) UNIQUE KEY(at)", ("at", "v"), ("at",), types={"at": pa.timestamp("us")}
    )
    table.commit([(INS, np.datetime64("2020-01-01T00:00:00.5", "us").astype(object), 1)])
    assert table.indexing.standing().state is IndexState.OFF
    assert "is filled from timestamp" in str(table.indexing.standing().reason)
    assert len(table.rows()) == 1


@pytest.mark.parametrize("committed", [True, False])
def test_a_commit_whose_outcome_is_unknown(tables: Tables, monkeypatch: pytest.MonkeyPatch, *, committed: bool) -> None:
    """The line to the JVM breaks while it commits: whether it did or not, the index is right afterwards."""
    table = tables.make()
    source = Source(lambda n: (n,), seed=21)
    table.commit(source.epoch(40))
    commit = table.prepared(source.epoch(40))
    real = Iceberg.finish

    def broken(self: Iceberg, transaction: object) -> int:
        if committed:
            real(self, transaction)
        raise ConnectionError("broken by the test")

    monkeypatch.setattr(Iceberg, "finish", broken)
    with pytest.raises(SyncError):
        table.lake.commit(commit)
    monkeypatch.undo()
    assert table.apply(commit).passed_over is committed
    table.commit(source.epoch(40))
    assert table.rows() == source.expected()
    assert table.files(2) == 0
    assert_right(table)
    assert table.stray_files() == set()


@pytest.mark.parametrize("at", some_slow(range(5), always=[1, 4]))
def test_killed_while_it_is_saved(tables: Tables, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Whichever of its files was the last one that was written, the next start has the old index or the new one."""
    table = tables.make()
    source = Source(lambda n: (n,), seed=22)
    table.commit(source.epoch(40))
    table.indexing.save(now=True)
    table.commit(source.epoch(40))
    steps = iter(range(10))

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            if next(steps) == at:
                raise KeyboardInterrupt
            return real(*arguments, **options)

        return call

    for name in ("write_bytes", "write_text", "replace", "unlink"):
        monkeypatch.setattr(Path, name, counted(getattr(Path, name)))
    with contextlib.suppress(KeyboardInterrupt):
        table.indexing.save(now=True)
    monkeypatch.undo()
    restarted(table)
    assert_right(table)
    table.commit(source.epoch(40))
    assert table.rows() == source.expected()


def test_a_table_that_somebody_brings_to_v3(tables: Tables) -> None:
    """Position deletes of v2 stay in force in the vectors of v3."""
    table = tables.make(f'{PLAIN} PROPERTIES ("format-version" = "2")')
    source = Source(lambda n: (n,), seed=23)
    for _ in range(3):
        table.commit(source.epoch(40))
    table.sql("ALTER TABLE {table} SET TBLPROPERTIES ('format-version' = '3')")
    for _ in range(3):
        table.commit(source.epoch(40))
        assert table.rows() == source.expected()
    assert_right(table)
    assert in_pyiceberg(table) == source.expected()


def test_a_column_that_was_added_and_renamed(tables: Tables) -> None:
    """Compaction finds columns by their ids: NULL for a new one in older files, its values for a renamed one."""
    table = tables.make()
    for epoch in range(5):
        table.commit([(INS, 10 * epoch + key, key) for key in range(5)])
    table.sql("ALTER TABLE {table} ADD COLUMN more STRING")
    table.sql("ALTER TABLE {table} RENAME COLUMN id TO number")
    table.columns, table.keys = ("number", "v"), ("number",)
    for epoch in range(5, 10):
        table.commit([(INS, 10 * epoch + key, key) for key in range(5)] + [(UPD, 10 * (epoch - 5), 9)])
    before = table.rows()
    assert own_compaction(table) == 10
    assert table.rows() == before
    assert_right(table)


def test_a_table_that_was_loaded_before_a_commit_does_not_take_the_index_back(tables: Tables) -> None:
    """Upkeep that loads the table, and gets the lock only behind a commit, finds the index where the commit left it."""
    table = tables.make(PLAIN)
    table.commit([(INS, key, 0) for key in range(100)])
    iceberg = table.lake.iceberg()
    early = iceberg.load(table.db, table.name)
    table.commit([(UPD, key, 1) for key in range(50)])
    index = held(table)
    with table.indexing.lock:
        assert table.indexing.usable(iceberg, early) is index
    assert table.indexing.standing().state is IndexState.READY
    assert_right(table)
