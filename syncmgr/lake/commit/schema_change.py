"""Changes of a table's columns, within a transaction of Iceberg.

Owns: the order in which they are made, and what becomes of Doris' type names in the table's properties.
Must not know: who commits the transaction, rows, tokens.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Final

from syncmgr.job.ddl.lake_change import (
    AddField,
    CommentField,
    DropField,
    DropTable,
    EmptyTable,
    FillField,
    LakeChange,
    MoveField,
    RelaxField,
    RenameField,
    RetypeField,
)
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import Layout
from syncmgr.lake.spark.jvm import Java
from syncmgr.lake.target_types import TYPES, iceberg_type

OF_ROWS: Final = EmptyTable | FillField | DropTable


def outstanding(iceberg: Iceberg, table: Java, changes: Sequence[LakeChange]) -> tuple[LakeChange, ...]:
    """Those that the table does not have yet: another channel of it, or an earlier read, may have made some."""
    there = {field.name: field.type for field in iceberg.layout(table).fields}
    left: list[LakeChange] = []
    for change in changes:
        match change:
            case DropField(name=name):
                made = there.pop(name, None) is None
            case AddField(name=name, type=kind):
                made = there.get(name) == iceberg_type(kind)
                there[name] = iceberg_type(kind)
            case RelaxField(name=name) | RetypeField(name=name):
                made = name not in there
            case _:
                made = False
        if not made:
            left.append(change)
    return tuple(left)


def change_schema(iceberg: Iceberg, transaction: Java, changes: Sequence[LakeChange]) -> dict[str, str]:
    """Makes them, and returns the properties that are to be set with them; changes of rows are left to other
    functions.
    """
    before = iceberg.table_of(transaction)
    _update(iceberg, transaction, [c for c in changes if isinstance(c, DropField | RenameField)])
    _update(iceberg, transaction, [c for c in changes if not isinstance(c, DropField | RenameField | OF_ROWS)])
    return _types(iceberg, before, iceberg.table_of(transaction), changes)


def layout_after(iceberg: Iceberg, table: Java, changes: Sequence[LakeChange]) -> Layout:
    """The layout that the table would have. Nothing is committed."""
    if not changes:
        return iceberg.layout(table)
    transaction = iceberg.begin(table)
    change_schema(iceberg, transaction, changes)
    return iceberg.layout(iceberg.table_of(transaction))


def _update(iceberg: Iceberg, transaction: Java, changes: Iterable[LakeChange]) -> None:
    """All of them at once: a name that one of them frees is available to another only afterwards."""
    update = None
    for change in changes:
        update = update or iceberg.update_schema(transaction)
        _one(iceberg, update, change)
    if update is not None:
        update.commit()


def _one(iceberg: Iceberg, update: Java, change: LakeChange) -> None:
    match change:
        case DropField(name=name):
            update.deleteColumn(name)
        case RenameField(old=old, new=new):
            update.renameColumn(old, new)
        case AddField(name=name, type=kind, comment=comment, initial=initial):
            iceberg.add_column(update, name, iceberg_type(kind), comment, initial)
        case RetypeField(name=name, type=kind):
            iceberg.retype_column(update, name, iceberg_type(kind))
        case RelaxField(name=name):
            update.makeColumnOptional(name)
        case CommentField(name=name, comment=comment):
            update.updateColumnDoc(name, comment)
        case MoveField(name=name, after=after):
            update.moveFirst(name) if after is None else update.moveAfter(name, after)
        case EmptyTable() | DropTable() | FillField():
            raise AssertionError("no change of a schema")


def _types(iceberg: Iceberg, before: Java, after: Java, changes: Iterable[LakeChange]) -> dict[str, str]:
    """Doris' names for the types, by field id."""
    stored = json.loads(iceberg.property(before, TYPES) or "{}")
    layout = iceberg.layout(after)
    types = {str(field.id): stored[str(field.id)] for field in layout.fields if str(field.id) in stored}
    for change in changes:
        if isinstance(change, AddField | RetypeField):
            field = layout.field(change.name)
            assert field is not None
            types[str(field.id)] = change.type.text
    return {} if types == stored else {TYPES: json.dumps(types)}
