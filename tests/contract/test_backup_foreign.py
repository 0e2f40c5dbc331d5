"""A backup of tables that other engines have made or changed, without a frontend and without Spark."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from syncmgr.backup.restore import restore
from syncmgr.config import settings
from syncmgr.errors import Code
from tests.contract.test_backup import ROWS, House, assert_is_refused

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
