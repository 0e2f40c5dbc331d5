import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.snapshot.chunk_rows import ChunkRows, OpenRows, ReadRows
from syncmgr.pipeline import worker_process
from syncmgr.pipeline.snapshot.chunk_processes import FOLDER, ChunkProcesses
from tests.support.until import HANG_SECOND, until
from tests.unit.job.factories import make_source_table

worker_process.preload(__name__)


@dataclass(frozen=True)
class Source:
    """Its rows do what they are told in the process that reads them."""

    then: Callable[[], None]

    def rows(self, chunk: ChunkRows) -> OpenRows:
        return Rows(self.then)


@dataclass(frozen=True)
class Rows:
    then: Callable[[], None]

    def __call__(self) -> Iterator[ReadRows]:
        yield ReadRows(rows=pa.table({"id": [1, 2]}))
        self.then()
        yield ReadRows(rows=pa.table({"id": [3]}))


@dataclass(frozen=True)
class Touch:
    """Says in a file which process it is, and waits for its end."""

    file: str

    def __call__(self) -> None:
        Path(self.file).write_text(str(os.getpid()))
        threading.Event().wait(HANG_SECOND)


def nothing() -> None: ...


def refuse() -> None:
    raise SyncError(Code.SOURCE_UNREACHABLE, address="db", reason="gone")


def fill() -> None:
    raise OSError(28, "No space left on device")


def break_down() -> None:
    raise KeyError("why")


def chunk(reader: ChunkProcesses) -> ChunkRows:
    return ChunkRows(
        plan="p", number=1, reader=reader, table=make_source_table(), columns=("id",), condition="", target="lake.t"
    )


def test_rows_come_through_files(tmp_path: Path) -> None:
    """They are there as long as somebody reads them; what an earlier process left goes first."""
    left = tmp_path / FOLDER / "old" / "chunk-0.parquet"
    left.parent.mkdir(parents=True)
    left.touch()
    reader = ChunkProcesses(Source(nothing), tmp_path)
    with reader.staged(chunk(reader)) as read:
        assert read.rows == 3
        assert [n for file in read.files for n in pq.read_table(file)["id"].to_pylist()] == [1, 2, 3]
    assert list((tmp_path / FOLDER).glob("*")) == []
    assert reader.read(chunk(reader), None).rows == 3


@pytest.mark.parametrize(
    ("then", "code"),
    [(refuse, Code.SOURCE_UNREACHABLE), (fill, Code.DISK_FULL), (break_down, Code.INTERNAL)],
)
def test_what_went_wrong_is_told(tmp_path: Path, then: Callable[[], None], code: Code) -> None:
    """As it was raised in the other process; its files are gone."""
    reader = ChunkProcesses(Source(then), tmp_path)
    with pytest.raises(SyncError) as caught, reader.staged(chunk(reader)):
        """It does not begin."""
    assert caught.value.code is code
    assert list((tmp_path / FOLDER).glob("*")) == []


@pytest.mark.parametrize("given_up", [True, False])
def test_the_end_of_a_process_is_told(tmp_path: Path, *, given_up: bool) -> None:
    """At once: one that was given up is no failure, any other is retried."""
    said = tmp_path / "pid"
    reader = ChunkProcesses(Source(Touch(str(said))), tmp_path)
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(reader.read, chunk(reader), None)
        until(lambda: said.exists() and said.read_text() != "", why="the process reads")
        if given_up:
            reader.give_up(chunk(reader))
        else:
            os.kill(int(said.read_text()), signal.SIGKILL)
        with pytest.raises(SyncError) as caught:
            reading.result(HANG_SECOND)
    assert caught.value.code is (Code.INTERRUPTED if given_up else Code.LAKE_FAILED)
    reader.give_up(chunk(reader))  # nothing is read
