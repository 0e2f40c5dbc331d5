"""What SHOW says of many jobs is read together, and is what it says of each alone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import event

from syncmgr.control.running.retained_binlogs import RetainedBinlogs
from syncmgr.control.showing import Showing
from syncmgr.control.sync_tables import History
from syncmgr.job.ddl.ddl_step import DdlRecord, DdlState
from syncmgr.job.epoch import ChannelCommitted, Epoch, Prepared, StagedFile
from syncmgr.job.position import Position
from syncmgr.job.rows.dead_letter import DeadLetter
from syncmgr.job.state import JobEvent
from syncmgr.job.sync_job import SyncJob
from syncmgr.meta.codec import Vault
from syncmgr.meta.database.engine import sqlite_url
from syncmgr.meta.store import Store
from tests.support import metadata
from tests.unit.job.factories import make_channel, make_job

START = Position(gtids="u:1-5", file="binlog.000001", offset=157, server="u")
FILE = StagedFile(path="/s/1.parquet", rows=2, bytes=9)
INDEX = SimpleNamespace(state="ready", reason=None, rows=0, bytes=0, snapshot=None, equality_deletes=0, missing=0)
STATEMENT = "CREATE SYNC demo.job ({}) FROM BINLOG (type = mysql)"


class House:
    """Jobs that are stored, and what is shown of them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.asked = 0
        upkeep: Any = SimpleNamespace(upkeep_log=lambda *_: (), index=lambda *_: INDEX)
        retained = RetainedBinlogs(store, lambda *_: None, lambda: 0.0, lambda: 30.0)
        self.showing = Showing(store, upkeep, lambda *_: None, lambda _: None, lambda _: None, retained)
        event.listen(store.database.engine, "before_cursor_execute", self._count)

    def _count(self, *_: object) -> None:
        self.asked += 1

    def add(self, name: str) -> SyncJob:
        """One with two tables, one of which begins with its rows."""
        channels = tuple(make_channel(token=f"{name}-{at}", target=f"{name}_{at}") for at in "ab")
        statement = STATEMENT.format("FROM shop.* INTO demo.*")
        job = make_job(name=name, channels=channels, statement=statement)
        return self.store.jobs.add(job, START, 0.0, frozenset({f"{name}-a"}))

    def commit(self, job: SyncJob, number: int, *, waits: bool = False, **facts: Any) -> None:
        tokens = [channel.token for channel in job.channels]
        epoch = Epoch(number=number, end=replace(START, offset=number), last_seq=1, source_time=5.0, rows=3, **facts)
        epoch = replace(epoch, files=dict.fromkeys(tokens, (FILE,)))
        self.store.epochs.add_intent(job.id, epoch)
        done = {token: ChannelCommitted(snapshot=number) for token in (tokens[:1] if waits else tokens)}
        self.store.epochs.commit(job.id, epoch, done, at=float(number), keep_since=0.0)

    def questions(self, ask: Callable[[], object]) -> int:
        self.asked = 0
        ask()
        return self.asked


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    store = metadata.opened(sqlite_url(tmp_path), Vault(tmp_path / "secret.key"))
    yield House(store)
    store.close()


def busy(house: House) -> None:
    """Jobs of each kind that SHOW tells apart by what is stored."""
    house.add("fresh")
    several = house.add("several")
    for number in (1, 2, 3):
        house.commit(several, number)
    house.commit(house.add("behind"), 1, waits=True)
    letter = DeadLetter(
        token="letters-a", change="INSERT", column="c", value="v", reason="r", row="{}", at=1.0, file="b", offset=1
    )
    house.commit(house.add("letters"), 1, dead=(letter, letter))
    house.commit(house.add("xa"), 1, prepared={"X'78',X'',1": Prepared(files={"xa-a": (FILE,)}, bytes=7)})
    intent = house.add("intent")
    house.commit(intent, 1)
    house.store.epochs.add_intent(intent.id, Epoch(number=2, end=replace(START, offset=99), last_seq=1))
    anew = house.add("anew")
    house.store.jobs.alter(anew.on(JobEvent.PAUSED_BY_USER, at=1.0), resyncing={"anew-b": None}, stale={"anew-b": 4.0})
    refused = house.add("refused")
    facts: dict[str, Any] = {"position": START, "at": 1.0, "statement": "CREATE TABLE t (a INT)", "outcome": "no key"}
    for table, state in (("shop.t", DdlState.REFUSED), ("shop.u", DdlState.REFUSED), ("shop.u", DdlState.GONE)):
        house.store.ddl.note(refused.id, DdlRecord(table=table, state=state, **facts))
    house.store.jobs.save(house.add("ended").on(JobEvent.STOPPED, at=2.0))


def test_jobs_are_shown_together_as_each_alone(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of one job is taken for another's, whatever is stored of them."""
    monkeypatch.setattr("time.time", lambda: 100.0)
    busy(house)
    jobs = house.store.jobs.all()

    def rows(of: Sequence[SyncJob]) -> list[tuple[str | None, ...]]:
        return [shown.row for shown in house.showing.shown(of)]

    assert rows(jobs) == [row for job in jobs for row in rows([job])]
    assert len({row[5] for row in rows(jobs)}) == len(jobs)
    assert house.showing.overviews(jobs) == {
        job.id: found for job in jobs for found in house.showing.overviews([job]).values()
    }


def test_the_metadata_is_asked_as_often_for_many_jobs_as_for_one(house: House) -> None:
    """500 jobs that each asked for themselves made SHOW SYNC JOB take seconds; so it was for the tables that list
    them.
    """
    history = History(house.store, house.showing, SimpleNamespace(), SimpleNamespace())  # type: ignore[arg-type]
    tables = ("sync_jobs", "sync_channels", "sync_snapshots", "sync_ddl", "sync_dead_letters")
    house.commit(house.add("first"), 1)
    one = [house.questions(lambda table=table: history.rows(table)) for table in tables]
    for number in range(20):
        house.commit(house.add(f"job{number}"), 1)
    assert [house.questions(lambda table=table: history.rows(table)) for table in tables] == one
    assert max(one) < 20


def test_a_job_that_is_forgotten_meanwhile_is_left_out(house: House) -> None:
    """Cancelled jobs are deleted after their time, and SHOW reads in several steps."""
    jobs = [house.add("stays"), house.add("goes")]
    house.store.jobs.forget(jobs[1].id)
    assert [shown.job.name for shown in house.showing.shown(jobs)] == ["stays"]
    assert list(house.showing.overviews(jobs)) == [jobs[0].id]
