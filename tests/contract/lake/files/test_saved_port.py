"""What every table format promises of the tables of a catalog that no frontend has open (`lake/port.py`): that of the
tests, and Iceberg.
"""

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from syncmgr.errors import Code, SyncError
from syncmgr.lake import lost_writes
from syncmgr.lake.port import SavedTables
from syncmgr.lake.saved_tables import IcebergFiles
from tests.support import memory_saved
from tests.support.memory_saved import MemorySaved, MemoryWriter, numbers_of

TABLE = "shop.orders"


class Bench(Protocol):
    """A catalog with one table, to which numbers were committed twice, and which names no file outside its folder."""

    lake: Path

    @property
    def catalog(self) -> Path: ...
    def saved(self, lake: Path, found: Callable[[Path], Path]) -> SavedTables: ...
    def place_outside(self, folder: Path) -> None:
        """From now on something names a folder of that name."""

    def add_view(self, name: str) -> None: ...
    def lose(self, table: str) -> None:
        """The disk has lost a write to it."""

    def newest(self) -> Path:
        """What describes the table."""

    def data(self) -> Path:
        """A file with rows."""

    def numbers(self, lake: Path) -> list[int]:
        """As a reader finds them who goes by the paths alone."""


class InMemory:
    def __init__(self, lake: Path) -> None:
        self.lake, self.catalog = lake, lake / "catalog.db"
        self._writer = MemoryWriter(lake, TABLE)
        self._writer.commit(1)
        self._writer.commit(2)

    def saved(self, lake: Path, found: Callable[[Path], Path]) -> SavedTables:
        return MemorySaved(lake, found)

    def place_outside(self, folder: Path) -> None:
        self._writer.commit(place=folder)

    def add_view(self, name: str) -> None:
        with closing(sqlite3.connect(self.catalog)) as connection, connection:
            connection.execute("INSERT INTO views VALUES (?)", (name,))

    def lose(self, table: str) -> None:
        (self.lake / memory_saved.NOTE).write_text(json.dumps([table]))

    def newest(self) -> Path:
        found = memory_saved.newest(self.catalog, TABLE)
        assert found is not None
        return found

    def data(self) -> Path:
        return self.lake / TABLE / "1.data"

    def numbers(self, lake: Path) -> list[int]:
        return sorted(numbers_of(lake / "catalog.db", TABLE))


class InIceberg:
    def __init__(self, lake: Path) -> None:
        self.lake, self.catalog = lake, lake / "catalog.db"
        self.opened = self._open(lake)
        self.opened.create_namespace("shop")
        self._table = self.opened.create_table(TABLE, schema=pa.schema([pa.field("id", pa.int64())]))
        for number in (1, 2):
            self._table.append(pa.table({"id": [number]}))

    def _open(self, lake: Path) -> SqlCatalog:
        return SqlCatalog("lake", uri=f"sqlite:///{lake}/catalog.db", warehouse=str(lake))

    def saved(self, lake: Path, found: Callable[[Path], Path]) -> SavedTables:
        return IcebergFiles(lake, found)

    def place_outside(self, folder: Path) -> None:
        self.opened.create_namespace("outside", {"location": str(folder)})

    def add_view(self, name: str) -> None:
        db, _, view = name.partition(".")
        row = ("lake", db, view, "VIEW")
        with closing(sqlite3.connect(self.catalog)) as connection, connection:
            columns = [column for _, column, *_ in connection.execute("PRAGMA table_info(iceberg_tables)")]
            if "iceberg_type" not in columns:
                connection.execute("ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)")
            named = "catalog_name, table_namespace, table_name, iceberg_type"
            connection.execute(f"INSERT INTO iceberg_tables ({named}) VALUES (?, ?, ?, ?)", row)

    def lose(self, table: str) -> None:
        db, _, name = table.partition(".")
        lost = lost_writes.Lost(db=db, table=name, reason="made up", before=None)
        (self.lake / lost_writes.NOTE).write_text(lost_writes.text([lost]))

    def newest(self) -> Path:
        return Path(self._table.metadata_location.removeprefix("file://"))

    def data(self) -> Path:
        return next(self.lake.rglob("*.parquet"))

    def numbers(self, lake: Path) -> list[int]:
        opened = self._open(lake)
        try:
            found: list[int] = opened.load_table(TABLE).scan().to_arrow()["id"].to_pylist()
        finally:
            opened.engine.dispose()
        return sorted(found)


@pytest.fixture(params=[InMemory, InIceberg])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    (tmp_path / "lake").mkdir()
    made = request.param(tmp_path / "lake")
    yield made
    if isinstance(made, InIceberg):
        made.opened.engine.dispose()


def in_place(bench: Bench) -> SavedTables:
    return bench.saved(bench.lake, lambda path: bench.lake / path)


@contextmanager
def movable(_name: str) -> Iterator[None]:
    """What a restore makes of the errors is its own."""
    yield


def test_the_files_are_all_that_a_reader_needs(bench: Bench, tmp_path: Path) -> None:
    """With the catalog they are copied, their folder goes, and once they are moved the rows are read at another place;
    what describes earlier states goes with them.
    """
    saved, copy = in_place(bench), tmp_path / "copy"
    assert saved.count(bench.catalog) == 1
    saved.take(bench.catalog)
    files, previous = saved.files(bench.catalog), saved.previous(bench.catalog)
    assert previous
    for path in map(saved.relative, files | previous):
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(bench.lake / path, copy / path)
    shutil.copy(bench.catalog, copy / bench.catalog.name)
    shutil.rmtree(bench.lake)
    bench.saved(bench.lake, lambda path: copy / path).move(copy / "catalog.db", copy, movable)
    assert bench.numbers(copy) == [1, 2]
    moved = bench.saved(copy, lambda path: copy / path)
    assert {str(moved.relative(each)) for each in moved.files(copy / "catalog.db")} == {
        str(saved.relative(each)) for each in files
    }
    assert moved.unmovable(copy / "catalog.db") == []


def test_a_file_that_is_gone_is_told_from_one_that_is_damaged(bench: Bench) -> None:
    """The first may have been expired meanwhile, and is looked for again; the second is an error, with its name."""
    data = bench.data()
    content = data.read_bytes()
    data.unlink()
    with pytest.raises(FileNotFoundError):
        in_place(bench).files(bench.catalog)
    for of, damaged in ((data, content[:-1]), (bench.newest(), b"{")):
        data.write_bytes(content)
        of.write_bytes(damaged)
        with pytest.raises(SyncError, match=of.name) as raised:
            in_place(bench).files(bench.catalog)
        assert raised.value.code is Code.BACKUP_LACKS


def test_what_describes_the_tables_must_be_there_at_the_moment(bench: Bench) -> None:
    """Earlier states need not be: commits delete them."""
    saved = in_place(bench)
    for each in saved.previous(bench.catalog):
        (bench.lake / saved.relative(each)).unlink()
    assert in_place(bench).previous(bench.catalog) == frozenset()
    in_place(bench).take(bench.catalog)


def test_a_name_outside_the_folder_cannot_be_moved(bench: Bench, tmp_path: Path) -> None:
    """A line says so in advance, and the move itself refuses it."""
    assert in_place(bench).unmovable(bench.catalog) == []
    elsewhere = tmp_path / "elsewhere"
    bench.place_outside(elsewhere)
    [line] = in_place(bench).unmovable(bench.catalog)
    assert str(elsewhere) in line
    with pytest.raises(ValueError, match=str(elsewhere)):
        in_place(bench).move(bench.catalog, tmp_path / "new", movable)


def test_views_are_dropped_and_named(bench: Bench) -> None:
    """Each once; the tables stay."""
    assert in_place(bench).drop_views(bench.catalog) == []
    bench.add_view("shop.recent")
    assert in_place(bench).count(bench.catalog) == 1
    assert in_place(bench).drop_views(bench.catalog) == ["shop.recent"]
    assert in_place(bench).drop_views(bench.catalog) == []
    assert bench.numbers(bench.lake) == [1, 2]


def test_a_lost_write_is_noted_in_the_copy(bench: Bench, tmp_path: Path) -> None:
    """With the table's name, and only of a table of the catalog."""
    (tmp_path / "copy").mkdir()
    assert in_place(bench).copy_lost(bench.catalog, tmp_path / "copy") is None
    bench.lose("shop.another")
    assert in_place(bench).copy_lost(bench.catalog, tmp_path / "copy") is None
    bench.lose(TABLE)
    noted = in_place(bench).copy_lost(bench.catalog, tmp_path / "copy")
    assert noted is not None
    note, tables = noted
    assert note.parent == tmp_path / "copy"
    assert [TABLE in each for each in tables] == [True]
    assert "orders" in note.read_text()
