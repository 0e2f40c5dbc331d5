"""The states of the tables of a run.

Owns: the one state of each of its channels.
Must not know: what a state allows, what changes it.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from syncmgr.errors import SyncError
from syncmgr.job.channel.channel_state import Standing, obstacle, resting
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.overview import rows_of
from syncmgr.job.snapshot.chunk import Load


class Standings:
    """By channel token. Safe to use from any thread."""

    def __init__(
        self, channels: Sequence[ChannelDescription], loads: Mapping[str, Load] = MappingProxyType({})
    ) -> None:
        """As the stored facts say; waiting changes are reported later."""
        self._lock = threading.Lock()
        self._tables = {channel.token: channel.source.label for channel in channels}
        self._known = {
            channel.token: resting(
                stop=channel.history.stopped, rows=rows_of(channel, loads.get(channel.token), begun=False)
            )
            for channel in channels
        }

    def __getitem__(self, token: str) -> Standing:
        return self._known[token]

    def all(self) -> dict[str, Standing]:
        return dict(self._known)

    def change(self, token: str, step: Callable[[Standing], Standing]) -> None:
        """`step`: what happened to the table."""
        with self._lock:
            self._known[token] = step(self._known[token])

    def obstacle(self, token: str) -> SyncError | None:
        """Why changes of a table are not committed; None: they are, or will be by themselves."""
        return obstacle(self._known[token], self._tables[token])
