"""What another engine sets on a table in a way that syncmgr cannot follow is said, with the statement to type."""

import itertools
import re
import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.lake_change import AddField, LakeChange, RenameField
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.job.snapshot.retention import Kept
from syncmgr.job.types.schema import TargetType
from syncmgr.lake.storage.locations import local
from syncmgr.lake.upkeep import upkeep
from syncmgr.lake.upkeep.upkeep import Kind, Ran
from tests.support.slow import some_slow
from tests.support.spark_session import SPARK, LakeTable, Tables, changes_of
from tests.support.until import PATIENCE, until

INS, UPD, DEL = ChangeKind
pytestmark = SPARK
BIGINT = TargetType(name="BIGINT")


def cured(table: LakeTable, work: Callable[[], object]) -> None:
    """`work` is refused, and the statements of the message are typed."""
    with pytest.raises(SyncError) as caught:
        work()
    assert caught.value.code is Code.FOREIGN_CHANGE
    found = re.search("type in Spark: (.*)", str(caught.value))
    assert found is not None
    for statement in found[1].split("; "):
        table.lake.iceberg().spark.sql(statement).collect()


@pytest.mark.parametrize("value", some_slow(["abc", "[1]", "null", "1"], always=["abc", "null"]))
def test_what_is_known_of_the_columns_is_not_guessed(tables: Tables, value: str) -> None:
    """A broken property stops the table, and the commit goes on once it is away."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    table.sql(f"ALTER TABLE {{table}} SET TBLPROPERTIES ('syncmgr.columns.{table.token}' = '{value}')")
    commit = table.prepared([(INS, 2, 2)])
    cured(table, lambda: table.apply(commit))
    table.apply(commit)
    assert table.rows() == [(1, 1), (2, 2)]


@pytest.mark.parametrize("answered", [True, False])
def test_a_token_is_not_guessed(tables: Tables, *, answered: bool) -> None:
    """Once it is removed, as the message says, the snapshots show what the table has."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    commit = table.prepared([(INS, 2, 2)])
    if not answered:
        table.lake.commit(commit)
    table.sql(f"ALTER TABLE {{table}} SET TBLPROPERTIES ('syncmgr.token.{table.token}' = 'abc')")
    cured(table, lambda: table.apply(commit))
    assert table.apply(commit).passed_over is not answered
    assert table.rows() == [(1, 1), (2, 2)]


@pytest.mark.parametrize(
    "value", some_slow(["abc", "[1]", '{"1": "PARROT"}', '{"1": 7}'], always=["abc", '{"1": "PARROT"}'])
)
def test_types_are_not_guessed(tables: Tables, value: str) -> None:
    """Neither a statement nor a description takes a broken property for none."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    broken = f"ALTER TABLE lake.{table.db}.{table.name} SET TBLPROPERTIES ('syncmgr.types' = '{value}')"
    table.lake.iceberg().spark.sql(broken)
    cured(table, lambda: table.lake.tables.describe(table.db, table.name))
    table.lake.iceberg().spark.sql(broken)
    alter = changes_of(table, AddField(name="w", type=BIGINT))
    cured(table, lambda: table.lake.alter(alter))
    table.lake.alter(alter)
    assert table.rows() == [(1, 1, None)]


@pytest.mark.parametrize(
    ("kind", "value"),
    some_slow(
        itertools.product(["unique", "duplicate"], ["abc", "[1]", "", "1,x"]),
        always=[("unique", "abc"), ("unique", "1,x"), ("duplicate", "")],
    ),
)
def test_a_key_is_not_guessed(tables: Tables, kind: str, value: str) -> None:
    """A description has the key of the table's identifier fields once the property is away."""
    table = tables.make()
    table.sql(f"ALTER TABLE {{table}} SET TBLPROPERTIES ('syncmgr.{kind}-key' = '{value}')")
    cured(table, lambda: table.lake.tables.describe(table.db, table.name))
    assert table.lake.tables.describe(table.db, table.name).keys == ("id",)


@pytest.mark.parametrize("field", ["bucket(4, id)", "v"])
@pytest.mark.parametrize(
    "change", [AddField(name="w", type=BIGINT), RenameField(old="b", new="w")], ids=["added", "renamed"]
)
def test_a_column_of_the_name_of_a_partition_field(tables: Tables, field: str, change: LakeChange) -> None:
    """It comes once the partition field is removed, as the message says; no commit is lost."""
    table = tables.make("(id BIGINT NOT NULL, v BIGINT, b BIGINT) UNIQUE KEY(id)", ("id", "v", "b"))
    table.commit([(INS, 1, 1, 1)])
    table.sql(f"ALTER TABLE {{table}} ADD PARTITION FIELD {field} AS w")
    table.commit([(INS, 2, 2, 2)])
    alter = changes_of(table, change)
    cured(table, lambda: table.lake.alter(alter))
    table.lake.alter(alter)
    table.columns = ("id", "v", "w")
    table.commit([(INS, 3, 3, 3), (UPD, 1, 9, 9)])
    assert table.in_spark("id, v, w") == [(1, 9, 9), (2, 2, 2 if isinstance(change, RenameField) else None), (3, 3, 3)]


def test_a_column_of_the_name_of_its_own_partition_field(tables: Tables) -> None:
    """A column that is renamed back to the name of the field that is made from it is followed."""
    table = tables.make()
    table.sql("ALTER TABLE {table} ADD PARTITION FIELD v")
    table.commit([(INS, 1, 1)])
    table.lake.alter(changes_of(table, RenameField(old="v", new="w")))
    table.lake.alter(changes_of(table, RenameField(old="w", new="v")))
    table.commit([(UPD, 1, 2)])
    assert table.rows() == [(1, 2)]


@pytest.mark.parametrize("indexed", [True, False], ids=["indexed", "not indexed"])
def test_a_table_of_format_v1(tables: Tables, *, indexed: bool) -> None:
    """It takes no deletes; the message says how it becomes one that does, and leaves no file behind."""
    table = LakeTable(
        lake=tables.lake, folder=tables.folder, db=tables.db, name="old", columns=("id", "v"), keys=("id",)
    )
    table.sql(
        "CREATE TABLE {table} (id BIGINT NOT NULL, v BIGINT) USING iceberg TBLPROPERTIES ('format-version' = '1')"
    )
    table.sql("ALTER TABLE {table} SET IDENTIFIER FIELDS id")
    table.commit([(INS, 100, 1), (INS, 101, 1), (INS, 102, 1)])
    if not indexed:
        table.indexing.give_up(ValueError("switched off by the test"))
    commit = table.prepared([(INS, 1, 1), (UPD, 101, 10), (DEL, 100, 0)])
    cured(table, lambda: table.apply(commit))
    assert table.stray_files() == set()
    table.apply(commit)
    assert table.rows() == [(1, 1), (101, 10), (102, 1)]


def test_a_column_of_the_name_of_a_partition_field_of_ours(tables: Tables) -> None:
    """Nobody else has made it: the message blames no other engine."""
    table = tables.make("(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 4")
    table.commit([(INS, 1, 1)])
    alter = changes_of(table, AddField(name="id_bucket", type=BIGINT))
    with pytest.raises(SyncError) as caught:
        table.lake.alter(alter)
    assert "engine" not in str(caught.value)
    cured(table, lambda: table.lake.alter(alter))
    table.lake.alter(alter)
    assert table.rows() == [(1, 1, None)]


@pytest.mark.parametrize("codec", some_slow(["lz4", "BROTLI", "gzip"], always=["BROTLI"]))
def test_a_compaction_by_spark_writes_what_this_machine_can(tables: Tables, codec: str) -> None:
    """Another engine that has set the codec may have it; the files are merged in one that we have."""
    table = tables.make("(id BIGINT NOT NULL, v BIGINT)", keys=())
    for number in range(10):
        table.commit([(INS, number, number)])
    table.sql(f"ALTER TABLE {{table}} SET TBLPROPERTIES ('write.parquet.compression-codec' = '{codec}')")
    lake = table.lake
    assert lake._upkeep_of(table.db, table.name)._compact(lake.iceberg(), lake.upkeep_session()) == 10
    assert table.files(0) == 1
    (row,) = lake.iceberg().spark.sql(f"SELECT file_path FROM lake.{table.db}.{table.name}.files").collect()
    with pq.ParquetFile(local(row[0])) as file:
        assert file.metadata.row_group(0).column(0).compression == ("GZIP" if codec == "gzip" else "ZSTD")
    assert table.rows() == [(number, number) for number in range(10)]


def patience(table: LakeTable, **values: str) -> None:
    for key, value in values.items():
        word = f"commit.retry.{key.replace('_', '-')}"
        table.sql(f"ALTER TABLE {{table}} SET TBLPROPERTIES ('{word}' = '{value}')")


def committed(table: LakeTable) -> None:
    table.commit([(INS, 2, 2)])


def altered(table: LakeTable) -> None:
    table.lake.alter(changes_of(table, AddField(name="w", type=BIGINT)))


@pytest.mark.parametrize("work", [committed, altered])
def test_a_commit_that_meets_another_does_not_wait_for_long(tables: Tables, work: Callable[[LakeTable], None]) -> None:
    """However long the table's properties say: the other one comes in the last moment, after which Iceberg itself would
    wait.
    """
    table = tables.make()
    table.commit([(INS, 1, 1)])
    patience(table, min_wait_ms="600000", max_wait_ms="2000000000", total_timeout_ms="2000000000")
    metadata = Path(str(table.lake.iceberg().load(table.db, table.name).operations().current().metadataFileLocation()))
    plain = Path(str(metadata).removeprefix("file:"))
    other = plain.with_name(f"00099-other{plain.name[5:]}")
    before = set(plain.parent.glob("*.metadata.json"))
    where = (table.db, table.name)
    with (
        closing(sqlite3.connect(table.lake.place.catalog_file, isolation_level=None)) as catalog,
        ThreadPoolExecutor(1) as pool,
    ):
        catalog.execute("BEGIN IMMEDIATE")
        done = pool.submit(work, table)
        until(lambda: set(plain.parent.glob("*.metadata.json")) > before, why="its metadata are written")
        shutil.copy(plain, other)
        catalog.execute(
            "UPDATE iceberg_tables SET metadata_location = ? WHERE table_namespace = ? AND table_name = ?",
            (f"{str(metadata).removesuffix(plain.name)}{other.name}", *where),
        )
        catalog.execute("COMMIT")
        done.result(timeout=60 * PATIENCE)
    assert table.in_spark("id, v") == [(1, 1), *([(2, 2)] if work is committed else [])]


def tended(table: LakeTable) -> tuple[Ran, ...]:
    """Once the table is quiet, as far as its upkeep is concerned."""
    table.lake._upkeep_of(table.db, table.name)._committed_at = -1000.0
    return table.lake.upkeep(table.db, table.name)


@pytest.mark.parametrize("wait", ["2000000000"])
def test_no_table_makes_the_upkeep_of_others_wait(tables: Tables, wait: str) -> None:
    """What only Iceberg repeats is not begun, and the message says why; it comes once the property is away."""
    table = tables.make("(id BIGINT NOT NULL, v BIGINT)", keys=())
    for number in range(30):
        table.commit([(INS, number, number)])
    patience(table, min_wait_ms=wait, max_wait_ms=wait)
    cured(table, lambda: tended(table))
    until(lambda: Kind.COMPACT in {ran.kind for ran in tended(table)}, why="it is compacted")
    assert len(table.rows()) == 30


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("commit.manifest.target-size-bytes", "8MB"),
        ("commit.manifest.min-count-to-merge", "many"),
        ("write.summary.partition-limit", "x"),
    ],
)
def test_what_iceberg_cannot_read_of_its_own_properties(tables: Tables, key: str, value: str) -> None:
    """Whichever it is, the message names it and how it is removed, and the commit goes on after that."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    table.sql(f"ALTER TABLE {{table}} SET TBLPROPERTIES ('{key}' = '{value}')")
    commit = table.prepared([(UPD, 1, 9), (INS, 2, 2)])
    cured(table, lambda: table.apply(commit))
    assert table.stray_files() == set()
    table.apply(commit)
    assert table.rows() == [(1, 9), (2, 2)]


def test_a_table_of_which_nothing_may_be_removed(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expiry says why it does nothing, as often as it is asked and without any work; it comes once the property is
    away.
    """
    monkeypatch.setattr(upkeep, "OLD_SNAPSHOTS", 3)
    table = tables.make()
    for number in range(5):
        table.commit([(INS, number, number)])
    table.sql("ALTER TABLE {table} SET TBLPROPERTIES ('gc.enabled' = 'false')")
    table.lake._upkeep_of(table.db, table.name)._committed_at = -1000.0
    kept = Kept(point=table.last_snapshot)
    with pytest.raises(SyncError, match="of its old snapshots"):
        table.lake.expire(table.db, table.name, kept)
    cured(table, lambda: table.lake.expire(table.db, table.name, kept))
    assert table.lake.upkeep_log(table.db, table.name) == ()
    assert [(ran.kind, ran.done) for ran in table.lake.expire(table.db, table.name, kept)] == [(Kind.EXPIRE, 4)]
