"""The targets of what is stored: they go again where that fails, and nothing else does."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from syncmgr.control.catalog import Catalog
from syncmgr.control.made_targets import lacking_rows, made
from syncmgr.errors import Code, SyncError
from tests.support.memory_tables import MemoryTables
from tests.unit.job.factories import make_source, make_target

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
    with pytest.raises(AssertionError):
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
