"""Queries that would harm the others: jobs go on as if there were no queries."""

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import pymysql
import pytest

from syncmgr.errors import Code
from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import MysqlServer
from tests.support.until import HANG_SECOND, until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

BINLOG = (
    'FROM BINLOG ("type" = "mysql", "start" = "latest", "mysql.host" = "127.0.0.1", "mysql.port" = "{port}",'
    ' "mysql.user" = "root", "mysql.password" = "", "mysql.ssl" = "disabled")'
)
ROUNDS = 3
COMPUTES_SECOND = 6.0  # of CPU: its plan takes less
NEVER_ENDS = (
    "SELECT count(*) FROM range(2) WHERE concat(repeat('a', 300), id) LIKE concat(repeat('%a', 60), 'b')"  # two rows
)
TOO_BIG = "SELECT length(concat_ws('', collect_list(repeat('x', 50000000 + id)))) FROM range(200)"  # 10 GB


def rows(cursor: Any, sql: str) -> Any:
    """All of its rows; a failure may come with the first or the last."""
    cursor.execute(sql)
    return cursor.fetchall()


def taken(pid: int) -> float:
    """Seconds of CPU that a process has had."""
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


class Hostile:
    """A job of one table, and an account that may read that table and nothing else."""

    def __init__(self, mysql: MysqlServer, fe: FrontendProcess) -> None:
        self.mysql, self.fe, self.rows = mysql, fe, 0
        mysql.run("CREATE DATABASE hostile", "CREATE TABLE hostile.t (id BIGINT PRIMARY KEY, v BIGINT)")
        fe.sql("CREATE DATABASE hostile")
        fe.sql("CREATE TABLE hostile.t (id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id)")
        fe.sql(f"CREATE SYNC hostile.job1 (FROM hostile.t INTO t) {BINLOG.format(port=mysql.port)}")
        fe.sql("CREATE USER hostile IDENTIFIED BY 'secret'")
        fe.sql("GRANT SELECT_PRIV ON hostile.t TO hostile")
        until(lambda: fe.job("hostile")["State"] == "RUNNING", why="the job")

    def rows_arrive(self) -> None:
        """One commit after another; how fast they are is measured by tests/bench alone."""
        for _ in range(ROUNDS):
            self.rows += 1
            self.mysql.run(f"INSERT INTO hostile.t VALUES ({self.rows}, 1)")
            until(lambda: self.fe.job("hostile")["Status"]["consumed_rows"] >= self.rows, why="the row")

    def ask(self, sql: str) -> Any:
        """As the account; the number of the error that comes."""
        connection = pymysql.connect(
            host="127.0.0.1", port=self.fe.port, user="hostile", password="secret", read_timeout=int(HANG_SECOND)
        )
        expected = pytest.raises(pymysql.err.MySQLError)
        with contextlib.closing(connection), connection.cursor() as cursor, expected as caught:
            rows(cursor, sql)
        return caught.value.args[0]

    def ask_and_kill(self, sql: str, engine: int) -> Any:
        """The same, of a query that is killed once the engine computes it."""
        before = taken(engine)
        with ThreadPoolExecutor(1) as pool:
            asking = pool.submit(self.ask, sql)
            until(lambda: taken(engine) > before + COMPUTES_SECOND, why="the query in the engine's cores")
            [found] = self.fe.sql("SELECT id FROM information_schema.processlist WHERE user = 'hostile'")
            self.fe.sql(f"KILL QUERY {found['id']}")
            return asking.result(HANG_SECOND)

    def count(self) -> int:
        """Asked again where the engine has just ended."""
        found: list[int] = []

        def answered() -> bool:
            with contextlib.suppress(pymysql.err.MySQLError):
                found.append(self.fe.sql("SELECT count(*) AS n FROM hostile.t")[0]["n"])
            return bool(found)

        until(answered, why="an answer")
        return found[0]

    def log(self) -> str:
        return (self.fe.folder / "log" / "fe.log").read_text()


@pytest.fixture(scope="module")
def hostile(mysql_server: MysqlServer, frontend: FrontendProcess) -> Iterator[Hostile]:
    it = Hostile(mysql_server, frontend)
    yield it
    frontend.sql("STOP SYNC JOB hostile.job1")
    frontend.sql("DROP USER hostile")


@pytest.mark.slow
def test_a_query_that_never_ends_stops_no_job(hostile: Hostile) -> None:
    """Two rows of LIKE take every core of the query engine and ignore a cancel: rows arrive meanwhile, and the engine
    is replaced automatically and answers.
    """
    fe = hostile.fe
    assert hostile.count() == 0
    [wedged], lake = fe.query_engine(), fe.java()
    assert hostile.ask_and_kill(NEVER_ENDS, wedged) == Code.INTERRUPTED.number
    hostile.rows_arrive()
    until(lambda: wedged not in fe.query_engine(), why="the end of the wedged engine")
    assert "seconds after it was cancelled" in hostile.log()
    assert hostile.count() == hostile.rows
    assert fe.java() == lake


@pytest.mark.slow
def test_a_query_that_needs_too_much_memory_stops_no_job(hostile: Hostile) -> None:
    """Its engine ends, or it alone; the job's JVM is the same one, rows arrive, and the next query is answered."""
    lake, asked = hostile.fe.java(), hostile.rows
    assert hostile.ask(TOO_BIG) in {Code.QUERIES_ENDED.number, Code.QUERY_TOO_BIG.number}
    hostile.rows_arrive()
    assert hostile.fe.java() == lake
    assert hostile.count() == asked + ROUNDS
