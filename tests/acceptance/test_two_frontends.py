"""Two frontends on one metadata database and one lake."""

import os
import shutil
import signal
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import MysqlServer
from tests.support.until import HANG_SECOND, until

pytestmark = [pytest.mark.mysql, pytest.mark.spark, pytest.mark.long]

BINLOG = (
    'FROM BINLOG ("type" = "mysql", "start" = "latest", "mysql.host" = "127.0.0.1", "mysql.port" = "{port}",'
    ' "mysql.user" = "root", "mysql.password" = "", "mysql.ssl" = "disabled")'
)
REPLACED = 3


def write(mysql: MysqlServer, ended: threading.Event) -> None:
    number = 0
    while not ended.wait(0.05):
        number += 1
        mysql.run(
            f"REPLACE INTO twofe.t VALUES ({number % 100}, {number})",
            f"DELETE FROM twofe.t WHERE id = {(number + 50) % 100}",
        )


def intents(meta: Path) -> int:
    with closing(sqlite3.connect(meta, timeout=30)) as connection:
        return int(connection.execute("SELECT count(*) FROM epochs WHERE committed_at IS NULL").fetchone()[0])


def test_a_frontend_that_stood_still_is_replaced_and_writes_no_more(mysql_server: MysqlServer, tmp_path: Path) -> None:
    """The second one is refused while the first is alive; when that is suspended, it takes over; when that wakes up in
    the middle of a commit, the table refuses it, and it ends by itself, as 20204 advises; the lake equals the source.
    """
    mysql_server.run("CREATE DATABASE twofe", "CREATE TABLE twofe.t (id BIGINT PRIMARY KEY, v BIGINT)")
    shared = {
        "meta_url": f"sqlite:///{tmp_path / 'shared.db'}",
        "lake_dir": tmp_path / "lake",
        "staging_dir": tmp_path / "staging",
    }
    first = FrontendProcess(tmp_path / "first", shared).start()
    second = FrontendProcess(tmp_path / "second", shared)
    (second.folder / "var/meta").mkdir(parents=True)
    shutil.copy(first.folder / "var/meta/secret.key", second.folder / "var/meta")
    first.sql("CREATE DATABASE twofe")
    first.sql("CREATE TABLE twofe.t (id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id)")
    first.sql(f"CREATE SYNC twofe.job1 (FROM twofe.t INTO t) {BINLOG.format(port=mysql_server.port)}")
    ended = threading.Event()
    writer = threading.Thread(target=write, args=(mysql_server, ended))
    writer.start()
    try:
        until(lambda: first.job("twofe")["Status"]["commits"] > 3, why="commits")
        refused = second.try_to_start()
        assert refused.returncode == 1
        assert "which is alive; stop that one first" in refused.stdout
        assert first.process is not None
        (java,) = first.java()
        os.kill(java, signal.SIGSTOP)
        until(lambda: intents(tmp_path / "shared.db"), why="an epoch that is being committed")
        os.kill(first.process.pid, signal.SIGSTOP)
        second.start()
        begun = second.job("twofe")["Status"]["commits"]
        until(lambda: second.job("twofe")["Status"]["commits"] > begun + 3, why="commits of the second")
        for each in (java, first.process.pid):
            os.kill(each, signal.SIGCONT)
        assert first.process.wait(HANG_SECOND) == REPLACED
        begun = second.job("twofe")["Status"]["commits"]
        until(lambda: second.job("twofe")["Status"]["commits"] > begun + 3, why="more of them")
        ended.set()
        writer.join()
        executed = mysql_server.run("SELECT @@gtid_executed")[0][0].replace("\n", "")
        until(lambda: second.job("twofe")["Status"]["position"]["gtid"] == executed, why="the end")
        rows = [tuple(row.values()) for row in second.sql("SELECT id, v FROM twofe.t ORDER BY id")]
        assert rows == mysql_server.run("SELECT id, v FROM twofe.t ORDER BY id")
        assert second.job("twofe")["State"] == "RUNNING"
    finally:
        ended.set()
        writer.join()
        for fe in (first, second):
            fe.kill_if_alive()
