"""Queries that many clients send at the same time.

Owns: that all calls made before an answer was begun get that one answer. No call gets one that was begun before it, so
it is never staler than one of its own.
Must not know: what is queried, threads.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Lives on the event loop. At most one answer to a query is computed at a time, and one waits for its turn."""

    def __init__(self) -> None:
        self._running: dict[Hashable, asyncio.Future[T]] = {}
        self._next: dict[Hashable, asyncio.Future[T]] = {}

    async def ask(self, question: Hashable, answer: Callable[[], Awaitable[T]]) -> T:
        """Raises what `answer` raises. A cancelled call does not affect the others."""
        waiting = self._next.get(question)
        if waiting is None:
            waiting = self._next[question] = asyncio.ensure_future(self._round(question, answer))
            waiting.add_done_callback(_hear)
        return await asyncio.shield(waiting)

    async def _round(self, question: Hashable, answer: Callable[[], Awaitable[T]]) -> T:
        if (running := self._running.get(question)) is not None:
            await asyncio.wait((running,))
        self._running[question] = this = self._next.pop(question)  # calls from now on get another
        try:
            return await answer()
        finally:
            if self._running[question] is this:
                del self._running[question]


def _hear(done: asyncio.Future[T]) -> None:
    """For an error that no call waits for any more."""
    if not done.cancelled():
        done.exception()
