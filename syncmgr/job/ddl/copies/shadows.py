"""What is known besides a source table: copies that may replace it, what their tools keep, names that it left.

Owns: how each of them begins and ends. The newest count, in the order of their creation.
Must not know: channels, targets, which copy is believed.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from mysqlddl.nodes import CreateTrigger, Table
from syncmgr.job.channel.description import Shadow
from syncmgr.job.ddl.copies.migration_tool import keeps_up
from syncmgr.job.types.folding import folded_table

MAX_SHADOWS: Final = 16  # of a table
MAX_TRIGGERS: Final = 16  # of a copy; tools have three

Shadows = tuple[Shadow, ...]


def with_another(shadows: Iterable[Shadow], another: Shadow) -> Shadows:
    """Whatever had its name before no longer counts."""
    kept = (each for each in shadows if (each.db, each.name) != (another.db, another.name))
    return (*kept, another)[-MAX_SHADOWS:]


def with_trigger(shadows: Shadows, trigger: CreateTrigger, *, folds: bool) -> Shadows:
    """On their table. `folds`: names of tables are compared without case."""
    if not keeps_up(trigger):
        return shadows
    made = (trigger.name[1], trigger.event)

    def extended(shadow: Shadow) -> Shadow:
        is_written = shadow.is_copy and _has(trigger.writes, (shadow.db, shadow.name), folds=folds)
        return replace(shadow, triggers=(*shadow.triggers, made)[-MAX_TRIGGERS:]) if is_written else shadow

    return tuple(map(extended, shadows))


def _has(tables: Collection[Table], table: Table, *, folds: bool) -> bool:
    return table in tables or (folds and folded_table(table) in map(folded_table, tables))


def without_trigger(shadows: Shadows, gone: Table) -> Shadows:
    """`gone`: its database and name."""
    return tuple(
        replace(each, triggers=tuple(made for made in each.triggers if (each.db, made[0]) != gone)) for each in shadows
    )
