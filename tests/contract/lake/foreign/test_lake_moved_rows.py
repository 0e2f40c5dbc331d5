"""Another engine's rewrite moves rows into another partition spec while they are updated and deleted."""

import json
import shutil
from collections.abc import Callable

import pytest

from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.iceberg.java_api import iterated
from syncmgr.lake.upkeep.fold import Fold
from tests.support.spark_session import SPARK, LakeTable, Tables, in_pyiceberg, partitioned_by

INS, UPD, DEL = ChangeKind
pytestmark = SPARK


def moving(table: LakeTable, keys: tuple[int, ...]) -> Callable[[], None]:
    """A rewrite_data_files with an `output-spec-id`, of files of one row, that takes its time; the result ends it."""
    partitioned_by(table, "-id:4", "id:8")
    partitioned_by(table, "-id:8", "id:4")
    iceberg = table.lake.iceberg()
    loaded, jvm = iceberg.load(table.db, table.name), iceberg.jvm
    spec = next(spec for spec in loaded.specs().values() if "bucket[8]" in str(spec.toString()))
    number = spec.fields().get(0).fieldId()
    old, new = jvm.java.util.HashSet(), jvm.java.util.HashSet()
    files = sorted((task.file() for task in iterated(loaded.newScan().planFiles())), key=_sequence)
    for key, file in zip(keys, files, strict=True):
        folder = table.folder / f"moved-{table.name}-{key}"
        folder.mkdir()
        shutil.copy(str(file.location()).removeprefix("file:"), folder / "rows.parquet")
        [row] = iceberg.spark.sql(f"SELECT lake.system.bucket(8, {key}L)").collect()
        values = json.dumps({str(number): row[0]})
        struct = jvm.org.apache.iceberg.SingleValueParser.fromJson(spec.partitionType(), values)
        [found] = iceberg.unplaced_files(loaded, str(folder))
        old.add(file)
        new.add(iceberg._in_partition(spec, found, struct))
    start = loaded.currentSnapshot()

    def end() -> None:
        rewrite = iceberg.load(table.db, table.name).newRewrite().validateFromSnapshot(start.snapshotId())
        rewrite.rewriteFiles(old, new, start.sequenceNumber()).commit()

    return end


def _sequence(file: object) -> int:
    return int(file.dataSequenceNumber())  # type: ignore[attr-defined] # of Java


@pytest.mark.parametrize(
    "indexed", [pytest.param(False, id="not indexed"), pytest.param(True, id="indexed", marks=pytest.mark.slow)]
)
def test_rows_that_were_deleted_while_a_rewrite_moved_them(tables: Tables, *, indexed: bool) -> None:
    """Iceberg lets it pass beside equality deletes, which do not reach what it has moved: an index, or a fold without
    one, makes the rows right again in every reader.
    """
    table = tables.make()
    table.indexing.give_up(ValueError("switched off by the test"))
    partitioned_by(table, "id:4")
    for key in (5, 6, 7):
        table.commit([(INS, key, 0)])
    end = moving(table, (5, 6, 7))
    table.commit([(UPD, 5, 1), (DEL, 6, 0)])
    end()
    assert table.rows() == [(5, 0), (5, 1), (6, 0), (7, 0)]
    if indexed:
        table.indexing._off_until = 0.0
        table.commit([(INS, 8, 0)])
    else:
        assert Fold(table.lake.iceberg(), table.lake.upkeep_session(), table.db, table.name, table.indexing).run()
    expected = [(5, 1), (7, 0), *([(8, 0)] if indexed else [])]
    assert table.in_spark() == expected == in_pyiceberg(table)
    assert table.files(2) == 0
