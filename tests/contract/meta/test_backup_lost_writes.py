"""A backup of a lake whose disk has lost writes (20236), without a frontend and without Spark."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from syncmgr.backup.backup import back_up
from syncmgr.config import settings
from syncmgr.errors import Code, SyncError
from syncmgr.lake.durability import Durability
from syncmgr.lake.iceberg import catalog_file
from syncmgr.lake.iceberg.catalog_reader import Pointer, RowName
from syncmgr.lake.lost_writes import NOTE
from tests.contract.meta.test_backup import House


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path / "house").fill()
    yield house
    house.close()


def pointer(house: House) -> Pointer:
    return catalog_file.pointers(house.var / "lake" / "catalog.db")[RowName("lake", "shop", "orders")]


def refused(house: House) -> SyncError | None:
    """Why the table accepts no commit; None: it accepts one."""
    lake = house.var / "lake"
    durability = Durability(lake, lambda *_: pointer(house), lambda *_: False, sync=lambda *_: None)
    try:
        with durability.writing("shop", "orders"):
            return None
    except SyncError as error:
        return error
    finally:
        durability.close()


def note(house: House, before: str | None) -> None:
    lost = [{"db": "shop", "table": "orders", "reason": "Input/output error", "before": before}]
    (house.var / "lake" / NOTE).write_text(json.dumps(lost))


def saved(house: House, to: Path) -> list[str]:
    """What `backup` says of it."""
    said: list[str] = []
    back_up(settings.read(house.conf), house.conf, to, said.append)
    return [line for line in said if "20236" in line]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_a_disk_has_lost_does_not_count_after_a_restore(house: House, tmp_path: Path, *, elsewhere: bool) -> None:
    """The table is closed as it was, until it is set back to what the message names, which came with it."""
    before = pointer(house).location
    house.table.append(pa.table({"id": [3]}))
    note(house, before)
    assert "table 'shop.orders'" in saved(house, tmp_path / "copy")[0]
    house.close()
    shutil.rmtree(house.var)
    other = House(tmp_path / "other place") if elsewhere else house
    other.restore(tmp_path / "copy")
    error = refused(other)
    assert error is not None
    assert error.code is Code.WRITES_LOST
    named = str(other.var / before.removeprefix("file:").removeprefix("//").removeprefix(f"{house.var}/"))
    assert named in str(error)
    assert Path(named).is_file()


def test_what_was_confirmed_after_the_moment_is_not_missed(house: House, tmp_path: Path) -> None:
    """A table whose backup is older than the last metadata that were confirmed lacks nothing."""
    house.table.append(pa.table({"id": [3]}))
    newer = pointer(house).location
    note(house, newer)
    older = json.loads(Path(newer.removeprefix("file://").removeprefix("file:")).read_bytes())["metadata-log"][-1]
    set_back(house, older["metadata-file"])
    assert saved(house, tmp_path / "copy") == []


def set_back(house: House, location: str) -> None:
    """The catalog as it was before the last commit."""
    with house.catalog.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE iceberg_tables SET metadata_location = ?", (location,))


def test_a_note_that_cannot_be_read_closes_the_restored_lake_as_well(house: House, tmp_path: Path) -> None:
    """20225: which tables it named is not known there either."""
    (house.var / "lake" / NOTE).write_text("[{")
    assert saved(house, tmp_path / "copy")
    other = House(tmp_path / "other place")
    other.restore(tmp_path / "copy")
    error = refused(other)
    assert error is not None
    assert error.code is Code.LAKE_DAMAGED


def test_a_table_that_is_gone_is_not_named(house: House, tmp_path: Path) -> None:
    """Nor is there a note of it in the backup."""
    note(house, None)
    house.catalog.drop_table("shop.orders")
    assert saved(house, tmp_path / "copy") == []
    assert not (tmp_path / "copy" / "lake" / NOTE).exists()
