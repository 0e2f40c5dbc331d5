import numpy as np
import pyarrow as pa
import pytest

from syncmgr.job.types.cells import slices, validity

BUFFER = np.frombuffer(b"..abc-de--", np.uint8)


@pytest.mark.parametrize(
    ("start", "size", "valid", "expected"),
    [
        ([2, 6], [3, 2], None, [b"abc", b"de"]),
        ([2, 5, 6], [3, 0, 2], None, [b"abc", b"", b"de"]),
        ([2, 5, 6], [3, 9, 2], [True, False, True], [b"abc", None, b"de"]),
        ([2, 6], [3, 2], [True, True], [b"abc", b"de"]),
        ([], [], None, []),
        ([2], [9], [False], [None]),
    ],
)
def test_cells_are_picked_out_of_a_buffer(
    start: list[int], size: list[int], valid: list[bool] | None, expected: list[bytes | None]
) -> None:
    """What lies between them is left out, and a NULL has no bytes whatever its size says."""
    mask = None if valid is None else np.array(valid, np.bool_)
    found = slices(BUFFER, np.array(start, np.int64), np.array(size, np.int64), mask)
    found.validate(full=True)
    assert found.type == pa.binary()
    assert found.to_pylist() == expected
    assert found.null_count == expected.count(None)


def test_nothing_is_marked_where_nothing_is_null() -> None:
    """Arrow needs no bitmap then."""
    assert validity(None) is None
    assert validity(np.array([True, True])) is None
    assert validity(np.array([True, False])) is not None
