"""Two frontends on one lake, each with metadata of its own: neither knows the jobs of the other."""

from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from syncmgr.control.wanted_tables import OTHERS_SECOND
from syncmgr.errors import Code
from tests.acceptance.altered import BINLOG
from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import MysqlServer
from tests.support.until import HANG_SECOND, until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

Two = tuple[FrontendProcess, FrontendProcess]


@pytest.fixture
def two(mysql_server: MysqlServer, tmp_path: Path) -> Iterator[Two]:
    """The first one syncs two tables of `theirs`; the second one has none so far."""
    mysql_server.run(
        "CREATE DATABASE theirs", *(f"CREATE TABLE theirs.{t} (id BIGINT PRIMARY KEY, v BIGINT)" for t in ("t", "u"))
    )
    lake = {"lake_dir": tmp_path / "lake"}
    first, second = (FrontendProcess(tmp_path / name, lake) for name in ("first", "second"))
    try:
        first.start().sql("CREATE DATABASE theirs")
        for table in ("t", "u"):
            first.sql(f"CREATE TABLE theirs.{table} (id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id)")
        first.sql(f"CREATE SYNC theirs.first (FROM theirs.t INTO t) {binlog(mysql_server)}")
        mysql_server.run("INSERT INTO theirs.t VALUES (1, 1)")
        until(lambda: rows(first) == [(1, 1)], why="a row in the lake")
        second.start()
        yield first, second
        assert [fe.stop() for fe in (first, second)] == [0, 0]
    finally:
        first.kill_if_alive()
        second.kill_if_alive()
        mysql_server.run("DROP DATABASE theirs")


def binlog(mysql: MysqlServer) -> str:
    return BINLOG.format(port=mysql.port, start="latest")


def rows(fe: FrontendProcess) -> list[tuple[int, ...]]:
    return [tuple(row.values()) for row in fe.sql("SELECT id, v FROM theirs.t ORDER BY id")]


def refused(fe: FrontendProcess, statement: str) -> None:
    with pytest.raises(pymysql.err.MySQLError, match=r"'theirs\.t' was written less than 300 seconds ago") as raised:
        fe.sql(statement)
    assert raised.value.args[0] == Code.TARGET_OF_OTHERS.number


@pytest.mark.slow
def test_a_target_into_which_another_frontend_syncs_is_refused(two: Two, mysql_server: MysqlServer) -> None:
    """At CREATE SYNC and at ADD TABLE: the rows of the two would mix. Another target of the same lake is taken, and the
    job of the first frontend goes on.
    """
    first, second = two
    mixing = f"CREATE SYNC theirs.second (FROM theirs.t INTO t) {binlog(mysql_server)}"
    refused(second, mixing)
    second.sql(f"CREATE SYNC theirs.second (FROM theirs.u INTO u) {binlog(mysql_server)}")
    refused(second, "ALTER SYNC JOB theirs.second ADD TABLE FROM theirs.t INTO t")
    mysql_server.run(
        "INSERT INTO theirs.u VALUES (7, 7)", "UPDATE theirs.t SET v = 2", "INSERT INTO theirs.t VALUES (3, 3)"
    )
    until(lambda: rows(first) == [(1, 2), (3, 3)], why="the job of the first frontend")
    until(lambda: second.sql("SELECT id FROM theirs.u") == [{"id": 7}], why="that of the second")
    assert first.job("theirs")["State"] == second.job("theirs")["State"] == "RUNNING"


@pytest.mark.long  # five minutes
def test_a_target_is_free_when_the_job_of_the_other_frontend_has_ended_for_so_long(
    two: Two, mysql_server: MysqlServer
) -> None:
    """As 20234 advises: STOP there, and wait. Then each row is there once, whoever brought it."""
    first, second = two
    mixing = f"CREATE SYNC theirs.second (FROM theirs.t INTO t) {binlog(mysql_server)}"
    first.sql("STOP SYNC JOB theirs.first")
    refused(second, mixing)

    def taken() -> bool:
        try:
            second.sql(mixing)
        except pymysql.err.MySQLError as error:
            if error.args[0] != Code.TARGET_OF_OTHERS.number:
                raise
            return False
        return True

    until(taken, deadline=OTHERS_SECOND + HANG_SECOND, why="the end of the wait that 20234 advises")
    mysql_server.run("UPDATE theirs.t SET v = 5", "INSERT INTO theirs.t VALUES (2, 2)")
    until(lambda: rows(second) == [(1, 5), (2, 2)], why="the job of the second frontend")
