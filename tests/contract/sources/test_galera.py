"""Nodes of a Galera cluster as sources."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.sources.mysql.address import Locking
from syncmgr.sources.mysql.binlog.router import Limits
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.factory import inspect
from syncmgr.sources.mysql.source import MysqlSource, SourceOptions
from tests.contract.mysql.history.test_mysql_positions import description
from tests.contract.mysql_reader import Reader, address, described, facts, latest, reading
from tests.support.servers.galera import cluster, provider
from tests.support.servers.mysql import MysqlServer
from tests.support.until import HANG_SECOND, until

pytestmark = [pytest.mark.long, pytest.mark.skipif(provider() is None, reason="no Galera is installed")]

TABLE: Final = ("ours", "t")
WANTED: Final = Subscription(columns=("id",), keys=("id",))
QUICK: Final = SourceOptions(position_interval=0.05, retry=Retry(first=0.02, most=0.2), limits=Limits(events=10))
ONE_ID: Final = {"server-id": "9", "wsrep-gtid-mode": "ON", "wsrep-gtid-domain-id": "7"}
MADE: Final = ("CREATE DATABASE ours", "CREATE TABLE ours.t (id INT PRIMARY KEY)")


def there(server: MysqlServer, *ids: int) -> bool:
    """Whether it has these rows; what another node has committed it applies a moment later."""
    return bool(server.run("SHOW DATABASES LIKE 'ours'")) and [*server.run("SELECT id FROM ours.t")] == [
        (each,) for each in ids
    ]


@contextmanager
def reading_both(first: MysqlServer, second: MysqlServer) -> Iterator[Reader]:
    reader = Reader(None)  # type: ignore[arg-type]  # it wants to hear of troubles before it has a source
    known = [address(node) for node in (first, second)]
    tables = described(first, {TABLE: WANTED})
    reader.source = MysqlSource(known, 4711, latest(first), tables, options=QUICK, trouble=reader.troubles.append)
    try:
        yield reader
    finally:
        reader.source.close()
        reader.source.get(0)


def ids(reader: Reader) -> list[int]:
    return [row["id"] for row in reader.rows(TABLE)]


def hosts(*nodes: MysqlServer) -> str:
    return ",".join(f"127.0.0.1:{node.port}" for node in nodes)


def test_a_node_that_is_not_to_log_what_it_applies(tmp_path: Path) -> None:
    """Which nodes log what they apply all the same depends on their version, so none is taken."""
    silent = {"server-id": "2", "log-slave-updates": "OFF"}
    with cluster(tmp_path, {"server-id": "1"}, silent) as (first, second):
        first.run(*MADE, "INSERT INTO ours.t VALUES (1)")
        until(lambda: there(second, 1), why="the other node")
        with pytest.raises(SyncError) as caught:
            facts(second, [TABLE])
        assert caught.value.code is Code.SOURCE_UNLOGGED
        assert "log_slave_updates is OFF" in str(caught.value)
        assert "taking it out of its Galera cluster" in str(caught.value)
        with reading(second, {TABLE: WANTED}, latest(first)) as reader:
            assert reader.until_error().code is Code.SOURCE_UNLOGGED


def test_a_job_goes_on_at_another_node(tmp_path: Path) -> None:
    """With wsrep_gtid_mode = ON and one server_id every change comes once, whichever node has written it."""
    with cluster(tmp_path, ONE_ID, {**ONE_ID, "gtid-domain-id": "12"}) as (first, second):
        first.run(*MADE)
        until(lambda: there(second), why="the other node")
        assert inspect(description(hosts(first, second)), [], connect_timeout=HANG_SECOND, locking=Locking()).by_gtid
        with reading_both(first, second) as reader:
            first.run("INSERT INTO ours.t VALUES (1)")
            until(lambda: there(second, 1), why="the other node")
            second.run("INSERT INTO ours.t VALUES (2)")
            until(lambda: reader.get() and ids(reader) == [1, 2])
            first.stop()
            second.run("INSERT INTO ours.t VALUES (3)")
            until(lambda: (reader.get(), ids(reader))[1] == [1, 2, 3])
            assert reader.source.server() == hosts(second)


def test_nodes_whose_gtids_mean_different_things(tmp_path: Path) -> None:
    """With wsrep_gtid_mode = OFF each node counts for itself, so that a job would pass over rows at another one."""
    with cluster(tmp_path, {"server-id": "1"}, {"server-id": "2"}) as (first, second):
        first.run(*MADE)
        until(lambda: there(second), why="the other node")
        with pytest.raises(SyncError) as caught:
            inspect(description(hosts(first, second)), [], connect_timeout=HANG_SECOND, locking=Locking())
        assert caught.value.code is Code.PROPERTY_WRONG
        assert "wsrep_gtid_mode is not ON" in str(caught.value)
        second.run("SET wsrep_on = OFF", "CREATE DATABASE of_its_own", "CREATE DATABASE of_its_own_too")
        start = latest(first)
        first.run("INSERT INTO ours.t VALUES (1)", "INSERT INTO ours.t VALUES (2)")
        until(lambda: there(second, 1, 2), why="the other node")
        with reading(second, {TABLE: WANTED}, start, options=QUICK) as reader:
            error = reader.until_error()
        assert reader.batches == []
        assert error.code is Code.SOURCE_POSITION_LOST
        assert "wsrep_gtid_mode is not ON" in str(error)


def test_nodes_with_ids_of_their_own(tmp_path: Path) -> None:
    """A node that joined without a state transfer puts its own server_id into the GTIDs of what the others commit."""
    with cluster(tmp_path, {**ONE_ID, "server-id": "1"}, {**ONE_ID, "server-id": "2"}) as (first, second):
        first.run(*MADE, "INSERT INTO ours.t VALUES (1)")
        until(lambda: there(second, 1), why="the other node")
        start = latest(first)
        with reading(second, {TABLE: WANTED}, start, options=QUICK) as reader:
            second.run("INSERT INTO ours.t VALUES (2)")
            assert reader.until_error().code is Code.SOURCE_POSITION_LOST
