"""A table format is its line in the registry: the tables of a format of the tests are backed up and restored."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from syncmgr.backup import backup, restore
from syncmgr.errors import Code, SyncError
from syncmgr.lake.registry import FORMAT
from tests.contract.meta.test_backup import House
from tests.support import memory_saved
from tests.support.memory_saved import MemorySaved, MemoryWriter, numbers_of

TABLE = "shop.numbers"


@pytest.fixture(autouse=True)
def _other_format(monkeypatch: pytest.MonkeyPatch) -> None:
    line = replace(FORMAT, name="Numbers", lake="", saved=f"{memory_saved.__name__}:{MemorySaved.__name__}")
    for module in (backup, restore):
        monkeypatch.setattr(module, "FORMAT", line)


@pytest.fixture
def house(tmp_path: Path) -> House:
    """A frontend that has a table of two numbers."""
    made = House(tmp_path / "house")
    for name in ("meta", "lake", "staging"):
        (made.var / name).mkdir(parents=True)
    made.opened().close()
    writer = MemoryWriter(made.var / "lake", TABLE)
    writer.commit(1)
    writer.commit(2)
    return made


@pytest.mark.parametrize("elsewhere", [False, True])
def test_tables_of_another_format_come_back(house: House, tmp_path: Path, *, elsewhere: bool) -> None:
    """At their place, and at another one, where their files name each other by the new folder."""
    house.back_up(tmp_path / "copy")
    shutil.rmtree(house.var)
    new = House(tmp_path / "another") if elsewhere else house
    new.restore(tmp_path / "copy")
    catalog = new.var / "lake" / "catalog.db"
    assert numbers_of(catalog, TABLE) == [1, 2]
    assert str(memory_saved.newest(catalog, TABLE)).startswith(str(new.var))


def test_what_the_format_finds_damaged_ends_the_backup(house: House, tmp_path: Path) -> None:
    """In its words."""
    (house.var / "lake" / TABLE / "1.data").write_text("")
    with pytest.raises(SyncError, match="it has not 3 bytes") as refused:
        house.back_up(tmp_path / "copy")
    assert refused.value.code is Code.BACKUP_LACKS
