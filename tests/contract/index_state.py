"""What an index says, and what a rebuild would say."""

import numpy as np

from syncmgr.lake.iceberg.snapshot_files import contents_of
from syncmgr.lake.index.index import TableIndex
from tests.support.spark_session import LakeTable


def entries(index: TableIndex) -> dict[tuple[int, int], tuple[str, int]]:
    """Key -> (path, row)."""
    found = {}
    for keys, at in index.keys.entries():
        low = np.zeros(len(keys), np.int64) if keys.low is None else keys.low
        for key, other, place in zip(keys.high.tolist(), low.tolist(), at.tolist(), strict=True):
            found[key, other] = index.files[place >> 32].content.path, place & 0xFFFFFFFF
    return found


def rebuilt(table: LakeTable) -> TableIndex:
    iceberg = table.lake.iceberg()
    loaded = iceberg.load(table.db, table.name)
    index = TableIndex(held(table).shape)
    index.follow(contents_of(iceberg, loaded))
    return index


def held(table: LakeTable) -> TableIndex:
    """The index as it is, made to hold if it does not yet."""
    with table.indexing.lock:
        iceberg = table.lake.iceberg()
        index = table.indexing.usable(iceberg, iceberg.load(table.db, table.name))
    assert index is not None, table.indexing.standing()
    return index
