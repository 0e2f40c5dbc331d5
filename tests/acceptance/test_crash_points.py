"""Death between every two steps of the commit."""

import threading
from pathlib import Path

import pytest

from syncmgr.crash import CrashPoint
from tests.acceptance.frontend import FrontendProcess
from tests.servers import MysqlServer
from tests.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

DEATH_SECOND = 300.0
BINLOG = (
    'FROM BINLOG ("type" = "mysql", "mysql.host" = "127.0.0.1", "mysql.port" = "{port}", '
    '"mysql.user" = "root", "mysql.password" = "", "mysql.ssl" = "disabled")'
)


def write(mysql: MysqlServer, ended: threading.Event) -> None:
    """Keys come, change, move and go, in two tables at a time, for as long as it takes."""
    number = 0
    while not ended.wait(0.05):
        number += 1
        key = number % 50
        for table in ("one", "two"):
            mysql.run(
                f"REPLACE INTO dying.{table} VALUES ({key}, {number}), ({key + 1000}, {number})",
                f"UPDATE dying.{table} SET number = number + 1 WHERE id <= {key}",
                f"UPDATE IGNORE dying.{table} SET id = id + 500 WHERE id = {key}",
                f"DELETE FROM dying.{table} WHERE id % 50 = {(number + 25) % 50}",
            )


def test_death_between_every_two_steps_loses_and_doubles_nothing(mysql_server: MysqlServer, tmp_path: Path) -> None:
    """The frontend dies at each point in turn, always while it recovers from the death before; the lake equals the
    source, no row was missed, and no staged file is left.
    """
    mysql_server.run(
        "CREATE DATABASE dying",
        *(f"CREATE TABLE dying.{table} (id BIGINT PRIMARY KEY, number BIGINT)" for table in ("one", "two")),
    )
    fe = FrontendProcess(tmp_path).start()
    fe.sql("CREATE DATABASE dying")
    for table in ("one", "two"):
        fe.sql(f"CREATE TABLE dying.{table} (id BIGINT NOT NULL, number BIGINT) UNIQUE KEY(id)")
    channels = "FROM dying.one INTO one, FROM dying.two INTO two"
    fe.sql(f"CREATE SYNC dying.job1 ({channels}) {BINLOG.format(port=mysql_server.port)}")
    ended = threading.Event()
    writer = threading.Thread(target=write, args=(mysql_server, ended))
    writer.start()
    try:
        until(lambda: fe.job("dying")["Status"]["commits"] > 1, deadline=120, why="the first commits")
        fe.kill()
        for point in CrashPoint:
            fe.die_at(point, deadline=DEATH_SECOND)
        ended.set()
        writer.join()
        compare(mysql_server, fe.start())
        assert fe.stop() == 0
    finally:
        ended.set()
        writer.join()
        fe.stop()


def compare(mysql: MysqlServer, fe: FrontendProcess) -> None:
    executed = mysql.run("SELECT @@gtid_executed")[0][0].replace("\n", "")
    until(lambda: fe.job("dying")["Status"]["position"]["gtid"] == executed, deadline=120, why="the end")
    for table in ("one", "two"):
        sql = f"SELECT id, number FROM dying.{table} ORDER BY id"
        assert [tuple(row.values()) for row in fe.sql(sql)] == mysql.run(sql)
        assert fe.job("dying")["Status"]["index"][table]["missing"] == 0
    staging = fe.folder / "var" / "staging"
    until(lambda: not list(staging.rglob("*.parquet")), deadline=20, why="an empty staging")
