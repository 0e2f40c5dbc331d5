"""Connections for queries that may all be given up.

Owns: how one is opened and closed, and that a thread that waits on one of them is notified.
Must not know: what is queried.
"""

import contextlib
from collections.abc import Iterator

from syncmgr.sources.cancellation import Cancellation
from syncmgr.sources.mysql.address import Connection, MysqlAddress, connect


class Sessions:
    """Each may be used by one thread; `give_up` may be called from any."""

    def __init__(self) -> None:
        self._asking = Cancellation()

    @contextlib.contextmanager
    def open(self, address: MysqlAddress) -> Iterator[Connection]:
        """Raises INTERRUPTED instead of any error that ends its context once they are given up."""
        with self._asking.interrupted():
            connection = connect(address, self._asking.opened)
            try:
                yield connection
            finally:
                connection.close()

    def give_up(self) -> None:
        """All present and future ones. Returns at once."""
        self._asking.give_up()
