"""Tables that were altered without a trace in the binlog, while the binlog has no column names.

Owns: when the server is queried for its columns, and what may be compared with them.
Must not know: how rows are decoded, what happens to a table that differs.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from mysqlddl.reading import Modes
from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.position import Position, has_passed
from syncmgr.job.types.schema import SourceTable, differing
from syncmgr.sources.mysql.address import MysqlAddress, connect, naming_failures, query
from syncmgr.sources.mysql.binlog.nameless import Nameless, unexplained
from syncmgr.sources.mysql.server.server import Server
from syncmgr.sources.mysql.server.tables import quoted, schemas_of

PASSING: Final = frozenset(
    {
        Code.SOURCE_UNREACHABLE,
        Code.SOURCE_LOCKED,
        Code.SOURCE_ACCESS_DENIED,
        Code.SOURCE_GRANT_MISSING,
        Code.SOURCE_TLS,
        Code.SOURCE_CLEAR_PASSWORD,
        Code.PEM_FILE,
    }
)
Known = Callable[[], Mapping[Table, SourceTable]]


@dataclass(frozen=True, slots=True)
class _Answer:
    """The state of the tables, and the end of the binlog after that: every statement that led to it is before that end.
    `named`: since before that the binlog has had column names.
    """

    tables: Mapping[Table, SourceTable]
    end: Position
    named: bool


class UnloggedAlters:
    """Queries every `period` seconds, and at once if a connection begins or the first rows without names arrive.
    Belongs to the thread that reads.
    """

    def __init__(self, period: float, known: Known, nameless: Nameless) -> None:
        """`known`: the tables that are read, as they are at the place read so far."""
        self._period = period
        self._known = known
        self._nameless = nameless
        self._answer: _Answer | None = None
        self._due: float | None = None  # monotonic; None: the binlog has the names
        self._named = True  # what is written from now on
        self._doubted: frozenset[Table] = frozenset()  # that differed at the last query

    def begin(self, *, named: bool) -> None:
        """A connection; `named`: its binlog has column names."""
        self._answer = None
        self._named = named
        self._due = None if named and not self._nameless.tables else time.monotonic()

    def followed(self) -> None:
        """A statement has changed what is known: the answer may be from before it."""
        self._answer = None

    def look(self, address: MysqlAddress, here: Position) -> None:
        """`here`: the place up to which everything is read. Raises SOURCE_SCHEMA for a table whose columns no statement
        explains.

        Rows without names may arrive although the server was set to write them when the connection began.
        """
        if self._due is None and self._nameless.tables:
            self._due = time.monotonic()
        if self._answer is not None and has_passed(here, self._answer.end):
            answer, self._answer = self._answer, None
            self._compare(answer.tables)
            self._settle(answer)
        elif self._due is not None and time.monotonic() >= self._due:
            self._due = time.monotonic() + self._period
            self._answer = self._asked(address)

    def _asked(self, address: MysqlAddress) -> _Answer | None:
        """None if that fails: the stream reports it itself, or the next time will do."""
        try:
            with closing(connect(address)) as connection, naming_failures(address):
                server = Server(address, connection)
                named = server.full_metadata
                self._nameless.asked()
                for table in self._doubted:  # a running statement blocks all others from its table
                    query(connection, f"SELECT 1 FROM {quoted(table)} LIMIT 0")  # noqa: S608 - quoted
                folds = int(server.variables["lower_case_table_names"]) > 0
                tables = _as_known(schemas_of(connection, tuple(self._watched())), self._watched(), folds=folds)
                return _Answer(tables, server.latest(), named)
        except SyncError as error:
            if error.code not in PASSING:
                raise
            return None

    def _watched(self) -> Mapping[Table, SourceTable]:
        """Rows with names are read by them, whatever the last known state of the table."""
        known = self._known()
        return {table: known[table] for table in known if not self._named or table in self._nameless.tables}

    def _compare(self, tables: Mapping[Table, SourceTable]) -> None:
        """A difference counts once it was seen twice: a statement may be in the binlog before its result is visible."""
        doubted, self._doubted = self._doubted, frozenset()
        for table, known in self._watched().items():
            found = tables.get(table)
            difference = None if found is None else differing(known, found)
            if difference is not None and table not in doubted:
                self._doubted |= {table}
                self._due = time.monotonic()
            elif difference is not None:
                raise unexplained(table, difference)

    def _settle(self, answer: _Answer) -> None:
        """Rows without names were read by the present columns; the next ones have names."""
        self._named = answer.named
        if answer.named:
            self._nameless.settle(answer.tables.keys() - self._doubted)
        if answer.named and not self._nameless.tables:
            self._due = None


def _as_known(found: Mapping[Table, SourceTable], known: Iterable[Table], *, folds: bool) -> dict[Table, SourceTable]:
    """By the names under which they are known here, which may be spelled differently if the server `folds` names."""
    folded = Modes(folds=folds).folded
    answers = {folded(table): schema for table, schema in found.items()}
    return {table: answers[folded(table)] for table in known if folded(table) in answers}
