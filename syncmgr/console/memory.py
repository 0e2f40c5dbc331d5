"""The memory that connections hold beyond a statement.

Owns: how many bytes one of them and all together may hold.
Must not know: what is held.
"""

import sys

from syncmgr.console.limits import Limits
from syncmgr.errors import Code, SyncError


class Memory:
    """Of all connections. Used only on the event loop."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.held = 0


class Share:
    """That of one connection; `close` gives all of it back."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.held = 0

    def hold(self, size: int) -> None:
        """Raises MEMORY_FULL."""
        if self.held + size > self._memory.limits.max_connection_bytes:
            raise SyncError(Code.MEMORY_FULL, who="This connection holds", name="max_connection_bytes")
        self._hold(size)

    def hold_rows(self, size: int) -> None:
        """Bytes of a result, which are released as soon as the client reads. The client does not choose how many come
        at once, so they are only bounded together with those of all others. Raises MEMORY_FULL.
        """
        self._hold(size, who="Rows that clients have yet to read and what connections hold take")

    def _hold(self, size: int, *, who: str = "All connections together hold") -> None:
        if self._memory.held + size > self._memory.limits.max_console_bytes:
            raise SyncError(Code.MEMORY_FULL, who=who, name="max_console_bytes")
        self.held += size
        self._memory.held += size

    def holds(self, size: int) -> bool:
        """The same, without an error."""
        try:
            self.hold(size)
        except SyncError:
            return False
        return True

    def give_back(self, size: int) -> None:
        self.held -= size
        self._memory.held -= size

    def close(self) -> None:
        self.give_back(self.held)

    @property
    def of_all(self) -> int:
        return self._memory.held


def size_of(*values: object) -> int:
    """The memory of plain values, with their slot in a table."""
    return sum(map(sys.getsizeof, values)) + 200
