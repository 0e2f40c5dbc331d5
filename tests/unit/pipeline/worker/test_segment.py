"""Staged files on a real disk."""

import errno
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.pipeline.worker import segment
from syncmgr.pipeline.worker.segment import Segment, disk_error, sync_folder


def rows(*numbers: int) -> pa.Table:
    return pa.table({"n": pa.array(numbers, pa.int64())})


def test_rows_come_back_in_order_and_files_know_their_size(tmp_path: Path) -> None:
    """However often they were appended; each file tells its rows and the bytes that it has on the disk."""
    made = Segment(tmp_path, "s")
    for number in range(5):
        made.append(rows(number, 10 + number))
    (file,) = made.close()
    assert pq.read_table(file.path)["n"].to_pylist() == [0, 10, 1, 11, 2, 12, 3, 13, 4, 14]
    assert (file.rows, file.bytes) == (10, Path(file.path).stat().st_size)
    assert made.close() == (file,)


def test_a_segment_spills_into_more_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory and files stay bounded, and nothing is lost between two of them."""
    monkeypatch.setattr(segment, "FILE_BYTES", 800)
    made = Segment(tmp_path, "s", group_bytes=80)
    for number in range(0, 500, 10):
        made.append(rows(*range(number, number + 10)))
    files = made.close()
    assert [file.rows for file in files] == [100] * 5
    assert [n for file in files for n in pq.read_table(file.path)["n"].to_pylist()] == list(range(500))
    assert len({file.path for file in files}) == 5


def test_what_waits_and_what_is_written_is_read_in_order(tmp_path: Path) -> None:
    """Also by a segment that is given the files of an earlier one."""
    made = Segment(tmp_path, "s", group_bytes=80)
    for number in range(0, 25, 5):
        made.append(rows(*range(number, number + 5)))
    assert [n for part in made.read() for n in part["n"].to_pylist()] == list(range(25))
    again = Segment(tmp_path, "", files=made.close())
    assert [n for part in again.read() for n in part["n"].to_pylist()] == list(range(25))


@pytest.mark.parametrize("group_bytes", [8, 10**9])
def test_a_dropped_segment_leaves_nothing(tmp_path: Path, group_bytes: int) -> None:
    """Whether its rows had reached a file or not."""
    made = Segment(tmp_path, "s", group_bytes=group_bytes)
    made.append(rows(1, 2))
    made.drop()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    """At the first write, at the end, and when the folder itself is made durable."""
    made = Segment(tmp_path / "gone", "s")
    made.append(rows(1))
    for step in (made.close, lambda: sync_folder(tmp_path / "gone")):
        with pytest.raises(SyncError) as caught:
            step()
        assert caught.value.code is Code.NOT_WRITABLE
        assert str(tmp_path / "gone") in str(caught.value)


def test_a_file_that_vanishes_before_it_is_closed_is_told(tmp_path: Path) -> None:
    """What cannot be made durable is not staged."""
    made = Segment(tmp_path, "s", group_bytes=8)
    made.append(rows(1))
    next(tmp_path.iterdir()).unlink()
    with pytest.raises(SyncError) as caught:
        made.close()
    assert caught.value.code is Code.NOT_WRITABLE


def test_a_segment_that_lost_rows_never_closes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full for one write and has room for the next must not leave a file that looks whole."""
    made = Segment(tmp_path, "s")
    made.append(rows(1))

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", fail)
    with pytest.raises(SyncError):
        made.close()
    monkeypatch.undo()
    for step in (made.close, made.close, lambda: list(made.read())):
        with pytest.raises(SyncError) as caught:
            step()
        assert caught.value.code is Code.DISK_FULL


@pytest.mark.parametrize(
    ("number", "code"),
    [(errno.ENOSPC, Code.DISK_FULL), (errno.EDQUOT, Code.DISK_FULL), (errno.EROFS, Code.NOT_WRITABLE)],
)
def test_a_full_disk_is_told_apart(number: int, code: Code) -> None:
    """It passes when somebody makes room; anything else names its reason."""
    assert disk_error(OSError(number, "why"), Path("/staging")).code is code
