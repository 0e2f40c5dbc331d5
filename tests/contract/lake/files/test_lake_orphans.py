"""Old files that a table does not name are deleted only if they cannot be those of another table."""

import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.iceberg.layout import Field
from syncmgr.lake.upkeep.upkeep import ORPHAN_SECOND, expire, remove_orphans
from tests.support.slow import some_slow
from tests.support.spark_session import SPARK, LakeTable, Tables
from tests.support.until import until

INS, UPD, DEL = ChangeKind
FEW = 16  # manifests and folders of a small table have a task each
DEAD = "00002-dead.metadata.json"  # of a commit that another one has come before
pytestmark = SPARK


def folder(table: LakeTable) -> Path:
    return Path(str(table.lake.iceberg().load(table.db, table.name).location()).removeprefix("file:"))


def grown_old(table: LakeTable) -> None:
    """So long ago that no commit is under way any more."""
    then = time.time() - 2 * ORPHAN_SECOND
    for path in folder(table).rglob("*"):
        os.utime(path, (then, then))


def removed(table: LakeTable) -> int:
    lake = table.lake
    before = time.time() - ORPHAN_SECOND
    return remove_orphans(lake.iceberg(), lake.upkeep_session(snapshots=True), table.db, table.name, before)


def test_what_a_refused_commit_has_left_goes(tables: Tables) -> None:
    """Where Iceberg puts files; what somebody has put elsewhere in the folder stays, and so do rows."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    root = folder(table)
    gone = [root / "data" / "dead-1" / "x.parquet", root / "metadata" / "dead.avro", root / "metadata" / DEAD]
    gone[0].parent.mkdir()
    kept = root / "notes.txt"
    for path in (*gone, kept):
        path.touch()
    gone[2].write_bytes(max(root.glob("metadata/0*.metadata.json")).read_bytes())
    grown_old(table)
    young = root / "data" / "young.parquet"
    young.touch()
    assert removed(table) == 3
    assert [path.exists() for path in (*gone, kept, young)] == [False, False, False, True, True]
    assert table.rows() == [(1, 1)]


def registered(tables: Tables, table: LakeTable) -> None:
    """The same metadata under a second name, which then goes on by itself."""
    metadata = table.lake.iceberg().load(table.db, table.name).operations().current().metadataFileLocation()
    table.sql(f"CALL lake.system.register_table('{table.db}.other', '{metadata}')")


def inside(tables: Tables, table: LakeTable) -> None:
    place = f"{folder(table)}/data/inside"
    table.sql(f"CREATE TABLE lake.{tables.db}.other (id BIGINT NOT NULL, v BIGINT) USING iceberg LOCATION '{place}'")


def together(tables: Tables, table: LakeTable) -> None:
    place = folder(table)
    table.sql(f"CREATE TABLE lake.{tables.db}.other (id BIGINT NOT NULL, v BIGINT) USING iceberg LOCATION '{place}'")


def sent(place: str) -> Callable[[Tables, LakeTable], None]:
    """By a property of the other table, whose own folder is elsewhere."""

    def how(tables: Tables, table: LakeTable) -> None:
        made = f"CREATE TABLE lake.{tables.db}.other (id BIGINT NOT NULL, v BIGINT) USING iceberg"
        table.sql(f"{made} TBLPROPERTIES ({place.format(f'file:{folder(table)}/data')})")

    return how


PLACES = {
    "data": "'write.data.path' = '{}'",
    "metadata": "'write.metadata.path' = '{}'",
}


@pytest.mark.parametrize(
    "how",
    [
        registered,
        inside,
        pytest.param(together, marks=pytest.mark.slow),
        pytest.param(sent(PLACES["data"]), id="sent data"),
        pytest.param(sent(PLACES["metadata"]), id="sent metadata", marks=pytest.mark.slow),
    ],
)
def test_files_of_another_table_stay(
    tables: Tables, how: Callable[[Tables, LakeTable], None], caplog: pytest.LogCaptureFixture
) -> None:
    """Whose folder is the same, or inside, or whose properties send its files there: its rows can still be read, and
    the log says why nothing was removed.
    """
    table = tables.make()
    table.commit([(INS, 1, 1)])
    how(tables, table)
    table.sql(f"INSERT INTO lake.{tables.db}.other VALUES (2, 2)")
    grown_old(table)
    assert removed(table) == 0
    assert f"table {tables.db}.other" in caplog.text
    spark = table.lake.iceberg().spark
    spark.sql(f"REFRESH TABLE lake.{tables.db}.other")
    assert (2, 2) in {tuple(row) for row in spark.sql(f"SELECT * FROM lake.{tables.db}.other").collect()}
    table.sql(f"DROP TABLE lake.{tables.db}.other")


@pytest.mark.parametrize("where", some_slow(["", "sub", "data/sub"], always=["data/sub"]))
def test_files_of_a_table_of_another_catalog_stay(tables: Tables, where: str, caplog: pytest.LogCaptureFixture) -> None:
    """Its metadata are in the folder."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    place = folder(table) / where
    fields = [Field(id=1, name="id", type="long", required=True)]
    table.lake.iceberg().scratch_table(fields, [1], f"file:{place}")
    theirs = place / "data" / "theirs.parquet"
    theirs.parent.mkdir(exist_ok=True)
    theirs.touch()
    grown_old(table)
    assert removed(table) == 0
    assert theirs.exists()
    assert "metadata.json" in caplog.text


def test_files_of_the_same_table_in_another_catalog_stay(tables: Tables, caplog: pytest.LogCaptureFixture) -> None:
    """That has been registered there, and has gone on since, as this one has here."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    metadata = table.lake.iceberg().load(table.db, table.name).operations().current().metadataFileLocation()
    spark, other = table.lake.iceberg().spark, f"other_{table.db}"
    kind = {"type": "jdbc", "uri": f"jdbc:sqlite:{tables.folder}/{other}.db", "warehouse": str(tables.folder)}
    spark.conf.set(f"spark.sql.catalog.{other}", "org.apache.iceberg.spark.SparkCatalog")
    for key, value in kind.items():
        spark.conf.set(f"spark.sql.catalog.{other}.{key}", value)
    spark.sql(f"CREATE NAMESPACE {other}.d")
    spark.sql(f"CALL {other}.system.register_table('d.t', '{metadata}')")
    for number in (7, 8):
        spark.sql(f"INSERT INTO {other}.d.t VALUES ({number}, {number})")
    table.commit([(INS, 2, 2)])
    grown_old(table)
    assert removed(table) == 0
    assert "metadata.json" in caplog.text
    spark.sql(f"REFRESH TABLE {other}.d.t")
    assert sorted(tuple(row) for row in spark.sql(f"SELECT * FROM {other}.d.t").collect()) == [(1, 1), (7, 7), (8, 8)]


def test_neither_expiry_nor_the_removal_of_orphans_takes_many_tasks(tables: Tables) -> None:
    """For a small table a few, not the 200 that Spark begins with, which take all cores for seconds."""
    table = tables.make()
    for value in range(3):
        table.commit([(UPD, 1, value)])
    begun, kept = stages(table), table.last_snapshot
    assert kept is not None
    assert expire(table.lake.iceberg(), table.lake.upkeep_session(snapshots=True), table.db, table.name, kept) == 2
    (folder(table) / "data" / "dead.parquet").touch()
    grown_old(table)
    assert removed(table) == 1
    context = table.lake.iceberg().spark.sparkContext
    status = context.statusTracker()
    done = [status.getStageInfo(stage) for stage in range(begun, stages(table))]
    tasks = [stage.numTasks for stage in done if stage is not None]
    assert tasks
    assert max(tasks) <= max(context.defaultParallelism, FEW), tasks


def stages(table: LakeTable) -> int:
    """So many have begun in the JVM, that of this question with them."""
    context, name = table.lake.iceberg().spark.sparkContext, uuid.uuid4().hex
    context.setJobGroup(name, "")
    context.parallelize([0], 1).count()
    status = context.statusTracker()
    until(lambda: status.getJobIdsForGroup(name))
    job = status.getJobInfo(status.getJobIdsForGroup(name)[0])
    assert job is not None
    return int(job.stageIds[-1]) + 1
