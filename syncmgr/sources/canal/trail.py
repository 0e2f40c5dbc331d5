"""Where canal's stream goes back while its connection stays: its parser has reconnected to a server.

Owns: whether an entry goes back, and whether to a place at which the stream has been.
Must not know: what was taken, transactions, batches.
"""

from enum import StrEnum
from typing import Final

from syncmgr.job.position import numbered
from syncmgr.sources.canal.entry_position import EntryPosition

MARKS: Final = 64  # of one transaction, and of the statements between it and the one before


class Step(StrEnum):
    """How an entry follows the one before it."""

    ON = "ON"
    BACK = "BACK"  # a lone END: only the entry after it can show where to
    AGAIN = "AGAIN"  # to where the stream has been: the same binlogs
    AWAY = "AWAY"  # to anywhere else


class Trail:
    """Is told of every entry of a connection, but of consecutive rows only the last one.

    Canal's parser goes on at the END that it passed last, or right after it, if it reads the same server again. Canal
    leaves out a BEGIN, or an END, that is not next to a row: so what was delivered last counts, not what is in the
    binlog.
    """

    def __init__(self) -> None:
        self._last: EntryPosition | None = None
        self._inside: EntryPosition | None = None  # the last that was not an END
        self._ended = self._judging = False
        self._marks: set[tuple[str, int, int]] = set()  # since the last END after rows
        self._before: set[tuple[str, int, int]] = set()  # the same, one END earlier

    def passed(self, at: EntryPosition) -> None:
        """Consecutive rows, up to this one."""
        self._last = self._inside = at

    def step(self, at: EntryPosition, *, begins: bool, ends: bool) -> Step:
        return self._end(at) if ends else self._other(at, begins=begins)

    def _end(self, at: EntryPosition) -> Step:
        if self._judging or (self._inside is not None and _before(at, self._inside)):
            self._judging = True
            return Step.BACK
        if not self._ended and self._last is not None:
            self._before, self._marks = self._marks, set()
        self._last, self._ended = at, True
        return Step.ON

    def _other(self, at: EntryPosition, *, begins: bool) -> Step:
        back = self._judging or _goes_back(at, self._last, begins=begins)
        mark = (at.file, at.offset, at.time)
        step = Step.ON
        if back:
            step = Step.AGAIN if mark in self._marks or mark in self._before else Step.AWAY
        if step is Step.AWAY:
            self._before, self._marks = set(), set()
        if begins or len(self._marks) < MARKS:
            self._marks.add(mark)
        self._last = self._inside = at
        self._ended = self._judging = False
        return step


def _goes_back(at: EntryPosition, last: EntryPosition | None, *, begins: bool) -> bool:
    if last is None:
        return False
    if begins and (at.file, at.offset) == (last.file, last.offset):
        return True
    return (begins and at.gtid != "" and at.gtid == last.gtid) or _before(at, last)


def _before(at: EntryPosition, other: EntryPosition) -> bool:
    """Whether it is before the other one, or in no file of its kind."""
    mine, its = numbered(at.file), numbered(other.file)
    if mine is None or its is None or mine[0] != its[0]:
        return at.file != other.file
    return (mine[1], at.offset) < (its[1], other.offset)
