"""Queries that would harm the others: jobs go on beside them as if nobody asked."""

import contextlib
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import pymysql
import pytest

from syncmgr.errors import Code
from tests.acceptance.frontend import FrontendProcess
from tests.servers import MysqlServer
from tests.until import HANG_SECOND, until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

BINLOG = (
    'FROM BINLOG ("type" = "mysql", "start" = "latest", "mysql.host" = "127.0.0.1", "mysql.port" = "{port}",'
    ' "mysql.user" = "root", "mysql.password" = "", "mysql.ssl" = "disabled")'
)
ROUNDS = 7
STARTS_SECOND = 2.0  # what one collection of garbage, or one slow fsync, may cost in so few rounds
NEVER_ENDS = (
    "SELECT count(*) FROM range(2) WHERE concat(repeat('a', 300), id) LIKE concat(repeat('%a', 60), 'b')"  # two rows
)
TOO_BIG = "SELECT length(concat_ws('', collect_list(repeat('x', 1000000)))) FROM range(5000)"


def rows(cursor: Any, sql: str) -> Any:
    """All of its rows; a failure may come with the first or the last."""
    cursor.execute(sql)
    return cursor.fetchall()


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

    def freshness(self) -> float:
        """Median of the seconds from a row at the source to its commit."""
        took = []
        for _ in range(ROUNDS):
            began, self.rows = time.monotonic(), self.rows + 1
            self.mysql.run(f"INSERT INTO hostile.t VALUES ({self.rows}, 1)")
            until(lambda: self.fe.job("hostile")["Status"]["consumed_rows"] >= self.rows, why="the row")
            took.append(time.monotonic() - began)
        return median(took)

    def ask(self, sql: str, limit_ms: int = 0) -> Any:
        """As the account; the number of the error that comes."""
        connection = pymysql.connect(
            host="127.0.0.1", port=self.fe.port, user="hostile", password="secret", read_timeout=int(HANG_SECOND)
        )
        with contextlib.closing(connection), connection.cursor() as cursor:
            cursor.execute(f"SET max_execution_time = {limit_ms}")
            with pytest.raises(pymysql.err.MySQLError) as caught:
                rows(cursor, sql)
        return caught.value.args[0]

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


def test_a_query_that_never_ends_stops_no_job(hostile: Hostile) -> None:
    """Two rows of LIKE take every core of the query engine and hear no cancel: rows arrive as fast as before, within
    twice the time, and the engine is replaced by itself and answers.
    """
    fe = hostile.fe
    assert hostile.count() == 0
    [wedged], lake = fe.query_engine(), fe.java()
    rest = hostile.freshness()
    assert hostile.ask(NEVER_ENDS, limit_ms=1000) == 3024
    assert fe.query_engine() == [wedged]
    assert hostile.freshness() < 2 * rest + STARTS_SECOND
    until(lambda: wedged not in fe.query_engine(), why="the end of the wedged engine")
    assert "seconds after it was cancelled" in hostile.log()
    assert hostile.count() == hostile.rows
    assert fe.java() == lake


def test_a_query_that_needs_too_much_memory_stops_no_job(hostile: Hostile) -> None:
    """Its engine ends, or it alone; the job's JVM is the same one, rows arrive, and the next query is answered."""
    lake, asked = hostile.fe.java(), hostile.rows
    assert hostile.ask(TOO_BIG) in {Code.QUERIES_ENDED.number, Code.QUERY_TOO_BIG.number}
    hostile.freshness()
    assert hostile.fe.java() == lake
    assert hostile.count() == asked + ROUNDS
