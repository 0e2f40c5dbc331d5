"""Servers that the whole run shares."""

from collections.abc import Iterator

import pytest

from tests.servers import Flavour, MysqlServer, binary


def _running(flavour: Flavour, factory: pytest.TempPathFactory) -> Iterator[MysqlServer]:
    if binary(flavour) is None:
        pytest.skip(f"no {flavour} server is installed")
    server = MysqlServer(factory.mktemp(flavour), flavour).start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def mysql_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MysqlServer]:
    """One real MySQL per run, with GTIDs and FULL row metadata."""
    yield from _running("mysql", tmp_path_factory)


@pytest.fixture(scope="session")
def mariadb_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MysqlServer]:
    """One real MariaDB per run, with FULL row metadata."""
    yield from _running("mariadb", tmp_path_factory)


@pytest.fixture(scope="session", params=["mysql", "mariadb"])
def any_server(request: pytest.FixtureRequest) -> MysqlServer:
    """Each of both in turn."""
    server: MysqlServer = request.getfixturevalue(f"{request.param}_server")
    return server
