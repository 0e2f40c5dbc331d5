"""Servers that the whole run shares, and what every run needs."""

import gc
import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.support import installed, jvm, long_files, second_proofs
from tests.support.servers import canal as canal_servers
from tests.support.servers.canal import CanalServer, ZooKeeper
from tests.support.servers.mysql import Flavour, MysqlServer, binary, chosen_settings
from tests.support.servers.replica import ReplicaServer

# No deadline: values are promised, a busy machine is only slow.  The same examples in each run: red is the change's.
settings.register_profile("any machine", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("random", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("any machine")
# So that one test can be run by itself, after bin/test.sh has brought what it needs; what tests start inherits it.
os.environ.setdefault(jvm.VARIABLE, jvm.QUICK)
programs = [str(installed.FOLDER / "mysql" / "bin"), os.environ["PATH"]]
os.environ["PATH"] = ":".join([*filter(None, [os.environ.get("SYNCMGR_TEST_SERVERS")]), *programs])

OF_SPARK = ("tests/contract/", "tests/acceptance/")
STARTS_SPARK = frozenset(
    {"lake", "queries", "frontend", "FrontendProcess", "new_lake", "another_lake", "running_lake", "Torture"}
)


def pytest_configure() -> None:
    """A run that is told to end stops its servers, as after Ctrl-C; a script's background job is deaf to that."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Each process collects all tests of its part, which live as long as it does: two thirds of the time would be the
    garbage collector's, which would go on looking through them later.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The run is parted by the mark `spark`: a test without it must not start a JVM in the other half.

    It is an error of its module, since the words that end a process of `-n` are shown nowhere.
    """
    report = yield
    found = [item for item in report.result or () if isinstance(item, pytest.Function)]
    fault = fault_of_marks(found)
    lost = second_proofs.unknown(found)
    if lost:
        fault = f"tests.support.second_proofs keeps cases that are not there: {', '.join(lost)}"
    if fault is not None:
        report.outcome, report.longrepr = "failed", fault
    return report


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The limit of time for tests that hang is not for those that are long."""
    second_proofs.mark(items)
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.timeout(0))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> Generator[None, object, object]:
    """After pytest has put tests together that share parameters."""
    session.items[:] = long_files.in_order(session.items)
    return (yield)


def fault_of_marks(items: Sequence[pytest.Function]) -> str | None:
    """What keeps tests out of the part of the run that they belong to."""
    marked, others = set[str](), list[pytest.Function]()
    for item in items:
        others.append(item) if item.get_closest_marker("spark") is None else marked.add(item.location[0])
    unmarked = {item.location[0] for item in others if _starts_spark(item)}
    if unmarked:
        return f"tests that start a JVM need pytest.mark.spark: {', '.join(sorted(unmarked))}"
    elsewhere = sorted(path for path in marked if not path.startswith(OF_SPARK))
    if elsewhere:
        return f"no part of the run has these tests with pytest.mark.spark: {', '.join(elsewhere)}"
    return None


def _starts_spark(item: pytest.Function) -> bool:
    """By the fixtures that it asks for, or what its module imports."""
    return not STARTS_SPARK.isdisjoint({*item.fixturenames, *vars(item.module)})


def _running(flavour: Flavour, factory: pytest.TempPathFactory) -> Iterator[MysqlServer]:
    if binary(flavour) is None:
        pytest.skip(f"no {flavour} server is installed")
    kind = ReplicaServer if chosen_settings() == "replica" else MysqlServer
    server = kind(factory.mktemp(flavour), flavour).start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def mysql_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MysqlServer]:
    """One real MySQL per run, with GTIDs and FULL row metadata."""
    yield from _running("mysql", tmp_path_factory)


@pytest.fixture
def tagging_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MysqlServer]:
    """A MySQL of its own: tags stay in gtid_executed forever, and canal 1.1.8 cannot read a set that has them."""
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


def need_names(mysql: MysqlServer) -> None:
    """Of columns, in the binlog."""
    metadata = mysql.run("SELECT @@GLOBAL.binlog_row_metadata")[0][0]
    if metadata != "FULL":
        pytest.skip(f"this server has binlog_row_metadata = {metadata}, it takes FULL")


def need_gtids(mysql: MysqlServer) -> None:
    if mysql.flavour == "mysql" and mysql.run("SELECT @@GLOBAL.gtid_mode")[0][0] != "ON":
        pytest.skip("this server has no GTIDs")


def need_snapshots(mysql: MysqlServer) -> None:
    """Of which every job begins with one, unless it says where else."""
    if mysql.flavour == "mysql" and mysql.run("SELECT @@GLOBAL.gtid_mode")[0][0] != "ON":
        need_names(mysql)


def need_own_binlog(mysql: MysqlServer) -> None:
    """In which a session decides what is logged, and how: a replica logs rows, whatever its source did, and ends its
    replication where the source's tables are not its own.
    """
    if isinstance(mysql, ReplicaServer):
        pytest.skip("a session writes into the binlog of the source, and this is the replica's")


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
