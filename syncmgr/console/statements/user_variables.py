"""The user variables of a session: @name.

Owns: their number and bytes, which count as memory of the connection.
Must not know: how a value is made.
"""

from typing import Final

from syncmgr.console.memory import Share, size_of
from syncmgr.errors import Code, SyncError

MAX_USER_VARIABLES: Final = 1000

Value = int | str | None


class UserVariables:
    """By name in lower case."""

    def __init__(self, share: Share) -> None:
        self._share = share
        self._values: dict[str, Value] = {}

    def get(self, name: str) -> Value:
        return self._values.get(name)

    def has_room(self) -> None:
        """Raises NOT_SUPPORTED if the maximum number exists."""
        if len(self._values) >= MAX_USER_VARIABLES:
            raise SyncError(Code.NOT_SUPPORTED, what=f"more than {MAX_USER_VARIABLES} user variables")

    def set(self, name: str, value: Value) -> None:
        """Raises MEMORY_FULL."""
        if name in self._values:
            self._share.give_back(size_of(name, self._values.pop(name)))
        self._share.hold(size_of(name, value))
        self._values[name] = value

    def clear(self) -> None:
        self._share.give_back(sum(size_of(*each) for each in self._values.items()))
        self._values.clear()
