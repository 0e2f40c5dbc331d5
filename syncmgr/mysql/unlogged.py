"""Statements that a session has logged in place of the rows that they changed.

Owns: what is known of objects at this place of the stream; that nothing is asked before such a statement comes.
Must not know: how a server is asked, which statement leads where.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Final, assert_never

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl import Table
from syncmgr.job.invalidation import Late, after
from syncmgr.job.reach import Reach, reach
from syncmgr.job.statement.reading import Modes
from syncmgr.job.statement.writing import selected, stands_for_rows
from syncmgr.job.surroundings import Answers, Known, Unasked, told
from syncmgr.mysql.events import Query

Ask = Callable[[Unasked, Modes], Answers]  # of as many as it can; raises StreamLostError where of none
SHOWN: Final = 200  # characters of a statement in an error
LATE: Final = (
    "the server was asked before this statement was read, and had run it; compare the tables of the job with the"
    " source, ALTER SYNC JOB ... RESYNC TABLE those that differ, and RESUME"
)


class Unlogged:
    """Used by one thread, through the whole life of a source."""

    def __init__(self, address: str, ask: Ask) -> None:
        self._address = address
        self._ask = ask
        self._known = Known()

    def heed(self, query: Query, modes: Modes, tables: Collection[Table], at: int) -> bool:
        """Whether it is such a statement, and not DDL; `at`: its second.

        Raises SOURCE_NOT_ROW, SOURCE_UNSEEN where rows of these tables may have changed by it.
        """
        if stands_for_rows(query.text, modes):
            self._refuse(query, modes, tables)
            return True
        if text := selected(query.text, modes):
            self._refuse(replace(query, text=text), modes, tables)
        self._shaped(query, modes, at)
        return False

    def _refuse(self, query: Query, modes: Modes, tables: Collection[Table]) -> None:
        while tables:
            found = reach(query.text, query.db, modes, tables, self._known, query.thread)
            match found:
                case None:
                    return
                case Unasked():
                    self._known = told(self._known, self._ask(found, modes))
                case Reach(unknown=""):
                    value = f"not ROW in a session that {found.how} ({query.text[:SHOWN]})"
                    raise SyncError(Code.SOURCE_NOT_ROW, value=value, address=self._address, tables=found.tables)
                case Reach():
                    raise self._unseen(query, found.how, found.unknown)
                case _:
                    assert_never(found)

    def _shaped(self, query: Query, modes: Modes, at: int) -> None:
        found = after(self._known, query.text, query.db, modes, at=at, thread=query.thread)
        if isinstance(found, Late):
            names = ", ".join(f"'{db}.{name}'" for db, name in found.tables[:5])
            raise self._unseen(query, f"has written or read {names} before what the statement says", LATE)
        self._known = found

    def _unseen(self, query: Query, how: str, reason: str) -> SyncError:
        facts = {"how": how, "reason": reason, "statement": query.text[:SHOWN]}
        return SyncError(Code.SOURCE_UNSEEN, address=self._address, **facts)
