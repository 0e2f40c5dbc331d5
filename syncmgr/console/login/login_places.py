"""The places of connections that are not logged in.

Owns: how many there are, in all and for each address, and which one is dropped when a client arrives and none is free:
the one that has been silent longest. So silent clients cost the others nothing, however many there are.
Must not know: sockets, passwords, accounts.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from syncmgr.console.limits import Limits
from syncmgr.console.login.throttle import network
from syncmgr.errors import Code, SyncError


@dataclass(slots=True)
class _Place:
    address: str
    silent: bool = True


class LoginPlaces:
    """By the id of the connection, in order of arrival. Used only on the event loop."""

    def __init__(self, limits: Limits, knows: Callable[[str], bool]) -> None:
        """`knows`: whether a login from an address has succeeded, for which places are kept."""
        self._limits = limits
        self._knows = knows
        self._places: dict[int, _Place] = {}

    def enter(self, connection: int, host: str) -> int | None:
        """The connection that is dropped for this one, if any. Raises TOO_MANY_CONNECTIONS."""
        address, leaving = network(host), None
        crowd = self._crowd(host, address)
        if crowd:
            leaving = self._silent(crowd)
            if leaving is None:
                raise SyncError(Code.TOO_MANY_CONNECTIONS)
            del self._places[leaving]
        self._places[connection] = _Place(address)
        return leaving

    def _crowd(self, host: str, address: str) -> list[str]:
        """The addresses of which one connection has to be dropped before this one is accepted."""
        if self._of(address) >= self._limits.max_logins_per_address:
            return [address]
        kept = self._limits.reserved_logins if self._knows(host) else 0
        return self._by_places() if len(self._places) >= self._limits.max_logins + kept else []

    def spoke(self, connection: int) -> None:
        """It has identified itself."""
        place = self._places.get(connection)
        if place is not None:
            place.silent = False

    def leave(self, connection: int) -> None:
        self._places.pop(connection, None)

    def _of(self, address: str) -> int:
        return sum(place.address == address for place in self._places.values())

    def _by_places(self) -> list[str]:
        """The addresses, those with the most connections first."""
        return [address for address, _ in Counter(place.address for place in self._places.values()).most_common()]

    def _silent(self, addresses: Iterable[str]) -> int | None:
        """The one that has been silent longest, of the first of these addresses that has one."""
        for address in addresses:
            for connection, place in self._places.items():
                if place.silent and place.address == address:
                    return connection
        return None
