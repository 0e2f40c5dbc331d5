"""What an earlier version left when it was killed is taken over by the present one, and each job goes on."""

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from syncmgr.errors import Code
from tests.acceptance.frontend import FrontendProcess
from tests.conftest import need_canal
from tests.fixtures import saved
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

COLUMNS = "id, name, amount, at, note"


class Upgraded:
    """The servers of then, and a frontend of now."""

    def __init__(self, mysql: MysqlServer, fe: FrontendProcess) -> None:
        self.mysql, self.fe = mysql, fe

    def has(self, query: str, *rows: object) -> bool:
        """Of one column."""
        return [value for row in self.fe.sql(query) for value in row.values()] == list(rows)

    def behind(self) -> dict[str, Any]:
        found: dict[str, Any] = self.fe.job("behind")["Status"]["behind"]
        return found

    def insert(self, table: str, key: int) -> None:
        self.mysql.run(f"INSERT INTO {table} (id, name) VALUES ({key}, {key})")

    def await_equal(self, table: str, columns: str = COLUMNS) -> None:
        query = f"SELECT {columns} FROM {table} ORDER BY id"
        wanted = self.mysql.run(query)
        self.fe.await_rows(
            lambda: [tuple(row.values()) for row in self.fe.sql(query)] == wanted, why=f"the rows of {table}"
        )

    def await_health(self, db: str) -> None:
        until(lambda: self.fe.job(db)["Msg"] is None, why="an empty Msg")
        assert self.fe.job(db)["State"] == "RUNNING"

    def alter(self, db: str, what: str) -> None:
        self.fe.sql(f"ALTER SYNC JOB {db}.job1 {what}")

    def ddl(self) -> list[dict[str, Any]]:
        return self.fe.sql("SELECT * FROM information_schema.sync_ddl WHERE job_schema = 'paused'")


@pytest.fixture(scope="module", params=["d26db08"])
def upgraded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    """Of each commit that tests/fixtures has a file of."""
    need_canal()
    with contextlib.ExitStack() as stack:
        old = stack.enter_context(saved.unpacked(request.param, tmp_path_factory.mktemp("upgrade")))
        mysql = old.source()
        stack.callback(mysql.stop)
        canal = old.canal(mysql)
        stack.callback(canal.kill)
        old.move_servers({saved.SOURCE: mysql.port, saved.CANAL: canal.port})
        fe = FrontendProcess(old.folder, old.settings())
        stack.callback(fe.kill_if_alive)
        yield Upgraded(mysql, fe.start())
        assert fe.stop() == 0


def test_a_table_that_was_behind_catches_up(upgraded: Upgraded) -> None:
    """It is reported as long as its reason lasts; then what was staged before the upgrade is committed, and what came
    since.
    """
    upgraded.insert("behind.bad", 30001)
    upgraded.insert("behind.good", 30001)
    upgraded.await_equal("behind.good")
    until(lambda: upgraded.behind().get("behind.bad", {}).get("error") == Code.NO_SUCH_TABLE.number, why="its reason")
    assert upgraded.behind()["behind.bad"]["epochs"] > 3
    catalog = upgraded.fe.folder / "var" / "lake" / "catalog.db"
    with contextlib.closing(sqlite3.connect(catalog, timeout=30)) as connection, connection:
        connection.execute("UPDATE iceberg_tables SET table_name = 'bad' WHERE table_name = 'away'")
    upgraded.await_equal("behind.bad")
    upgraded.await_health("behind")
    assert upgraded.behind() == {}


def test_a_running_job_goes_on(upgraded: Upgraded) -> None:
    """The frontend had died with an epoch that one of two tables bore: neither loses or doubles a row."""
    for table in ("orders", "lines"):
        upgraded.await_equal(f"running.{table}")
        upgraded.insert(f"running.{table}", 30001)
        upgraded.mysql.run(f"UPDATE running.{table} SET note = 'new' WHERE id % 5 = 0")
        upgraded.mysql.run(f"DELETE FROM running.{table} WHERE id % 13 = 0")
    for table in ("orders", "lines"):
        upgraded.await_equal(f"running.{table}")
    upgraded.await_health("running")


def test_a_job_at_a_statement_is_cured_as_it_advises(upgraded: Upgraded) -> None:
    """It still says what it could not follow; APPLY, SKIP and RESYNC do what they say: its rows are the source's."""
    job = upgraded.fe.job("paused")
    assert (job["State"], job["Status"]["error"]) == ("PAUSED", Code.SOURCE_DDL.number)
    assert "ALTER TABLE paused.t MODIFY name INT" in job["Msg"]
    for cure in ("APPLY DDL", "SKIP DDL", "RESYNC TABLE"):
        assert cure in job["Status"]["advice"]
    assert [(row["STATE"], row["STATEMENT"]) for row in upgraded.ddl()] == [
        ("PAUSED", "ALTER TABLE paused.t MODIFY name INT")
    ]
    upgraded.alter("paused", "APPLY DDL 'ALTER TABLE paused.t DROP COLUMN name, ADD COLUMN name INT AFTER id'")
    upgraded.fe.sql("RESUME SYNC JOB paused.job1")
    until(lambda: "computed" in str(upgraded.fe.job("paused")["Msg"]), why="the next statement")
    assert upgraded.has("SELECT name FROM paused.t WHERE id > 20000", 20001)
    upgraded.alter("paused", "SKIP DDL")
    upgraded.fe.sql("RESUME SYNC JOB paused.job1")
    until(lambda: upgraded.has("SELECT name FROM paused.t WHERE id > 20000 ORDER BY id", 20001, 20002), why="the rest")
    assert [row["STATE"] for row in upgraded.ddl()] == ["DONE", "DONE"]
    upgraded.alter("paused", "RESYNC TABLE paused.t")
    upgraded.insert("paused.t", 30001)
    upgraded.await_equal("paused.t")
    upgraded.await_health("paused")


def test_a_canal_job_goes_on_at_its_place(upgraded: Upgraded) -> None:
    """Canal gives it what came since its cursor; what it has already committed of that is distinguished from what is
    new.
    """
    upgraded.await_equal("canal.orders")
    upgraded.insert("canal.orders", 30001)
    upgraded.mysql.run("UPDATE canal.orders SET note = 'new' WHERE id % 5 = 0", "DELETE FROM canal.orders WHERE id < 3")
    upgraded.await_equal("canal.orders")
    upgraded.await_health("canal")


def test_a_pattern_in_old_words_means_what_it_meant(upgraded: Upgraded) -> None:
    """It is shown in the words of now, and a table that comes now joins the job."""
    [shown] = upgraded.fe.sql("SHOW CREATE SYNC JOB running.job1")
    assert 'FROM TABLES LIKE "running.%s" INTO `running`.*' in str(shown)
    upgraded.mysql.run("CREATE TABLE running.carts LIKE running.orders")
    upgraded.mysql.run("INSERT INTO running.carts SELECT * FROM running.orders")
    until(lambda: {"Tables_in_running": "carts"} in upgraded.fe.sql("SHOW TABLES FROM running"), why="a new table")
    upgraded.await_equal("running.carts")
    upgraded.await_health("running")
