"""The lake and the servers of metadata that all contract tests of a run share."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from syncmgr.lake.lake import Lake
from syncmgr.lake.spark.queries.queries import Queries
from tests.support import lakes
from tests.support.servers.databases import Make, another
from tests.support.servers.postgres import PostgresServer, is_installed
from tests.support.spark_session import Tables, new_queries, running_lake

if TYPE_CHECKING:
    from tests.support.servers.mysql import MysqlServer


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """One Spark and one catalog per run, the embedded one unless SYNCMGR_TEST_LAKE names another."""
    folder = tmp_path_factory.mktemp("lake")
    with lakes.chosen()(folder) as options:
        yield from running_lake(folder, options)


@pytest.fixture(scope="session")
def queries(lake: Lake) -> Iterator[Queries]:
    """Those of that lake: one JVM more."""
    asked = new_queries(lake)
    yield asked
    asked.stop()


@pytest.fixture
def tables(lake: Lake, tmp_path: Path) -> Tables:
    """Fresh tables in a fresh database."""
    return Tables(lake, tmp_path)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """For the metadata; skips where the server or its driver is not installed."""
    pytest.importorskip("psycopg", reason="the driver of PostgreSQL (psycopg) is not installed")
    if not is_installed():
        pytest.skip("no PostgreSQL server is installed")
    server = PostgresServer().start()
    yield server
    server.stop()


@pytest.fixture(params=["mysql", "mariadb", "postgres"])
def make(request: pytest.FixtureRequest) -> Make:
    """Makes empty databases of one server."""
    if request.param == "postgres":
        url = cast("PostgresServer", request.getfixturevalue("postgres")).url("psycopg")
    else:
        server = cast("MysqlServer", request.getfixturevalue(f"{request.param}_server"))
        url = f"mysql+pymysql://root@127.0.0.1:{server.port}/mysql"
    return lambda: another(url)
