"""Canal servers that share a ZooKeeper: who is active, who reads, and what a takeover leaves of the rows."""

import contextlib
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from kazoo.client import KazooClient

from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.sources.canal.cluster import Cluster
from syncmgr.sources.canal.connector import CanalLostError, Endpoint
from syncmgr.sources.canal.factory import inspect
from syncmgr.sources.canal.source import SourceOptions
from tests.contract.canal_reader import Reader, channel, reading
from tests.contract.mysql_reader import database
from tests.support.servers.canal import CANAL_PASSWORD, CanalServer, ZooKeeper
from tests.support.servers.mysql import MysqlServer
from tests.support.until import HANG_SECOND, until
from tests.unit.job.factories import make_canal

pytestmark = pytest.mark.mysql

Start = Callable[..., CanalServer]


@pytest.fixture
def db(mysql_server: MysqlServer) -> Iterator[str]:
    """A database with table t (id, v)."""
    with database(mysql_server) as name:
        mysql_server.run(f"CREATE TABLE {name}.t (id BIGINT PRIMARY KEY, v TEXT)")
        yield name


@pytest.fixture
def destination() -> str:
    """A name of the test's own: its cursor stays in ZooKeeper."""
    return f"d{uuid4().hex[:8]}"


@contextmanager
def asking(zookeeper: ZooKeeper) -> Iterator[KazooClient]:
    client = KazooClient(zookeeper.address)
    client.start()
    try:
        yield client
    finally:
        client.stop()
        client.close()


def told(client: KazooClient, path: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(client.get(path)[0])
    return facts


def insert(mysql: MysqlServer, db: str, *numbers: int) -> None:
    mysql.run(*(f"INSERT INTO {db}.t VALUES ({number}, 'v')" for number in numbers))


def numbers(reader: Reader, db: str) -> list[int]:
    return [row["id"] for row in reader.rows((db, "t"))]


def test_zookeeper_tells_the_server_and_keeps_others_out(
    canal: Start, zookeeper: ZooKeeper, mysql_server: MysqlServer, db: str, destination: str
) -> None:
    """The active server is found, the reader stands in ZooKeeper as canal's own clients do, and a second one is told to
    wait: once the first has ended, as the advice says, it reads.
    """
    server = canal(destination=destination, zookeeper=zookeeper)
    own = f"/otter/canal/destinations/{destination}/1001/running"
    options = SourceOptions(retry=Retry(first=0.05, times=2))
    with reading(zookeeper, [channel((db, "t"))], destination=destination) as reader, asking(zookeeper) as client:
        reader.get()
        insert(mysql_server, db, 1)
        reader.until(lambda: numbers(reader, db) == [1])
        assert reader.source.server() == f"127.0.0.1:{server.port}"
        assert (told(client, own)["active"], told(client, own)["clientId"]) == (True, 1001)
        with reading(zookeeper, [], destination=destination, owner="other", options=options) as second:
            error = second.until_error()
            assert error.code is Code.CANAL_IN_USE
            assert f"already read by the client at {told(client, own)['address']}" in str(error)
        reader.source.close()
        reader.source.get(0)
        until(lambda: client.exists(own) is None, why="the end of the reader's node")
        with reading(zookeeper, [channel((db, "t"))], destination=destination, owner="other") as second:
            insert(mysql_server, db, 2)
            second.until(lambda: 2 in numbers(second, db))


@pytest.mark.slow
def test_an_earlier_life_of_a_job_is_not_waited_for(
    canal: Start, zookeeper: ZooKeeper, mysql_server: MysqlServer, db: str, destination: str
) -> None:
    """A worker that was killed leaves its node behind for a while; the next one of the same job takes its place."""
    canal(destination=destination, zookeeper=zookeeper)
    with asking(zookeeper) as client:
        path = f"/otter/canal/destinations/{destination}/1001/running"
        client.create(path, json.dumps({"active": True, "owner": "job-1"}).encode(), ephemeral=True, makepath=True)
        with reading(zookeeper, [channel((db, "t"))], destination=destination) as reader:
            reader.get()
            insert(mysql_server, db, 1)
            reader.until(lambda: numbers(reader, db) == [1])
            assert reader.troubles == []


def test_a_takeover_loses_and_doubles_nothing(
    canal: Start, zookeeper: ZooKeeper, mysql_server: MysqlServer, db: str, destination: str
) -> None:
    """The active server of two is killed under load: its reader finds the other one, and every row comes once."""
    first = canal(destination=destination, zookeeper=zookeeper)
    second = canal(destination=destination, zookeeper=zookeeper)
    assert (first.active, second.active) == (True, False)
    stop, written = threading.Event(), 0

    def load() -> None:
        nonlocal written
        while not stop.wait(0.02):
            written += 1
            insert(mysql_server, db, written)

    writer = threading.Thread(target=load)
    with reading(zookeeper, [channel((db, "t"))], destination=destination) as reader:
        reader.get()
        writer.start()
        try:
            reader.until(lambda: len(numbers(reader, db)) > 50)
            _wait_for_cursor(reader, zookeeper, destination)
            assert reader.source.server() == f"127.0.0.1:{first.port}"
            first.kill()
            reader.until(lambda: reader.source.server() == f"127.0.0.1:{second.port}")
        finally:
            stop.set()
            writer.join()
        reader.until(lambda: len(numbers(reader, db)) >= written)
        assert numbers(reader, db) == list(range(1, written + 1))
        assert {trouble.code for trouble in reader.troubles if trouble} <= {Code.CANAL_UNREACHABLE, Code.CANAL_REFUSED}
        assert reader.troubles[-1] is None


def _wait_for_cursor(reader: Reader, zookeeper: ZooKeeper, destination: str) -> None:
    with asking(zookeeper) as client:
        reader.until(lambda: client.exists(f"/otter/canal/destinations/{destination}/1001/cursor"))


def test_a_zookeeper_that_restarts_is_waited_for(
    canal: Start, zookeeper: ZooKeeper, mysql_server: MysqlServer, db: str, destination: str
) -> None:
    """While it is away what is connected may go on; when it is back, everything does, and every row comes once."""
    canal(destination=destination, zookeeper=zookeeper)
    with reading(zookeeper, [channel((db, "t"))], destination=destination) as reader:
        reader.get()
        insert(mysql_server, db, 1)
        reader.until(lambda: numbers(reader, db) == [1])
        _wait_for_cursor(reader, zookeeper, destination)
        zookeeper.kill()
        insert(mysql_server, db, 2)
        reader.get(1)
        zookeeper.start()
        insert(mysql_server, db, 3)
        reader.until(lambda: numbers(reader, db) == [1, 2, 3])


def test_a_cluster_without_an_active_server_is_told(zookeeper: ZooKeeper, destination: str) -> None:
    """The trouble says what is missing, ZooKeeper or the server."""
    options = SourceOptions(retry=Retry(first=0.01, times=1))
    with reading(zookeeper, [], destination=destination, options=options) as reader:
        assert "no canal server is active for the destination" in str(reader.until_error())
    away = ZooKeeper.__new__(ZooKeeper)
    away.port = 1
    with reading(away, [], options=options, connect_timeout=0.5) as reader:
        assert "ZooKeeper does not answer" in str(reader.until_error())


def test_a_zookeeper_that_never_answers_holds_nobody(zookeeper: ZooKeeper, destination: str) -> None:
    """Each question has an end, however often it is asked; it held the thread of its job forever."""
    nowhere = Endpoint(
        host="", port=0, destination=destination, user="", password="", connect_timeout=0.5, read_timeout=0.5
    )
    cluster = Cluster(zookeeper.address, nowhere, "job")
    with contextlib.closing(cluster):
        until(lambda: answers(cluster), why="ZooKeeper's answer")
        os.kill(zookeeper.pid, signal.SIGSTOP)
        try:
            for _ in range(3):
                with pytest.raises(CanalLostError, match="ZooKeeper does not answer"):
                    cluster.locate()
        finally:
            os.kill(zookeeper.pid, signal.SIGCONT)
        until(lambda: answers(cluster), why="ZooKeeper's answer")


def test_a_session_that_ends_while_canal_is_connected_to_is_noticed(zookeeper: ZooKeeper, destination: str) -> None:
    """Another reader has its place by then: its node stays as it is, and this one does not read beside it."""
    nowhere = Endpoint(
        host="", port=0, destination=destination, user="", password="", connect_timeout=HANG_SECOND, read_timeout=0.5
    )
    path = f"/otter/canal/destinations/{destination}"
    with asking(zookeeper) as client, contextlib.closing(Cluster(zookeeper.address, nowhere, "job")) as cluster:
        client.create(f"{path}/running", b'{"active":true,"address":"127.0.0.1:1"}', ephemeral=True, makepath=True)
        assert cluster.locate().port == 1
        assert cluster._client is not None
        end_session(zookeeper, cluster._client.client_id)
        until(cluster.lost, why="the end of the session")
        with contextlib.closing(Cluster(zookeeper.address, nowhere, "other")) as other:
            other.locate()
            with pytest.raises(CanalLostError, match="another reader"):
                cluster.connected("127.0.0.1:2")
            assert told(client, f"{path}/1001/running")["owner"] == "other"


def end_session(zookeeper: ZooKeeper, session: tuple[int, bytes]) -> None:
    """Whoever knows its password may end it."""
    twin = KazooClient(zookeeper.address, client_id=session)
    twin.start()
    twin.stop()
    twin.close()


def answers(cluster: Cluster) -> bool:
    try:
        cluster.locate()
    except CanalLostError as error:
        return "no canal server is active" in str(error)
    return False


@pytest.mark.slow
def test_a_look_keeps_no_reader_out(
    zookeeper: ZooKeeper, canal: Start, mysql_server: MysqlServer, db: str, destination: str
) -> None:
    """It says who reads, or that the destination is served, and takes the reader's node at no moment."""
    canal(destination=destination, zookeeper=zookeeper)
    there = make_canal(zk_servers=zookeeper.address, destination=destination, password=CANAL_PASSWORD)
    own = f"/otter/canal/destinations/{destination}/1001/running"
    with asking(zookeeper) as client:
        seen: list[object] = []
        client.exists(own, watch=seen.append)
        assert inspect(there, [], connect_timeout=HANG_SECOND).tables == ()
        assert (seen, client.exists(own)) == ([], None)
    with reading(zookeeper, [channel((db, "t"))], destination=destination) as reader:
        reader.get()
        with pytest.raises(SyncError) as raised:
            inspect(there, [], connect_timeout=HANG_SECOND)
        assert raised.value.code is Code.CANAL_IN_USE
        mysql_server.run(f"INSERT INTO {db}.t VALUES (1, 'x')")
        reader.until(lambda: reader.rows((db, "t")))
