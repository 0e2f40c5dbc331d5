"""The tables of a job whose rows are not in the targets yet.

Owns: which of them are to be read, with a key or without one, and which failed.
Must not know: how rows are read, threads.
"""

from syncmgr.errors import SyncError
from syncmgr.job.channel.channel_state import ChannelState, Rows
from syncmgr.pipeline.standings import Standings


class MissingRows:
    """By channel token, as the standings are now. Safe to use from any thread."""

    def __init__(self, standings: Standings) -> None:
        self._standings = standings

    def all(self) -> dict[str, Rows]:
        return {token: each.rows for token, each in self._standings.all().items() if each.rows is not None}

    def _wanted(self) -> dict[str, Rows]:
        """Those that are to be read: one that is stopped waits for RESYNC."""
        states = self._standings.all()
        return {token: rows for token, rows in self.all().items() if states[token].state is ChannelState.SNAPSHOT}

    def with_key(self) -> set[str]:
        """Of those that are to be read."""
        return {token for token, rows in self._wanted().items() if not rows.exact}

    def without_key(self) -> set[str]:
        """Of those that are to be read."""
        return {token for token, rows in self._wanted().items() if rows.exact}

    def failures(self) -> dict[str, SyncError]:
        """Of those that are retried."""
        reads = [(t, each.error) for t, each in self._standings.all().items() if each.state is ChannelState.SNAPSHOT]
        return {token: error for token, error in reads if error is not None}
