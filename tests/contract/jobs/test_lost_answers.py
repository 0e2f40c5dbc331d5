"""Statements about a job while the metadata give no answer: what was to be stored may be stored."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import syncsql
from syncmgr.errors import Code, SyncError
from syncmgr.job.state import JobState
from syncmgr.meta.codec import Vault
from syncmgr.meta.database.engine import sqlite_url
from syncmgr.meta.store import Store
from syncsql import Name
from tests.contract.jobs.test_arrivals import SHOP, House, alter
from tests.contract.jobs.test_arrivals import add_table as add_pattern
from tests.support import metadata
from tests.support.until import until

JOB1 = Name(name="job1", db="demo")
DOWN = SyncError(Code.META_DOWN, reason="the connection was lost")


def add_table(house: House) -> None:
    [parsed] = syncsql.parse("ALTER SYNC JOB demo.job1 ADD TABLE FROM shop.t INTO ods.*")
    house.jobs.add_tables(parsed.statement, None)  # type: ignore[arg-type]


STATEMENTS: dict[str, Callable[[House], object]] = {
    "PAUSE": lambda house: house.jobs.pause(JOB1, None),
    "STOP": lambda house: house.jobs.stop(JOB1, None),
    "SET": lambda house: alter(house, 'SET ("max_dead_letters" = "7")'),
    "ADD TABLE": add_table,
}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    store = metadata.opened(sqlite_url(tmp_path), Vault(tmp_path / "secret.key"))
    yield House(store)
    store.close()


def lose_answers(store: Store, monkeypatch: pytest.MonkeyPatch, *, stored: bool) -> None:
    """To whatever changes a job. `stored`: whether it is done all the same."""

    def losing(write: Callable[..., object]) -> Callable[..., object]:
        def lost(*args: object, **named: object) -> object:
            if stored:
                write(*args, **named)
            raise DOWN

        return lost

    for name in ("save", "alter"):
        monkeypatch.setattr(store.jobs, name, losing(getattr(store.jobs, name)))


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_whose_answer_was_lost_ends_the_run(
    house: House, monkeypatch: pytest.MonkeyPatch, statement: str, *, stored: bool
) -> None:
    """A run that went on would read by what was, and a job that is paused or stopped would commit forever; the next
    one begins with what is stored.
    """
    house.come(SHOP)
    run, before = house.runs[house.id], house.job
    with monkeypatch.context() as patch:
        lose_answers(house.store, patch, stored=stored)
        with pytest.raises(SyncError) as caught:
            STATEMENTS[statement](house)
    assert caught.value.code is Code.META_DOWN
    assert (house.job != before) is stored
    assert run.told == ["finish"]
    house.ends[house.id]()
    house.jobs.lives.tick()
    ends = {"PAUSE": JobState.PAUSED, "STOP": JobState.CANCELLED} if stored else {}
    state = ends.get(statement, JobState.RUNNING)
    assert house.job.state is state
    assert (house.runs[house.id] is not run) is (state is JobState.RUNNING)


def test_a_trouble_that_cannot_be_stored_is_known_until_it_is(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """SHOW would report a job that commits nothing as well for as long as the disk of the metadata is full."""
    tell, known = house.troubles[house.id], house.jobs.runs.trouble_of
    with monkeypatch.context() as patch:
        lose_answers(house.store, patch, stored=False)
        tell(DOWN)
        found = known(house.id)
        assert found is not None
        assert (found.code, house.job.fail) == (DOWN.code.number, None)
    tell(DOWN)
    assert known(house.id) is None
    assert house.job.fail is not None
    with monkeypatch.context() as patch:
        lose_answers(house.store, patch, stored=False)
        tell(DOWN)
    tell(None)
    assert (known(house.id), house.job.fail) == (None, None)


def test_metadata_that_do_not_answer_are_logged_once(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """However many ticks meet it, whether they read or write; the next outage is logged again."""
    house.jobs.pause(JOB1, None)
    house.ends[house.id]()
    house.jobs.resume(JOB1, None)
    for lacking in ("all", "save"):
        caplog.clear()
        with monkeypatch.context() as patch:

            def down(*_: object, **__: object) -> None:
                raise DOWN

            patch.setattr(house.store.jobs, lacking, down)
            for _ in range(3):
                house.jobs.lives.tick()
        [line] = [record.getMessage() for record in caplog.records if record.levelname in {"WARNING", "ERROR"}]
        assert line == f"jobs are neither started nor resumed: {DOWN}"
        house.jobs.lives.tick()
        house.jobs.pause(JOB1, None)
        house.ends[house.id]()
        house.jobs.resume(JOB1, None)


def test_a_pattern_whose_answer_was_lost_finds_the_tables_that_came_meanwhile(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one does whose statement has succeeded: the run that goes on reads their statements, and heeds none."""
    with monkeypatch.context() as patch:
        lose_answers(house.store, patch, stored=True)
        with pytest.raises(SyncError):
            add_pattern(house)
    house.come(("else", "late"))
    house.ends[house.id]()
    house.jobs.lives.tick()
    until(lambda: "else.late" in house.joined)
