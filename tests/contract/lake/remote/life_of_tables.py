"""Two tables from CREATE to DROP, with everything that a frontend does to a table in between.

Owns: what is done, and which rows are there afterwards.
Must not know: where the lake is.
"""

from pathlib import Path

from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.index.indexing import IndexState
from syncmgr.lake.lake import Lake
from syncmgr.lake.upkeep.upkeep import Kind, expire
from tests.support.spark_session import LakeTable, Tables, new_queries

INS, UPD, DEL = ChangeKind


def live_through_all(lake: Lake, folder: Path) -> None:
    """Commits with index and vectors, an index built anew, compaction, expiry, queries, what Spark computes, DROP."""
    tables = Tables(lake, folder)
    table = tables.make()
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    table.commit([(UPD, 1, 10), (DEL, 2, None), (INS, 3, 3)])
    assert table.indexing.standing().state is IndexState.READY
    table.indexing._begin_anew()
    for number in range(4, 12):
        table.commit([(INS, number, number)])
    assert Kind.COMPACT in {ran.kind for ran in lake.upkeep(table.db, table.name)}
    wanted = [(1, 10), *((number, number) for number in range(3, 12))]
    assert table.rows() == wanted
    expire_all_but_the_last(table)
    queries = new_queries(lake)
    try:
        query = queries.query(f"SELECT id, v FROM {table.name} ORDER BY id", table.db, "remote")
        assert [tuple(row) for batch in query.batches() for row in batch] == wanted
    finally:
        queries.stop()
    computed = tables.make()
    computed.expressions, computed.where = {"id": "`id`", "v": "`v` + 1"}, "`v` < 100"
    computed.commit([(INS, 1, 1), (INS, 2, 200)])
    assert computed.rows() == [(1, 2)]
    for each in (table, computed):
        lake.tables.drop_table(tables.db, each.name)
    assert lake.tables.tables(tables.db) == []


def expire_all_but_the_last(table: LakeTable) -> None:
    iceberg = table.lake.iceberg()
    head = iceberg.current_snapshot(iceberg.load(table.db, table.name))
    assert head is not None
    assert expire(iceberg, table.lake.upkeep_session(snapshots=True), table.db, table.name, head)
