"""The targets of what is stored: they go again where that fails, and nothing else does."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from syncmgr.control.catalog import Catalog
from syncmgr.control.made_targets import doubling_rows, lacking_rows, made
from syncmgr.errors import Code, SyncError
from syncmgr.job.epoch import ChannelCommitted, Epoch, StagedFile
from syncmgr.job.position import Position
from syncmgr.job.state import JobEvent
from syncmgr.job.types.schema import TargetTable
from syncmgr.meta.codec import Vault
from syncmgr.meta.database.engine import sqlite_url
from syncmgr.meta.store import Store
from syncmgr.sources.cancellation import Cancellation
from tests.support import metadata
from tests.support.memory_tables import MemoryTables
from tests.unit.job.factories import make_channel, make_job, make_source, make_target

STARTING = SyncError(Code.LAKE_STARTING, reason="it starts")
TAKEN = SyncError(Code.TARGET_IN_USE, table="demo.orders", job="other")
ORDERS = ("demo", "orders")


@dataclass
class Lake(MemoryTables):
    """What happens to its tables meanwhile. `busy`: the jobs that write to them."""

    made: set[str] = field(default_factory=lambda: {"demo"})
    busy: dict[tuple[str, str], str] = field(default_factory=dict)

    def catalog(self) -> Catalog:
        return Catalog(self, lambda db, table: self.busy.get((db, table)))

    def replace_by_another(self) -> None:
        """Somebody has dropped our table, and made his own under its name."""
        self.there[ORDERS] = replace(self.there[ORDERS], uuid="his")

    def rename(self) -> None:
        self.there["demo", "his"] = self.there.pop(ORDERS)

    def leave(self) -> None:
        self.away = STARTING

    def take(self) -> None:
        self.busy[ORDERS] = "demo.job2"

    def fill(self) -> None:
        self.there[ORDERS] = replace(self.there[ORDERS], is_unused=False, is_spare=False)


def store(lake: Lake, happens: Callable[[Lake], object]) -> None:
    """What is refused at last, after something has happened."""
    with made(lake.catalog(), [make_target()]):
        happens(lake)
        raise TAKEN


def test_targets_go_again_where_storing_fails() -> None:
    """All that were made, also where the last of them could not be."""
    lake = Lake()
    with pytest.raises(SyncError) as raised, made(lake.catalog(), [make_target(), make_target(name="lines")]):
        raise TAKEN
    assert (raised.value, lake.there) == (TAKEN, {})
    lake.full_after = 1
    with pytest.raises(SyncError, match="no space"), made(lake.catalog(), [make_target(), make_target(name="lines")]):
        raise AssertionError("nothing is stored")
    assert lake.there == {}


def test_a_target_that_another_statement_has_made_stays() -> None:
    """Two ADD TABLE at once: the second one is told to look again, and takes nothing away."""
    lake = Lake()
    lake.catalog().make(make_target(name="lines"))
    both = [make_target(), make_target(name="lines")]
    with pytest.raises(SyncError, match="type this one again") as raised, made(lake.catalog(), both):
        raise AssertionError("nothing is stored")
    assert raised.value.code is Code.TABLE_EXISTS
    assert set(lake.there) == {("demo", "lines")}


@dataclass
class Interrupted(Lake):
    """Whoever waits for the second table gives up."""

    asking: Cancellation = field(default_factory=Cancellation)

    def create_table(self, table: TargetTable, *, for_job: bool) -> str:
        uuid = super().create_table(table, for_job=for_job)
        if len(self.there) == 2:
            self.asking.give_up()
        return uuid


def test_targets_go_again_once_they_are_given_up(caplog: pytest.LogCaptureFixture) -> None:
    """No further one is made after KILL, none of very many stays, and the log says so."""
    lake, tables = Interrupted(), [make_target(name=f"t{number}") for number in range(50)]
    caplog.set_level("INFO")
    with pytest.raises(SyncError) as raised, lake.asking.here(), made(lake.catalog(), tables):
        raise AssertionError("nothing is stored")
    assert (raised.value.code, lake.there, lake.numbered) == (Code.INTERRUPTED, {}, 2)
    assert "2 of 50 targets were made, and are removed again" in caplog.text


@pytest.mark.parametrize("happens", [Lake.replace_by_another, Lake.take, Lake.fill])
def test_what_is_not_ours_stays(happens: Callable[[Lake], object]) -> None:
    """A table of somebody else under the name of ours, one that a job writes to by now, and one that was changed."""
    lake = Lake()
    with pytest.raises(SyncError):
        store(lake, happens)
    assert lake.there.keys() == {ORDERS}


def test_a_target_that_is_gone_is_no_trouble() -> None:
    """Somebody has dropped it, or gave it another name; the error is still that of storing."""
    lake = Lake()
    with pytest.raises(SyncError) as raised:
        store(lake, Lake.rename)
    assert (raised.value, lake.there.keys()) == (TAKEN, {("demo", "his")})


def test_a_lake_that_is_away_hides_no_error() -> None:
    """What could not be dropped is spare; what could be is dropped."""
    lake = Lake()
    with pytest.raises(SyncError) as raised:
        store(lake, Lake.leave)
    assert raised.value is TAKEN
    assert lake.catalog().table(*ORDERS).is_spare


def test_a_spare_target_makes_room() -> None:
    """For another of its name, which has a uuid of its own; one that was used since does not."""
    lake = Lake()
    catalog = lake.catalog()
    first = catalog.make(make_target())
    second = catalog.make(first)
    assert (first.uuid, second.uuid, lake.there[ORDERS].uuid) == ("u1", "u2", "u2")
    lake.fill()
    with pytest.raises(SyncError, match="already exists"):
        catalog.make(second)
    assert not catalog.table(*ORDERS).is_spare


def test_a_table_of_a_statement_is_never_spare() -> None:
    """Whoever has typed CREATE TABLE means it to be there, rows or not."""
    lake = Lake()
    lake.catalog()._make(make_target(), for_job=False)
    found = lake.catalog().table(*ORDERS)
    assert (found.is_unused, found.is_spare) == (True, False)


@pytest.mark.parametrize(
    ("start", "warns"), [("snapshot", False), ("latest", False), ("earliest", True), ("mysql-bin.000007:4", True)]
)
def test_targets_that_will_lack_rows_are_named(start: str, *, warns: bool) -> None:
    """A place in the binlog goes on with a target that has the rows before it; one that is made just now has none."""
    source = make_source(start=start)
    told = lacking_rows([make_target(name="orders"), make_target(name="lines")], source)
    assert [remark.code for remark in told] == ([Code.ROWS_BEFORE_START] if warns else [])
    assert all("created demo.orders, demo.lines, which receive only changes after" in remark.text for remark in told)
    assert lacking_rows([], source) == ()


START = Position(file="binlog.000001", offset=100, server="s")
BEHIND = replace(START, offset=200)


@pytest.fixture
def store_of_jobs(tmp_path: Path) -> Iterator[Store]:
    found = metadata.opened(sqlite_url(tmp_path), Vault(tmp_path / "secret.key"))
    yield found
    found.close()


def ended(store: Store, *, counts: bool) -> None:
    """A job that was stopped while it committed an epoch behind START; `counts`: whether that ended as it should."""
    job = store.jobs.add(make_job(channels=(make_channel(token="old", keys=()),)), START, 1.0)
    files = {"old": (StagedFile(path="/s/1.parquet", rows=5, bytes=9),)}
    epoch = Epoch(number=1, end=BEHIND, last_seq=5, files=files, rows=5, bytes=9)
    store.epochs.add_intent(job.id, epoch)
    if counts:
        store.epochs.commit(job.id, epoch, {"old": ChannelCommitted(snapshot=1)}, at=2.0, keep_since=0.0)
    store.jobs.save(job.on(JobEvent.STOPPED, at=3.0))


@pytest.mark.parametrize(
    ("why", "start", "counts", "keys", "writers", "warns"),
    [
        ("the commit under way at STOP may be in the target", START, False, (), ("old",), True),
        ("the position was read before STOP", START, True, (), ("old",), True),
        ("the position is that of the stopped job", BEHIND, True, (), ("old",), False),
        ("the position is later", BEHIND, False, (), ("old",), False),
        ("a row that comes again replaces itself", START, False, ("id",), ("old",), False),
        ("the target was made again since", START, True, (), (), False),
    ],
)
def test_a_target_that_may_get_rows_twice_is_named(
    store_of_jobs: Store,
    why: str,
    start: Position,
    *,
    counts: bool,
    keys: tuple[str, ...],
    writers: tuple[str, ...],
    warns: bool,
) -> None:
    """Of a job that goes on where another one ended: nothing else knows by then what the other had begun to commit."""
    ended(store_of_jobs, counts=counts)
    new = make_job(channels=(make_channel(token="new", keys=keys),), source=make_source(start="binlog.000001:100"))
    target = make_target(keys=keys, writers=writers)
    told = doubling_rows(new, start, (), store_of_jobs, lambda *_: target)
    assert [remark.code for remark in told] == ([Code.ROWS_TWICE] if warns else []), why
    assert doubling_rows(new, start, (target,), store_of_jobs, lambda *_: target) == (), "it is made by the statement"
    latest = replace(new, source=make_source(start="latest"))
    assert doubling_rows(latest, start, (), store_of_jobs, lambda *_: target) == ()
