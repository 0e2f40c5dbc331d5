"""Epochs that wait for a channel, as one."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syncmgr.job.epoch import Epoch, StagedFile
from syncmgr.job.position import Position
from syncmgr.pipeline.committer import Committer
from tests.support.fakes import MemoryLake, MemoryLedger
from tests.unit.job.factories import make_channel


def epoch(folder: Path, number: int, kind: pa.DataType) -> Epoch:
    path = folder / f"{number}.parquet"
    pq.write_table(pa.table({"id": pa.array([number], pa.int64()), "v": pa.array([None], kind)}), path)
    files = (StagedFile(path=str(path), rows=1, bytes=path.stat().st_size),)
    return Epoch(number=number, end=Position(), last_seq=number, files={"token-1": files})


@pytest.mark.parametrize(
    ("kinds", "gathered"),
    [
        ((pa.int64(), pa.int64(), pa.int64()), 3),
        ((pa.int64(), pa.int64(), pa.string()), 2),
        ((pa.int64(), pa.string(), pa.string()), 1),
    ],
)
def test_only_files_of_the_same_columns_are_gathered(
    tmp_path: Path, kinds: Sequence[pa.DataType], gathered: int
) -> None:
    """A newer version may stage a type otherwise: one commit could not read what both have left."""
    ledger = MemoryLedger(("token-1",))
    epochs = [epoch(tmp_path, number, kind) for number, kind in enumerate(kinds, 1)]
    ledger.stored = [(each, True) for each in epochs]
    with ThreadPoolExecutor(1) as pool:
        committer = Committer(
            (make_channel(),),
            ledger,
            MemoryLake(),
            pool,
            ack=lambda _: None,
            max_backlog_bytes=lambda: 10**9,
            ending=lambda: False,
        )
        assert committer._gathered("token-1", epochs).number == gathered
