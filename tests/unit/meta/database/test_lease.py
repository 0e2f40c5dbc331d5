"""Two frontends on one metadata database."""

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import Position
from syncmgr.meta.codec import Vault
from syncmgr.meta.database.database import Owner
from syncmgr.meta.database.engine import sqlite_url
from syncmgr.meta.database.lease import Lease
from syncmgr.meta.jobs import JobStore
from syncmgr.meta.store import Store
from tests.support.until import HANG_SECOND, until
from tests.unit.job.factories import make_job

Make = Callable[..., Lease]


def jobs_of(lease: Lease, folder: Path) -> JobStore:
    """The jobs as the frontend of that lease writes and reads them."""
    return JobStore(lease._database, Vault(folder / "secret.key"))


@pytest.fixture
def lease(tmp_path: Path) -> Iterator[Make]:
    """Makes leases on one database, each as a process of its own would."""
    made: list[tuple[Lease, Store]] = []

    def make(name: str, on_lost: Callable[[], None] = lambda: None, beat: float = 0.05, patience: float = 1.0) -> Lease:
        store = Store(sqlite_url(tmp_path), Vault(tmp_path / "secret.key"))
        made.append((Lease(store.database, name, on_lost, beat_second=beat, patience_second=patience), store))
        return made[-1][0]

    yield make
    for each, store in made:
        each.give_back()
        store.close()


def test_an_owner_that_lives_is_not_replaced(lease: Make) -> None:
    """The second frontend is refused by name, and the first keeps the metadata."""
    lost = threading.Event()
    lease("one", lost.set).take()
    with pytest.raises(SyncError) as caught:
        lease("two", patience=HANG_SECOND).take()
    assert caught.value.code is Code.META_OWNED
    assert "belongs to frontend one" in str(caught.value)
    assert not lost.is_set()


def test_an_owner_that_is_silent_is_replaced_and_told(
    lease: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One whose process stood still, whatever its clock says, finds out at its first sign of life;

    until then it cannot write.
    """
    lost, goes_on = threading.Event(), threading.Event()
    replaced = lease("one", lost.set)
    beat = replaced._database.beat
    monkeypatch.setattr(replaced._database, "beat", lambda name: goes_on.wait(HANG_SECOND) and beat(name))
    replaced.take()
    lease("two").take()
    assert not lost.is_set()
    with pytest.raises(SyncError) as caught:
        jobs_of(replaced, tmp_path).add(make_job(), Position(), 0.0)
    assert caught.value.code is Code.META_OWNED
    assert jobs_of(replaced, tmp_path).all() == []
    goes_on.set()
    assert lost.wait(HANG_SECOND)


def test_an_outage_of_the_metadata_is_logged_with_its_end(
    lease: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Once each, however long it takes."""
    caplog.set_level(logging.INFO, "syncmgr.meta.database.lease")
    one, failures = lease("one"), iter(range(3))
    beat = one._database.beat

    def fails(name: str) -> bool:
        if next(failures, None) is not None:
            raise OperationalError("UPDATE owner", {}, Exception("database or disk is full"))
        return beat(name)

    monkeypatch.setattr(one._database, "beat", fails)
    one.take()
    until(lambda: len(caplog.messages) > 1, why="the end of the outage")
    begin, end = caplog.messages
    assert begin.startswith("the metadata cannot be written: ")
    assert end == "the metadata can be written again"


def test_a_restart_and_an_orderly_end_wait_for_nobody(lease: Make) -> None:
    """The same frontend takes its own metadata at once, and so does any behind one that was stopped."""
    lease("one", beat=60).take()
    again = lease("one", beat=60)
    again.take()
    again.give_back()
    lease("two", beat=60).take()


def test_an_owner_that_gives_back_while_it_is_watched_is_followed(lease: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has stopped, and is not alive."""
    one, two = lease("one", beat=60), lease("two", beat=60, patience=HANG_SECOND)
    one.take()
    owner = two._database.owner

    def looking() -> Owner | None:
        seen = owner()
        one.give_back()
        return seen

    monkeypatch.setattr(two._database, "owner", looking)
    two.take()
    found = owner()
    assert found is not None
    assert found.frontend == "two"


def test_one_that_has_given_back_writes_no_more(lease: Make, tmp_path: Path) -> None:
    """A run that ends late: the next frontend has what it did already."""
    one = lease("one", beat=60)
    one.take()
    one.give_back()
    with pytest.raises(SyncError) as caught:
        jobs_of(one, tmp_path).add(make_job(), Position(), 0.0)
    assert caught.value.code is Code.META_GIVEN_BACK
    assert "alive" not in str(caught.value)
    assert jobs_of(one, tmp_path).all() == []


def test_of_two_that_wait_one_comes_in(lease: Make) -> None:
    """Both see the same silent owner, and the second one sees the first."""
    lease("dead", beat=60).take()
    refused: list[SyncError] = []

    def take(mine: Lease) -> None:
        try:
            mine.take()
        except SyncError as error:
            refused.append(error)

    threads = [threading.Thread(target=take, args=(lease(name, patience=5.0),)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [error.code for error in refused] == [Code.META_OWNED]
