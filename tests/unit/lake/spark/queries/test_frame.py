import io
from collections.abc import Sequence
from typing import Any

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.lake.spark.queries.frame import MOST_NODES, _leaves, partition

END = (-1).to_bytes(4, "big", signed=True)


def sent(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def test_a_partition_ends_with_its_mark() -> None:
    """What stands behind it is the next partition's."""
    stream = io.BytesIO(sent(b"one") + sent(b"two") + END + b"next")
    assert list(partition(stream)) == [b"one", b"two"]
    assert stream.read() == b"next"


@pytest.mark.parametrize("size", [0, 3, 4, 6, 7, 9])
def test_a_stream_that_breaks_off_is_no_end(size: int) -> None:
    """A JVM that dies in the middle of a result makes an error of it, never a shorter result."""
    with pytest.raises(EOFError):
        list(partition(io.BytesIO((sent(b"one") + END)[:size])))


class Found(list[Any]):
    """A sequence of Scala's."""

    def size(self) -> int:
        return len(self)

    def apply(self, place: int) -> Any:
        return self[place]


class Plan:
    """One of Spark's. `asked`: how often its leaves were."""

    def __init__(self, leaves: int, subqueries: Sequence["Plan"] = ()) -> None:
        self._leaves, self._subqueries = leaves, subqueries
        self.asked = 0

    def collectLeaves(self) -> Found:  # noqa: N802 - Spark's name
        self.asked += 1
        return Found(range(self._leaves))

    def subqueriesAll(self) -> Found:  # noqa: N802 - the same
        return Found(self._subqueries)


def test_all_that_a_query_reads_is_found() -> None:
    """In it and in its subqueries."""
    assert len(list(_leaves(Plan(3, [Plan(2), Plan(1)])))) == 6


@pytest.mark.parametrize(
    "plan",
    [
        Plan(MOST_NODES + 1),
        Plan(1, [Plan(MOST_NODES // 2), Plan(MOST_NODES // 2)]),
        Plan(1, [Plan(0)] * (MOST_NODES + 1)),
    ],
)
def test_a_query_that_reads_too_much_is_refused(plan: Plan) -> None:
    """Each leaf and each subquery is some calls into the JVM: so many would hold a thread for minutes."""
    with pytest.raises(SyncError) as caught:
        list(_leaves(plan))
    assert caught.value.code is Code.STATEMENT_TOO_LARGE
    assert "more than 10000 tables, subqueries" in str(caught.value)
    assert all(each.asked < 3 for each in plan._subqueries)
