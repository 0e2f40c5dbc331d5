"""Which tables are on the disk of a lake, by what its syncs answer."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.lake.durability import Durability
from syncmgr.lake.iceberg.catalog_reader import Pointer
from syncmgr.lake.lost_writes import NOTE
from tests.support.until import HANG_SECOND, until

DB = "demo"


class Disk:
    """The catalog of a lake, and a disk that says once that it has lost something."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.at: dict[str, Pointer] = {}
        self.new: set[str] = set()  # to which nobody has committed
        self.syncs = 0
        self.lost = False
        self.before_sync: Callable[[], None] = lambda: None
        self.durability = self.started()

    def started(self) -> Durability:
        return Durability(self.folder, self.pointer, self.is_new, self.sync)

    def pointer(self, db: str, table: str) -> Pointer:
        if table not in self.at:
            raise SyncError(Code.NO_SUCH_TABLE, db=db, table=table)
        return self.at[table]

    def is_new(self, _db: str, table: str) -> bool:
        return table in self.new and self.at[table].location.endswith("/0")

    def sync(self, _descriptor: int, _folder: Path) -> None:
        self.before_sync()
        self.syncs += 1
        if self.lost:
            self.lost = False
            raise OSError(5, "Input/output error")

    def write(self, table: str, *, wrote: bool = True) -> None:
        with self.durability.writing(DB, table) as nothing:
            if wrote:
                self.move(table)
            else:
                nothing()

    def move(self, table: str) -> None:
        old = self.at.get(table)
        number = 0 if old is None else int(old.location.rpartition("/")[2]) + 1
        self.at[table] = Pointer(location=f"{table}/{number}", previous=None if old is None else old.location)

    def refusal(self, table: str) -> SyncError:
        with pytest.raises(SyncError) as caught:
            self.write(table)
        assert caught.value.code is Code.WRITES_LOST
        return caught.value


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(tmp_path)
    for table in ("a", "b"):
        disk.move(table)
    yield disk
    disk.durability.close()


def test_a_lost_write_is_remembered(disk: Disk) -> None:
    """The next sync says that all is well, and the table is refused nevertheless, until it is set back."""
    disk.write("a")
    disk.lost = True
    assert "a/1" in str(disk.refusal("a"))
    assert disk.at["a"].location == "a/2"
    disk.write("b")
    assert "Input/output error" in str(disk.refusal("a"))
    disk.at["a"] = Pointer(location="a/1", previous=None)
    disk.write("a")
    disk.write("a")


def test_a_lost_write_is_remembered_by_the_next_life(disk: Disk) -> None:
    """A restart is no cure; setting the table back is, and leaves no note."""
    disk.write("a")
    disk.lost = True
    disk.refusal("a")
    disk.durability.close()
    disk.durability = disk.started()
    disk.durability.open()
    disk.refusal("a")
    disk.at["a"] = Pointer(location="a/1", previous=None)
    disk.write("a")
    assert not (disk.folder / NOTE).exists()


def test_whoever_hears_of_it_all_that_was_not_confirmed_is_lost(disk: Disk) -> None:
    """A commit whose outcome is not known yet, and one that ends later, though the error was reported to another."""
    for table in ("a", "b"):
        disk.write(table)

    def fail() -> None:
        with disk.durability.writing(DB, "b"):
            disk.move("b")
            raise ZeroDivisionError

    def commit() -> None:
        with disk.durability.writing(DB, "a"):
            disk.move("a")
            disk.lost = True
            with pytest.raises(SyncError):
                disk.durability.confirm()

    with pytest.raises(ZeroDivisionError):
        fail()
    with pytest.raises(SyncError) as caught:
        commit()
    assert caught.value.code is Code.WRITES_LOST
    assert "b/1" in str(disk.refusal("b"))


def expire(disk: Disk, table: str, meanwhile: Callable[[], None] = lambda: None) -> None:
    with disk.durability.expiring(DB, table) as something:
        meanwhile()
        disk.move(table)
        something()


def test_an_expiry_that_the_disk_has_lost_closes_its_table(disk: Disk) -> None:
    """The next commit does not take its metadata for confirmed; what is named is what was on the disk before."""
    disk.write("a")

    def break_disk() -> None:
        disk.lost = True

    with pytest.raises(SyncError) as caught:
        expire(disk, "a", break_disk)
    assert caught.value.code is Code.WRITES_LOST
    assert "a/1" in str(disk.refusal("a"))
    disk.write("b")
    disk.at["a"] = Pointer(location="a/1", previous=None)
    disk.write("a")


def test_an_expiry_that_was_broken_off_counts_as_a_write(disk: Disk) -> None:
    """It may have come as far as the catalog, so the next sync decides about it."""
    disk.write("a")
    with suppress(InterruptedError), disk.durability.expiring(DB, "a"):
        disk.move("a")
        raise InterruptedError
    disk.lost = True
    disk.refusal("b")
    assert "a/1" in str(disk.refusal("a"))


def test_nothing_is_expired_of_a_table_whose_commit_is_lost(disk: Disk) -> None:
    """It is set back to metadata whose files an expiry may delete."""
    disk.write("a")
    disk.lost = True
    disk.refusal("a")
    lost = disk.at["a"]
    with pytest.raises(SyncError) as caught:
        expire(disk, "a")
    assert caught.value.code is Code.WRITES_LOST
    assert disk.at["a"] == lost


def test_an_expiry_begins_with_what_is_on_the_disk(disk: Disk) -> None:
    """A commit that is not confirmed yet is, before older snapshots go; one that is confirmed needs no other sync."""
    seen = list[int]()
    with disk.durability.writing(DB, "a"):
        disk.move("a")
        before = disk.syncs
        expire(disk, "a", lambda: seen.append(disk.syncs))
        assert seen == [before + 1]
    disk.write("a")
    before = disk.syncs
    expire(disk, "a", lambda: seen.append(disk.syncs))
    assert seen[1:] == [before]


def test_a_look_beside_a_commit_does_not_forget_what_it_has_lost(disk: Disk) -> None:
    """Its files may be among what a sync for another table has lost, though the catalog does not name them yet; upkeep
    that looks at the table meanwhile finds it where it was.
    """
    disk.write("a")

    def commit() -> None:
        with disk.durability.writing(DB, "a"):
            disk.lost = True
            disk.refusal("b")
            with pytest.raises(SyncError):
                disk.write("a", wrote=False)
            disk.move("a")

    with pytest.raises(SyncError) as caught:
        commit()
    assert caught.value.code is Code.WRITES_LOST
    disk.at["a"] = Pointer(location="a/1", previous=None)
    disk.write("a")


def test_what_a_commit_has_lost_that_came_to_nothing_is_forgotten(disk: Disk) -> None:
    """The table is where it was, and nobody works on files that have gone."""
    disk.write("a")

    def commit() -> None:
        with disk.durability.writing(DB, "a"):
            disk.lost = True
            disk.refusal("b")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        commit()
    disk.write("a")


def test_a_lost_write_to_a_table_that_others_made_anew_is_told(disk: Disk) -> None:
    """What was confirmed of the one that had the name before says nothing of it."""
    disk.write("a")
    disk.at["a"] = Pointer(location="anew/0", previous=None)
    disk.write("a", wrote=False)
    disk.lost = True
    with pytest.raises(SyncError) as caught, disk.durability.writing(DB, "a"):
        disk.at["a"] = Pointer(location="anew/1", previous="anew/0")
    assert caught.value.code is Code.WRITES_LOST
    assert "anew/0" in str(caught.value)


def test_a_note_that_cannot_be_read_is_read_again(disk: Disk) -> None:
    """A disk that loses writes may not give them back either; nothing is taken for confirmed until it does."""
    disk.write("a")
    disk.lost = True
    disk.refusal("a")
    disk.durability.close()
    note, away = disk.folder / NOTE, disk.folder / "away"
    note.rename(away)
    note.mkdir()
    disk.durability = disk.started()
    for _ in range(2):
        with pytest.raises(OSError, match=NOTE):
            disk.write("a")
    note.rmdir()
    away.rename(note)
    assert "a/1" in str(disk.refusal("a"))


def test_what_was_confirmed_is_not_lost(disk: Disk) -> None:
    """A table that nobody has written to since goes on."""
    for table in ("a", "b"):
        disk.write(table)
    disk.lost = True
    disk.refusal("a")
    disk.write("b")


def test_a_commit_that_ends_during_a_sync_takes_the_next(disk: Disk) -> None:
    """The one that runs may have passed its files already; the commits that wait share one."""
    for table in ("a", "b"):
        disk.write(table)
    syncing, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        syncing.set()
        assert go_on.wait(HANG_SECOND)

    disk.before_sync, before = hold, disk.syncs
    with ThreadPoolExecutor() as pool:
        first = pool.submit(disk.write, "a")
        assert syncing.wait(HANG_SECOND)
        disk.before_sync = lambda: None
        others = [pool.submit(disk.write, "b") for _ in range(3)]
        until(lambda: disk.at["b"].location == "b/4", why="three commits")
        go_on.set()
        for each in (first, *others):
            each.result()
    assert before + 2 <= disk.syncs <= before + 4


def test_where_nothing_was_written_nothing_is_synced(disk: Disk) -> None:
    """Upkeep that looks and finds nothing to do."""
    disk.write("a")
    before = disk.syncs
    disk.write("a", wrote=False)
    assert disk.syncs == before
    disk.lost = True
    disk.refusal("b")
    disk.write("a")


def test_a_table_of_the_name_that_was_made_anew_is_another(disk: Disk) -> None:
    """Whether it was dropped here or by another engine."""
    for table in ("a", "b"):
        disk.write(table)
        disk.lost = True
        disk.refusal(table)
    disk.at["a"] = Pointer(location="anew/0", previous=None)
    disk.write("a")
    disk.durability.forget(DB, "b")
    disk.write("b")


def test_a_note_that_the_disk_has_lost_too_closes_every_table(disk: Disk) -> None:
    """Nobody knows which ones it named."""
    disk.durability.close()
    (disk.folder / NOTE).write_bytes(bytes(40))
    disk.durability = disk.started()
    disk.durability.open()
    with pytest.raises(SyncError) as caught:
        disk.write("a")
    assert caught.value.code is Code.LAKE_DAMAGED
    assert NOTE in str(caught.value)


def test_a_table_whose_making_is_lost_is_written_by_its_first_commit(disk: Disk) -> None:
    """Its maker hears of it. The first commit writes all that there ever was of it, and a sync confirms that."""
    disk.new, disk.lost = {"c"}, True
    with pytest.raises(SyncError) as caught, disk.durability.making(DB, "c"):
        disk.move("c")
    assert caught.value.code is Code.WRITES_LOST
    assert "drop the table and create it again" in str(caught.value)
    disk.write("c", wrote=False)
    assert "table" in (disk.folder / NOTE).read_text()
    disk.write("c")
    assert not (disk.folder / NOTE).exists()
    disk.lost = True
    assert "c/1" in str(disk.refusal("c"))


def test_the_metadata_of_a_making_that_is_lost_are_never_named_as_those_on_the_disk(disk: Disk) -> None:
    """Not even when the first commit is lost as well: there is nothing to set the table back to, in any life."""
    disk.new, disk.lost = {"c"}, True
    with pytest.raises(SyncError), disk.durability.making(DB, "c"):
        disk.move("c")

    def commit() -> None:
        with disk.durability.writing(DB, "c"):
            disk.move("c")
            disk.lost = True

    with pytest.raises(SyncError) as caught:
        commit()
    assert "drop the table and create it again" in str(caught.value)
    disk.durability.close()
    disk.durability = disk.started()
    disk.durability.open()
    assert "drop the table and create it again" in str(disk.refusal("c"))


def test_a_look_at_a_new_table_beside_its_first_commit_refuses_neither(disk: Disk) -> None:
    """Its making was lost; nothing has been since."""
    disk.new, disk.lost = {"c"}, True
    with pytest.raises(SyncError), disk.durability.making(DB, "c"):
        disk.move("c")
    with disk.durability.writing(DB, "c"):
        disk.move("c")
        disk.write("c", wrote=False)
    assert not (disk.folder / NOTE).exists()


def test_a_table_with_rows_of_which_nothing_was_confirmed_stays_closed(disk: Disk) -> None:
    """Until it is dropped, by whoever it is: then there is nothing that could be missing."""
    disk.move("a")
    disk.at["a"] = Pointer(location=disk.at["a"].location, previous=None)
    disk.lost = True
    disk.refusal("a")
    assert "drop the table" in str(disk.refusal("a"))
    del disk.at["a"]
    with disk.durability.writing(DB, "a"):
        disk.at["a"] = Pointer(location="other/0", previous=None)
    disk.write("a")


def test_what_is_dropped_has_lost_nothing(disk: Disk) -> None:
    """The statement that dropped it, made again after its sync had failed, finds that out instead of an error."""
    disk.write("a")
    disk.lost = True
    with pytest.raises(SyncError), disk.durability.writing(DB, "a"):  # noqa: PT012 - both belong to the drop
        del disk.at["a"]
        disk.durability.confirm()
    with disk.durability.writing(DB, "a") as nothing:
        nothing()


def test_a_note_of_another_version_closes_every_table(disk: Disk) -> None:
    """What it means nobody here knows; it is no reason to crash, nor to take no table for lost."""
    disk.durability.close()
    (disk.folder / NOTE).write_text('[{"db": "demo", "table": "a", "reason": "x", "before": null, "since": 5}]')
    disk.durability = disk.started()
    disk.durability.open()
    with pytest.raises(SyncError) as caught:
        disk.write("b")
    assert caught.value.code is Code.LAKE_DAMAGED


def fail_to_make(disk: Disk, table: str, meanwhile: Callable[[], None] = lambda: None) -> None:
    with suppress(InterruptedError), disk.durability.making(DB, table):
        meanwhile()
        raise InterruptedError


def test_a_creation_of_unknown_outcome_counts_as_a_write(disk: Disk) -> None:
    """It may have come as far as the catalog: what a sync for another table reports has lost it, too."""
    fail_to_make(disk, "c", lambda: disk.move("c"))
    disk.lost = True
    disk.refusal("b")
    assert "drop the table" in str(disk.refusal("c"))


def test_a_creation_that_fails_leaves_what_is_not_confirmed(disk: Disk) -> None:
    """The table is there already, with a commit that nobody has confirmed, or one that is under way."""
    disk.write("a")

    def commit() -> None:
        with disk.durability.writing(DB, "a"):
            fail_to_make(disk, "a")
            disk.lost = True
            disk.refusal("b")
            disk.move("a")

    with pytest.raises(SyncError) as caught:
        commit()
    assert caught.value.code is Code.WRITES_LOST


def test_what_an_earlier_table_of_the_name_has_lost_is_no_matter_of_a_new_one(disk: Disk) -> None:
    """Whoever has dropped it: the new one is on the disk."""
    disk.write("a")
    disk.lost = True
    disk.refusal("a")
    del disk.at["a"]
    with disk.durability.making(DB, "a"):
        disk.at["a"] = Pointer(location="anew/0", previous=None)
    disk.write("a")
    assert not (disk.folder / NOTE).exists()
