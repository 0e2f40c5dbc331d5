"""Connections for questions that may all be given up.

Owns: how one is opened and closed, and that who waits on one of them is told.
Must not know: what is asked.
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
        """Raises INTERRUPTED in place of whatever error its context ends with once they are given up."""
        with self._asking.interrupted():
            connection = connect(address, self._asking.opened)
            try:
                yield connection
            finally:
                connection.close()

    def give_up(self) -> None:
        """All that are open, and will be. Returns at once."""
        self._asking.give_up()
