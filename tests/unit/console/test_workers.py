"""Who has the threads of the console."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from syncmgr.console.workers import Workers
from tests.support.until import HANG_SECOND, until

THREADS = 4


@pytest.mark.parametrize("of", [Workers.slow, Workers.quick])
def test_an_account_has_half_of_the_threads(of: Callable[..., Coroutine[Any, Any, Any]]) -> None:
    """However much it asks, and however long that takes, another account is answered at once."""
    workers = Workers(threads=THREADS, queries_per_account=1, source_threads=1, source_second=1)
    go_on, begun = threading.Event(), list[int]()

    def wait(number: int) -> None:
        begun.append(number)
        go_on.wait(HANG_SECOND)

    async def ask() -> str:
        waiting = [asyncio.ensure_future(of(workers, "a", wait, number)) for number in range(2 * THREADS)]
        try:
            answer = await asyncio.wait_for(of(workers, "b", lambda: "answered"), HANG_SECOND)
            await asyncio.to_thread(until, lambda: len(begun) >= THREADS // 2)  # a thread may come to its own later
            assert len(begun) == THREADS // 2
            return answer
        finally:
            go_on.set()
            await asyncio.gather(*waiting)

    try:
        assert asyncio.run(ask()) == "answered"
    finally:
        workers.close()
    assert sorted(begun) == list(range(2 * THREADS))
