"""Whether the files that are found are those that were written."""

import numpy as np
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.lake.commit.uncommitted_files import WrittenFiles, refuse_missing
from syncmgr.lake.iceberg.layout import Layout
from syncmgr.lake.index.key_index import KeyNumbers


def written(rows: int | None, *keys: int) -> WrittenFiles:
    """`keys`: how many each file has."""
    numbers = [KeyNumbers(high=np.arange(count)) for count in keys] if keys else None
    layout = Layout(schema_id=0, spec_id=0, fields=(), partition=())
    return WrittenFiles(folder="/lake/data/new", layout=layout, gone=False, rows=rows, keys=numbers)


@pytest.mark.parametrize("found", [[], [2], [3, 1]])
@pytest.mark.parametrize("files", [written(3), written(None, 3), written(3, 3)], ids=["rows", "keys", "both"])
def test_files_that_are_not_found_are_missed(files: WrittenFiles, found: list[int]) -> None:
    """No epoch is committed with other rows than those that were written for it."""
    with pytest.raises(SyncError, match="/lake/data/new") as caught:
        refuse_missing(files, found)
    assert caught.value.code is Code.LAKE_FAILED


@pytest.mark.parametrize("files", [written(3), written(None, 3), written(3, 3), written(None)])
def test_files_that_are_found_are_those(files: WrittenFiles) -> None:
    """As many rows as their writer reports, in as many files; Spark reports none."""
    refuse_missing(files, [3])
