"""Changes of a table's columns, within a transaction of Iceberg.

Owns: the order in which they are made, and what becomes of Doris' type names in the table's properties.
Must not know: who commits the transaction, rows, tokens.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import quoted
from syncmgr.job.ddl.following.column_ids import known_columns
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
from syncmgr.job.types.folding import folded_name
from syncmgr.lake.commit.rows import is_known
from syncmgr.lake.cures import as_argument, in_catalog, rewriting
from syncmgr.lake.iceberg.ancestry import COLUMNS
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import Field, Layout, PartitionField
from syncmgr.lake.spark.jvm import Java
from syncmgr.lake.spark.launch import CATALOG
from syncmgr.lake.target.own_properties import as_written
from syncmgr.lake.target.target_types import TYPES, iceberg_type, kept_types

GROWING: Final = frozenset({("int", "long"), ("float", "double")})
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


def change_schema(
    iceberg: Iceberg, transaction: Java, changes: Sequence[LakeChange], name: tuple[str, str]
) -> dict[str, str]:
    """Makes them, and returns the properties that are to be set with them; changes of rows are left to other
    functions. `name`: of database and table. Raises FOREIGN_CHANGE.
    """
    before = iceberg.table_of(transaction)
    layout = iceberg.layout(before)
    if changes:
        _refuse_missing(layout, changes, name, iceberg.properties(before))
        changes = needed(layout, changes)
    dropped = {field.id for field in map(layout.field, _dropped(changes)) if field is not None}
    in_files = dropped & iceberg.columns_in_partitions(before) if dropped else set()
    _refuse_obstacles(layout, changes, name, in_files)
    if any(isinstance(change, AddField | RenameField) for change in changes):
        _refuse_partition_names(layout, changes, name, iceberg.partition_fields(before))
    if dropped:
        iceberg.order_without(transaction, dropped)
    _update(iceberg, transaction, [c for c in changes if isinstance(c, DropField | RenameField)])
    _update(iceberg, transaction, [c for c in changes if not isinstance(c, DropField | RenameField | OF_ROWS)])
    if changes:
        iceberg.forget_schemas(transaction)
    with as_written(*name, TYPES):
        kept = kept_types(iceberg.property(before, TYPES))
    return _types(kept, iceberg.layout(iceberg.table_of(transaction)), changes)


def needed(layout: Layout, changes: Sequence[LakeChange]) -> tuple[LakeChange, ...]:
    """Without what another engine has made already: columns that it has dropped, and types that it has given others, or
    wider ones.
    """
    named = {change.new: change.old for change in changes if isinstance(change, RenameField)}
    return tuple(
        change
        for change in changes
        if not (isinstance(change, RetypeField) and _holds(layout, named, change))
        and not (isinstance(change, DropField) and _exactly(layout, change.name) is None)
    )


def _holds(layout: Layout, named: Mapping[str, str], change: RetypeField) -> bool:
    field = _exactly(layout, named.get(change.name, change.name))
    wanted = iceberg_type(change.type)
    return field is not None and field.type != wanted and grows(wanted, field.type)


def grows(old: str, new: str) -> bool:
    """Whether Iceberg takes a column of a type to another one without a rewrite of rows."""
    if old == new or (old, new) in GROWING:
        return True
    one, two = (re.fullmatch(r"decimal\((\d+), ?(\d+)\)", word) for word in (old, new))
    return one is not None and two is not None and one[2] == two[2] and int(one[1]) <= int(two[1])


def _exactly(layout: Layout, name: str) -> Field | None:
    """As Iceberg finds it in a change of the schema: by the letters."""
    return next((field for field in layout.fields if field.name == name), None)


def _refuse_missing(
    layout: Layout, changes: Sequence[LakeChange], name: tuple[str, str], properties: Mapping[str, str]
) -> None:
    """Raises FOREIGN_CHANGE if a column that is to be changed no longer has its name, or a type that allows it: another
    engine came between the decision and the change. `properties`: of the table.
    """
    reason = next(_lost(layout, changes, name, properties), None)
    if reason is not None:
        raise SyncError(Code.FOREIGN_CHANGE, table=".".join(name), reason=reason)


def _lost(
    layout: Layout, changes: Sequence[LakeChange], name: tuple[str, str], properties: Mapping[str, str]
) -> Iterator[str]:
    table, named = in_catalog(name), {each.new: each.old for each in changes if isinstance(each, RenameField)}
    added = {change.name for change in changes if isinstance(change, AddField)}
    for change, column in ((each, named.get(new, new)) for each in changes for new in _named_by(each) - added):
        now = _name_now(layout, column, properties)
        if _exactly(layout, column) is None and not (now is None and isinstance(change, DropField)):
            cure = f"ALTER TABLE {table} RENAME COLUMN {now or 'the column that it is now'} TO {quoted(column)}"
            yield f"the source changes column {column}, and it has none of that name; type in Spark: {cure}"
    for change in (each for each in needed(layout, changes) if isinstance(each, RetypeField)):
        field = _exactly(layout, named.get(change.name, change.name))
        if field is not None and not grows(field.type, iceberg_type(change.type)):
            yield (
                f"the source makes column {field.name} {change.type.text}, and it is {field.type} by now, which cannot "
                f"become that; in Spark, ALTER TABLE {table} DROP COLUMN {quoted(field.name)} and ADD COLUMN it with "
                "the new type, and RESYNC TABLE after RESUME"
            )


def _named_by(change: LakeChange) -> set[str]:
    """Columns that must exist, by the names that they have after all renames."""
    match change:
        case DropField(name=name) | RetypeField(name=name) | RelaxField(name=name) | CommentField(name=name):
            return {name}
        case MoveField(name=name, after=after):
            return {name} if after is None else {name, after}
        case RenameField(new=new):
            return {new}
    return set()


def _name_now(layout: Layout, column: str, properties: Mapping[str, str]) -> str | None:
    """What has become of a column, as far as its number is known; it may have another case alone."""
    there = layout.field(column)
    for key in (key for key in properties if key.startswith(COLUMNS)):
        with suppress(ValueError):
            there = there or layout.by_id(known_columns(properties[key]).get(folded_name(column), 0))
    return None if there is None else quoted(there.name)


def _dropped(changes: Iterable[LakeChange]) -> list[str]:
    return [change.name for change in changes if isinstance(change, DropField)]


def _refuse_obstacles(
    layout: Layout, changes: Sequence[LakeChange], name: tuple[str, str], in_files: Collection[int]
) -> None:
    """Raises FOREIGN_CHANGE if something that another engine has added to the table does not allow a change.
    `in_files`: columns that are dropped, and whose values are those of partitions of files.
    """
    table = in_catalog(name)
    dependent = _dependent(layout, _dropped(changes), name, in_files)
    reasons = [*dependent, *_taken(layout, changes, table), *_unfilled(layout, changes, table)]
    if reasons:
        raise SyncError(Code.FOREIGN_CHANGE, table=".".join(name), reason=reasons[0])


def _dependent(
    layout: Layout, dropped: Iterable[str], name: tuple[str, str], in_files: Collection[int]
) -> Iterator[str]:
    table = in_catalog(name)
    for field in filter(None, map(layout.field, dropped)):
        parts = [part for part in layout.divisions if part.source_id == field.id]
        cures = [f"ALTER TABLE {table} DROP PARTITION FIELD {quoted(part.name)}" for part in parts]
        if field.id in in_files:
            cures.append(rewriting(name))
        if cures:
            yield f"the source drops column {field.name}, by which it is partitioned; type in Spark: {'; '.join(cures)}"
        if field.id in layout.identifier:
            cure = f"ALTER TABLE {table} DROP IDENTIFIER FIELDS {quoted(field.name)}"
            yield f"the source drops column {field.name}, which is one of its identifier fields; type in Spark: {cure}"


def _taken(layout: Layout, changes: Sequence[LakeChange], table: str) -> Iterator[str]:
    free = {folded_name(name) for name in _dropped(changes)}
    free |= {folded_name(change.old) for change in changes if isinstance(change, RenameField)}
    wanted = [change.name for change in changes if isinstance(change, AddField)]
    wanted += [change.new for change in changes if isinstance(change, RenameField)]
    for name in wanted:
        field = layout.field(name)
        if field is not None and folded_name(name) not in free:
            cure = (
                f"ALTER TABLE {table} RENAME COLUMN {quoted(field.name)} TO another name, or DROP COLUMN it, in Spark"
            )
            yield f"the source has a new column {name}, and it has one of that name already; {cure}"


def _refuse_partition_names(
    layout: Layout, changes: Sequence[LakeChange], name: tuple[str, str], parts: Collection[PartitionField]
) -> None:
    """Raises FOREIGN_CHANGE if a column is to have the name of a field of one of the table's partition specs, `parts`:
    Iceberg refuses it, even for the specs of old files, unless the field is made from that very column.
    """
    reason = next(_named(layout, changes, name, parts), None)
    if reason is not None:
        raise SyncError(Code.FOREIGN_CHANGE, table=".".join(name), reason=reason)


def _named(
    layout: Layout, changes: Sequence[LakeChange], name: tuple[str, str], parts: Collection[PartitionField]
) -> Iterator[str]:
    """Files, and after them snapshots, keep a spec; what a rewrite has deleted is named by its own snapshot, too."""
    wanted = {change.name: None for change in changes if isinstance(change, AddField)}
    renamed = {change.new: layout.field(change.old) for change in changes if isinstance(change, RenameField)}
    table, rewrite = in_catalog(name), rewriting(name)
    expire = (
        f"CALL {CATALOG}.system.expire_snapshots(table => {as_argument(name)}, "
        "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1, clean_expired_metadata => true)"
    )
    for column, before in {**wanted, **renamed}.items():
        if any(part.name == column and (before is None or part.source_id != before.id) for part in parts):
            now = any(part.name == column for part in layout.divisions)
            cures = [f"ALTER TABLE {table} DROP PARTITION FIELD {quoted(column)}"] if now else []
            cure = "; ".join([*cures, rewrite, rewrite, expire])
            yield (
                f"the source has a new column {column}, and a partition field has that name; to remove it with all "
                f"older snapshots, after which the field may come back under another name, type in Spark: {cure}"
            )


def _unfilled(layout: Layout, changes: Sequence[LakeChange], table: str) -> Iterator[str]:
    if not any(isinstance(change, FillField) for change in changes):
        return
    for field in layout.fields:
        if not is_known(field.type):
            cure = f"ALTER TABLE {table} DROP COLUMN {quoted(field.name)}"
            what = f"its column {field.name} is of a type that syncmgr does not write, and all rows are to be rewritten"
            yield f"{what}; type in Spark: {cure}"


def layout_after(iceberg: Iceberg, table: Java, changes: Sequence[LakeChange], name: tuple[str, str]) -> Layout:
    """The layout that the table would have. Nothing is committed."""
    if not changes:
        return iceberg.layout(table)
    transaction = iceberg.begin(table)
    change_schema(iceberg, transaction, changes, name)
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


def _types(stored: Mapping[str, str], layout: Layout, changes: Iterable[LakeChange]) -> dict[str, str]:
    """Doris' names for the types, by field id. `stored`: before the changes, `layout`: after them."""
    types = {str(field.id): stored[str(field.id)] for field in layout.fields if str(field.id) in stored}
    for change in changes:
        if isinstance(change, AddField | RetypeField):
            field = layout.field(change.name)
            assert field is not None
            types[str(field.id)] = change.type.text
    return {} if types == stored else {TYPES: json.dumps(types)}
