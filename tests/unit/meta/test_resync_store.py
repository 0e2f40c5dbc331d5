"""RESYNC of a table while the run that reads it has yet to end, on the real metadata."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from syncmgr.control.alter.alterations import Alterations
from syncmgr.control.alter.resync import Resyncs
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_state import Stop
from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.ddl.ddl_step import DdlStep
from syncmgr.job.ddl.lake_change import AddField
from syncmgr.job.epoch import ChannelCommitted, Epoch
from syncmgr.job.position import Position
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.job.snapshot.renewal import becoming
from syncmgr.job.state import JobEvent
from syncmgr.job.sync_job import SyncJob
from syncmgr.job.types.schema import SourceColumn, SourceTable, TargetTable, TargetType
from syncmgr.meta.codec import Vault
from syncmgr.meta.database.engine import sqlite_url
from syncmgr.meta.store import Store
from syncsql import Expression, Name, ResyncTable
from tests.support import metadata
from tests.unit.job.factories import make_channel, make_job, make_source_table, make_target, with_history

NOW = Position(gtids="u:1-9", file="b.000002", offset=9, server="u")
RESYNC = ResyncTable(job=Name(name="job1"), table=Name(db="shop", name="orders"))
STATEMENT = (
    "CREATE SYNC demo.job1 (FROM shop.orders INTO demo.*, FROM shop.lines INTO demo.*) FROM BINLOG (type = mysql)"
)
COLUMNS = tuple(MappedColumn(target=name, expression=f"`{name}`") for name in ("id", "status", "amount"))
ORDERS = make_channel(columns=COLUMNS, reads=("id", "status", "amount"), takes_new_columns=True)
LINES = make_channel(token="token-2", source=make_source_table(name="lines"), target="lines")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = metadata.opened(sqlite_url(tmp_path), Vault(tmp_path / "secret.key"))
    yield store
    store.close()


class House:
    """A running job, whose source and target are as they are given."""

    def __init__(self, store: Store, source: SourceTable, target: TargetTable, **history: Any) -> None:
        self.store = store
        job = store.jobs.add(make_job(channels=(with_history(ORDERS, **history), LINES), statement=STATEMENT), NOW, 0.0)
        self.id = job.id
        store.jobs.save(job.on(JobEvent.STARTED, at=1.0))
        found = SimpleNamespace(tables=(source,), start=NOW, known_at=NOW, unique_keys=((("id",),),))
        catalog: Any = SimpleNamespace(table=lambda _db, _name: target, is_other=lambda *_: False)
        nobody: Any = None
        self.resyncs = Resyncs(store, catalog, nobody, lambda *_: found)  # type: ignore[arg-type, return-value]
        self.altering = Alterations(store, self.resyncs)

    @property
    def job(self) -> SyncJob:
        job = self.store.jobs.by_id(self.id)
        assert job is not None
        return job

    def resync(self, statement: ResyncTable = RESYNC) -> None:
        job = self.job
        self.altering.alter(job, statement, self.resyncs.looked_at(job, statement))


@pytest.mark.parametrize("times", [1, 2])
def test_a_second_resync_keeps_what_the_first_was_to_change(store: Store, times: int) -> None:
    """A column of the target that the source has lost goes with the rows, however often that is said."""
    source = make_source_table()
    now = replace(source, columns=(*source.columns[:2], SourceColumn(name="w", type="bigint")))
    house = House(store, now, make_target(), stopped=Stop(reason="it cannot be followed"))
    for _ in range(times):
        house.resync()
    store.jobs.apply_pending(house.id)
    load = store.loads.of(house.id)["token-1"]
    assert [column.name for column in becoming(make_target(), load.changes).columns] == ["id", "status", "w"]


def test_what_resync_has_made_of_a_table_outlives_the_run(store: Store) -> None:
    """The run has a statement in the lake, learns the columns of then, or stops the table, after RESYNC was stored."""
    source = make_source_table()
    one, two = (SourceColumn(name=name, type="bigint") for name in ("v1", "v2"))
    now = replace(source, columns=(*source.columns, one, two))
    house = House(store, now, make_target(columns=make_target().columns[:2]))
    added = {"token-1": (AddField(name="v1", type=TargetType(name="BIGINT")),)}
    step = DdlStep(statement="s", channels={"token-1": ORDERS}, changes=added, done={"token-1": "added"})
    epoch = Epoch(number=1, end=NOW, last_seq=0, ddl=step)
    store.epochs.add_intent(house.id, epoch)
    house.resync()
    wanted = house.job.channels[0]
    assert wanted.source == now
    store.epochs.commit(house.id, epoch, {"token-1": ChannelCommitted(snapshot=None)}, at=1.0, keep_since=0.0)
    store.jobs.learn("token-1", source)
    assert house.job.channels[0] == wanted
    stop = Stop(reason="a statement that came later")
    store.jobs.describe(with_history(ORDERS, stopped=stop))
    assert house.job.channels[0] == with_history(wanted, stopped=stop)


PART = replace(RESYNC, where=Expression(canonical="`id` = 1", text="id = 1", line=1, column=1))
FIRST = KeyRange(way=ORDERS.mapping_fingerprint, text="a", columns=("id",), lake="a", source="a")


def read(house: House, excerpt: KeyRange | None) -> None:
    """All chunks are in; the binlog has yet to pass the place after them."""
    house.store.loads.begin_anew({"token-1": excerpt})
    house.store.loads.end(["token-1"], NOW)


def test_a_part_is_not_read_again_before_the_binlog_has_passed_the_whole(store: Store) -> None:
    """A statement that was executed before the rows were read is still to come, and makes all of them wrong."""
    house = House(store, make_source_table(), make_target())
    read(house, None)
    with pytest.raises(SyncError) as caught:
        house.resync(PART)
    assert caught.value.code is Code.RESYNC_WHERE
    assert "wait until its phase" in str(caught.value)
    store.loads.catch_up(house.id, ["token-1"])
    house.resync(PART)
    store.jobs.apply_pending(house.id)
    assert store.loads.of(house.id)["token-1"].excerpt is not None


@pytest.mark.parametrize(("caught_up", "wanted"), [(False, "(a) OR (`id` = 1)"), (True, "`id` = 1")])
def test_a_part_that_the_binlog_has_not_passed_is_read_with_the_next(
    store: Store, wanted: str, *, caught_up: bool
) -> None:
    """So that a statement before it still finds what was read."""
    house = House(store, make_source_table(), make_target())
    read(house, FIRST)
    if caught_up:
        store.loads.catch_up(house.id, ["token-1"])
    house.resync(PART)
    store.jobs.apply_pending(house.id)
    found = store.loads.of(house.id)["token-1"].excerpt
    assert found is not None
    assert found.text == wanted


def test_a_whole_read_that_ends_while_a_part_is_asked_for_stays_whole(store: Store) -> None:
    """The run ends the read of all rows after RESYNC ... WHERE was stored."""
    house = House(store, make_source_table(), make_target())
    house.resync(PART)
    read(house, None)
    store.jobs.apply_pending(house.id)
    assert store.loads.of(house.id)["token-1"].excerpt is None
