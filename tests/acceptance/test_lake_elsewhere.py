"""A whole frontend whose tables are in an object store, behind a REST catalog: outages of both during a job."""

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pymysql
import pytest

from syncmgr.errors import Code
from tests.acceptance.frontend import FrontendProcess
from tests.support.lakes import RestLake, missing_for_rest, rest_lake
from tests.support.servers.mysql import MysqlServer
from tests.support.servers.troubled import TroubledWay
from tests.support.until import PATIENCE, until

pytestmark = [pytest.mark.mysql, pytest.mark.spark, pytest.mark.long]

BINLOG = (
    'FROM BINLOG ("type" = "mysql", "mysql.host" = "127.0.0.1", "mysql.port" = "{port}", "mysql.user" = "root",'
    ' "mysql.password" = "", "mysql.ssl" = "disabled")'
)
AT_ONCE_SECOND = 5.0  # in which PAUSE and RESUME answer, whatever the lake does
ROWS = "SELECT id, v FROM far.t ORDER BY id"


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A source, a lake elsewhere, and the frontend between them."""

    mysql: MysqlServer
    fe: FrontendProcess
    lake: RestLake
    way: TroubledWay

    def await_equal(self) -> None:
        until(self._is_equal, why="rows as in the source")

    def _is_equal(self) -> bool:
        try:
            found = self.fe.sql(ROWS)
        except pymysql.err.MySQLError:  # the query engine has not noticed yet that all is well again
            return False
        return [tuple(row.values()) for row in found] == self.mysql.run(ROWS)

    def await_trouble(self) -> str:
        """Msg of a job that keeps retrying."""
        seen: list[str] = []

        def told() -> bool:
            job = self.fe.job("far")
            seen.append(str(job["Msg"]))
            return f"(error {Code.LAKE_FAILED.number})" in seen[-1]

        until(told, why="Msg")
        return seen[-1]


@pytest.fixture(scope="module")
def place(mysql_server: MysqlServer) -> Iterator[Place]:
    missing = missing_for_rest()
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    with tempfile.TemporaryDirectory(prefix="far-") as made, rest_lake(Path(made), troubled=True) as lake:
        fe = FrontendProcess(Path(made) / "fe", lake.settings).start()
        assert lake.way is not None
        yield Place(mysql=mysql_server, fe=fe, lake=lake, way=lake.way)
        assert fe.stop() == 0


def created(place: Place) -> bool:
    """A statement that needs Spark waits for its start only so long."""
    try:
        place.fe.sql("CREATE DATABASE IF NOT EXISTS far")
    except pymysql.err.MySQLError:
        return False
    return True


def outages(place: Place) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """How each begins and ends."""
    way, catalog = place.way, place.lake.catalog
    return {
        "store away": (way.hang_up, way.heal),
        "store denied": (lambda: way.refuse(403, "AccessDenied", "Access Denied"), way.heal),
        "catalog away": (catalog.stop, catalog.start),
    }


def test_a_job_lives_through_outages_of_store_and_catalog(place: Place) -> None:
    """While the store is away, while it refuses, and while the catalog is away, the job stays RUNNING with 20202 in
    Msg, PAUSE and RESUME answer at once, and afterwards the job continues by itself: rows as in the source.
    """
    until(lambda: created(place), why="Spark")
    place.mysql.run("CREATE DATABASE far", "CREATE TABLE far.t (id BIGINT PRIMARY KEY, v TEXT)")
    place.mysql.run("INSERT INTO far.t VALUES (1, 'before')")
    place.fe.sql("CREATE TABLE far.t (id BIGINT NOT NULL, v STRING) UNIQUE KEY(id)")
    place.fe.sql(f"CREATE SYNC far.job1 (FROM far.t INTO t) {BINLOG.format(port=place.mysql.port)}")
    place.await_equal()
    for number, (name, (begin, end)) in enumerate(outages(place).items(), 2):
        begin()
        place.mysql.run(f"INSERT INTO far.t VALUES ({number}, '{name}')", "UPDATE far.t SET v = 'again' WHERE id = 1")
        place.await_trouble()
        assert place.fe.job("far")["State"] == "RUNNING"
        for verb in ("PAUSE", "RESUME"):
            begun = time.monotonic()
            place.fe.sql(f"{verb} SYNC JOB far.job1")
            assert time.monotonic() - begun < AT_ONCE_SECOND * PATIENCE
        end()
        place.mysql.run("UPDATE far.t SET v = CONCAT(v, '.') WHERE id = 1")
        place.await_equal()
        until(lambda: place.fe.job("far")["Msg"] is None, why="an empty Msg")
