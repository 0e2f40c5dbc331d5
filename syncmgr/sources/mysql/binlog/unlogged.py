"""Statements that a session has logged instead of the rows that they changed.

Owns: what is known of objects at this place of the stream; that nothing is queried before such a statement arrives, and
no answer is used before its time is stored.
Must not know: how a server is queried, which statement leads where.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Final

from mysqlddl.reading import Modes
from mysqlddl.writing import selected, stands_for_rows
from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.objects.invalidation import MOST, Late, Place, after
from syncmgr.job.objects.reach import Reach, reach
from syncmgr.job.objects.surroundings import Answers, Known, Unasked, own_tables, unasked, used, with_answers
from syncmgr.job.position import Position
from syncmgr.sources.mysql.binlog.events import Query
from syncmgr.sources.mysql.binlog.sessions import Begun

Ask = Callable[[Unasked, Modes], Answers]  # of as many as it can; raises StreamLostError if of none
Keep = Callable[[int], None]  # the second of an answer, which survives every end of this process
SHOWN: Final = 200  # characters of a statement in an error
MOST_NAMES: Final = 5
NOT_KNOWN: Final = "used objects that are not known any more"


class Unlogged:
    """Used by one thread, through the whole life of a source."""

    def __init__(self, address: str, ask: Ask, keep: Keep = lambda _: None, *, asked_until: int = 0) -> None:
        """`asked_until`: what an earlier process last stored; 0: nothing."""
        self._address = address
        self._ask = ask
        self._keep = keep
        self._kept = asked_until
        self._known = Known(forgotten=asked_until)
        self._begun: Begun | None = None  # sessions of which nothing has passed unseen
        self._newest: Begun | None = None  # those that begin after the last connection

    def heed(
        self, query: Query, modes: Modes, tables: Collection[Table], at: int, before: Position | None = None
    ) -> bool:
        """Whether it is such a statement, and not DDL; `at`: its second, `before`: where it begins.

        Raises SOURCE_NOT_ROW, SOURCE_UNSEEN if rows of these tables may have changed by it, SOURCE_LATE if an earlier
        one was judged by the result of this one.
        """
        if stands_for_rows(query.text, modes):
            self._refuse(query, modes, tables)
            return True
        if not tables:  # they are read after it, and after all that was judged before
            self._known = unasked(self._known)
        place = Place(at=at, before=before, session=query.session, temporary=query.temporary)
        self._shaped(query, modes, tables, place)
        if text := selected(query.text, modes):
            self._refuse(replace(query, text=text), modes, tables)
        return False

    def own_tables(self, query: Query) -> frozenset[Table]:
        """The temporary ones of its session, before `heed` has processed it."""
        return own_tables(self._known, query.session)

    def connected(self, begun: Begun | None) -> None:
        """`begun`: the sessions that begin after it; None: it is not known which do."""
        self._newest, self._begun = begun, self._begun or begun

    def forget_sessions(self) -> None:
        """Earlier sessions may have ended unseen."""
        self.sessions_ended(self._newest)

    def sessions_ended(self, begun: Begun | None = None) -> None:
        """All earlier sessions ended, since their server did; `begun`: those of it since."""
        self._known = replace(self._known, temporary=frozenset())
        self._begun = begun

    def knows_session(self, query: Query, here: Position) -> bool:
        """Whether all temporary tables of its session are known. `here`: where it begins."""
        return self._begun is not None and self._begun.has(query.thread, query.origin, here)

    def _refuse(self, query: Query, modes: Modes, tables: Collection[Table]) -> None:
        found = self._reached(query, modes, tables)
        if found is not None and found.unknown:
            facts = {"how": found.how, "reason": found.unknown, "statement": query.text[:SHOWN]}
            raise SyncError(Code.SOURCE_UNSEEN, address=self._address, **facts)
        if found is not None:
            value = f"not ROW in a session that {found.how} ({query.text[:SHOWN]})"
            value += self._first(query, modes, tables, found)
            raise SyncError(Code.SOURCE_NOT_ROW, value=value, address=self._address, tables=found.tables)

    def _reached(self, query: Query, modes: Modes, tables: Collection[Table]) -> Reach | None:
        """None if it has changed no row of these."""
        own = self.own_tables(query) if query.temporary else frozenset[Table]()
        while tables:
            found = reach(query.text, query.db, modes, tables, self._known, own)
            if not isinstance(found, Unasked):
                return found
            self._known = with_answers(self._known, self._answers(found, modes))
        return None

    def _first(self, query: Query, modes: Modes, tables: Collection[Table], found: Reach) -> str:
        """What SOURCE_UNSEEN would say of the others once these are read again: it has to be done before RESUME."""
        left, then = list(tables), found
        while then.tables and not then.unknown:
            others = [table for table in left if modes.folded(table) not in then.tables]
            reached = self._reached(query, modes, others)
            if reached is None or len(others) == len(left):
                return ""
            left, then = others, reached
        if not then.unknown:
            return ""
        return f"; whether it changes others of the job is not known, so do this first: {then.unknown}"

    def _answers(self, unasked: Unasked, modes: Modes) -> Answers:
        answers = self._ask(unasked, modes)
        if answers.at > self._kept:
            self._keep(answers.at)
            self._kept = answers.at
        return answers

    def _shaped(self, query: Query, modes: Modes, tables: Collection[Table], place: Place) -> None:
        found = after(self._known, query.text, query.db, modes, place, [modes.folded(table) for table in tables])
        if isinstance(found, Late):
            done = used(self._known, found.tables[:MOST_NAMES]) or NOT_KNOWN
            raise SyncError(Code.SOURCE_LATE, address=self._address, done=done, statement=query.text[:SHOWN])
        if len(self._known.temporary) >= MOST and not found.temporary:
            self._begun = None  # too many to keep: what sessions have is no longer known
        self._known = found
