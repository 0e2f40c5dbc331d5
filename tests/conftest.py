"""Servers that the whole run shares."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests import canal_servers
from tests.canal_servers import CanalServer, ZooKeeper
from tests.servers import Flavour, MysqlServer, binary

settings.register_profile("any machine", deadline=None)  # values are promised; a busy machine is only slow
settings.load_profile("any machine")


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


def need_follower(mysql: MysqlServer) -> None:
    """Of a server that canal can read."""
    if not canal_servers.follows(mysql):
        pytest.skip("canal 1.1.8 cannot read a MariaDB from 11.8 on")


def need_version(mysql: MysqlServer, version: tuple[int, int]) -> None:
    if mysql.version() < version:
        pytest.skip(f"this server is {mysql.version()}, it takes {version}")


@pytest.fixture
def canal(mysql_server: MysqlServer, tmp_path: Path) -> Iterator[Callable[..., CanalServer]]:
    """Starts canal servers, of the run's MySQL unless another is given; they end with the test."""
    need_canal()
    started: list[CanalServer] = []

    def start(mysql: MysqlServer = mysql_server, **options: Any) -> CanalServer:
        need_follower(mysql)
        started.append(CanalServer(tmp_path / f"canal{len(started)}", mysql, **options))
        return started[-1].start()

    yield start
    for server in started:
        server.kill()


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeper]:
    """One ZooKeeper per run; cursors outlive tests in it, so each takes a destination of its own."""
    need_canal()
    server = ZooKeeper(tmp_path_factory.mktemp("zookeeper")).start()
    yield server
    server.stop()


def need_canal() -> None:
    if not canal_servers.installed():
        pytest.skip("no canal server is installed")
