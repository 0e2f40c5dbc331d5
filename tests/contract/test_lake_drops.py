"""A table is dropped, and nobody learns whether the catalog's disk has taken that: its files are found again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.lake_change import DropTable
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.drops import finish
from syncmgr.lake.iceberg.catalog_file import pointers
from tests.contract.test_lake_orphans import folder
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
    finish(lake.iceberg(), lake.tables.drops, lambda: list(pointers(lake.place.catalog_file).values()))
    assert lake.tables.drops.left() == {}


def unanswered(table: LakeTable, how: Callable[[LakeTable], None], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise SyncError(Code.LAKE_FULL, reason="made up")

    with monkeypatch.context() as patch:
        patch.setattr(table.lake._durability, "confirm", fail)
        with pytest.raises(SyncError):
            how(table)


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


def test_files_of_a_table_that_is_back_stay(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power failure brings the catalog's row back; under whatever name, its rows are there."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    metadata = table.lake.iceberg().load(table.db, table.name).operations().current().metadataFileLocation()
    unanswered(table, by_hand, monkeypatch)
    table.sql(f"CALL lake.system.register_table('{table.db}.back', '{metadata}')")
    started(tables)
    table.name = "back"
    assert table.rows() == [(1, 1)]
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
