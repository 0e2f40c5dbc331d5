"""RESYNC of a table while the run that reads it has yet to end, on the real metadata."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from syncmgr.control.alter.alterations import Alterations
from syncmgr.control.alter.resync import Resyncs
from syncmgr.job.channel.channel_state import Stop
from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.ddl.ddl_step import DdlStep
from syncmgr.job.ddl.lake_change import AddField
from syncmgr.job.epoch import ChannelCommitted, Epoch
from syncmgr.job.position import Position
from syncmgr.job.snapshot.renewal import becoming
from syncmgr.job.state import JobEvent
from syncmgr.job.sync_job import SyncJob
from syncmgr.job.types.schema import SourceColumn, SourceTable, TargetTable, TargetType
from syncmgr.meta.codec import Vault
from syncmgr.meta.database.engine import sqlite_url
from syncmgr.meta.store import Store
from syncsql import Name, ResyncTable
from tests.support import metadata
from tests.unit.job.factories import make_channel, make_job, make_source_table, make_target

NOW = Position(gtids="u:1-9", file="b.000002", offset=9, server="u")
RESYNC = ResyncTable(job=Name(name="job1"), table=Name(db="shop", name="orders"))
STATEMENT = (
    "CREATE SYNC demo.job1 (FROM shop.orders INTO demo.*, FROM shop.lines INTO demo.*) FROM BINLOG (type = mysql)"
)
COLUMNS = tuple(MappedColumn(target=name, expression=f"`{name}`") for name in ("id", "status", "amount"))
ORDERS = make_channel(columns=COLUMNS, reads=("id", "status", "amount"), follows=True)
LINES = make_channel(token="token-2", source=make_source_table(name="lines"), target="lines")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = metadata.opened(sqlite_url(tmp_path), Vault(tmp_path / "secret.key"))
    yield store
    store.close()


class House:
    """A running job, whose source and target are as they are given."""

    def __init__(self, store: Store, source: SourceTable, target: TargetTable, **channel: Any) -> None:
        self.store = store
        job = store.jobs.add(make_job(channels=(replace(ORDERS, **channel), LINES), statement=STATEMENT), NOW, 0.0)
        self.id = job.id
        store.jobs.save(job.on(JobEvent.STARTED, at=1.0))
        found = SimpleNamespace(tables=(source,), start=NOW, known_at=NOW, unique_keys=((("id",),),))
        catalog: Any = SimpleNamespace(table=lambda _db, _name: target)
        nobody: Any = None
        self.resyncs = Resyncs(store, catalog, nobody, lambda *_: found)  # type: ignore[arg-type, return-value]
        self.altering = Alterations(store, self.resyncs)

    @property
    def job(self) -> SyncJob:
        job = self.store.jobs.by_id(self.id)
        assert job is not None
        return job

    def resync(self) -> None:
        job = self.job
        self.altering.alter(job, RESYNC, self.resyncs.looked_at(job, RESYNC))


@pytest.mark.parametrize("times", [1, 2])
def test_a_second_resync_keeps_what_the_first_was_to_change(store: Store, times: int) -> None:
    """A column of the target that the source has lost goes with the rows, however often that is said."""
    source = make_source_table()
    now = replace(source, columns=(*source.columns[:2], SourceColumn(name="w", type="bigint")))
    house = House(store, now, make_target(), stopped=Stop(reason="it cannot be followed"))
    for _ in range(times):
        house.resync()
    store.jobs.part(house.id)
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
    store.jobs.describe(replace(ORDERS, stopped=stop))
    assert house.job.channels[0] == replace(wanted, stopped=stop)
