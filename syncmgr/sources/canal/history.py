"""How canal's stream relates to what was taken before.

Owns: whether an entry is old, whether anything is missing before the first one that is not, when history is another.
Must not know: transactions' rows, batches, sockets.
"""

from collections.abc import Mapping
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.position import Position
from syncmgr.sources.canal.entry_position import EntryPosition, Relation, Taken
from syncmgr.sources.canal.synced import Truth

BACK_SECOND: Final = 10  # the clocks of two servers of one history differ by less than canal's step back of 60 s


class RewindError(Exception):
    """Entries treated as old belong to another history: everything has to be delivered again."""


class CanalHistory:
    """Follows the stream entry by entry. Raises SyncError, RewindError."""

    def __init__(self, tables: Mapping[Table, Truth], start: Position, *, label: str) -> None:
        self._tables = tables
        self._keyed = all(truth.keyed for truth in tables.values())
        self._label = label
        self._taken = Taken(start)
        self._time = start.time
        self._apart_until = 0
        self._ended = 0  # the time of the last END
        self.restart()

    def restart(self, *, trusted: bool = True) -> None:
        """A new connection. `trusted` False: none of it is treated as old."""
        self._trusted = trusted
        self._joined = self._dropped = self._met = False
        self._doubted = False  # by a coordinate alone

    @property
    def position(self) -> Position:
        return self._taken.position

    @property
    def inside(self) -> bool:
        """Whether the position is inside a transaction, a part of which was taken."""
        return self._taken.inside

    @property
    def doubtful(self) -> bool:
        """Whether what was dropped may belong to another server, and be needed again: nothing has matched the position
        yet.

        Without a key it is never taken, but stops the job.
        """
        return self._doubted and not self._met and not self._joined and self._keyed

    def is_old(self, at: EntryPosition, *, begins: bool, ends: bool) -> bool:
        """Whether it was taken before. If it was not, everything before it was."""
        relation = self._taken.relation_to(at, trusted=self._trusted)
        if relation is Relation.OLD:
            self._dropped = True
            self._doubted |= not self._taken.knows(at)
            self._ended = at.time if ends else self._ended
            self.meet(at)
            return True
        if self._taken.tears(at):
            raise self._lost(f"canal goes on with {at.gtid}, and the rest of a transaction that it tore did not come")
        if not self._joined:
            self._join(at, begins=begins)
        if relation is Relation.ELSEWHERE:
            self._apply_again(at)
        self.passed(at)
        return False

    def meet(self, at: EntryPosition) -> None:
        """An entry that is not taken may be the one at the position."""
        self._met |= self._taken.ends_at(at)

    def passed(self, at: EntryPosition) -> None:
        self._time = max(self._time, at.time)

    def go_away(self, at: EntryPosition) -> bool:
        """Canal's parser switches to another server: GTIDs show what is old there. Otherwise nothing does, unless it
        begins at the position, and that is not met on the way. Whether coordinates no longer prove anything.
        """
        if self._taken.by_gtid(at):
            self._taken.go_away()
            return False
        if self._taken.ends_at(at):
            return False
        self._joined = True
        self._trusted = not self._taken.position.file
        return not self._trusted

    def end(self, at: EntryPosition, *, acked: bool) -> None:
        """A transaction, or a statement without one, ended with this entry, which is taken."""
        if self._taken.jumps_back(at, BACK_SECOND, ended=self._ended, twice=self._keyed):
            self._apply_again(at)
        self._ended = at.time
        self.passed(at)
        self._taken.behind(at, time=self._time, whole=self._is_whole(at), acked=acked)
        self._trusted = True

    def within(self, at: EntryPosition) -> None:
        """A transaction was taken up to and with this entry."""
        self._taken.within(at, time=self._time)

    def release(self) -> Position:
        """The position again, marked so that canal may forget everything up to it."""
        return self._taken.release()

    def _is_whole(self, at: EntryPosition) -> bool:
        if self._apart_until and at.time > self._apart_until:
            self._apart_until = 0
        return not self._apart_until

    def _join(self, at: EntryPosition, *, begins: bool) -> None:
        """The first entry that is not old: nothing may be missing before it."""
        taken = self._taken.position
        self._joined = True
        if not taken.file or not self._trusted or self._met:
            return
        if taken.ordinal and self._taken.by_gtid(at):
            self._join_torn(at, begins=begins)
            return
        if self._taken.continues(at):
            return
        if self._dropped and at.gtid and taken.gtids:
            return
        if self._dropped or at.time < taken.time - BACK_SECOND:
            self._refuse_again(at)
            raise RewindError
        if taken.acked:
            return  # nothing has to be delivered again
        raise self._lost(f"canal goes on at {at.file}:{at.offset}, and what it delivered last did not come again")

    def _join_torn(self, at: EntryPosition, *, begins: bool) -> None:
        """What was not found is the split transaction from its beginning, in other binlogs: its GTID says so."""
        taken = self._taken.position
        if taken.acked and not begins and not self._dropped and at.file == taken.file:
            return  # nothing has to be delivered again
        if not self._taken.may_be_torn():
            raise self._lost(f"canal goes on with {at.gtid}, and the rest of a transaction that it tore did not come")
        self._refuse_again(at)
        raise RewindError

    def _apply_again(self, at: EntryPosition) -> None:
        """Another history: rows with a key are applied a second time, until it is past the first one."""
        self._refuse_again(at)
        self._apart_until = max(self._apart_until, self._taken.position.time, self._time)
        self._time = at.time

    def _refuse_again(self, at: EntryPosition) -> None:
        unkeyed = [table for table, truth in self._tables.items() if not truth.keyed]
        if unkeyed:
            raise self._lost(
                f"canal goes on in another history of binlogs, at {at.file}:{at.offset}, and rows of "
                f"{'.'.join(unkeyed[0])}, whose target has no key, would be appended twice"
            )

    def _lost(self, reason: str) -> SyncError:
        taken = self._taken.position
        position = taken.gtids or f"{taken.file}:{taken.offset}"
        return SyncError(Code.CANAL_POSITION_LOST, address=self._label, position=position, reason=reason)
