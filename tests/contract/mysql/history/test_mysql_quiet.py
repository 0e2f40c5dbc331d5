"""Where a reader of a quiet server stands: at its end, though no transaction follows."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from syncmgr.job.backoff import Retry
from syncmgr.job.position import Position, has_passed
from syncmgr.sources.mysql.address import connect
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.server.server import Server
from syncmgr.sources.mysql.source import SourceOptions
from tests.contract.mysql_reader import Reader, address, database, latest, reading
from tests.support.servers.mysql import MysqlServer, binary
from tests.support.slow import on_servers
from tests.support.until import until

pytestmark = pytest.mark.mysql

WANTED: Final = Subscription(columns=("id",), keys=("id",))
HEARTBEAT: Final = 0.2
OPTIONS: Final = SourceOptions(
    heartbeat=HEARTBEAT, read_timeout=60.0, position_interval=0.05, retry=Retry(first=0.02, most=0.2)
)


def bound(server: MysqlServer) -> Position:
    """Behind whatever a SELECT has shown, as the reading of a table asks for it."""
    where = address(server)
    with closing(connect(where)) as connection:
        return Server(where, connection).latest()


def pass_bound(reader: Reader, server: MysqlServer) -> Position:
    """Up to a position behind the server's end, which is stored; nothing is written meanwhile."""

    def passed() -> bool:
        reader.get()
        end = reader.batches[-1].end if reader.batches else None
        return end is not None and has_passed(end, bound(server))

    until(passed, why="the end of the server")
    end = reader.batches[-1].end
    assert end is not None
    return end


@pytest.fixture
def without_gtids(tmp_path: Path) -> Iterator[MysqlServer]:
    """A MySQL that is read by file."""
    if binary("mysql") is None:
        pytest.skip("no mysql server is installed")
    settings = {"gtid-mode": "OFF", "enforce-gtid-consistency": "OFF", "binlog-row-metadata": "FULL"}
    server = MysqlServer(tmp_path / "own", "mysql", settings).start()
    server.run("CREATE DATABASE quiet", "CREATE TABLE quiet.t (id BIGINT PRIMARY KEY)")
    yield server
    server.stop()


@on_servers("mysql")
def test_a_rotation_behind_the_last_transaction_is_passed(any_server: MysqlServer) -> None:
    """The head of the new file is read with it, so the server's end is reached, and read on from there."""
    with database(any_server) as db:
        any_server.run(f"CREATE TABLE {db}.t (id BIGINT PRIMARY KEY)")
        with reading(any_server, {(db, "t"): WANTED}, options=OPTIONS) as reader:
            any_server.run(f"INSERT INTO {db}.t VALUES (1)", "FLUSH BINARY LOGS")
            end = pass_bound(reader, any_server)
            assert [row["id"] for row in reader.rows((db, "t"))] == [1]
        for start in (end, replace(end, gtids="")):
            any_server.run(f"DELETE FROM {db}.t", f"INSERT INTO {db}.t VALUES (2)")
            with reading(any_server, {(db, "t"): WANTED}, start, options=OPTIONS) as reader:
                reader.until(latest(any_server))
                assert [row["id"] for row in reader.rows((db, "t"))][:2] == [1, 2]


def test_a_file_that_was_just_begun_is_read_to_its_end(without_gtids: MysqlServer) -> None:
    """Where a job with "start" = "snapshot" begins at the begin of the newest file, and nobody writes."""
    server = without_gtids
    server.run("INSERT INTO quiet.t VALUES (1)", "FLUSH BINARY LOGS")
    start = replace(latest(server), offset=4)
    with reading(server, {("quiet", "t"): WANTED}, start, options=OPTIONS) as reader:
        end = pass_bound(reader, server)
    server.run("INSERT INTO quiet.t VALUES (2)")
    with reading(server, {("quiet", "t"): WANTED}, end, options=OPTIONS) as reader:
        reader.until(latest(server))
        assert [row["id"] for row in reader.rows(("quiet", "t"))] == [2]


def test_the_file_that_a_restart_begins_is_read_to_its_end(without_gtids: MysqlServer) -> None:
    """The one before it ends without a rotation."""
    server = without_gtids
    with reading(server, {("quiet", "t"): WANTED}, options=OPTIONS) as reader:
        server.run("INSERT INTO quiet.t VALUES (1)")
        reader.until(latest(server))
        server.restart()
        pass_bound(reader, server)
        server.run("INSERT INTO quiet.t VALUES (2)")
        reader.until(latest(server))
        assert [row["id"] for row in reader.rows(("quiet", "t"))] == [1, 2]
