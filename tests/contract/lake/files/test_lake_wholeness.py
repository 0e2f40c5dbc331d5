"""Tables that a power failure left behind, as far as files that are gone or cut off can stand for it."""

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.lake.iceberg.catalog_reader import Pointer
from syncmgr.lake.lake import Lake
from tests.support.slow import some_slow
from tests.support.spark_session import SPARK, LakeTable, Tables

INS, UPD = 0, 1
pytestmark = SPARK


def pointer(table: LakeTable) -> Pointer:
    return table.lake._shelf.pointer(table.db, table.name)


def path(location: str) -> Path:
    return Path(location.removeprefix("file:"))


def named(table: LakeTable, ending: str) -> Path:
    """The file of the newest snapshot whose name ends so."""
    iceberg = table.lake.iceberg()
    found = iceberg.named_files(iceberg.load(table.db, table.name), 1)
    return next(path(location) for location, _ in found if location.endswith(ending))


def manifest_list(table: LakeTable) -> Path:
    return path(str(table.lake.iceberg().load(table.db, table.name).currentSnapshot().manifestListLocation()))


@contextmanager
def harmed(file: Path, size: int | None) -> Iterator[None]:
    """Gone (None), or only its first bytes left. Iceberg keeps no copy of it in memory."""
    data = file.read_bytes()
    if size is None:
        file.unlink()
    else:
        os.truncate(file, size)
    try:
        yield
    finally:
        file.write_bytes(data)


LED_TO: Final[Mapping[str, Callable[[LakeTable], Path]]] = {
    "metadata": lambda table: path(pointer(table).location),
    "manifest list": manifest_list,
    "manifest": lambda table: named(table, ".avro"),
    "rows": lambda table: named(table, ".parquet"),
    "deletes": lambda table: named(table, ".puffin"),
}


@pytest.mark.parametrize(
    ("which", "size"),
    some_slow(
        (pytest.param(which, size, id=f"{name}, {size}") for name, which in LED_TO.items() for size in (None, 0, 20)),
        always=[
            "metadata, None",
            "metadata, 0",
            "metadata, 20",
            "manifest list, 0",
            "manifest, 20",
            "rows, None",
            "rows, 20",
            "deletes, 0",
        ],
    ),
)
def test_a_file_that_is_not_whole_is_told(tables: Tables, which: Callable[[LakeTable], Path], size: int | None) -> None:
    """Whatever it is that the catalog leads to: the error names the table, the file and the metadata before it."""
    table = tables.make()
    table.commit([(INS, key, key) for key in range(5)])
    table.commit([(UPD, 1, 9)])
    table.lake.check_integrity(table.db, table.name)
    with harmed(which(table), size), pytest.raises(SyncError) as caught:
        table.lake.check_integrity(table.db, table.name)
    assert caught.value.code is Code.TABLE_BROKEN
    assert f"{table.db}.{table.name}" in str(caught.value)
    assert pointer(table).location in str(caught.value)
    assert str(pointer(table).previous) in str(caught.value)
    table.lake.check_integrity(table.db, table.name)


def test_rows_that_are_gone_are_no_fault_once_they_are_replaced(tables: Tables) -> None:
    """Whoever is about to replace all of them needs none of their files, nor does a table that has others since."""
    table = tables.make()
    table.commit([(INS, key, key) for key in range(5)])
    table.commit([(UPD, 1, 9)])
    for file in (named(table, ".parquet"), named(table, ".puffin")):
        file.unlink()
    with pytest.raises(SyncError, match="is missing"):
        table.lake.check_integrity(table.db, table.name)
    table.lake.check_integrity(table.db, table.name, replaced=True)
    table.sql("INSERT OVERWRITE {table} VALUES (1, 1)")
    table.lake.check_integrity(table.db, table.name)
    with harmed(manifest_list(table), None), pytest.raises(SyncError, match="Failed to open input stream"):
        table.lake.check_integrity(table.db, table.name, replaced=True)


@pytest.mark.parametrize("size", [None, 0, 20])
def test_metadata_that_are_packed_are_read(tables: Tables, size: int | None) -> None:
    """Where another engine has set gzip for them, the table is described, and found whole or not, as ever."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    table.sql("ALTER TABLE {table} SET TBLPROPERTIES ('write.metadata.compression-codec' = 'gzip')")
    done = table.commit([(INS, 2, 2)])
    assert pointer(table).location.endswith(".gz.metadata.json")
    described = table.lake.tables.describe(table.db, table.name)
    assert [column.name for column in described.columns] == ["id", "v"]
    assert done.snapshot in table.lake.tables.snapshots(table.db, table.name)
    table.lake.check_integrity(table.db, table.name)
    with harmed(path(pointer(table).location), size), pytest.raises(SyncError) as caught:
        table.lake.check_integrity(table.db, table.name)
    assert caught.value.code is Code.TABLE_BROKEN


def test_an_empty_table_is_whole_and_one_that_is_not_there_is_told(lake: Lake, tables: Tables) -> None:
    """Nothing to look at is no fault."""
    table = tables.make()
    lake.check_integrity(table.db, table.name)
    with pytest.raises(SyncError) as caught:
        lake.check_integrity(table.db, "nothing")
    assert caught.value.code is Code.NO_SUCH_TABLE


def test_the_catalog_set_back_takes_the_epoch_again(lake: Lake, tables: Tables) -> None:
    """As docs/operations.md says: the table is as before the commit, and the intent brings the same rows once."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    commit = table.prepared([(UPD, 1, 2), (INS, 2, 2)])
    lake.commit(commit)
    path(pointer(table).location).write_bytes(b"")
    with closing(sqlite3.connect(lake.place.catalog_file)) as catalog:
        catalog.execute(
            "UPDATE iceberg_tables SET metadata_location = previous_metadata_location,"
            " previous_metadata_location = NULL WHERE table_namespace = ? AND table_name = ?",
            (table.db, table.name),
        )
        catalog.commit()
    lake.check_integrity(table.db, table.name)
    assert table.rows() == [(1, 1)]
    assert not lake.commit(commit).passed_over
    assert table.rows() == [(1, 2), (2, 2)]
