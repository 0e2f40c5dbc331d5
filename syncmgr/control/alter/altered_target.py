"""ALTER TABLE as a change of a target.

Owns: the way from the statement's clauses to the rules.
Must not know: the rules, the lake.
"""

from collections.abc import Collection, Mapping
from typing import Final, assert_never

import syncsql
from syncmgr.errors import Code, SyncError
from syncmgr.job.targets.target_change import NewPlace, TargetAlteration, TargetChange
from syncmgr.job.types import table_rules
from syncmgr.job.types.schema import TargetColumn, TargetTable, TargetType
from syncmgr.job.types.table_rules import Check

INTEGERS: Final = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT", "LARGEINT"})  # with a width, if any


def altered(
    statement: syncsql.AlterTable,
    table: TargetTable,
    filled: Mapping[str, str],
    known: Mapping[str, Check],
    fixed: Collection[str],
) -> TargetChange:
    """`filled`: see TargetAlteration. `known`, `fixed`: the properties of the table format. Raises BAD_ALTER, BAD_NAME,
    DUPLICATE_COLUMN, UNKNOWN_COLUMN, NOT_SUPPORTED, PROPERTY_UNKNOWN, PROPERTY_WRONG.
    """
    rules = TargetAlteration(table, filled)
    for clause in statement.alterations:
        _apply(rules, clause, fixed)
    change = rules.change()
    table_rules.check_properties(change.result, known)
    return change


def _apply(rules: TargetAlteration, clause: syncsql.Alteration, fixed: Collection[str]) -> None:
    match clause:
        case syncsql.AddColumn(column=column, place=place):
            rules.add(target_column(column, key=False), _place(place))
        case syncsql.DropColumn(name=name):
            rules.drop(name)
        case syncsql.RenameColumn(name=name, to=to):
            rules.rename(name, to)
        case syncsql.ModifyColumn(column=column, place=place):
            new = target_column(column, key=False)
            nullable, comment = column.nullable, column.comment
            rules.modify(new.name, new.type, nullable=nullable, comment=comment, place=_place(place))
        case syncsql.CommentColumn(name=name, comment=comment):
            rules.comment_column(name, comment)
        case syncsql.CommentTable(comment=comment):
            rules.comment_table(comment)
        case syncsql.SetProperties(properties=properties):
            rules.set_properties({each.key: each.value for each in properties}, fixed)
        case _:
            assert_never(clause)


def _place(place: syncsql.Place | None) -> NewPlace | None:
    return None if place is None else NewPlace(after=place.after)


def target_column(column: syncsql.ColumnDefinition, *, key: bool) -> TargetColumn:
    """`key`: it is NOT NULL unless it says NULL. Raises NOT_SUPPORTED."""
    if column.default is not None and column.default.kind is not syncsql.DefaultKind.NULL:
        raise SyncError(Code.NOT_SUPPORTED, what=f"DEFAULT of column '{column.name}': values come from the source")
    args = () if column.type.name in INTEGERS else column.type.args
    return TargetColumn(
        name=column.name,
        type=TargetType(name=column.type.name, args=args),
        nullable=not key if column.nullable is None else column.nullable,
        comment=column.comment or "",
    )
