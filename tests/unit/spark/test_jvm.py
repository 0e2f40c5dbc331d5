import io
import pickle
from itertools import islice

import pytest

from syncmgr.spark.jvm import partition
from syncmgr.spark.query import BATCH_BYTES, BATCH_ROWS, regrouped

END = (-1).to_bytes(4, "big", signed=True)


def sent(rows: list[tuple[int]]) -> bytes:
    data = pickle.dumps(rows)
    return len(data).to_bytes(4, "big") + data


def test_a_partition_ends_with_its_mark() -> None:
    """What stands behind it is the next partition's."""
    stream = io.BytesIO(sent([(1,), (2,)]) + sent([(3,)]) + END + b"next")
    assert [rows for _, rows in partition(stream)] == [[(1,), (2,)], [(3,)]]
    assert stream.read() == b"next"


@pytest.mark.parametrize("size", [0, 3, 4, 10, len(sent([(1,)])), len(sent([(1,)])) + 2])
def test_a_stream_that_breaks_off_is_no_end(size: int) -> None:
    """A JVM that dies in the middle of a result makes an error of it, never a shorter result."""
    with pytest.raises(EOFError):
        list(partition(io.BytesIO((sent([(1,)]) + END)[:size])))


@pytest.mark.parametrize(
    ("lists", "batches"),
    [
        ([(10, 1), (20, 2), (40, 4)], [7]),
        ([(1, 1), (9, 2 * BATCH_ROWS), (1, 1)], [BATCH_ROWS, BATCH_ROWS, 2]),
        ([(BATCH_BYTES, 3), (BATCH_BYTES, 3), (1, 1)], [3, 3, 1]),
        ([(1, BATCH_ROWS)], [BATCH_ROWS]),
        ([], []),
    ],
)
def test_rows_are_regrouped(lists: list[tuple[int, int]], batches: list[int]) -> None:
    """A thousand at a time, fewer where they are long, in their order; none is lost, and no batch is empty."""
    rows = iter(range(10_000))
    given = [(size, list(islice(rows, count))) for size, count in lists]
    made = list(regrouped(iter(given)))  # type: ignore[arg-type]  # any rows
    assert [len(batch) for batch in made] == batches
    assert [row for batch in made for row in batch] == [row for _, each in given for row in each]
