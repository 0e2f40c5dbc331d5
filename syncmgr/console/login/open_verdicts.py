"""Clients that know that their scramble did not match, and have not sent the password or left yet.

Owns: how many of an account at an address there may be, and which wait until one of them is done. Each has learned
whether a guess was right before its failure is counted, so they and the failures together stay within the throttle's
limit; a right password waits like the wrong ones, otherwise the wait would distinguish them.
Must not know: packets, passwords, how long a verdict is delayed.
"""

import asyncio
import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import Iterator

from syncmgr.console.login.throttle import Throttle, network

Pair = tuple[str, str]


class OpenVerdicts:
    """Of all connections. Lives on the event loop."""

    def __init__(self, throttle: Throttle) -> None:
        self._throttle = throttle
        self._open: Counter[Pair] = Counter()
        self._waiting: defaultdict[Pair, set[asyncio.Future[None]]] = defaultdict(set)

    async def has_room(self, name: str, host: str) -> None:
        """Returns when one more client may know, or when the account is refused there."""
        pair = name, network(host)
        while self._is_full(name, host, pair):
            mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting[pair].add(mine)
            try:
                await mine
            finally:
                self._waiting[pair].discard(mine)
                if not self._waiting[pair]:
                    del self._waiting[pair]

    def _is_full(self, name: str, host: str, pair: Pair) -> bool:
        now = time.monotonic()
        left = self._throttle.failures_left(name, host, now=now)
        return left is not None and self._open[pair] >= left and not self._throttle.refused(name, host, now=now)

    @contextlib.contextmanager
    def one(self, name: str, host: str) -> Iterator[None]:
        """One client that knows."""
        pair = name, network(host)
        self._open[pair] += 1
        try:
            yield
        finally:
            self._open[pair] -= 1
            if not self._open[pair]:
                del self._open[pair]
            for each in self._waiting.get(pair, set()):
                if not each.done():
                    each.set_result(None)
