import asyncio
import time
from collections.abc import AsyncGenerator, Iterable

import pytest

from syncmgr.console.statements.row_limit import first, has_limit, with_offsets
from syncmgr.console.wire.results import Row, Rows


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM t\nLIMIT 0, 1000", "SELECT * FROM t\nLIMIT 1000 OFFSET 0"),
        (
            "select a from (select * from t limit 5,2) x limit 1 , 3",
            "select a from (select * from t limit 2 OFFSET 5) x limit 3 OFFSET 1",
        ),
        ("SELECT * FROM t LIMIT 5", "SELECT * FROM t LIMIT 5"),
        ("SELECT 'limit 5, 2', `limit 1, 2` FROM t", "SELECT 'limit 5, 2', `limit 1, 2` FROM t"),
        ("SELECT 1 -- limit 5, 2", "SELECT 1 -- limit 5, 2"),
        ("SELECT 'limit 5, 2", "SELECT 'limit 5, 2"),
    ],
)
def test_a_limit_with_a_comma(text: str, expected: str) -> None:
    """It is told in Spark's words, wherever it stands; nothing else of the text changes."""
    assert with_offsets(text) == expected


def test_many_limits_take_time_by_their_number() -> None:
    """The text is copied once."""
    begun = time.process_time()
    assert with_offsets("SELECT 1" + " limit 1,2" * 80_000).endswith(" limit 2 OFFSET 1")
    assert time.process_time() - begun < 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM t LIMIT 5", True),
        ("SELECT * FROM t limit 5 offset 1", True),
        ("SELECT * FROM (SELECT * FROM t LIMIT 5) x", False),
        ("SELECT 'LIMIT 5'", False),
    ],
)
def test_a_limit_of_its_own(text: str, expected: bool) -> None:  # noqa: FBT001 - a parameter
    """That of a subquery is none of the whole."""
    assert has_limit(text) == expected


@pytest.mark.parametrize(("count", "left"), [(0, 0), (2, 2), (3, 3), (5, 5), (9, 6)])
def test_the_first_rows(count: int, left: int) -> None:
    """Across batches; the rest is never computed."""
    closed = []

    async def batches() -> AsyncGenerator[Iterable[Row], None]:
        try:
            for start in (0, 3):
                yield [(start + place,) for place in range(3)]
        finally:
            closed.append(True)

    async def taken() -> list[Row]:
        return [row async for batch in first(Rows(columns=(), batches=batches()), count).batches for row in batch]

    assert asyncio.run(taken()) == [(number,) for number in range(left)]
    assert closed == [True]
