import contextlib
from collections.abc import Callable, Iterator

import pymysql
import pytest

from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import free_port
from tests.torture.engine import Engine

JOBS = "SELECT JOB_SCHEMA AS db, JOB_NAME AS name FROM information_schema.sync_jobs WHERE STATE <> 'CANCELLED'"


@pytest.fixture(scope="session")
def frontend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontendProcess]:
    """One frontend per run; a test that kills it starts it again."""
    process = FrontendProcess(tmp_path_factory.mktemp("fe"), {"http_port": free_port()})
    process.start()
    yield process
    assert process.stop() == 0


@pytest.fixture(scope="session")
def spark(frontend: FrontendProcess) -> Iterator[Callable[[str], None]]:
    """Statements of another engine on the same lake: one JVM per run."""
    engine = Engine(frontend.folder / "var" / "lake")

    def run(statement: str) -> None:
        wrong = engine.ask(statement)
        assert wrong is None, wrong

    yield run
    engine.stop()


@pytest.fixture(autouse=True)
def _ends_its_jobs(request: pytest.FixtureRequest) -> Iterator[None]:
    """A job that a test has left would read all that later tests write on the same server."""
    if "frontend" not in request.fixturenames:
        yield
        return
    frontend = request.getfixturevalue("frontend")
    before = _jobs(frontend)
    yield
    with contextlib.suppress(pymysql.err.OperationalError):  # the test has failed, and left no frontend
        for name in _jobs(frontend) - before:
            frontend.sql(f"STOP SYNC JOB {name}")


def _jobs(frontend: FrontendProcess) -> set[str]:
    return {f"`{job['db']}`.`{job['name']}`" for job in frontend.sql(JOBS)}
