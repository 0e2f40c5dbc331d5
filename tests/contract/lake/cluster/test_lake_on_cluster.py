"""A lake in an object store whose Spark is a standalone cluster: two workers that see no folder of the frontend.

Speculation is on for all of them: any task may run twice.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.epoch import ChannelCommit
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.iceberg.java_api import iterated
from syncmgr.lake.index.indexing import IndexState
from syncmgr.lake.lake import Lake
from syncmgr.lake.storage.copies import Room
from syncmgr.lake.upkeep.upkeep import expire
from tests.contract.mysql_reader import database
from tests.contract.snapshot.test_snapshot_commit import Chunked, fill
from tests.support.lakes import on_s3_by_jdbc
from tests.support.servers import spark_cluster
from tests.support.servers.mysql import MysqlServer
from tests.support.servers.object_store import program
from tests.support.servers.postgres import is_installed
from tests.support.servers.spark_cluster import SparkCluster
from tests.support.spark_session import SPARK, LakeTable, Tables, another_lake, new_queries
from tests.support.until import until

INS, UPD, DEL = ChangeKind
pytestmark = SPARK
MANY = 60_000
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.task.duration.threshold": "1s",  # also for the only task of a stage
}


@dataclass(frozen=True)
class Clustered:
    cluster: SparkCluster
    lake: Lake


@pytest.fixture(scope="module")
def clustered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clustered]:
    there = {"moto": program(), "PostgreSQL": is_installed(), "mount namespaces": spark_cluster.is_possible()}
    missing = [name for name, is_there in there.items() if not is_there]
    if missing:
        pytest.skip(f"no cluster without {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("frontend")
    with ExitStack() as running:
        options = running.enter_context(on_s3_by_jdbc(folder))
        own = running.enter_context(TemporaryDirectory(prefix="syncmgr-cluster-"))
        cluster = SparkCluster(Path(own), [folder.parent])
        running.callback(cluster.stop)
        on_it = {**options, **cluster.start().options(), **SPECULATION}
        yield Clustered(cluster, running.enter_context(another_lake(folder, on_it)))


@pytest.fixture
def tables(clustered: Clustered, tmp_path: Path) -> Tables:
    return Tables(clustered.lake, tmp_path)


def answer(table: LakeTable, text: str) -> list[tuple[object, ...]]:
    found = table.lake.iceberg().spark.sql(text.format(table=f"lake.{table.db}.{table.name}"))
    return [tuple(row) for row in found.collect()]


def computing(tables: Tables, place: str = "DISTRIBUTED BY HASH(id) BUCKETS 4") -> LakeTable:
    """A table that Spark writes: by an expression, a WHERE and partitions."""
    table = tables.make(f"(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id) {place}")
    table.expressions, table.where = {"id": "`id`", "v": "`v` + 1"}, "`v` < 100"
    return table


@pytest.mark.slow
def test_executors_write_what_is_committed(tables: Tables) -> None:
    """Expressions, WHERE and partitions: rows travel to the executors, their files are named by our commit, and the
    index has the place of each row as it is in them.
    """
    table = computing(tables)
    table.commit([(INS, number, number) for number in range(20)] + [(INS, 100, 200)])
    table.commit([(UPD, 3, 30), (DEL, 4, None), (UPD, 5, 300), (INS, 101, 1)])
    expected = {number: number + 1 for number in range(20)} | {3: 31, 101: 2}
    for gone in (4, 5):
        del expected[gone]
    assert table.rows() == sorted(expected.items())
    assert (table.indexing.standing().state, table.files(2)) == (IndexState.READY, 0)


@pytest.mark.long
def test_vanished_keys_are_written_and_folded_by_executors(tables: Tables) -> None:
    """Without an index each commit has a file of keys, and a fold finds their rows."""
    table = computing(tables)
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    table.indexing.give_up(ValueError("switched off by the test"))
    table.commit([(UPD, 1, 10), (DEL, 2, None), (INS, 3, 3)])
    assert table.files(2) > 0
    assert table.rows() == [(1, 11), (3, 4)]
    table.lake._upkeep_of(table.db, table.name)._fold(table.lake.iceberg(), table.lake.upkeep_session())
    assert table.files(2) == 0
    assert table.rows() == [(1, 11), (3, 4)]


@pytest.mark.long
def test_rows_that_are_too_many_for_tasks_go_through_the_store(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """In files beside the table's, which are gone afterwards; every type is the same on both ways."""
    definition = "(id BIGINT NOT NULL, v INT, d DECIMAL(12, 2), s STRING, t DATETIME, b BINARY, f FLOAT) UNIQUE KEY(id)"
    types = {
        "v": pa.uint8(),
        "d": pa.decimal128(12, 2),
        "s": pa.string(),
        "t": pa.timestamp("us"),
        "b": pa.binary(),
        "f": pa.float32(),
    }
    made = []
    for room in (Room(), Room(task=lambda: 0)):
        monkeypatch.setattr(tables.lake.iceberg().storage, "room", room)
        table = tables.make(definition, ("id", *types), types=types)
        table.where = "id >= 0"
        table.commit([(INS, 1, 200, 12, "ä", 10**15, b"\xff", 0.5), (INS, 2, None, None, None, None, None, None)])
        made.append(answer(table, "SELECT * FROM {table} ORDER BY id"))
        iceberg = table.lake.iceberg()
        loaded = iceberg.load(table.db, table.name)
        stored = [str(file.location()) for file in iterated(loaded.io().listPrefix(f"{loaded.location()}/data"))]
        assert not [path for path in stored if "staged" in path]
    assert made[0] == made[1]


@pytest.mark.long
@pytest.mark.mysql
def test_a_chunk_with_a_condition_is_written_by_executors(mysql_server: MysqlServer, tables: Tables) -> None:
    """Each chunk once, though the executors do not see the rows that were read."""
    with database(mysql_server) as db:
        fill(mysql_server, db)
        target = tables.make("(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id)")
        source = Chunked(mysql_server, db, target)
        columns = (MappedColumn(target="id", expression="`id`"), MappedColumn(target="v", expression="`v` + 1"))
        for number in source.plan.numbers:
            target.lake.commit(source.commit(number, where="id % 2 = 0", columns=columns))
    assert target.rows() == [(n, n * 2 + 1) for n in range(0, 100, 2)]


@pytest.mark.long
def test_queries_and_expiry_run_on_the_cluster(tables: Tables) -> None:
    """The query engine is a second driver of the same cluster."""
    table = computing(tables)
    for number in range(3):
        table.commit([(INS, number, number)])
    queries = new_queries(table.lake)
    try:
        query = queries.query(f"SELECT id, v FROM {table.name} ORDER BY id", table.db, "cluster")
        assert [tuple(row) for batch in query.batches() for row in batch] == [(0, 1), (1, 2), (2, 3)]
    finally:
        queries.stop()
    iceberg = table.lake.iceberg()
    head = iceberg.current_snapshot(iceberg.load(table.db, table.name))
    assert head is not None
    assert expire(iceberg, table.lake.upkeep_session(snapshots=True), table.db, table.name, head) > 0
    assert table.rows() == [(0, 1), (1, 2), (2, 3)]
    iceberg.drop_table(table.db, table.name)
    assert not iceberg.table_exists(table.db, table.name)


def slow_write(tables: Tables) -> tuple[LakeTable, threading.Thread]:
    """A commit that keeps one task busy for seconds, on its way."""
    table = tables.make("(id BIGINT NOT NULL, s STRING) UNIQUE KEY(id)", ("id", "s"), types={"s": pa.string()})
    text = "`s`"
    for _ in range(60):
        text = f"sha2({text}, 256)"
    table.expressions = {"id": "`id`", "s": text}
    epoch = table.prepared([(INS, number, str(number)) for number in range(MANY)])
    return table, threading.Thread(target=table.apply, args=(epoch,))


def tasks(lake: Lake) -> int:
    """That run now."""
    status = lake.iceberg().spark.sparkContext.statusTracker()
    stages = (status.getStageInfo(stage) for stage in status.getActiveStageIds())
    return sum(stage.numActiveTasks for stage in stages if stage is not None)


@pytest.mark.long
@pytest.mark.parametrize("kills", [False, True], ids=["a second attempt", "an executor is killed"])
def test_a_task_that_runs_again_doubles_nothing(clustered: Clustered, tables: Tables, *, kills: bool) -> None:
    """Of a task whose executor is lost, or that a second one overtakes, one attempt counts: each row is there once,
    and where the index says.
    """
    table, committing = slow_write(tables)
    committing.start()
    until(lambda: tasks(clustered.lake) >= (1 if kills else 2), why="a second attempt")
    if kills:
        for pid in clustered.cluster.executors():
            os.kill(pid, signal.SIGKILL)
    committing.join()
    assert answer(table, "SELECT count(*), count(DISTINCT id), sum(id) FROM {table}") == [
        (MANY, MANY, MANY * (MANY - 1) // 2)
    ]
    table.commit([(DEL, number, None) for number in range(0, MANY, 2)])
    assert answer(table, "SELECT count(*), min(id % 2) FROM {table}") == [(MANY // 2, 1)]
    assert table.indexing.standing().state is IndexState.READY


@pytest.mark.long
def test_a_master_that_is_away_is_named(clustered: Clustered, tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that must start meanwhile says which master does not answer, and serves as soon as it is back."""
    table = computing(tables)
    lake, cluster = clustered.lake, clustered.cluster
    pid = lake.pid
    assert pid is not None
    cluster.stop_master()
    os.kill(pid, signal.SIGKILL)

    def refused() -> bool:
        try:
            lake.ready(1)
        except SyncError as error:
            return error.code in {Code.LAKE_FAILED, Code.LAKE_STARTING} and cluster.url in str(error)
        return False

    until(refused, why="the error that names the master")
    cluster.start_master()
    until(lambda: lake.serves, why="the session")
    table.commit([(INS, 1, 1)])
    assert table.rows() == [(1, 2)]


@pytest.mark.long
def test_a_master_that_was_restarted_is_given_a_new_session(clustered: Clustered, tables: Tables) -> None:
    """It does not know the old one, and gives it no executor ever again: the JVM is replaced, and the epoch that was
    under way is there once.
    """
    table = computing(tables)
    table.commit([(INS, 1, 1)])
    before = clustered.lake.pid
    clustered.cluster.stop_master()
    clustered.cluster.start_master()
    for pid in clustered.cluster.executors():
        os.kill(pid, signal.SIGKILL)
    epoch = table.prepared([(UPD, 1, 10), (INS, 2, 2)])
    until(lambda: is_committed(table, epoch), why="the commit")
    assert clustered.lake.pid != before
    assert table.rows() == [(1, 11), (2, 3)]


def is_committed(table: LakeTable, epoch: ChannelCommit) -> bool:
    """As a job does it: the same epoch again while the lake is not there."""
    try:
        table.apply(epoch)
    except SyncError as error:
        assert error.code in {Code.LAKE_FAILED, Code.LAKE_STARTING}  # noqa: PT017 - whether it is one at all is open
        return False
    return True
