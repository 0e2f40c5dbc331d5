"""Two new frontends on the metadata that an older version has left on a server: one of them migrates."""

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url

from syncmgr.errors import SyncError
from syncmgr.meta.codec import Vault
from syncmgr.meta.database import versions
from syncmgr.meta.database.engine import engine_of
from syncmgr.meta.database.lease import Lease
from syncmgr.meta.store import Store
from tests.support.servers.databases import Make, asking
from tests.support.slow import DATABASES, on_servers
from tests.support.until import HANG_SECOND, until

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess
    from multiprocessing.queues import Queue

pytestmark = pytest.mark.mysql

OLD: Final = "0011"  # the next step alters `channels`
WAITING: Final = {
    "mysql": "SELECT count(*) FROM information_schema.processlist WHERE db = :db AND state LIKE '%metadata lock%'",
    "postgresql": "SELECT count(*) FROM pg_stat_activity WHERE datname = :db AND wait_event_type = 'Lock'",
}
SPAWN: Final = multiprocessing.get_context("spawn")
Start = Callable[[str, str], "Queue[str]"]


def begin(url: str, name: str, folder: Path, said: "Queue[str]") -> None:
    """What a frontend does first, in a process of its own."""
    with closing(Store(url, Vault(folder / name))) as store:
        lease = Lease(store.database, name, lambda: said.put("lost"), beat_second=0.2, patience_second=20.0)
        try:
            lease.take()
            said.put("migrated")
        except SyncError as error:
            said.put(str(error))
        finally:
            lease.give_back()


@contextmanager
def reading(url: str) -> Iterator[Connection]:
    """A transaction that nobody alters `channels` beside."""
    engine = engine_of(url)
    with engine.connect() as connection:
        connection.execute(text("SELECT count(*) FROM channels")).scalar()
        yield connection
    engine.dispose()


def waiting(url: str) -> int:
    """How many statements of the database wait for that."""
    made = make_url(url)
    with asking(url) as connection:
        return int(connection.execute(text(WAITING[made.get_backend_name()]), {"db": made.database}).scalar_one())


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[BaseProcess] = []

    def begun(url: str, name: str) -> "Queue[str]":
        said: Queue[str] = SPAWN.Queue()
        started.append(SPAWN.Process(target=begin, args=(url, name, tmp_path, said)))
        started[-1].start()
        return said

    yield begun
    for process in started:
        process.kill()
        process.join()


@on_servers("mysql", fixture="make", among=DATABASES)
@pytest.mark.parametrize("before", [None, pytest.param("dead", marks=pytest.mark.long)])
def test_the_owner_alone_migrates(make: Make, start: Start, before: str | None) -> None:
    """However long that takes: behind a clean stop, and behind a frontend that has died."""
    url = make()
    with asking(url) as connection:
        versions.migrate(connection.engine, OLD)
        if before is not None:
            connection.execute(text("INSERT INTO owner VALUES (1, :name, 7)"), {"name": before})
    with reading(url):
        one = start(url, "one")
        until(lambda: waiting(url) == 1, why="the migration of the first")
        two = start(url, "two")
        assert "belongs to frontend one, which is alive" in two.get(timeout=HANG_SECOND)
        assert waiting(url) == 1
    assert one.get(timeout=HANG_SECOND) == "migrated"
    assert start(url, "two").get(timeout=HANG_SECOND) == "migrated"
