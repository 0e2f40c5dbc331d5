"""A replica whose rows a snapshot reads: what must hold of it."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import GtidSet
from syncmgr.sources.mysql import factory
from syncmgr.sources.mysql.address import Locking
from syncmgr.sources.mysql.chunk.chunks import MysqlChunks
from syncmgr.sources.mysql.description import MysqlDescription
from syncmgr.sources.mysql.description import described as source_of
from syncmgr.sources.mysql.server.snapshot import MysqlSnapshot
from tests.contract.mysql_reader import address, facts
from tests.contract.snapshot.test_snapshot_values import chunk_of, selected
from tests.support.chunk_reads import ReadHere
from tests.support.servers.mysql import PASSWORD, MysqlServer
from tests.support.servers.proxy import Proxy
from tests.support.until import HANG_SECOND, until

pytestmark = pytest.mark.mysql
TABLE = ("spared", "t")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MysqlServer, MysqlServer]]:
    """A source and its replica, which applies nothing more once the table is there."""
    folder = tmp_path_factory.mktemp("replica")
    source, replica = (MysqlServer(folder / n, variables={"server-id": n}).start() for n in ("1", "2"))
    replica.follow(source)
    source.run("CREATE DATABASE spared", "CREATE TABLE spared.t (id BIGINT PRIMARY KEY, v VARCHAR(9))")
    until(lambda: executed(replica) == executed(source), why="the table on the replica")
    replica.run("STOP REPLICA SQL_THREAD")
    yield source, replica
    replica.stop()
    source.stop()


def executed(server: MysqlServer) -> GtidSet:
    return GtidSet.parse(server.run("SELECT @@global.gtid_executed")[0][0])


def described(source: MysqlServer, replica: MysqlServer) -> MysqlDescription:
    where = {
        "mysql.host": "127.0.0.1",
        "mysql.port": str(source.port),
        "mysql.user": "repl",
        "mysql.password": PASSWORD,
    }
    made = source_of({"type": "mysql", **where, "snapshot.host": f"127.0.0.1:{replica.port}"})
    assert isinstance(made, MysqlDescription)
    return made


def inspect(source: MysqlServer, replica: MysqlServer) -> Any:
    return factory.inspect(described(source, replica), [TABLE], connect_timeout=HANG_SECOND, locking=Locking())


def test_a_job_begins_at_what_its_replica_has(pair: tuple[MysqlServer, MysqlServer]) -> None:
    """What the replica lacks comes from the source's binlog, and rows are read only where all before it are."""
    source, replica = pair
    source.run("INSERT INTO spared.t VALUES (1, 'a')")
    start = inspect(source, replica).start
    assert GtidSet.parse(start.gtids) == executed(replica) != executed(source)
    assert start.server == facts(source).server
    reader = MysqlSnapshot([address(source)], address(replica))
    [(known_as,)] = replica.run("SELECT @@server_uuid")
    assert reader.settle(start) == MysqlChunks(address(replica), identity=("server_uuid", known_as))
    assert GtidSet.parse(reader.end().gtids) == executed(source)
    with pytest.raises(SyncError, match="which the job counts as read") as caught:
        reader.settle(facts(source).start)
    assert caught.value.code is Code.SOURCE_UNREACHABLE


@pytest.mark.parametrize("role", ["source", "replica"])
def test_all_rows_are_of_the_server_that_was_settled_on(pair: tuple[MysqlServer, MysqlServer], role: str) -> None:
    """A name, or a proxy, that leads to another server by now is noticed: that one may lack rows which the job counts
    as read, and neither they nor the binlog after the start would bring them.
    """
    source, replica = pair
    first, other = (source, replica) if role == "source" else (replica, source)
    table, proxy = facts(source, [TABLE]).tables[0], Proxy(first.port)
    try:
        start = inspect(source, replica).start if role == "replica" else facts(source, start="snapshot").start
        through = address(first, port=proxy.port)
        snapshot = MysqlSnapshot([through]) if role == "source" else MysqlSnapshot([address(source)], through)
        chunk = replace(chunk_of(source, table), reader=ReadHere(snapshot.settle(start)))
        assert selected(chunk).keys() == {row[0] for row in first.run("SELECT id FROM spared.t")}
        proxy.target = other.port
        for ask in (lambda: selected(chunk), *([snapshot.end] if role == "source" else [])):
            with pytest.raises(SyncError, match=r"it is server \S+ now, and the rows are those of") as caught:
                ask()
            assert caught.value.code is Code.SOURCE_UNREACHABLE
    finally:
        proxy.close()


def test_tables_of_another_shape_are_refused(pair: tuple[MysqlServer, MysqlServer]) -> None:
    """A replica that has yet to apply a DDL shows rows of another schema than the job would decode by."""
    source, replica = pair
    source.run("ALTER TABLE spared.t ADD w INT")
    with pytest.raises(SyncError, match=r"spared\.t is not what it is on the source") as caught:
        inspect(source, replica)
    assert caught.value.code is Code.SOURCE_UNSUPPORTED
    source.run("ALTER TABLE spared.t DROP w")


def test_a_table_without_a_key_is_refused(pair: tuple[MysqlServer, MysqlServer]) -> None:
    """Its exact point is known on the source alone."""
    source, replica = pair
    tables = facts(source, [TABLE]).tables
    with pytest.raises(SyncError, match=r"leave out snapshot\.host") as caught:
        factory.check_exact(described(source, replica), tables, connect_timeout=HANG_SECOND, locking=Locking())
    assert caught.value.code is Code.SNAPSHOT_REFUSED


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("REPLICATE_IGNORE_TABLE = (spared.unseen)", r"Replicate_Ignore_Table: spared\.unseen"),
        pytest.param("REPLICATE_DO_DB = (elsewhere)", "Replicate_Do_DB: elsewhere", marks=pytest.mark.slow),
        pytest.param(
            "REPLICATE_WILD_IGNORE_TABLE = ('spared.uns%')",
            r"Replicate_Wild_Ignore_Table: spared\.uns%",
            marks=pytest.mark.slow,
        ),
        ("REPLICATE_REWRITE_DB = ((spared, elsewhere))", r"Replicate_Rewrite_DB: \(spared,elsewhere\)"),
    ],
)
def test_a_replica_with_a_filter_is_refused(pair: tuple[MysqlServer, MysqlServer], rule: str, told: str) -> None:
    """What a filter leaves out counts as executed there, so neither its rows nor the binlog would bring it."""
    source, replica = pair
    replica.run("START REPLICA SQL_THREAD")
    source.run(*(f"CREATE DATABASE IF NOT EXISTS {db}" for db in ("spared", "elsewhere")))
    source.run(*(f"DROP TABLE IF EXISTS {db}.unseen" for db in ("spared", "elsewhere")))
    source.run(*(f"CREATE TABLE {db}.unseen (id INT PRIMARY KEY)" for db in ("spared", "elsewhere")))
    until(lambda: executed(replica) == executed(source), why="the tables on the replica")
    start = inspect(source, replica).start
    with filtering(replica, rule):
        source.run("INSERT INTO spared.unseen VALUES (1)")
        until(lambda: executed(replica) == executed(source), why="what is left out")
        assert not replica.run("SELECT * FROM spared.unseen")
        for ask in (
            lambda: inspect(source, replica),
            lambda: MysqlSnapshot([address(source)], address(replica)).settle(start),
        ):
            with pytest.raises(SyncError, match=told) as caught:
                ask()
            assert caught.value.code is Code.REPLICA_FILTERED
    assert inspect(source, replica).start


@contextlib.contextmanager
def filtering(replica: MysqlServer, rule: str) -> Iterator[None]:
    """It applies by this rule alone, and nothing behind it."""
    replica.run("STOP REPLICA SQL_THREAD", f"CHANGE REPLICATION FILTER {rule}", "START REPLICA SQL_THREAD")
    try:
        yield
    finally:
        replica.run("STOP REPLICA SQL_THREAD", f"CHANGE REPLICATION FILTER {rule.split(' ', maxsplit=1)[0]} = ()")


def test_a_replica_that_passes_over_errors_is_refused(pair: tuple[MysqlServer, MysqlServer]) -> None:
    """What it does not apply since it fails counts as executed, too."""
    source, replica = pair
    replica.restart({"replica-skip-errors": "1032", "skip-replica-start": "ON"})
    with pytest.raises(SyncError, match="replica_skip_errors: 1032") as caught:
        inspect(source, replica)
    assert caught.value.code is Code.REPLICA_FILTERED
    replica.restart({"replica-skip-errors": "OFF", "skip-replica-start": "ON"})
    assert inspect(source, replica).start


def test_a_replica_that_went_its_own_way_is_refused(pair: tuple[MysqlServer, MysqlServer]) -> None:
    """Rows that only it has would stay in the lake forever."""
    source, replica = pair
    start = inspect(source, replica).start
    replica.run("INSERT INTO spared.t VALUES (99, 'astray')")
    for ask in (
        lambda: inspect(source, replica),
        lambda: MysqlSnapshot([address(source)], address(replica)).settle(start),
    ):
        with pytest.raises(SyncError, match=r"it has executed .*, which .* has not") as caught:
            ask()
        assert caught.value.code is Code.SOURCE_UNSUPPORTED
