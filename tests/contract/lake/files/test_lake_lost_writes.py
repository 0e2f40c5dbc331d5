"""Writes that a real disk loses: Linux reports them once, and goes on as if all were well."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.host.durable import sync_file_system
from syncmgr.lake.durability import Durability
from syncmgr.lake.iceberg.catalog_reader import Pointer
from syncmgr.lake.lost_writes import NOTE
from tests.support.failing_disk import FailingDisk
from tests.support.small_disk import NoMountError

MEBIBYTE = 1 << 20
LOST = b"lost" * MEBIBYTE


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[FailingDisk]:
    try:
        disk = FailingDisk(tmp_path / "disk", tmp_path / "behind", 32)
    except NoMountError as error:
        pytest.skip(f"no disk can be mounted here: {error}")
    yield disk
    disk.unmount()


def test_a_sync_that_succeeds_proves_nothing_after_one_that_failed(disk: FailingDisk) -> None:
    """Why a failure must be remembered: the disk is asked anew, says yes, and has not got the rows."""
    disk.fail(leave=MEBIBYTE)
    file = disk.folder / "rows"
    file.write_bytes(LOST)
    with pytest.raises(OSError, match=r"No space|Input/output"):
        sync_file_system(disk.folder)
    sync_file_system(disk.folder)
    assert file.read_bytes() == LOST
    disk.forget()
    assert file.read_bytes() != LOST


def test_a_table_whose_writes_were_lost_takes_no_more(disk: FailingDisk) -> None:
    """Whoever else has heard of it first; what comes after the cure is on the disk."""
    pointers = {"t": Pointer(location="t/1", previous=None)}
    durability = Durability(disk.folder, lambda _db, table: pointers[table], lambda _db, _table: False)
    with durability.writing("demo", "t"):
        (disk.folder / "first").write_bytes(b"first")
    disk.fail(leave=MEBIBYTE)

    def commit() -> None:
        with durability.writing("demo", "t"):
            (disk.folder / "rows").write_bytes(LOST)
            pointers["t"] = Pointer(location="t/2", previous="t/1")
            with pytest.raises(OSError, match=r"No space|Input/output"):
                sync_file_system(disk.folder)

    with pytest.raises(SyncError) as caught:
        commit()
    assert caught.value.code is Code.WRITES_LOST
    assert (disk.folder / NOTE).exists()
    disk.mend()
    with pytest.raises(SyncError), durability.writing("demo", "t"):
        pytest.fail("it was let in")
    pointers["t"] = Pointer(location="t/1", previous=None)
    with durability.writing("demo", "t"):
        (disk.folder / "anew").write_bytes(LOST)
    durability.close()
    disk.forget()
    assert (disk.folder / "anew").read_bytes() == LOST
    assert (disk.folder / "first").read_bytes() == b"first"
