"""A table without a key whose first commit is served late, while its rows are read again."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from uuid import uuid4

import pytest
from py4j.protocol import Py4JError

from syncmgr.errors import SyncError
from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.epoch import ChannelCommit, ChannelCommitted, Epoch, LastCommit
from syncmgr.job.snapshot.chunk import ChunkPlan, Load
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.spark.jvm import Java
from syncmgr.pipeline.snapshot.chunk_reading import ChunkReading
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.chunk.chunks import MysqlChunks
from syncmgr.sources.mysql.server.snapshot import MysqlSnapshot
from tests.contract.mysql_reader import database, facts, latest, reading
from tests.contract.snapshot.test_snapshot_exact import root
from tests.contract.snapshot.test_snapshot_values import chunk_of
from tests.support.chunk_reads import ReadHere
from tests.support.servers.mysql import MysqlServer
from tests.support.spark_session import SPARK, LakeTable, Tables
from tests.unit.pipeline.snapshot.test_snapshot import MemoryLoads

pytestmark = [pytest.mark.mysql, *SPARK]


@pytest.fixture
def db(mysql_server: MysqlServer) -> Iterator[str]:
    with database(mysql_server) as name:
        mysql_server.run(f"CREATE TABLE {name}.t (v INT)", f"INSERT INTO {name}.t VALUES (1)")
        yield name


class Exact:
    """The only chunk of a table, tried as often as wanted."""

    def __init__(self, server: MysqlServer, db: str, target: LakeTable) -> None:
        known = facts(server, [(db, "t")])
        self.token, self.server = target.token, server
        plan = ChunkPlan(id=f"0-{uuid4().hex[:12]}", key=(), bounds=(), rows=1)
        self.loads = MemoryLoads({self.token: Load(token=self.token, plan=plan)})
        self.loads.last = Epoch(number=0, end=known.start, last_seq=0)
        source = MysqlSnapshot([root(server)])
        self.reading = ChunkReading(SimpleNamespace(), {}, source, self.loads, target.lake)  # type: ignore[arg-type]
        chunk = replace(
            chunk_of(server, known.tables[0]), reader=ReadHere(MysqlChunks(root(server))), exact=True, keys=()
        )
        self.commit = ChannelCommit(
            token=self.token,
            epoch=0,
            fingerprint="",
            db=target.db,
            table=target.name,
            files=(),
            columns=(MappedColumn(target="v", expression="`v`"),),
            keys=(),
            where=None,
            last=LastCommit(epoch=0, snapshot=None),
            settled=False,
            chunk=replace(chunk, plan=plan.id),
        )

    @property
    def plan(self) -> ChunkPlan:
        plan = self.loads.known[self.token].plan
        assert plan is not None
        return plan

    def attempt(self) -> ChannelCommitted | None:
        return self.reading._commit_exact(self.commit, self.plan)

    def begin_anew(self, token: str) -> None:
        self.loads.begin_loads({token: None})
        plan = ChunkPlan(id=f"1-{uuid4().hex[:12]}", key=(), bounds=(), rows=1, replaces=True)
        self.loads.plan_load(token, plan)
        assert self.commit.chunk is not None
        chunk = replace(self.commit.chunk, plan=plan.id, replaces=True)
        self.commit = replace(self.commit, chunk=chunk, renews=True)


def _asking(catalog: "LateCatalog") -> Callable[[Iceberg, Java], int]:
    """As a method of Iceberg."""

    def finish(iceberg: Iceberg, transaction: Java) -> int:
        return catalog.asked(iceberg, transaction)

    return finish


class LateCatalog:
    """The first request gets no answer, and is served when one of another read comes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, unanswered: int) -> None:
        self.finish, self.left, self.first = Iceberg.finish, unanswered, list[Java]()
        monkeypatch.setattr(Iceberg, "finish", _asking(self))

    def asked(self, iceberg: Iceberg, transaction: Java) -> int:
        if type(iceberg) is not Iceberg:  # a warm-up
            return self.finish(iceberg, transaction)
        if self.left:
            self.left -= 1
            self.first.append(transaction)
            raise Py4JError("Trace: no answer")
        if self.first:
            self.first[0].commitTransaction()
            self.first.clear()
        return self.finish(iceberg, transaction)


@pytest.mark.parametrize("unanswered", [1, 2])
def test_changes_follow_the_read_that_is_in_the_table(
    mysql_server: MysqlServer, db: str, tables: Tables, monkeypatch: pytest.MonkeyPatch, unanswered: int
) -> None:
    """However many others there were: what it has read, and what the binlog has after its point, are all rows, each
    once.
    """
    target = tables.make("(v INT) DUPLICATE KEY(v)", columns=("v",), keys=())
    exact = Exact(mysql_server, db, target)
    LateCatalog(monkeypatch, unanswered=unanswered)
    for number in range(unanswered):
        with pytest.raises(SyncError, match="no answer"):
            exact.attempt()
        mysql_server.run(f"INSERT INTO {db}.t VALUES ({number + 2})")
    exact.attempt()
    mysql_server.run(f"INSERT INTO {db}.t VALUES (9)")
    assert target.rows() == [(1,)]
    assert following(exact, db) == [*range(2, unanswered + 2), 9]


def following(exact: Exact, db: str) -> list[object]:
    """What the binlog has after the point."""
    wanted = Subscription(columns=("v",), after=exact.plan.point)
    with reading(exact.server, {(db, "t"): wanted}, exact.loads.last.end) as reader:
        reader.until(latest(exact.server))
        return [row["v"] for row in reader.rows((db, "t"))]


def test_rows_of_a_read_that_is_not_known_are_replaced(mysql_server: MysqlServer, db: str, tables: Tables) -> None:
    """An earlier version stored the point of the last read alone, and died: which read the table has is not said."""
    target = tables.make("(v INT) DUPLICATE KEY(v)", columns=("v",), keys=())
    exact = Exact(mysql_server, db, target)
    exact.reading.begin_anew = exact.begin_anew
    exact.attempt()
    mysql_server.run(f"INSERT INTO {db}.t VALUES (2)")
    exact.loads.plan_load(exact.token, replace(exact.plan, points=()))
    assert exact.attempt() is None
    done = exact.attempt()
    mysql_server.run(f"INSERT INTO {db}.t VALUES (3)")
    assert done is not None
    assert not done.passed_over
    assert (target.rows(), following(exact, db)) == ([(1,), (2,)], [3])
