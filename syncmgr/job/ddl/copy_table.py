"""Copies of a source table that migration tools make, alter, fill, and put in its place.

Owns: what is such a copy, and which of them may have lost rows or values.
Must not know: channels' lives, targets, when a copy takes the place.
"""

from collections.abc import Iterable

from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.alteration import Alteration
from syncmgr.job.ddl.evolution import RefusedError
from syncmgr.job.statement import nodes
from syncmgr.job.statement.nodes import Table
from syncmgr.job.types.schema import SourceTable


def refuse_refilled(alteration: Alteration, copy: Table) -> None:
    """Tools copy by name: a column that was dropped and added may have its old values all the same.

    Raises RefusedError.
    """
    dropped = {column.name.casefold() for column in alteration.dropped}
    again = (c.now.name for c in alteration.columns if c.before is None and c.now.name.casefold() in dropped)
    if (name := next(again, None)) is not None:
        raise RefusedError(f"its copy {'.'.join(copy)} has another column '{name}', into which values may be copied")


def refuse_lossy(channel: ChannelDescription, clauses: Iterable[nodes.Clause], copy: Table) -> None:
    """Raises RefusedError. Tools copy with INSERT IGNORE: of rows that a new unique key forbids, one remains."""
    before = {column.name.casefold() for column in channel.source.columns if column.key}
    for clause in clauses:
        match clause:
            case nodes.AddPrimaryKey(columns=names):
                loses = not before or not before <= {name.casefold() for name in names}
            case nodes.Quiet(what=what):
                loses = what.startswith("ADD UNIQUE")
            case nodes.AddColumn(definition=definition) | nodes.ChangeColumn(definition=definition):
                loses = definition.unique or definition.primary
            case _:
                loses = False
        if loses:
            raise RefusedError(f"its copy {'.'.join(copy)} has a new unique key, for which rows may have been left out")


def alike(source: SourceTable, statement: nodes.CreateTable) -> bool:
    """Whether it creates a table of the same columns, as tools do that copy the text of SHOW CREATE TABLE."""
    made = [(each.column.name, each.column.text) for each in statement.columns]
    return made == [(column.name, column.text) for column in source.columns]
