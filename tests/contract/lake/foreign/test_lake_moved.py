"""A table that another engine has moved to another folder, as the same table: its uuid, snapshots and name stay."""

import csv
import shutil
from pathlib import Path

import pytest

from syncmgr.job.rows.batch import ChangeKind
from tests.contract.index_state import entries, held, rebuilt
from tests.contract.lake.commit.test_lake_index import restarted
from tests.support.slow import some_slow
from tests.support.spark_session import SPARK, LakeTable, Tables

INS, UPD, DEL = ChangeKind
pytestmark = SPARK


def plain(uri: str) -> Path:
    return Path(uri.removeprefix("file:"))


def placed(table: LakeTable, folder: Path, version: int) -> None:
    """The table anew, with a location that has a scheme, as its files have."""
    table.sql("DROP TABLE {table}")
    table.sql(
        f"CREATE TABLE {{table}} (id BIGINT NOT NULL, v BIGINT) USING iceberg LOCATION 'file:{folder}' "
        f"TBLPROPERTIES ('format-version' = '{version}')"
    )
    table.sql("ALTER TABLE {table} SET IDENTIFIER FIELDS id")


def move(table: LakeTable, staged: Path) -> None:
    """Into the folder next to its own; nothing of the old one stays."""
    iceberg = table.lake.iceberg()
    old = str(iceberg.load(table.db, table.name).location())
    rewrite = (
        f"CALL lake.system.rewrite_table_path(table => '{table.db}.{table.name}', source_prefix => '{old}', "
        f"target_prefix => '{old}-moved', staging_location => 'file:{staged}')"
    )
    [told] = iceberg.spark.sql(rewrite).collect()
    listed = plain(told["file_list_location"])
    for part in [listed] if listed.is_file() else sorted(listed.glob("part*")):
        with part.open(newline="") as lines:
            for source, target in csv.reader(lines):
                plain(target).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(plain(source), plain(target))
    table.sql("DROP TABLE {table}")
    shutil.rmtree(plain(old))
    metadata = f"{old}-moved/metadata/{Path(told['latest_version']).name}"
    table.sql(f"CALL lake.system.register_table('{table.db}.{table.name}', '{metadata}')")


@pytest.mark.parametrize(("version", "restarts"), some_slow([(2, False), (3, False), (3, True)], always=[(3, True)]))
def test_keys_are_found_in_the_files_where_they_are_now(
    tables: Tables, tmp_path: Path, version: int, *, restarts: bool
) -> None:
    """Of rows that are updated and deleted after the move nothing stays, even with an index that was saved before."""
    table = tables.make()
    placed(table, tmp_path / "t", version)
    table.commit([(INS, number, number) for number in range(5)])
    before = table.lake.iceberg().load(table.db, table.name)
    facts = table.lake.iceberg().uuid(before), before.currentSnapshot().snapshotId()
    table.indexing.save(now=True)
    move(table, tmp_path / "staged")
    if restarts:
        restarted(table)
    after = table.lake.iceberg().load(table.db, table.name)
    assert (table.lake.iceberg().uuid(after), after.currentSnapshot().snapshotId()) == facts
    table.commit([(UPD, 1, 100), (DEL, 2, 2)])
    assert table.rows() == [(0, 0), (1, 100), (3, 3), (4, 4)]
    assert entries(held(table)) == entries(rebuilt(table))
