"""XA transactions of the source, through kills of the frontend, pauses and stops."""

from collections.abc import Callable
from contextlib import closing

import pymysql
import pytest

from tests.acceptance.frontend import FrontendProcess
from tests.acceptance.test_main_job import BINLOG, Shop
from tests.support.files import below
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]


@pytest.fixture
def shop(mysql_server: MysqlServer, frontend: FrontendProcess) -> Callable[[str], Shop]:
    return lambda name: Shop(name, mysql_server, frontend)


def prepare(server: MysqlServer, xid: str, *statements: str) -> None:
    with closing(server.connect()) as connection, connection.cursor() as cursor:
        for statement in (f"XA START '{xid}'", *statements, f"XA END '{xid}'", f"XA PREPARE '{xid}'"):
            cursor.execute(statement)


def finish(server: MysqlServer, how: str, xid: str) -> None:
    """By another session, as soon as the one that prepared it is gone."""

    def ended() -> bool:
        try:
            server.run(f"XA {how} '{xid}'")
        except pymysql.err.MySQLError:
            return False
        return True

    until(ended, why=f"XA {how}")


def prepared(shop: Shop) -> int:
    return int(shop.job()["Status"]["prepared_xa"])


@pytest.mark.slow
def test_prepared_rows_outlive_everything(shop: Callable[[str], Shop]) -> None:
    """Kill -9 of the frontend and a PAUSE between PREPARE and its end: rows arrive with the COMMIT, or never."""
    s = shop("xa")
    table = f"{s.name}.orders"
    s.create_sync()
    s.run(f"INSERT INTO {table} (id, note) VALUES (1, 'first'), (2, 'second')")
    s.wait_until_equal()
    many = ", ".join(f"({1000 + n}, 'xa', 'row {n}')" for n in range(3000))
    prepare(
        s.mysql,
        "kept",
        f"UPDATE {table} SET note = 'prepared' WHERE id = 1",
        f"INSERT INTO {table} (id, status, note) VALUES {many}",
    )
    prepare(s.mysql, "undone", f"DELETE FROM {table} WHERE id = 2")
    until(lambda: prepared(s) == 2, why="two prepared transactions in Status")
    s.fe.kill()
    s.run(f"INSERT INTO {table} (id, note) VALUES (3, 'while it was dead')")
    s.fe.start()
    s.wait_until_equal()
    assert prepared(s) == 2
    assert len(s.lake_rows()) == 3
    s.fe.sql(f"PAUSE SYNC JOB {s.name}.job1")
    finish(s.mysql, "COMMIT", "kept")
    s.run(f"UPDATE {table} SET note = 'after the commit' WHERE id = 1000")
    s.fe.kill()
    s.fe.start()
    s.fe.sql(f"RESUME SYNC JOB {s.name}.job1")
    s.wait_until_equal()
    finish(s.mysql, "ROLLBACK", "undone")
    s.run(f"UPDATE {table} SET note = 'still here' WHERE id = 2")
    s.wait_until_equal()
    until(lambda: prepared(s) == 0, why="no prepared transaction in Status")
    staged = s.fe.folder / "var" / "staging" / f"job-{s.job()['JobId']}"
    until(lambda: not list(below(staged, "xa-*")), why="no file of an ended transaction")
    s.fe.sql(f"STOP SYNC JOB {s.name}.job1")


def test_stop_drops_what_is_prepared(shop: Callable[[str], Shop]) -> None:
    """A stopped job leaves no staged file behind, and a new one begins after what was prepared."""
    s = shop("xastop")
    table = f"{s.name}.orders"
    s.create_sync()
    prepare(s.mysql, "stop", f"INSERT INTO {table} (id) VALUES (1)")
    until(lambda: prepared(s) == 1, why="a prepared transaction in Status")
    staged = s.fe.folder / "var" / "staging" / f"job-{s.job()['JobId']}"
    assert list(below(staged, "xa-*"))
    s.fe.sql(f"STOP SYNC JOB {s.name}.job1")
    until(lambda: not staged.exists(), why="the staging folder's end")
    finish(s.mysql, "ROLLBACK", "stop")


@pytest.mark.slow
def test_a_commit_that_came_from_nowhere_pauses(shop: Callable[[str], Shop]) -> None:
    """The Msg names the transaction, and what to do; RESUME does not skip it."""
    s = shop("xanowhere")
    table = f"{s.name}.orders"
    prepare(s.mysql, "lost", f"INSERT INTO {table} (id) VALUES (1)")
    file, offset = s.mysql.run("SHOW BINARY LOGS")[-1][:2]
    binlog = BINLOG.format(port=s.mysql.port).replace(")", f', "start" = "{file}:{offset}")')
    s.fe.sql(f"CREATE SYNC {s.name}.job1 (FROM {table} INTO orders) {binlog}")
    s.run(f"INSERT INTO {table} (id) VALUES (2)")
    finish(s.mysql, "COMMIT", "lost")
    until(lambda: s.job()["State"] == "PAUSED", why="the pause")
    assert "XA transaction X'6c6f7374',X'',1, which was prepared before" in s.job()["Msg"]
    assert [row[0] for row in s.lake_rows()] == [2]
    s.fe.sql(f"STOP SYNC JOB {s.name}.job1")
