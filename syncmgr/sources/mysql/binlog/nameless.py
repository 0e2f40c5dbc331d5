"""Tables whose rows arrived without column names, and whose columns have not been compared since.

Owns: which tables those are at the place read so far, and the comparison with the first names that arrive.
Must not know: how rows are decoded, when a server is queried.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.types.schema import SourceColumn, SourceTable, differing
from syncmgr.sources.mysql.values.schema import HIDDEN


class Nameless:
    """Used by one thread, through the whole life of a source."""

    def __init__(self, tables: Iterable[Table] = ()) -> None:
        """`tables`: those of an earlier process."""
        self.tables = frozenset(tables)
        self._since: set[Table] = set()

    def heed(self, table: Table, known: SourceTable | None, logged: SourceTable | None) -> None:
        """Rows arrive. `known`: the columns by which they are read if they have no names; `logged`: the columns by the
        names that they have.

        Raises SOURCE_SCHEMA if the first names show that the rows before may have been misread.
        """
        if logged is None:
            self.tables |= {table}
            self._since.add(table)
        elif table in self.tables and known is not None:
            difference = differing(known, _comparable(logged, known))
            if difference is not None:
                raise unexplained(table, difference)
            self.tables -= {table}

    def asked(self) -> None:
        """The server is queried for the present columns, which do not apply to rows that arrive later."""
        self._since.clear()

    def settle(self, tables: Collection[Table]) -> None:
        """The answer matched what is known, and rows have had names since before it."""
        self.tables -= frozenset(tables) - self._since

    def renamed(self, tables: Iterable[Table]) -> None:
        """A statement was followed: those tables may have other names."""
        self.tables = frozenset(tables)


def unexplained(table: Table, difference: str) -> SyncError:
    reason = (
        f"{difference}, and no statement in the binlog says so: rows without names of columns may have come into other "
        "columns; SET GLOBAL binlog_row_metadata = FULL, with which that cannot happen"
    )
    return SyncError(Code.SOURCE_SCHEMA, table=".".join(table), reason=reason)


def _comparable(logged: SourceTable, known: SourceTable) -> SourceTable:
    """Without what the server hides; labels that no charset can represent count as known."""
    shown = [c for c in logged.columns if known.column(c.name) is not None or not HIDDEN.fullmatch(c.name)]
    return replace(logged, columns=tuple(_labelled(column, known) for column in shown))


def _labelled(column: SourceColumn, known: SourceTable) -> SourceColumn:
    of = known.column(column.name)
    return column if column.members or of is None else replace(column, members=of.members)
