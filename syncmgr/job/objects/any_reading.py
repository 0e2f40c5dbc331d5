"""What a statement may have done to synced tables if nothing is known of its session or its server.

Owns: the union of all that it can mean; which values it may have changed; whether it may have changed rows unseen.
Must not know: canal, positions, what becomes of the job.
"""

import itertools
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from mysqlddl import nodes
from mysqlddl.reading import Modes
from mysqlddl.words import UnclearError
from mysqlddl.writing import written
from syncmgr.job.ddl.alteration import has_charset
from syncmgr.job.ddl.ddl import Concern, Table, cascades, concerned
from syncmgr.job.types.column_type import sized
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.keeping import UNICODE, kept
from syncmgr.job.types.schema import SourceColumn, SourceTable

SESSION: Final = "in a session whose sql_mode is not known"
# whatever may change a value, for each kind of server that may have parsed the text
_READINGS: Final = tuple(
    Modes(mariadb=mariadb, dates_nulls=True, pads=True, short_reals=True) for mariadb in (False, True)
)
_TEXTS: Final = tuple(
    Modes(mariadb=mariadb, ansi_quotes=ansi, no_backslash=plain)
    for mariadb, ansi, plain in itertools.product((False, True), repeat=3)
)
APART: Final = "mysql"  # the schema of the server: cloud vendors keep heartbeats there, and it can have no trigger


def reach(statement: str, default_db: str) -> str | None:
    """How a statement that is logged instead of rows may have changed a synced table; None: it has not, by any reading.
    Where a view, a trigger or a foreign key leads, cannot be queried.
    """
    for modes in _TEXTS:
        try:
            found = written(statement, default_db, modes)
        except UnclearError:
            return "changed what is not known"
        if found.calls:
            return f"called {_labels(found.calls)}"
        others = [table for table in found.events if table[0] != APART]
        if others:
            return f"changed {_labels(others)}"
    return None


def _labels(tables: Iterable[Table]) -> str:
    return ", ".join(".".join(table) for table in tables)


def concern(statement: str, default_db: str, synced: Collection[Table]) -> Concern | None:
    """What a statement does to synced tables by any reading, None if nothing by all readings. The server may not log
    what a foreign key will change.
    """
    found = [each for modes in _READINGS if (each := concerned(statement, default_db, synced, modes)) is not None]
    if not found:
        return None
    hit = {table for each in found for table in each.tables}
    return Concern(
        tables=tuple(table for table in synced if table in hit),
        rows_survive=all(each.rows_survive and not any(map(cascades, each.clauses)) for each in found),
        columns=frozenset[str]().union(*(each.columns for each in found)),
        clauses=tuple(clause for each in found for clause in each.clauses),
    )


def doubts(table: SourceTable, clauses: Iterable[nodes.Clause]) -> dict[str, str]:
    """By column, folded: how its values may have changed. What is not known of the table counts as the worst."""
    found: dict[str, str] = {}
    for clause in clauses:
        for column, how in _doubted(table, clause):
            found.setdefault(folded_name(column.name), f"it {how} {SESSION}")
    return found


def _doubted(table: SourceTable, clause: nodes.Clause) -> Iterator[tuple[SourceColumn, str]]:
    match clause:
        case nodes.ChangeColumn(old=name, definition=definition):
            column = table.column(name)
            how = None if column is None else _changed(column, definition.column)
            if column is not None and how is not None:
                yield column, how
        case nodes.ConvertCharset(charset=charset) if charset != UNICODE:
            charset_name = charset or "the database's charset"
            yield from ((c, f"converts column '{c.name}' to {charset_name}") for c in table.columns if has_charset(c))
        case _:
            pass


def _changed(before: SourceColumn, now: SourceColumn) -> str | None:
    if before.nullable and not before.key and not now.nullable:
        return f"makes column '{before.name}' NOT NULL"
    if kept(before, sized(now, now.charset or before.charset), strict=False, pads=True):
        return None
    return f"changes column '{before.name}' from {before.text} to {now.text}"
