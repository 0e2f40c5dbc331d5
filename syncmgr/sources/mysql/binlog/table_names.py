"""The name by which a table of the binlog is known here.

Owns: names that a server writes differently than they are stored, names that a table had before a RENAME.
Must not know: columns, events, what is read of a table.
"""

from collections.abc import Mapping

from syncmgr.job.ddl.ddl import Table
from syncmgr.job.types.folding import folded_table
from syncmgr.sources.mysql.binlog.subscription import Subscription


class TableNames:
    """Of the tables that are read. `folds`, in each call: the server compares names of tables without case."""

    def __init__(self, tables: Mapping[Table, Subscription]) -> None:
        self._spelt = {folded_table(table): table for table in tables} | {t: t for t in tables if t == folded_table(t)}
        self._left = {name: table for table, each in tables.items() for name in each.left if name not in tables}
        self._left_folded = {folded_table(name): table for name, table in self._left.items()}

    def known_as(self, name: Table, *, folds: bool) -> Table:
        """A statement may spell it as earlier versions stored it, if the server stores names in lower case."""
        return self._spelt.get(folded_table(name), name) if folds else name

    def leaver(self, name: Table, *, folds: bool) -> Table | None:
        """Which table had that name before a RENAME."""
        return self._left_folded.get(folded_table(name)) if folds else self._left.get(name)
