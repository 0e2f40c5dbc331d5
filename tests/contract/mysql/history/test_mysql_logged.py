"""Servers whose binlog lacks a part of what changes on them."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.source import SourceOptions
from tests.contract.mysql_reader import facts, latest, reached, reading
from tests.support.servers.mysql import GTIDS, Flavour, MysqlServer, binary
from tests.support.slow import SERVERS, on_servers, some_slow
from tests.support.until import until

TABLE: Final = ("ours", "t")
WANTED: Final = Subscription(columns=("id",), keys=("id",))
SILENT: Final = {"mysql": {"log-replica-updates": "OFF"}, "mariadb": {"log-slave-updates": "OFF"}}


@pytest.fixture(params=["mysql", "mariadb"])
def flavour(request: pytest.FixtureRequest) -> Flavour:
    wanted: Flavour = request.param
    if binary(wanted) is None:
        pytest.skip(f"no {wanted} server is installed")
    return wanted


@contextmanager
def running(folder: Path, flavour: Flavour, **variables: str) -> Iterator[MysqlServer]:
    server = MysqlServer(folder, flavour, {name.replace("_", "-"): value for name, value in variables.items()}).start()
    try:
        server.run("CREATE DATABASE ours", "CREATE TABLE ours.t (id BIGINT PRIMARY KEY)")
        yield server
    finally:
        server.stop()


def refused_at_create(server: MysqlServer) -> SyncError:
    with pytest.raises(SyncError) as caught:
        facts(server, [TABLE])
    return caught.value


@on_servers("mysql", fixture="flavour")
def test_a_replica_that_logs_nothing_of_what_it_replicates(flavour: Flavour, tmp_path: Path) -> None:
    """Rows that it replicates are in no binlog of its own: refused before a job begins, and at each connection."""
    silent = {name.replace("-", "_"): value for name, value in SILENT[flavour].items()}
    with (
        running(tmp_path / "first", flavour, **GTIDS[flavour]) as first,
        running(tmp_path / "second", flavour, server_id="2", **silent, **GTIDS[flavour]) as second,
    ):
        start = latest(second)
        assert facts(second, [TABLE]).tables
        second.run("DROP DATABASE ours", second._reset())
        second.follow(first)
        until(lambda: second.run("SHOW DATABASES LIKE 'ours'"), why="the replica")
        told = refused_at_create(second)
        assert told.code is Code.SOURCE_UNLOGGED
        assert f"{next(iter(silent))} is OFF" in str(told)
        with reading(second, {TABLE: WANTED}, start) as reader:
            assert reader.until_error().code is Code.SOURCE_UNLOGGED
        second.run("STOP REPLICA" if flavour == "mysql" else "STOP SLAVE")
        assert refused_at_create(second).code is Code.SOURCE_UNLOGGED  # it may be started again
        second.run(*str(told.context["end"]).split(" and "))
        assert facts(second, [TABLE]).tables


@on_servers("mariadb", fixture="flavour")
def test_a_server_that_becomes_a_replica_while_it_is_read(flavour: Flavour, tmp_path: Path) -> None:
    """As an old primary does after a failover: nothing of what it replicates would arrive, so the job stops."""
    silent = {name.replace("-", "_"): value for name, value in SILENT[flavour].items()}
    with (
        running(tmp_path / "first", flavour, **GTIDS[flavour]) as first,
        running(tmp_path / "second", flavour, server_id="2", **silent, **GTIDS[flavour]) as second,
        reading(second, {TABLE: WANTED}, options=SourceOptions(schema_check=0.1)) as reader,
    ):
        second.run("INSERT INTO ours.t VALUES (1)")
        until(lambda: reader.get() is not None, why="the first row")
        second.follow(first)
        assert reader.until_error().code is Code.SOURCE_UNLOGGED


@on_servers("mariadb", fixture="flavour")
def test_a_replica_that_logs_what_it_replicates(flavour: Flavour, tmp_path: Path) -> None:
    """Its binlog is as good as its source's."""
    with running(tmp_path / "first", flavour, **GTIDS[flavour]) as first:
        replicating = {"server-id": "2", "log-slave-updates": "ON", **GTIDS[flavour]}
        second = MysqlServer(tmp_path / "second", flavour, replicating).start()
        try:
            second.follow(first)
            until(lambda: reached(latest(second), latest(first)), why="the replica")
            assert facts(second, [TABLE]).tables
        finally:
            second.stop()


@on_servers("mariadb", fixture="flavour")
def test_a_server_that_was_restarted_without_a_binlog(flavour: Flavour, tmp_path: Path) -> None:
    """It can be reached, and whoever reads it is told why there is nothing to read."""
    with running(tmp_path / "own", flavour) as server:
        start = latest(server)
        server.restart({"skip-log-bin": "1"})
        with reading(server, {TABLE: WANTED}, start) as reader:
            assert reader.until_error().code is Code.SOURCE_BINLOG_OFF


@pytest.mark.parametrize(
    ("flavour", "database", "option"),
    some_slow(
        itertools.product(SERVERS, ["ours", "theirs"], ["binlog_ignore_db", "binlog_do_db"]),
        always=[("mysql", "ours", "binlog_ignore_db"), ("mariadb", "theirs", "binlog_do_db")],
    ),
    indirect=["flavour"],
)
def test_a_filter_on_databases(flavour: Flavour, tmp_path: Path, option: str, database: str) -> None:
    """Rows of one, and DDL of a session in one, are in no binlog: refused at CREATE SYNC and at each connection."""
    with running(tmp_path / "own", flavour) as server:
        start = latest(server)
        server.restart({option.replace("_", "-"): database})
        told = refused_at_create(server)
        assert told.code is Code.SOURCE_FILTERED
        assert f"{database} ({option})" in str(told)
        with reading(server, {TABLE: WANTED}, start) as reader:
            assert reader.until_error().code is Code.SOURCE_FILTERED
        server.run("CREATE DATABASE IF NOT EXISTS theirs", "INSERT INTO ours.t VALUES (1)")
        before = server.run("SELECT 1 FROM ours.t")
        elsewhere = database if option == "binlog_ignore_db" else "mysql"
        server.run(f"USE {elsewhere}", "TRUNCATE ours.t")
        file = server.run("SHOW BINARY LOGS")[-1][0]
        logged = [row[5] for row in server.run(f"SHOW BINLOG EVENTS IN '{file}'")]
        assert before
        assert not any("TRUNCATE" in text for text in logged)  # why no filter is harmless
