"""A table is dropped, and nobody learns whether the catalog's disk has taken that: its files are found again."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.lake_change import DropTable
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.drops import finish
from tests.contract.lake.files.test_lake_orphans import folder
from tests.support.spark_session import SPARK, LakeTable, Tables, changes_of

INS, UPD, DEL = ChangeKind
pytestmark = SPARK


def by_hand(table: LakeTable) -> None:
    table.lake.tables.drop_table(table.db, table.name)


def by_statement(table: LakeTable) -> None:
    uuid = table.lake.iceberg().uuid(table.lake.iceberg().load(table.db, table.name))
    table.lake.alter(changes_of(table, DropTable(uuid=uuid)))


def files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file() and not path.name.startswith(".")]


def started(tables: Tables) -> None:
    """What the next start does before anything else."""
    lake = tables.lake
    assert lake.tables.drops is not None
    finish(lake.iceberg(), lake.tables.drops)
    assert lake.tables.drops.left() == {}


def unanswered(table: LakeTable, how: Callable[[LakeTable], None], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise SyncError(Code.LAKE_FULL, reason="made up")

    with monkeypatch.context() as patch:
        patch.setattr(table.lake._durability, "confirm", fail)
        with pytest.raises(SyncError):
            how(table)


def second_name(table: LakeTable) -> LakeTable:
    metadata = table.lake.iceberg().load(table.db, table.name).operations().current().metadataFileLocation()
    table.sql(f"CALL lake.system.register_table('{table.db}.second', '{metadata}')")
    return replace(table, name="second")


def elsewhere(table: LakeTable) -> None:
    """What it writes from now on; its older files stay where they are."""
    place = folder(table)
    table.sql(f"ALTER TABLE {{table}} SET LOCATION '{place}-elsewhere'")
    table.sql("INSERT INTO {table} VALUES (9, 9)")


@pytest.mark.parametrize("how", [by_hand, by_statement])
def test_files_of_a_dropped_table_go_at_the_next_start(
    tables: Tables, how: Callable[[LakeTable], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the disk says that the catalog has forgotten the table, and not before."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    root = folder(table)
    before = files(root)
    unanswered(table, how, monkeypatch)
    assert not table.lake.iceberg().table_exists(table.db, table.name)
    assert set(files(root)) >= set(before)
    started(tables)
    assert files(root) == []


@pytest.mark.parametrize("moved", [False, True])
def test_files_of_a_table_that_is_back_stay(tables: Tables, monkeypatch: pytest.MonkeyPatch, *, moved: bool) -> None:
    """A power failure brings the catalog's row back; under whatever name, its rows are there."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    metadata = table.lake.iceberg().load(table.db, table.name).operations().current().metadataFileLocation()
    unanswered(table, by_hand, monkeypatch)
    table.sql(f"CALL lake.system.register_table('{table.db}.back', '{metadata}')")
    if moved:
        elsewhere(replace(table, name="back"))
    started(tables)
    table.name = "back"
    assert table.rows() == [(1, 1), (9, 9)][: 1 + moved]
    by_hand(table)


def test_a_drop_leaves_no_note(tables: Tables) -> None:
    """The usual one, after which no file is left either."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    root = folder(table)
    by_hand(table)
    assert files(root) == []
    assert table.lake.tables.drops is not None
    assert table.lake.tables.drops.left() == {}
    started(tables)


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("how", [by_hand, by_statement])
def test_files_of_a_table_with_a_second_name_stay(
    tables: Tables, how: Callable[[LakeTable], None], caplog: pytest.LogCaptureFixture, *, moved: bool
) -> None:
    """Wherever that has gone on by itself, its rows can still be read, and the log names it; its own drop, as that of
    the last name, deletes the files.
    """
    table = tables.make()
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    before, second = [path for path in files(folder(table)) if path.suffix == ".parquet"], second_name(table)
    if moved:
        elsewhere(second)
    table.commit([(INS, 3, 3)])
    how(table)
    assert f"{table.db}.second" in caplog.text
    assert not table.lake.iceberg().table_exists(table.db, table.name)
    assert second.rows() == [(1, 1), (2, 2), *([(9, 9)] if moved else [])]
    by_hand(second)
    assert before
    assert not [path for path in before if path.exists()]


def test_a_drop_of_one_of_several_names_is_told(tables: Tables) -> None:
    """The statement that drops it warns; that of the last name does not."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    second = second_name(table)
    dropped = [table.lake.tables.drop_table(each.db, each.name) for each in (table, second)]
    assert dropped == [f"{table.db}.second", None]


def test_a_table_that_cannot_be_read_keeps_its_files(tables: Tables) -> None:
    """Its metadata are in the folder of the other one: they may be those of the same table."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    root, second = folder(table), second_name(table)
    second.sql("INSERT INTO {table} VALUES (9, 9)")
    metadata = Path(str(second.lake.iceberg().load(second.db, "second").operations().current().metadataFileLocation()))
    plain = Path(str(metadata).replace("file:", "", 1))
    content = plain.read_bytes()
    plain.write_bytes(b"{")
    by_hand(table)
    plain.write_bytes(content)
    assert second.rows() == [(1, 1), (9, 9)]
    by_hand(second)
    assert root.exists()
