"""A backup of tables that other engines have made or changed, without a frontend and without Spark."""

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable

from syncmgr.backup.backup import back_up
from syncmgr.backup.restore import restore
from syncmgr.config import settings
from syncmgr.errors import Code
from tests.contract.meta.test_backup import ROWS, House, assert_is_refused

THEIRS = pa.table({"id": [77]})


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path / "house").fill()
    yield house
    house.close()


def rows(house: House, catalog: str, *name: str) -> list[int]:
    """Of a table of the house, by the engine that has this name for the catalog."""
    opened = SqlCatalog(catalog, uri=f"sqlite:///{house.var}/lake/catalog.db")
    try:
        found: list[int] = opened.load_table(name).scan().to_arrow()["id"].to_pylist()
        return found
    finally:
        opened.engine.dispose()


@pytest.mark.parametrize("place", ["house", "other place"])
def test_tables_that_are_called_alike_all_come_back(house: House, tmp_path: Path, place: str) -> None:
    """One of another catalog in the same file, and two whose names have dots at different places."""
    lake = house.var / "lake"
    theirs = SqlCatalog("default", uri=f"sqlite:///{lake}/catalog.db", warehouse=str(lake / "theirs"))
    theirs.create_namespace("shop")
    theirs.create_table("shop.orders", schema=THEIRS.schema).append(THEIRS)
    theirs.engine.dispose()
    house.catalog.create_namespace(("shop", "x"))
    house.catalog.create_table(("shop", "x.y"), schema=ROWS.schema, location=f"{lake}/shop/xy-1").append(ROWS)
    house.catalog.create_table(("shop", "x", "y"), schema=THEIRS.schema).append(THEIRS)
    house.back_up(tmp_path / "copy")
    house.close()
    shutil.rmtree(house.var)
    other = house if place == "house" else House(tmp_path / place)
    said = list[str]()
    restore(settings.read(other.conf), tmp_path / "copy", said.append)
    assert "the files of 4 tables are there" in " ".join(said)

    assert rows(other, "lake", "shop", "orders") == rows(other, "lake", "shop", "x.y") == [1, 2]
    assert rows(other, "default", "shop", "orders") == rows(other, "lake", "shop", "x", "y") == [77]


def test_a_table_of_format_1_is_refused_with_its_cure(house: House, tmp_path: Path) -> None:
    """Which another engine may have made. After what the message says, it comes back elsewhere, with rows from before
    and after.
    """
    theirs = house.catalog.create_table("shop.theirs", schema=THEIRS.schema, properties={"format-version": "1"})
    theirs.append(THEIRS)
    cure = r"of table 'shop\.theirs' .*: ALTER TABLE \.\.\. SET TBLPROPERTIES \('format-version' = '2'\)$"
    assert_is_refused(Code.BACKUP_LACKS, cure, lambda: house.back_up(tmp_path / "copy"))
    with theirs.transaction() as change:
        change.upgrade_table_version(2)
    theirs.append(ROWS)
    house.back_up(tmp_path / "copy")
    house.close()
    shutil.rmtree(house.var)
    other = House(tmp_path / "other place")
    other.restore(tmp_path / "copy")
    assert sorted(rows(other, "lake", "shop", "theirs")) == [1, 2, 77]


@pytest.mark.parametrize("unset", [False, True])
def test_properties_of_a_column_called_path_are_no_paths(house: House, tmp_path: Path, *, unset: bool) -> None:
    """The table comes back elsewhere with them, and from metadata that had them."""
    told = {"write.metadata.metrics.column.path": "none", "write.parquet.bloom-filter-enabled.column.path": "true"}
    with house.table.transaction() as change:
        change.set_properties(told)
    if unset:
        with house.table.transaction() as change:
            change.remove_properties(*told)
    house.back_up(tmp_path / "copy")
    house.close()
    other = House(tmp_path / "other place")
    other.restore(tmp_path / "copy")
    assert other.rows() == [1, 2]
    opened = SqlCatalog("lake", uri=f"sqlite:///{other.var}/lake/catalog.db")
    properties = opened.load_table("shop.orders").properties
    opened.engine.dispose()
    assert {name: properties.get(name) for name in told} == (dict.fromkeys(told) if unset else told)


def warned(house: House, to: Path) -> list[str]:
    """What a backup says of a restore elsewhere."""
    said = list[str]()
    back_up(settings.read(house.conf), house.conf, to, said.append)
    begin = f"warning: this backup can only be restored with lake_dir = {house.var}/lake: "
    return [line.removeprefix(begin) for line in said if line.startswith(begin)]


def assert_only_in_place(house: House, copy: Path, *found: int) -> None:
    """As the warning says: a restore elsewhere is refused, one in place brings the rows."""
    house.close()
    shutil.rmtree(house.var)
    other = House(house.folder.parent / "not here")
    said = re.escape(f"restore with lake_dir = {house.var}/lake in fe.conf")
    assert_is_refused(Code.RESTORE_REFUSED, said, lambda: other.restore(copy))
    house.restore(copy)
    assert house.rows() == [*found]


@pytest.mark.parametrize("name", ["write.data.path", "write.object-storage.path"])
def test_a_table_that_would_write_elsewhere_comes_back_in_place(house: House, tmp_path: Path, name: str) -> None:
    """The backup says so, and how it comes back elsewhere, too; after that, what older metadata say does not matter."""
    elsewhere = tmp_path / "elsewhere"
    with house.table.transaction() as change:
        change.set_properties({name: str(elsewhere)})
    [warning] = warned(house, tmp_path / "in place")
    assert re.search(f"of table 'shop.orders': .*'{name}'.*'{elsewhere}' is not in .*ALTER TABLE ... UNSET", warning)
    with house.table.transaction() as change:
        change.remove_properties(name)
    assert warned(house, tmp_path / "copy") == []
    other = House(tmp_path / "other place")
    other.restore(tmp_path / "copy")
    assert other.rows() == [1, 2]
    for path in (other.var / "lake").rglob("*.metadata.json"):
        assert name not in StaticTable.from_metadata(str(path)).properties
    assert_only_in_place(house, tmp_path / "in place", 1, 2)


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("previous metadata of table 'shop.orders'", "UPDATE iceberg_tables SET previous_metadata_location = ?"),
        (
            "location of database 'shop'",
            "INSERT INTO iceberg_namespace_properties VALUES ('lake', 'shop', 'location', ?)",
        ),
    ],
)
def test_what_the_catalog_names_elsewhere_comes_back_in_place(
    house: House, tmp_path: Path, what: str, change: str
) -> None:
    """Metadata before the last commit, and the place of a database, which a restore elsewhere could not move."""
    with closing(sqlite3.connect(house.var / "lake" / "catalog.db")) as connection, connection:
        connection.execute(change, ("/elsewhere/x",))
    assert warned(house, tmp_path / "copy") == [f"the {what}: '/elsewhere/x' is not in {house.var}/lake"]
    assert_only_in_place(house, tmp_path / "copy", 1, 2)


def test_a_file_elsewhere_that_was_deleted_matters_elsewhere_only(house: House, tmp_path: Path) -> None:
    """While a snapshot names it: a restore elsewhere would have to rewrite its entry. One that is not deleted would be
    missing from the backup, which is refused.
    """
    with house.table.transaction() as change:
        change.set_properties({"write.data.path": str(tmp_path / "elsewhere")})
    house.table.append(THEIRS)
    words = f"'{tmp_path}/elsewhere/.*' is not in "
    assert_is_refused(Code.BACKUP_LACKS, f"of table 'shop.orders' .*{words}", lambda: house.back_up(tmp_path / "copy"))
    before = house.table.current_snapshot()
    assert before is not None
    with house.table.transaction() as change:
        change.remove_properties("write.data.path")
    house.table.delete("id = 77")
    house.table.maintenance.expire_snapshots().by_id(before.snapshot_id).commit()
    [warning] = warned(house, tmp_path / "copy")
    assert re.search(f"of table 'shop.orders': {words}", warning)
    assert_only_in_place(house, tmp_path / "copy", 1, 2)


def test_metadata_of_elsewhere_in_the_log_of_a_table_matter_elsewhere_only(house: House, tmp_path: Path) -> None:
    """As of a table that was registered from another folder: they are no part of a backup."""
    metadata = Path(house.table.metadata_location.removeprefix("file://"))
    found = json.loads(metadata.read_bytes())
    found["metadata-log"].insert(0, {"timestamp-ms": 1, "metadata-file": "/elsewhere/0.metadata.json"})
    metadata.write_text(json.dumps(found))
    [warning] = warned(house, tmp_path / "copy")
    assert "'/elsewhere/0.metadata.json' is not in" in warning
    assert_only_in_place(house, tmp_path / "copy", 1, 2)


def test_a_table_made_of_older_metadata_of_another_comes_back_elsewhere(house: House, tmp_path: Path) -> None:
    """Of which they are previous ones: they are rewritten once."""
    older = house.table.metadata_location
    house.table.append(THEIRS)
    house.catalog.register_table("shop.second", older)
    house.back_up(tmp_path / "copy")
    house.close()
    shutil.rmtree(house.var)
    other = House(tmp_path / "other place")
    other.restore(tmp_path / "copy")
    assert sorted(rows(other, "lake", "shop", "orders")) == [1, 2, 77]
    assert rows(other, "lake", "shop", "second") == [1, 2]
