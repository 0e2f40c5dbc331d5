"""A lake in an object store, behind a REST catalog: moto's S3, Iceberg's own REST server on PostgreSQL.

One lake for all of them, and few of each kind: `SYNCMGR_TEST_LAKE=s3-rest` takes the other tests of the lake there.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import requests

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.lake_change import AddField, FillField
from syncmgr.job.epoch import ChannelAlter, LastCommit
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.job.types.schema import TargetType
from syncmgr.lake.index.indexing import IndexState
from syncmgr.lake.lake import Lake
from syncmgr.lake.spark.jvm import JAVA_ERRORS
from syncmgr.lake.storage.copies import Room
from syncmgr.lake.upkeep import fold
from syncmgr.lake.upkeep.upkeep import Kind, expire
from tests.contract.lake.remote.unanswered import until_altered, until_committed, until_done
from tests.support.lakes import RestLake
from tests.support.servers.object_store import BUCKET
from tests.support.servers.troubled import Answer
from tests.support.snippets import run_snippet
from tests.support.spark_session import SPARK, LakeTable, Tables, changes_of, new_queries

INS, UPD, DEL = ChangeKind
pytestmark = SPARK
MOST_REQUESTS, CONFLICT = 13, 409
BOTH = [(1, 10), (3, 3)]


def objects(rest: RestLake, table: LakeTable, prefix: str = "") -> set[str]:
    """The keys below a table's location."""
    place = str(table.lake.iceberg().load(table.db, table.name).location()).removeprefix(f"s3://{BUCKET}/")
    return keys(rest, f"{place}/{prefix}")


def keys(rest: RestLake, prefix: str) -> set[str]:
    listed = requests.get(f"{rest.store.endpoint}/{BUCKET}", params={"prefix": prefix, "list-type": "2"}, timeout=10)
    return {part.partition("<")[0] for part in listed.text.split("<Key>")[1:]}


def copied(lake: Lake) -> list[Path]:
    """Files that were left on the local disk."""
    return [path for path in lake.place.copies_dir.rglob("*") if path.is_file() and path.suffix != ".lock"]


def changed(table: LakeTable) -> None:
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    table.commit([(UPD, 1, 10), (DEL, 2, None), (INS, 3, 3)])


def test_epochs_are_committed_as_on_a_local_disk(tables: Tables) -> None:
    """By Arrow, with the key index and deletion vectors; nothing stays on the local disk, and the query engine reads
    it.
    """
    table = tables.make()
    table.commit([(INS, 0, 0)])
    changed(table)
    assert table.rows() == [(0, 0), *BOTH]
    assert table.indexing.standing().state is IndexState.READY
    assert (table.files(1), table.files(2)) == (0, 0)  # the file of both rows is gone
    table.commit([(INS, 5, 5), (INS, 6, 6)])
    table.commit([(DEL, 6, None), (DEL, 0, None)])
    assert (table.files(1), table.files(2)) == (1, 0)
    everything = [*BOTH, (5, 5)]
    assert table.rows() == everything
    assert copied(table.lake) == []
    queries = new_queries(table.lake)
    try:
        query = queries.query(f"SELECT id, v FROM {table.name} ORDER BY id", table.db, "remote")
        assert [tuple(row) for batch in query.batches() for row in batch] == everything
    finally:
        queries.stop()


def test_the_snippet_of_the_manual_reads_it(tables: Tables, rest: RestLake) -> None:
    """docs/reading.md: what it says to type for pyiceberg and a REST catalog reads the rows."""
    table = tables.make()
    changed(table)
    examples = {
        "https://catalog.example.com/api/catalog": rest.proxy.uri,
        "https://store.example.com:9000": rest.store.endpoint,
        "sales.orders": f"{table.db}.{table.name}",
    }
    read = run_snippet("load_catalog", examples)
    assert sorted(tuple(row.values()) for row in read["rows"].to_pylist()) == BOTH


def test_a_commit_is_a_few_requests(tables: Tables, rest: RestLake) -> None:
    """What takes time on a store far away; those of the catalog's own files are its server's."""
    table = tables.make()
    changed(table)
    counts = []
    for number in range(4, 9):
        before = len(rest.store.requests())
        table.commit([(UPD, 1, number), (INS, number, number)])
        counts.append(sum(".metadata.json" not in each for each in rest.store.requests()[before:]))
    assert sorted(counts)[2] <= MOST_REQUESTS, counts


@pytest.mark.parametrize("place", [pytest.param("", marks=pytest.mark.slow), "DISTRIBUTED BY HASH(id) BUCKETS 4"])
def test_what_spark_computes_is_uploaded(tables: Tables, place: str) -> None:
    """Expressions and WHERE, with and without partitions."""
    table = tables.make(f"(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) {place}")
    table.expressions, table.where = {"id": "`id`", "v": "`v` + 1"}, "`v` < 100"
    table.commit([(INS, 1, 1), (INS, 2, 200), (INS, 3, 3)])
    table.commit([(UPD, 1, 10), (UPD, 3, 300)])
    assert table.rows() == [(1, 11)]
    assert copied(table.lake) == []


def test_the_index_is_built_from_what_it_downloads(tables: Tables) -> None:
    """After a start without a saved one, over files with vectors."""
    table = tables.make()
    changed(table)
    table.indexing._begin_anew()
    table.commit([(UPD, 3, 30)])
    table.lake.upkeep(table.db, table.name)
    table.commit([(UPD, 1, 100)])
    assert table.rows() == [(1, 100), (3, 30)]
    assert table.indexing.standing().state is IndexState.READY
    assert copied(table.lake) == []


@pytest.mark.slow
def test_equality_deletes_are_folded(tables: Tables) -> None:
    """Spark finds their rows in downloaded files."""
    table = tables.make()
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    table.indexing.give_up(ValueError("switched off by the test"))
    table.commit([(UPD, 1, 10), (DEL, 2, None), (INS, 3, 3)])
    assert table.files(2) == 1
    table.lake._upkeep_of(table.db, table.name)._fold(table.lake.iceberg(), table.lake.upkeep_session())
    assert table.files(2) == 0
    assert table.rows() == BOTH


@pytest.mark.slow
def test_a_fold_copies_no_more_than_there_is_room_for(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data file after the other, and the deletes: a table may be larger than the local disk."""
    table, most = tables.make(), list[int]()
    for number in range(3):
        table.commit([(INS, number, number), (INS, number + 10, number)])
    table.indexing.give_up(ValueError("switched off by the test"))
    table.commit([(UPD, 0, 5), (DEL, 1, None), (DEL, 12, None)])
    find = fold.Fold._dead

    def counted(*args: Any, **options: Any) -> Any:
        most.append(len(copied(table.lake)))
        return find(*args, **options)

    monkeypatch.setattr(fold.Fold, "_dead", counted)
    monkeypatch.setattr(table.lake.iceberg().storage, "room", Room(fold=lambda: 1))
    table.lake._upkeep_of(table.db, table.name)._fold(table.lake.iceberg(), table.lake.upkeep_session())
    assert most == [2, 2, 2]
    assert table.files(2) == 0
    assert table.rows() == [(0, 5), (2, 2), (10, 0), (11, 1)]
    assert copied(table.lake) == []


def test_small_files_are_merged_and_what_nothing_names_goes(tables: Tables, rest: RestLake) -> None:
    """Compaction, expiry and orphans, though what commits cannot delete: in the end the store has what the table
    names.
    """
    table = tables.make()
    for number in range(8):
        table.commit([(INS, number, number)])
    assert Kind.COMPACT in {ran.kind for ran in table.lake.upkeep(table.db, table.name)}
    assert table.files(0) == 1
    assert table.rows() == [(number, number) for number in range(8)]
    iceberg = table.lake.iceberg()
    head = iceberg.current_snapshot(iceberg.load(table.db, table.name))
    assert head is not None
    assert expire(iceberg, table.lake.upkeep_session(snapshots=True), table.db, table.name, head) == 8
    assert len(objects(rest, table, "data/")) == 1
    assert copied(table.lake) == []


def test_a_column_is_filled(tables: Tables) -> None:
    """In a table of format v2, whose rows are all written anew."""
    table = tables.make('(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) PROPERTIES ("format-version" = "2")')
    changed(table)
    table.epoch += 1
    done = table.lake.alter(
        ChannelAlter(
            token=table.token,
            epoch=table.epoch,
            fingerprint="filled",
            db=table.db,
            table=table.name,
            changes=(AddField(name="w", type=TargetType(name="INT", args=())), FillField(name="w", value="7")),
            last=LastCommit(epoch=table.borne, snapshot=table.last_snapshot, sequence=table.last_sequence),
        )
    )
    assert done.snapshot is not None
    assert table.rows() == [(1, 10, 7), (3, 3, 7)]
    assert copied(table.lake) == []


def test_rows_that_are_refused_leave_nothing(tables: Tables, rest: RestLake) -> None:
    """Neither in the store nor on the disk."""
    table = tables.make("(id BIGINT NOT NULL, v BIGINT NOT NULL) UNIQUE KEY(id)")
    table.commit([(INS, 1, 1)])
    before = objects(rest, table)
    with pytest.raises(SyncError) as caught:
        table.commit([(INS, 2, None)])
    assert caught.value.code is Code.SOURCE_VALUE
    assert objects(rest, table) == before
    assert copied(table.lake) == []


def test_a_dropped_table_leaves_nothing(tables: Tables, rest: RestLake) -> None:
    """The catalog deletes its files, or we do."""
    table = tables.make()
    changed(table)
    place = str(table.lake.iceberg().load(table.db, table.name).location()).removeprefix(f"s3://{BUCKET}/")
    tables.lake.tables.drop_table(tables.db, table.name)
    assert keys(rest, f"{place}/") == set()


@pytest.mark.parametrize(
    ("status", "retry_after"),
    [(409, False), (500, False), (503, False), (503, True), pytest.param(0, False, id="silent")],
)
@pytest.mark.parametrize("how", ["arrow", "vectors", "alter"])
def test_a_catalog_that_lies_changes_nothing(
    tables: Tables, rest: RestLake, status: int, *, retry_after: bool, how: str
) -> None:
    """It has accepted a commit, and reports a conflict, a failure, or nothing: the rows are there once, every file
    that the table names is there, and so it goes on.
    """
    table = tables.make()
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    rest.proxy.lie(status, retry_after=retry_after)
    wanted: list[tuple[object, ...]] = [(1, 1), (2, 2), (3, 3)]
    if how == "arrow":
        until_committed(table, [(INS, 3, 3)])
    elif how == "vectors":
        until_committed(table, [(UPD, 1, 10), (DEL, 2, None), (INS, 3, 3)])
        wanted = list(BOTH)
    else:
        until_altered(table)
        wanted = [(1, 1, 7), (2, 2, 7)]
    assert rest.proxy.told
    assert table.rows() == wanted
    table.commit([(INS, 4, 4, 4)[: 1 + len(table.columns)]])
    assert table.rows() == [*wanted, (4, 4, 4)[: len(table.columns)]]


@pytest.mark.parametrize(
    "status", [409, pytest.param(500, marks=pytest.mark.long), pytest.param(0, id="silent", marks=pytest.mark.long)]
)
def test_a_table_whose_creation_the_catalog_denies_is_there(tables: Tables, rest: RestLake, status: int) -> None:
    """The statement succeeds, and the table takes rows; another table of that name is not taken for it."""
    rest.proxy.lie(status)
    table = tables.make()
    assert rest.proxy.told
    table.commit([(INS, 1, 1)])
    assert table.rows() == [(1, 1)]
    with pytest.raises(SyncError) as caught:
        tables.lake.tables.create_table(tables.lake.tables.describe(table.db, table.name), for_job=False)
    assert caught.value.code is Code.TABLE_EXISTS


def test_an_old_answer_of_the_catalog_changes_nothing(tables: Tables, rest: RestLake) -> None:
    """A replica or a cache answers with what the table was before its last commit: each row is there once, and the
    channel goes on, whether its next commit is an epoch or a statement.
    """
    table = tables.make()
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    table.commit([(UPD, 1, 10), (DEL, 2, None), (INS, 3, 3)])
    commit = table.prepared([(UPD, 3, 30), (INS, 4, 4)])
    rest.proxy.old = 3
    table.apply(commit)
    assert rest.proxy.old == 0
    assert table.rows() == [(1, 10), (3, 30), (4, 4)]
    alter = changes_of(table, AddField(name="w", type=TargetType(name="INT", args=())), FillField(name="w", value="7"))
    rest.proxy.old = 3
    table.lake.alter(alter)
    assert rest.proxy.old == 0
    assert table.rows() == [(1, 10, 7), (3, 30, 7), (4, 4, 7)]


def test_an_old_answer_after_a_lost_one_changes_nothing(tables: Tables, rest: RestLake) -> None:
    """A commit is made and reported as failed, and the look at the table shows what was before it."""
    table = tables.make()
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    rest.proxy.lie(500, old=3)
    until_committed(table, [(UPD, 1, 10), (DEL, 2, None), (INS, 3, 3)])
    assert rest.proxy.told
    assert rest.proxy.old < 3
    rest.proxy.old = 0  # a reader sees what the catalog says
    assert table.rows() == BOTH
    table.commit([(INS, 4, 4)])
    assert table.rows() == [*BOTH, (4, 4)]


def test_a_statement_that_arrives_late_is_refused(tables: Tables, rest: RestLake) -> None:
    """Its request was given up and repeated; the token stays where the next statement has left it."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    rest.proxy.late = "POST"
    for _ in range(2):
        alter = changes_of(table)
        until_done(lambda alter=alter: table.lake.alter(alter))
    assert rest.proxy.deliver() == CONFLICT
    table.commit([(INS, 2, 2)])
    assert table.rows() == [(1, 1), (2, 2)]


@pytest.mark.parametrize("work", ["compaction", pytest.param("fold", marks=pytest.mark.slow)])
def test_upkeep_deletes_no_file_that_an_old_answer_does_not_name(tables: Tables, rest: RestLake, work: str) -> None:
    """The catalog has accepted a commit, reports a conflict, and then answers with what was before it."""
    table = tables.make()
    for number in range(8):
        table.commit([(INS, number, number)])
    if work == "fold":
        table.indexing.give_up(ValueError("switched off by the test"))
        table.commit([(DEL, 0, None), (INS, 0, 0)])
    rest.proxy.lie(409, old=20)
    upkeep, iceberg = table.lake._upkeep_of(table.db, table.name), table.lake.iceberg()
    with suppress(*JAVA_ERRORS):
        if work == "fold":
            upkeep._fold(iceberg, table.lake.upkeep_session())
        else:
            table.lake.upkeep(table.db, table.name)
    assert rest.proxy.told
    rest.proxy.old = 0
    assert table.rows() == [(number, number) for number in range(8)]
    table.commit([(INS, 8, 8)])
    assert table.rows() == [(number, number) for number in range(9)]


def test_an_expiry_deletes_no_file_that_an_old_answer_does_not_name(
    tables: Tables, rest: RestLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replica that is some commits late answers right after the snapshots were removed."""
    table = tables.make()
    for number in range(3):
        table.commit([(INS, number, number)])
    honest = rest.proxy.said

    def late(method: str, path: str, answer: Answer) -> Answer | None:
        if method == "POST" and not path.endswith("/metrics"):
            rest.proxy.old, rest.proxy.ago = 1, 2
        return honest(method, path, answer)

    iceberg = table.lake.iceberg()
    assert table.last_snapshot is not None
    monkeypatch.setattr(rest.proxy, "said", late)
    expire(iceberg, table.lake.upkeep_session(snapshots=True), table.db, table.name, table.last_snapshot)
    monkeypatch.undo()
    assert (rest.proxy.old, rest.proxy.ago) == (0, 2)
    rest.proxy.ago = 1
    assert table.rows() == [(number, number) for number in range(3)]
    table.commit([(UPD, 0, 10)])
    assert table.rows() == [(0, 10), (1, 1), (2, 2)]
