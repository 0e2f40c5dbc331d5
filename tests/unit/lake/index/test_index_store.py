"""The key index of a table on disk."""

from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

import numpy as np
import pytest

from syncmgr.lake.index.index import TableIndex
from syncmgr.lake.index.index_store import IndexStore, picture
from syncmgr.lake.index.key_index import KeyIndex, KeyNumbers, SortedRun
from tests.unit.lake.index.test_index import SHAPE, at


def index_of(*numbers: int) -> TableIndex:
    index = at(4)
    places = np.zeros(len(numbers), np.int64)
    index.keys = KeyIndex((SortedRun(keys=KeyNumbers(high=np.array(numbers, np.int64)), at=places),))
    return index


def test_two_that_save_at_once_leave_a_whole_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a lake saves beside its upkeep: neither takes the files of the other away, or fails."""
    store, write = IndexStore(tmp_path, "uuid"), IndexStore._write
    beside: list[Future[None]] = []

    def write_and_wait(self: IndexStore, kind: str, data: bytes) -> str:
        if kind == "dead" and not beside:
            beside.append(pool.submit(store.save, picture(index_of(7, 8)), SHAPE))
            wait(beside, 0.5)
        return write(self, kind, data)

    monkeypatch.setattr(IndexStore, "_write", write_and_wait)
    with ThreadPoolExecutor(1) as pool:
        store.save(picture(index_of(1, 2, 3)), SHAPE)
        beside[0].result(30)
    loaded = IndexStore(tmp_path, "uuid").load(SHAPE)
    assert loaded is not None
    assert len(loaded.keys) == 2
