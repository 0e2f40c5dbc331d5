"""The place of canal's stream, entry by entry.

Owns: the place of each entry, and that the place of consecutive rows is determined only when needed.
Must not know: transactions, rows, what happens to an entry.
"""

from typing import Final

from syncmgr.sources.canal.entry_position import EntryPosition, place_of
from syncmgr.sources.canal.history import CanalHistory
from syncmgr.sources.canal.proto import entry_pb2
from syncmgr.sources.canal.trail import Trail

START: Final = EntryPosition(file="", offset=0, length=0, number=0, counted=False, server="", time=0, gtid="", gtids="")


class EntryPlaces:
    """Of one connection after the other. `last`: of the last entry that was taken; `offset`: the same, even if its
    place was not determined yet.
    """

    def __init__(self, history: CanalHistory) -> None:
        self._history = history
        self.restart()

    def restart(self) -> None:
        """A new connection."""
        self.trail = Trail()
        self.last = self._at = START
        self.offset = 0
        self._unsettled: entry_pb2.Header | None = None

    def follows(self, header: entry_pb2.Header) -> bool:
        """Whether an entry is after the last one in its file, as rows of one transaction are; then it is passed."""
        if header.logfileOffset <= self.offset or header.logfileName != self.last.file:
            return False
        self.passed(header)
        return True

    def passed(self, header: entry_pb2.Header) -> None:
        """Consecutive rows, up to this one."""
        self._unsettled, self.offset = header, header.logfileOffset

    def settle(self) -> None:
        """The place of the last entry, if it was not determined yet."""
        header, self._unsettled = self._unsettled, None
        if header is not None:
            self.last = self._at = place_of(header, 1, counted=True)
            self.trail.passed(self._at)
            self._history.passed(self._at)

    def next(self, header: entry_pb2.Header, *, begins: bool) -> EntryPosition:
        """The place of an entry, whether it will be taken or not."""
        self.settle()
        before = self._at
        if not begins and (before.file, before.offset) == (header.logfileName, header.logfileOffset):
            self._at = place_of(header, before.number + 1, counted=before.counted)
        else:
            self._at = place_of(header, 1, counted=begins or before is not START)
        return self._at

    def took(self, at: EntryPosition) -> None:
        self.last, self.offset = at, at.offset
