"""Fold, compaction and expiry of real tables."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syncmgr.job.epoch import ChannelCommitted, Epoch
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.job.snapshot.retention import Kept
from syncmgr.job.sync_job import JobId
from syncmgr.lake.upkeep import upkeep
from syncmgr.lake.upkeep.fold import Fold
from syncmgr.lake.upkeep.upkeep import OLD_SNAPSHOTS, SMALL_FILES, Kind, TableUpkeep, compact, expire
from syncmgr.meta.codec import Vault
from syncmgr.meta.database.engine import sqlite_url
from syncmgr.meta.store import Store
from tests.support import metadata, stored
from tests.support.spark_session import FOREIGN_ROW, SPARK, LakeTable, Tables, in_pyiceberg
from tests.support.until import until
from tests.unit.job.factories import make_channel, make_job

INS, UPD, DEL = ChangeKind
pytestmark = SPARK


def fold(table: LakeTable) -> None:
    Fold(table.lake.iceberg(), table.lake.upkeep_session(), table.db, table.name, table.indexing).run()


@pytest.mark.parametrize("place", ["", pytest.param("DISTRIBUTED BY HASH(id) BUCKETS 4", marks=pytest.mark.long)])
def test_after_a_fold_every_reader_sees_the_same_rows(tables: Tables, place: str) -> None:
    """A fold leaves no equality delete, and pyiceberg, which refuses those, reads what Spark reads."""
    table = tables.make(f"(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) {place}")
    table.indexing.give_up(ValueError("switched off by the test"))
    table.commit([(INS, key, 0) for key in range(50)])
    for epoch in range(3):
        table.commit([(UPD, key, epoch) for key in range(epoch, 50, 7)] + [(DEL, 49 - epoch, 0)])
    before = table.rows()
    until(lambda: table.lake.upkeep(table.db, table.name))
    assert before == table.in_spark() == in_pyiceberg(table)
    assert table.files(2) == 0
    assert table.files(1) > 0


def test_rows_that_others_wrote_are_folded_too(tables: Tables) -> None:
    """Deletes hit rows of any writer and of a compaction, whose files are named in another way than ours."""
    table = tables.make()
    table.sql("INSERT INTO {table} SELECT id, 0 FROM range(20)")
    table.commit([(UPD, key, 1) for key in range(0, 20, 3)])
    fold(table)
    assert table.files(1) > 0
    compact(table.lake.upkeep_session(), table.db, table.name, {"rewrite-all": "true"})
    table.commit([(UPD, key, 2) for key in range(0, 20, 5)] + [(DEL, 1, 0)])
    before = table.rows()
    fold(table)
    assert table.files(2) == 0
    assert before == table.in_spark() == in_pyiceberg(table)
    assert [key for key in range(20) if key != 1] == [row[0] for row in before]


@pytest.mark.parametrize(
    "name", ["k0", *(pytest.param(name, marks=pytest.mark.long) for name in ("at", "number", "position", "gone"))]
)
def test_a_fold_reads_the_key_whatever_other_columns_are_called(tables: Tables, name: str) -> None:
    """Names that the fold has for itself, for columns of another type too."""
    table = tables.make()
    table.indexing.give_up(ValueError("switched off by the test"))
    table.sql(f"ALTER TABLE {{table}} ADD COLUMN {name} STRING")
    table.sql("INSERT INTO {table} SELECT id, 0, 'text' FROM range(20)")
    table.commit([(UPD, key, 1) for key in range(0, 20, 3)])
    assert table.files(2) > 0
    before = table.rows()
    fold(table)
    assert table.files(2) == 0
    assert before == table.rows()


@pytest.mark.parametrize(
    "change", ["DROP IDENTIFIER FIELDS id", pytest.param("SET IDENTIFIER FIELDS id, v", marks=pytest.mark.long)]
)
def test_a_table_whose_identifier_was_changed_is_folded_too(tables: Tables, change: str) -> None:
    """By the columns that its deletes name: they stayed forever, and nothing was compacted."""
    table = tables.make("(id BIGINT NOT NULL, v BIGINT NOT NULL) UNIQUE KEY(id)")
    table.commit([(INS, key, 0) for key in range(20)])
    table.sql("ALTER TABLE {table} " + change)
    for epoch in range(3):
        table.commit([(UPD, key, epoch) for key in range(0, 20, 3)])
    before = table.rows()
    assert table.files(2) > 0
    until(lambda: table.lake.upkeep(table.db, table.name))
    assert table.files(2) == 0
    assert before == table.in_spark() == in_pyiceberg(table)


def test_small_files_become_big_ones(tables: Tables) -> None:
    """Once a table is quiet its small files are rewritten, and the log says so."""
    table = tables.make()
    for key in range(SMALL_FILES):
        table.commit([(INS, key, key)])
    ran: list[Kind] = []

    def tick() -> bool:
        ran.extend(each.kind for each in table.lake.upkeep(table.db, table.name))
        return Kind.COMPACT in ran

    until(tick)
    assert table.files(0) == 1
    assert [(key, key) for key in range(SMALL_FILES)] == table.rows()
    assert Kind.COMPACT in {each.kind for each in table.lake.upkeep_log(table.db, table.name)}


def test_what_spark_would_not_rewrite_is_left_alone(tables: Tables) -> None:
    """The index says to rewrite four small files, and Spark alone can rewrite those of format v2, which wants eight: it
    is asked again once there are so many more, and not as long as the table rests.
    """
    table = tables.make('(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) PROPERTIES ("format-version" = "2")')
    now = 0.0
    upkeep = TableUpkeep(table.db, table.name, table.indexing, lambda: now)

    def tick() -> list[Kind]:
        nonlocal now
        now += 1_000.0
        return [each.kind for each in upkeep.tick(table.lake.iceberg(), table.lake.upkeep_session())]

    for key in range(4):
        table.commit([(INS, key, key)])
    assert [tick(), tick(), tick()] == [[Kind.COMPACT], [], []]
    assert table.files(0) == 4
    for key in range(4, 12):
        table.commit([(INS, key, key)])
    assert tick() == [Kind.COMPACT]
    assert table.files(0) == 1
    assert [(key, key) for key in range(12)] == table.rows()


def test_expiry_keeps_the_consistent_point(tables: Tables) -> None:
    """Snapshots older than the oldest kept point go with the files that only they name; that point stays readable."""
    table = tables.make()
    snapshots = [table.commit([(UPD, 1, value)]).snapshot for value in range(4)]
    iceberg, kept = table.lake.iceberg(), snapshots[2]
    assert kept is not None
    assert expire(iceberg, table.lake.upkeep_session(snapshots=True), table.db, table.name, kept) == 2
    past = iceberg.spark.sql(f"SELECT v FROM lake.{table.db}.{table.name} VERSION AS OF {kept}").collect()
    assert [row[0] for row in past] == [2]
    assert table.rows() == [(1, 3)]
    table.commit([(UPD, 1, 4)])


def test_expiry_keeps_the_consistent_point_whatever_clock_others_have(tables: Tables) -> None:
    """Iceberg takes a commit by a writer whose clock is up to a minute behind, and expires by time."""
    table = tables.make()
    kept = table.commit([(UPD, 1, 0)]).snapshot
    table.sql(FOREIGN_ROW)
    table.commit([(UPD, 1, 1)])
    iceberg = table.lake.iceberg()
    assert kept is not None
    set_clock_back(table, listed(table)[1], second=5)
    expire(iceberg, table.lake.upkeep_session(snapshots=True), table.db, table.name, kept)
    assert kept in listed(table)
    past = iceberg.spark.sql(f"SELECT id, v FROM lake.{table.db}.{table.name} VERSION AS OF {kept}").collect()
    assert [tuple(row) for row in past] == [(1, 0)]


def set_clock_back(table: LakeTable, snapshot: int, second: int) -> None:
    """As if the writer of a snapshot had had such a clock."""

    def change(metadata: dict[str, Any]) -> None:
        for each in (*metadata["snapshots"], *metadata["snapshot-log"]):
            each["timestamp-ms"] -= 1000 * second * (each["snapshot-id"] == snapshot)

    stored.change_metadata(table.lake.iceberg(), table.db, table.name, change)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Metadata without a job."""
    store = metadata.opened(sqlite_url(tmp_path), Vault(tmp_path / "meta.key"))
    yield store
    store.close()


def job_with_a_stopped_table(store: Store, table: LakeTable) -> JobId:
    """The other one goes on."""
    goes_on = make_channel(token=table.token, target_db=table.db, target=table.name)
    channels = goes_on, make_channel(token="stopped", target="stopped")
    return store.jobs.add(make_job(channels=channels), Position(), 0.0).id


def count(store: Store, job: JobId, number: int, done: ChannelCommitted, token: str, *, consistent: bool) -> None:
    """An epoch that is stored; every point before it is too old."""
    epoch = Epoch(number=number, end=Position(offset=number), last_seq=number)
    store.epochs.add_intent(job, epoch)
    now = time.time()
    store.epochs.commit(job, epoch, {token: done}, at=now, keep_since=now, consistent=consistent)


def listed(table: LakeTable) -> list[int]:
    """The snapshots that it has, the oldest first."""
    loaded = table.lake.iceberg().load(table.db, table.name)
    return [int(each.snapshotId()) for each in loaded.snapshots()]


def test_a_job_without_a_consistent_point_is_expired_by_time(tables: Tables, store: Store) -> None:
    """While a table of a job is stopped there is no new point, and the last one is forgotten: of the others goes what
    is older than points are kept for, but nothing before what was committed last.
    """
    table = tables.make()
    job = job_with_a_stopped_table(store, table)
    for number in range(1, OLD_SNAPSHOTS + 4):
        count(store, job, number, table.commit([(UPD, 1, number)]), table.token, consistent=number == 1)
    iceberg, snapshots = table.lake.iceberg(), listed(table)
    at = iceberg.committed_at(iceberg.load(table.db, table.name), snapshots[-3])
    assert at is not None
    kept = store.epochs.kept(job, [table.token], at / 1000)
    assert kept.point is None
    until(lambda: table.lake.expire(table.db, table.name, kept))
    assert listed(table) == snapshots[-3:]
    table.sql(FOREIGN_ROW)
    last = store.epochs.kept(job, [table.token], time.time())
    assert iceberg.oldest_kept(iceberg.load(table.db, table.name), last) == snapshots[-1]
    table.commit([(UPD, 1, 0)])


def test_snapshots_that_another_engine_holds_are_left_alone(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tags keep them: an expiry that cannot expire them is tried again once there are so many others."""
    monkeypatch.setattr(upkeep, "OLD_SNAPSHOTS", 3)
    table, now = tables.make(), 0.0
    of_table = TableUpkeep(table.db, table.name, table.indexing, lambda: now)

    def commits(count: int) -> list[int]:
        return [table.commit([(UPD, 1, number)]).snapshot or 0 for number in range(count)]

    def tick() -> list[Kind]:
        nonlocal now
        now += 1_000.0
        kept = Kept(point=table.last_snapshot)
        return [
            each.kind for each in of_table.expire(table.lake.iceberg(), table.lake.upkeep_session(snapshots=True), kept)
        ]

    tagged = commits(4)[:3]
    for snapshot in tagged:
        table.sql(f"ALTER TABLE {{table}} CREATE TAG t{snapshot} AS OF VERSION {snapshot}")
    assert [tick(), tick(), tick()] == [[Kind.EXPIRE], [], []]
    last = commits(3)[-1]
    assert [tick(), tick()] == [[Kind.EXPIRE], []]
    assert listed(table) == [*tagged, last]


@pytest.mark.parametrize("goes", ["", "published", "too old"])
def test_what_another_engine_has_staged_is_kept(tables: Tables, monkeypatch: pytest.MonkeyPatch, *, goes: str) -> None:
    """It can be published after any number of expiries, as long as Iceberg itself would keep it by default; after that,
    or once it is published, the next expiry removes it.
    """
    table = tables.make()
    table.commit([(INS, 0, 0)])
    table.sql("ALTER TABLE {table} SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    other = table.lake.iceberg().spark.newSession()
    other.sql("SET spark.wap.id = audit")
    other.sql(FOREIGN_ROW.format(table=f"lake.{table.db}.{table.name}"))
    staged = listed(table)[-1]
    publish = f"CALL lake.system.publish_changes('{table.db}.{table.name}', 'audit')"
    for number in range(1, 4):
        table.commit([(INS, number, number)])
        if number == 3 and goes == "published":
            table.sql(publish)
        if number == 3 and goes == "too old":
            monkeypatch.setattr(upkeep, "STAGED_DAYS", 0)
        assert table.last_snapshot is not None
        expire(
            table.lake.iceberg(), table.lake.upkeep_session(snapshots=True), table.db, table.name, table.last_snapshot
        )
        assert (staged in listed(table)) is not (number == 3 and bool(goes))
    if not goes:
        table.sql(publish)
    foreign = [] if goes == "too old" else [(500, -1)]
    assert table.rows() == [*((number, number) for number in range(4)), *foreign]


def test_what_is_kept_where_time_alone_does_not_say_it(tables: Tables, store: Store) -> None:
    """A kept point comes first; nothing goes of a table that is read or to which nothing was committed, nor of one that
    was rolled back, which its job has to find out.
    """
    table = tables.make()
    job = job_with_a_stopped_table(store, table)
    iceberg, tokens = table.lake.iceberg(), [table.token]

    def oldest(since: float) -> int | None:
        return iceberg.oldest_kept(iceberg.load(table.db, table.name), store.epochs.kept(job, tokens, since))

    table.sql(FOREIGN_ROW)
    assert oldest(time.time()) is None, "nothing was committed"
    count(store, job, 1, table.commit([(UPD, 1, 1)]), table.token, consistent=True)
    point = table.last_snapshot
    table.commit([(UPD, 1, 2)])
    assert oldest(time.time()) == point
    count(store, job, 2, table.commit([(UPD, 1, 3)]), table.token, consistent=False)
    assert oldest(time.time()) == table.last_snapshot
    assert oldest(0.0) is None, "nothing is so old"
    store.loads.begin_anew(dict.fromkeys(tokens))
    assert oldest(time.time()) is None, "it is read"
    store.loads.end(tokens, Position())
    assert oldest(time.time()) == table.last_snapshot
    table.sql(f"CALL lake.system.rollback_to_snapshot('{table.db}.{table.name}', {point})")
    assert oldest(time.time()) is None, "it was rolled back"


def test_metadata_files_do_not_pile_up(tables: Tables) -> None:
    """Each commit writes a metadata file and deletes the oldest beyond a bound."""
    table = tables.make()
    for value in range(25):
        table.commit([(UPD, 1, value)])
    files = stored.files_below(table.loaded(), "metadata")
    assert sum(file.endswith(".metadata.json") for file in files) <= 22


@pytest.mark.parametrize(
    "cause",
    [
        "INSERT INTO {table} VALUES (5, -1)",
        pytest.param("ALTER TABLE {table} DROP IDENTIFIER FIELDS id", marks=pytest.mark.slow),
    ],
)
def test_a_fold_after_an_upgrade_to_v3_brings_no_row_back(tables: Tables, cause: str) -> None:
    """A vector takes the place of the position deletes that format v2 has left: it must have their rows, too."""
    table = tables.make('(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) PROPERTIES ("format-version" = "2")')
    table.commit([(INS, key, 0) for key in range(10)])
    table.commit([(DEL, 1, 0), (UPD, 2, 2)])
    table.sql("ALTER TABLE {table} SET TBLPROPERTIES ('format-version' = '3')")
    table.sql(cause)
    table.commit([(UPD, 5, 5)])
    expected = [(0, 0), (2, 2), (3, 0), (4, 0), (5, 5), *((key, 0) for key in range(6, 10))]
    assert table.rows() == expected
    until(lambda: table.lake.upkeep(table.db, table.name))
    assert table.files(2) == 0
    assert table.in_spark() == expected == in_pyiceberg(table)


def in_avro(table: LakeTable, _folder: Path) -> None:
    table.sql("ALTER TABLE {table} SET TBLPROPERTIES ('write.format.default' = 'avro')")
    table.sql(FOREIGN_ROW)


def in_orc(table: LakeTable, _folder: Path) -> None:
    table.sql("ALTER TABLE {table} SET TBLPROPERTIES ('write.format.default' = 'orc')")
    table.sql(FOREIGN_ROW)


def of_hive(table: LakeTable, folder: Path) -> None:
    """A file of before, whose columns have no ids, as add_files adds it: that finds files by Hadoop alone."""
    pq.write_table(pa.table({"id": [500], "v": [-1]}), folder / "hive.parquet")
    content, loaded = (folder / "hive.parquet").read_bytes(), table.loaded()
    location = f"{loaded.location()}/data/hive.parquet"
    stored.write(loaded, location, content)
    package = table.lake.iceberg().jvm.org.apache.iceberg
    names = package.mapping.NameMappingParser.toJson(package.mapping.MappingUtil.create(loaded.schema()))
    loaded.updateProperties().set("schema.name-mapping.default", names).commit()
    file = package.DataFiles.builder(loaded.spec()).withPath(location).withFormat("parquet")
    loaded.newAppend().appendFile(file.withFileSizeInBytes(len(content)).withRecordCount(1).build()).commit()


@pytest.mark.parametrize("how", [in_avro, in_orc, of_hive])
def test_files_of_others_that_cannot_be_folded(
    tables: Tables, tmp_path: Path, how: Callable[[LakeTable, Path], None]
) -> None:
    """They are read and changed like any other, and what cannot be folded holds up no compaction."""
    table = tables.make()
    for key in range(30):
        table.commit([(INS, key, 0)])
    how(table, tmp_path)
    table.commit([(UPD, 500, 1), (UPD, 3, 1)])
    expected = sorted((dict.fromkeys(range(30), 0) | {3: 1, 500: 1}).items())
    assert (table.rows(), table.files(2) > 0) == (expected, True)
    upkeep = table.lake._upkeep_of(table.db, table.name)
    upkeep._committed_at -= 60
    ran = table.lake.upkeep(table.db, table.name)
    assert [each.kind for each in ran] == [Kind.FOLD, Kind.COMPACT]
    assert ran[1].done > 0
    assert table.rows() == expected
