"""A backup of tables that other engines have made or changed, without a frontend and without Spark."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from syncmgr.backup.restore import restore
from syncmgr.config import settings
from tests.contract.test_backup import ROWS, House

THEIRS = pa.table({"id": [77]})


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path / "house").fill()
    yield house
    house.close()


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

    def rows(catalog: str, *name: str) -> list[int]:
        opened = SqlCatalog(catalog, uri=f"sqlite:///{other.var}/lake/catalog.db")
        try:
            found: list[int] = opened.load_table(name).scan().to_arrow()["id"].to_pylist()
            return found
        finally:
            opened.engine.dispose()

    assert rows("lake", "shop", "orders") == rows("lake", "shop", "x.y") == [1, 2]
    assert rows("default", "shop", "orders") == rows("lake", "shop", "x", "y") == [77]
