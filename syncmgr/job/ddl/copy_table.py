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
from syncmgr.job.types.keeping import kept
from syncmgr.job.types.schema import SourceColumn, SourceTable


def refuse_refilled(alteration: Alteration, copy: Table) -> None:
    """Tools copy by name: a column that was dropped and added may have its old values all the same.

    Raises RefusedError.
    """
    dropped = {column.name.casefold() for column in alteration.dropped}
    again = (c.now.name for c in alteration.columns if c.before is None and c.now.name.casefold() in dropped)
    if (name := next(again, None)) is not None:
        raise RefusedError(f"its copy {'.'.join(copy)} has another column '{name}', into which values may be copied")


def refuse_lossy(channel: ChannelDescription, clauses: Iterable[nodes.Clause], copy: Table) -> None:
    """Raises RefusedError. Tools copy with INSERT IGNORE: of rows that a new unique key forbids, one remains, and so of
    those whose keys become one. Unique keys besides the primary key are not known.
    """
    keys = {column.name.casefold(): column for column in channel.source.columns if column.key}
    for clause in clauses:
        loses = joins = False
        match clause:
            case nodes.AddPrimaryKey(columns=names):
                loses = not keys or not set(keys) <= {name.casefold() for name in names}
            case nodes.Quiet(what=what):
                loses = what.startswith("ADD UNIQUE")
            case nodes.AddColumn(definition=definition):
                loses = definition.unique or definition.primary
            case nodes.ChangeColumn(old=old, definition=definition):
                loses = definition.unique or definition.primary
                joins = old.casefold() in keys and _may_join(keys[old.casefold()], definition.column)
            case nodes.ConvertCharset():
                joins = any(column.charset is not None for column in keys.values())
            case _:
                pass
        if loses:
            raise RefusedError(f"its copy {'.'.join(copy)} has a new unique key, for which rows may have been left out")
        if joins:
            raise RefusedError(
                f"its copy {'.'.join(copy)} has another type or collation of a key, under which keys may be equal that "
                "were not, so that rows may have been left out"
            )


def _may_join(key: SourceColumn, now: SourceColumn) -> bool:
    """Whether two keys may become one. No statement tells the collation of a text as it was, nor a default one."""
    return key.charset is not None or now.charset is not None or not kept(key, now, strict=False)


def alike(source: SourceTable, statement: nodes.CreateTable) -> bool:
    """Whether it creates a table of the same columns, as tools do that copy the text of SHOW CREATE TABLE."""
    made = [(each.column.name, each.column.text) for each in statement.columns]
    return made == [(column.name, column.text) for column in source.columns]
