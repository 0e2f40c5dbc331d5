"""Turns at what few may do at one time.

Owns: how many calls run, and who of those that wait is next: each key in its turn, whoever has more of them.
Must not know: what is called, what a key stands for.
"""

import asyncio
import contextlib
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class Turns:
    """Lives on the event loop. A call that its asker has given up keeps its place until its thread has ended."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._running = 0
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    async def run(self, key: str, submit: Callable[[], Future[T]]) -> T:
        """What the call gives that `submit` begins in a thread, once it is the turn of `key`."""
        await self._turn(key)
        loop = asyncio.get_running_loop()
        try:
            begun = submit()
        except BaseException:
            self._next()
            raise
        begun.add_done_callback(lambda _: _soon(loop, self._next))
        return await asyncio.wrap_future(begun)

    async def _turn(self, key: str) -> None:
        if self._running < self._at_once:
            self._running += 1
            return
        mine = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if not mine.cancelled():  # the turn had come just then
                self._next()
            raise

    def _next(self) -> None:
        """A call has ended. Who has given up is passed over."""
        self._running -= 1
        while self._waiting and self._running < self._at_once:
            key, queue = self._waiting.popitem(last=False)
            mine = queue.popleft()
            if queue:
                self._waiting[key] = queue  # behind the others
            if not mine.done():
                self._running += 1
                mine.set_result(None)


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended, and with it whoever waited
        loop.call_soon_threadsafe(call)
