"""Fold, compaction and expiry of real tables."""

from pathlib import Path

import pytest

from syncmgr.job.batch import ChangeKind
from syncmgr.spark.fold import Fold
from syncmgr.spark.upkeep import SMALL_FILES, Kind, compact, expire
from tests.spark_session import SPARK, LakeTable, Tables, in_pyiceberg
from tests.until import until

INS, UPD, DEL = ChangeKind
pytestmark = SPARK


def fold(table: LakeTable) -> None:
    Fold(table.lake.iceberg(), table.lake.upkeep_session(), table.db, table.name, table.indexing).run()


@pytest.mark.parametrize("place", ["", "DISTRIBUTED BY HASH(id) BUCKETS 4"])
def test_after_a_fold_every_reader_sees_the_same_rows(tables: Tables, place: str) -> None:
    """A fold leaves no equality delete, and pyiceberg, which refuses those, reads what Spark reads."""
    table = tables.make(f"(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) {place}")
    table.indexing.give_up(ValueError("switched off by the test"))
    table.commit([(INS, key, 0) for key in range(50)])
    for epoch in range(3):
        table.commit([(UPD, key, epoch) for key in range(epoch, 50, 7)] + [(DEL, 49 - epoch, 0)])
    before = table.rows()
    until(lambda: table.lake.upkeep(table.db, table.name))
    assert before == table.rows() == in_pyiceberg(table)
    assert table.files(2) == 0
    assert table.files(1) > 0


def test_rows_that_others_wrote_are_folded_too(tables: Tables) -> None:
    """Deletes hit rows of any writer and of a compaction, whose files are named in another way than ours."""
    table = tables.make()
    table.sql("INSERT INTO {table} SELECT id, 0 FROM range(20)")
    table.commit([(UPD, key, 1) for key in range(0, 20, 3)])
    fold(table)
    assert table.files(1) > 0
    compact(table.lake.upkeep_session(), table.db, table.name, {"rewrite-all": "true"})
    table.commit([(UPD, key, 2) for key in range(0, 20, 5)] + [(DEL, 1, 0)])
    before = table.rows()
    fold(table)
    assert table.files(2) == 0
    assert before == table.rows() == in_pyiceberg(table)
    assert [key for key in range(20) if key != 1] == [row[0] for row in before]


@pytest.mark.parametrize("change", ["DROP IDENTIFIER FIELDS id", "SET IDENTIFIER FIELDS id, v"])
def test_a_table_whose_identifier_was_changed_is_folded_too(tables: Tables, change: str) -> None:
    """By the columns that its deletes name: they stayed for ever, and nothing was compacted."""
    table = tables.make("(id BIGINT NOT NULL, v BIGINT NOT NULL) UNIQUE KEY(id)")
    table.commit([(INS, key, 0) for key in range(20)])
    table.sql("ALTER TABLE {table} " + change)
    for epoch in range(3):
        table.commit([(UPD, key, epoch) for key in range(0, 20, 3)])
    before = table.rows()
    assert table.files(2) > 0
    until(lambda: table.lake.upkeep(table.db, table.name))
    assert table.files(2) == 0
    assert before == table.rows() == in_pyiceberg(table)


def test_small_files_become_big_ones(tables: Tables) -> None:
    """Once a table is quiet its small files are rewritten, and the log says so."""
    table = tables.make()
    for key in range(SMALL_FILES):
        table.commit([(INS, key, key)])
    ran: list[Kind] = []

    def tick() -> bool:
        ran.extend(each.kind for each in table.lake.upkeep(table.db, table.name))
        return Kind.COMPACT in ran

    until(tick)
    assert table.files(0) == 1
    assert [(key, key) for key in range(SMALL_FILES)] == table.rows()
    assert Kind.COMPACT in {each.kind for each in table.lake.upkeep_log(table.db, table.name)}


def test_expiry_keeps_the_consistent_point(tables: Tables) -> None:
    """Snapshots older than the oldest kept point go with the files that only they name; that point stays readable."""
    table = tables.make()
    snapshots = [table.commit([(UPD, 1, value)]).snapshot for value in range(4)]
    iceberg, kept = table.lake.iceberg(), snapshots[2]
    assert kept is not None
    assert expire(iceberg, table.lake.upkeep_session(), table.db, table.name, kept) == 2
    past = iceberg.spark.sql(f"SELECT v FROM lake.{table.db}.{table.name} VERSION AS OF {kept}").collect()
    assert [row[0] for row in past] == [2]
    assert table.rows() == [(1, 3)]
    table.commit([(UPD, 1, 4)])


def test_metadata_files_do_not_pile_up(tables: Tables) -> None:
    """Each commit writes a metadata file and deletes the oldest beyond a bound."""
    table = tables.make()
    for value in range(25):
        table.commit([(UPD, 1, value)])
    location = str(table.lake.iceberg().load(table.db, table.name).location())
    assert len(list(Path(location, "metadata").glob("*.metadata.json"))) <= 22
