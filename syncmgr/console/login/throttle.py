"""The brake on guessing passwords.

Owns: how long a login waits for its verdict, right or wrong, and when it is refused without one. By account and address
together; for newcomers also by address, and by account.
Must not know: packets, sockets, clocks, which accounts there are: unknown names are counted as known ones.
"""

import ipaddress
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

FREE: Final = 3  # failures of an account at an address before the first delay
FREE_OF_ADDRESS: Final = 20
FREE_OF_ACCOUNT: Final = 50
FIRST: Final = 0.1
LONGEST: Final = 5.0
LONGEST_OF_ADDRESS: Final = 2.0
SPACING: Final = 0.5  # between two verdicts about an account whose password is being guessed from many addresses
FORGET: Final = 60.0
KEPT: Final = 10_000  # counts of each kind
LOOKED_AT: Final = 16  # of those that were counted longest ago, the smallest is dropped
OF_IPV6: Final = 64  # bits of an address that one client has


@dataclass(slots=True)
class _Count:
    failures: int = 0
    last: float = 0.0
    until: float = 0.0  # refused, or the next verdict of an account
    refusals: int = 0


class _Counts:
    """The failures of each key, the latest last. Untrusted clients choose the keys, so their number is bounded."""

    def __init__(self, forget: float) -> None:
        self._forget = forget
        self._of: OrderedDict[tuple[str, ...], _Count] = OrderedDict()

    def get(self, key: tuple[str, ...], now: float) -> _Count:
        count = self._of.get(key)
        return _Count() if count is None or now - count.last > self._forget else count

    def add(self, key: tuple[str, ...], now: float) -> _Count:
        count = self.get(key, now)
        count.failures, count.last = count.failures + 1, now
        self._of[key] = count
        self._of.move_to_end(key)
        if len(self._of) > KEPT:
            oldest = [each for each, _ in zip(self._of, range(LOOKED_AT), strict=False)]
            del self._of[min(oldest, key=lambda each: self._of[each].failures)]
        return count

    def clear(self, key: tuple[str, ...]) -> None:
        self._of.pop(key, None)

    def __len__(self) -> int:
        return len(self._of)


class Throttle:
    """Times in seconds. `most_failures` in a row of an account at an address refuse it for `refuse_second`."""

    def __init__(self, *, most_failures: int, refuse_second: float) -> None:
        self._most = most_failures
        self._refuse_second = refuse_second
        self._pairs = _Counts(FORGET + refuse_second)
        self._addresses = _Counts(FORGET)
        self._accounts = _Counts(FORGET)
        self._known: OrderedDict[tuple[str, ...], None] = OrderedDict()

    def refused(self, name: str, host: str, *, now: float) -> float:
        """Seconds for which no password is checked; 0: it is."""
        return max(self._pairs.get((name, network(host)), now).until - now, 0.0)

    def failures_left(self, name: str, host: str, *, now: float) -> int | None:
        """Until the account is refused there, or refused again: after a refusal one is checked. None: it never is."""
        return max(self._most - self._pairs.get((name, network(host)), now).failures, 1) if self._most else None

    def is_news(self, name: str, host: str, *, now: float) -> bool:
        """Count a login that was refused in this way: whether to log it, which is done ever more rarely."""
        count = self._pairs.get((name, network(host)), now)
        count.refusals += 1
        return count.refusals & (count.refusals - 1) == 0

    def delay(self, name: str, host: str, *, now: float) -> float:
        """How long the verdict about a password waits."""
        pair = name, network(host)
        own = _doubled(self._pairs.get(pair, now).failures - FREE, LONGEST)
        if pair in self._known:
            return own
        address = _doubled(self._addresses.get(pair[1:], now).failures - FREE_OF_ADDRESS, LONGEST_OF_ADDRESS)
        return max(own, address, self._slot(name, now))

    def _slot(self, name: str, now: float) -> float:
        """A guesser with many addresses waits in one queue."""
        count = self._accounts.get((name,), now)
        if count.failures <= FREE_OF_ACCOUNT:
            return 0.0
        count.until = max(count.until, now) + SPACING
        return count.until - now

    def failed(self, name: str, host: str, *, now: float) -> int:
        """How many in a row of this account at this address."""
        address = network(host)
        self._addresses.add((address,), now)
        self._accounts.add((name,), now)
        count = self._pairs.add((name, address), now)
        if self._most and count.failures >= self._most:
            count.until, count.refusals = now + self._refuse_second, 0
        return count.failures

    def succeeded(self, name: str, host: str) -> None:
        """Only of this account at this address: a guesser may have an account, too."""
        pair = name, network(host)
        self._pairs.clear(pair)
        self._known[pair] = None
        self._known.move_to_end(pair)
        if len(self._known) > KEPT:
            self._known.popitem(last=False)

    def knows(self, host: str) -> bool:
        """Whether a login from there has succeeded."""
        address = network(host)
        return any(each[1] == address for each in self._known)


def network(host: str) -> str:
    """The addresses of one client: with IPv6 each has a whole network."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped or ipaddress.ip_network((address, OF_IPV6), strict=False))
    return host


def _doubled(beyond: int, longest: float) -> float:
    return 0.0 if beyond < 0 else min(FIRST * 2.0 ** min(beyond, 10), longest)
