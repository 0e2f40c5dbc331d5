from typing import Any

import pytest

from syncmgr.lake.iceberg.layout import BYTES, ROWS, size_of

COUNTED = {"total-records": "10", "total-position-deletes": "3", "total-files-size": "4096"}


@pytest.mark.parametrize(
    ("summary", "rows", "size"),
    [
        (None, "0", "0"),
        (COUNTED, "7", "4096"),
        ({**COUNTED, "total-position-deletes": "11"}, "0", "4096"),
        ({"total-records": "10", "total-files-size": "4096"}, "10", "4096"),
        ({"operation": "append"}, None, None),
    ],
)
def test_a_table_is_as_large_as_its_last_commit_counted(
    summary: dict[str, Any] | None, rows: str | None, size: str | None
) -> None:
    """Without deleted rows; an empty table has none, and nothing is guessed for a writer that counts nothing."""
    found = size_of(summary)
    assert (found.get(ROWS), found.get(BYTES)) == (rows, size)
