"""Turns at calls of which only a few may run at the same time.

Owns: how many calls run, in all and per key, and which waiting one is next: keys take turns, however many calls each
has.
Must not know: what is called, what a key stands for.
"""

import asyncio
import contextlib
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import TypeVar

T = TypeVar("T")


class Turns:
    """Lives on the event loop. A call that its caller has given up keeps its place until its thread has ended."""

    def __init__(self, at_once: int, *, per_key: int | None = None) -> None:
        self._at_once, self._per_key = at_once, per_key or at_once
        self._running: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    async def run(self, key: str, submit: Callable[[], Future[T]]) -> T:
        """The result of the call that `submit` begins in a thread, once it is the turn of `key`."""
        return await asyncio.wrap_future(await self.begun(key, submit))

    async def begun(self, key: str, submit: Callable[[], Future[T]]) -> Future[T]:
        """The call that `submit` begins in a thread, once it is the turn of `key`."""
        await self._turn(key)
        loop = asyncio.get_running_loop()
        try:
            begun = submit()
        except BaseException:
            self._next(key)
            raise
        begun.add_done_callback(lambda _: _soon(loop, partial(self._next, key)))
        return begun

    def _may(self, key: str) -> bool:
        return self._running.total() < self._at_once and self._running[key] < self._per_key

    async def _turn(self, key: str) -> None:
        if self._may(key):
            self._running[key] += 1
            return
        mine = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.cancelled():
                self._leave(key, mine)
            else:  # the turn had come at that moment
                self._next(key)
            raise

    def _leave(self, key: str, mine: asyncio.Future[None]) -> None:
        """Removes a call that was given up, unless it was already skipped."""
        queue = self._waiting.get(key, deque())
        if mine in queue:
            queue.remove(mine)
        if not queue:
            self._waiting.pop(key, None)

    def _next(self, key: str) -> None:
        """A call of `key` has ended. Calls that were given up are skipped."""
        self._running[key] -= 1
        if not self._running[key]:
            del self._running[key]
        while (chosen := next(filter(self._may, self._waiting), None)) is not None:
            queue = self._waiting.pop(chosen)
            mine = queue.popleft()
            if queue:
                self._waiting[chosen] = queue  # after the others
            if not mine.done():
                self._running[chosen] += 1
                mine.set_result(None)


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended, and no call waits any more
        loop.call_soon_threadsafe(call)
