"""Doris' column list: the source column at each position goes into the target column that the list names there.

Owns: the plan of a channel whose source columns are not known yet, and their check once the first rows have shown them.
Must not know: servers, Spark, how rows describe their columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from syncmgr.config.settings import did_you_mean
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.attempts import gathered
from syncmgr.job.channel.channel_plan import ColumnItem, Condition, refuse_long
from syncmgr.job.channel.description import ChannelDescription, Listed, MappedColumn, quoted
from syncmgr.job.types.column_range import fits
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import MAX_DECIMAL_DIGITS, SourceColumn, SourceTable, TargetTable
from syncmgr.job.types.target import parse_type, spark_cast

MICROSECONDS: Final = 6


def plan_positional(
    *,
    token: str,
    table: tuple[str, str],
    target: TargetTable,
    items: Sequence[ColumnItem],
    where: Condition | None,
) -> ChannelDescription:
    """The channel of a list, or of the target's columns in their order if none is given.

    Its `source` has the list's names, and the types that their targets take: Spark checks expressions with these until
    rows show the true ones. A name that is not a target column skips the source column at its position. Raises
    BAD_EXPRESSION, DUPLICATE_COLUMN, UNKNOWN_COLUMN, NO_CHANNEL_KEY, COLUMN_NOT_COVERED, SOURCE_UNKNOWN_COLUMN.
    """
    refuse_long(items, where)
    plain = [item.target for item in items if item.expression is None] or [column.name for column in target.columns]
    _refuse_duplicates([*plain, *(item.target for item in items if item.expression is not None)])
    places = tuple(_listed(name, plain, target) for name in plain)
    computed = [item for item in items if item.expression is not None]
    read = [name for item in computed for name in item.reads] + list(where.reads if where else ())
    known = [_known(name, places, table) for name in read]
    filled = [place.name for place in places if place.type]
    columns = (*(_plain(name, target) for name in filled), *(_computed(item, target) for item in computed))
    _check_filled(target, [column.target for column in columns], filled)
    names = {folded_name(place.name): place.name for place in places}
    wanted = {*filled, *known}
    return ChannelDescription(
        token=token,
        source=SourceTable(db=table[0], name=table[1], columns=tuple(_declared(p) for p in places if p.type)),
        target_db=target.db,
        target=target.name,
        columns=columns,
        keys=target.keys,
        source_keys=tuple(names[folded_name(key)] for key in target.keys),
        reads=tuple(place.name for place in places if place.name in wanted),
        where=where.expression if where else None,
        places=places,
    )


def without_columns(channel: ChannelDescription) -> ChannelDescription:
    """The channel before the first rows: the source's columns are not known."""
    return replace(channel, source=replace(channel.source, columns=()))


def source_names(places: Sequence[Listed], source: SourceTable) -> dict[str, str]:
    """The list's names -> the source's own. Raises SOURCE_SCHEMA if the list does not name every source column."""
    if len(places) != len(source.columns):
        raise SyncError(Code.SOURCE_SCHEMA, table=source.label, reason=_list_to_write(places, source))
    return {place.name: column.name for place, column in zip(places, source.columns, strict=True)}


def check_reported(places: Sequence[Listed], keys: Sequence[str], source: SourceTable) -> None:
    """The rules that CREATE SYNC applies to a source whose columns it can query.

    `keys`: the list's names of the target's key; empty: rows are only appended. Raises NO_CHANNEL_KEY,
    TYPE_DOES_NOT_FIT: lists everything that does not fit.
    """
    covers = [partial(_check_key_covers, places, keys, source)] if keys else []
    pairs = zip(places, source.columns, strict=True)
    gathered([*covers, *(partial(_check_fits, source, place, column) for place, column in pairs if place.type)])


def _check_fits(source: SourceTable, place: Listed, column: SourceColumn) -> None:
    reason = fits(column, parse_type(place.type))
    if reason:
        raise SyncError(
            Code.TYPE_DOES_NOT_FIT,
            source=f"{source.label}.{column.name}",
            source_type=column.text,
            target=place.name,
            target_type=place.type,
            reason=reason,
        )


def _check_key_covers(places: Sequence[Listed], keys: Sequence[str], source: SourceTable) -> None:
    primary = {place.name: column.name for place, column in zip(places, source.columns, strict=True) if column.key}
    if primary and set(primary) <= set(keys):
        return
    reason = (
        f"the primary key of {source.label} is ({', '.join(primary.values())}), "
        f"and the target's UNIQUE KEY must include all of it"
        if primary
        else f"{source.label} has no primary key; use DUPLICATE KEY to append"
    )
    raise SyncError(Code.NO_CHANNEL_KEY, table=source.label, reason=reason)


def _list_to_write(places: Sequence[Listed], source: SourceTable) -> str:
    own = [column.name for column in source.columns]
    names = [place.name for place in places][: len(own)]
    free = [f"{name}_unused" if name in names else name for name in own[len(names) :]]
    return (
        f"canal says that it has {len(own)} columns ({', '.join(own)}), and the column list names {len(places)} by "
        "their places; stop the job and create it with a list that names each of them, "
        f"such as ({', '.join([*names, *free])})"
    )


def _listed(name: str, plain: Sequence[str], target: TargetTable) -> Listed:
    column = target.column(name)
    if column is not None:
        return Listed(name=name, type=column.type.text)
    listed = {folded_name(each) for each in plain}
    if did_you_mean(name, [c.name for c in target.columns if folded_name(c.name) not in listed]):
        raise SyncError(Code.UNKNOWN_COLUMN, column=name, where=target.label)  # a typo, not a source column to skip
    return Listed(name=name)


def _known(name: str, places: Sequence[Listed], table: tuple[str, str]) -> str:
    found = next((place for place in places if folded_name(place.name) == folded_name(name)), None)
    if found is None or not found.type:
        hint = "; an expression reads names of the column list that are columns of the target"
        raise SyncError(Code.SOURCE_UNKNOWN_COLUMN, table=".".join(table), column=name, hint=hint)
    return found.name


def _plain(name: str, target: TargetTable) -> MappedColumn:
    column = target.column(name)
    assert column is not None
    return MappedColumn(target=column.name, expression=quoted(name))


def _computed(item: ColumnItem, target: TargetTable) -> MappedColumn:
    column = target.column(item.target)
    if column is None:
        raise SyncError(Code.UNKNOWN_COLUMN, column=item.target, where=target.label)
    assert item.expression is not None
    narrow = column.type.name in {"TINYINT", "SMALLINT"}
    return MappedColumn(
        target=column.name, expression=spark_cast(item.expression, column.type) if narrow else item.expression
    )


def _check_filled(target: TargetTable, filled: Sequence[str], plain: Sequence[str]) -> None:
    listed = {folded_name(name) for name in plain}
    for key in target.keys:
        if folded_name(key) not in listed:
            reason = f"key column '{key}' is not in the channel's column list"
            raise SyncError(Code.NO_CHANNEL_KEY, table=target.label, reason=reason)
    for column in target.columns:
        if not column.nullable and column.name not in filled:
            raise SyncError(Code.COLUMN_NOT_COVERED, column=column.name, table=target.label)


def _refuse_duplicates(names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if folded_name(name) in seen:
            raise SyncError(Code.DUPLICATE_COLUMN, column=name)
        seen.add(folded_name(name))


def _declared(place: Listed) -> SourceColumn:
    """A source column of the type that a target column takes unchanged."""
    kind = parse_type(place.type)
    match kind.name:
        case "LARGEINT":
            return SourceColumn(name=place.name, type="decimal", precision=MAX_DECIMAL_DIGITS)
        case "DECIMAL":
            return SourceColumn(name=place.name, type="decimal", precision=kind.args[0], scale=kind.args[1])
        case "DATETIME" | "TIMESTAMP":
            return SourceColumn(name=place.name, type=kind.name.lower(), precision=MICROSECONDS)
        case _:
            return SourceColumn(name=place.name, type=_SOURCE_WORDS[kind.name])


_SOURCE_WORDS: Final[Mapping[str, str]] = {
    "BOOLEAN": "tinyint",
    "TINYINT": "tinyint",
    "SMALLINT": "smallint",
    "INT": "int",
    "BIGINT": "bigint",
    "FLOAT": "float",
    "DOUBLE": "double",
    "DATE": "date",
    "CHAR": "varchar",
    "VARCHAR": "varchar",
    "STRING": "longtext",
    "JSON": "json",
    "BINARY": "longblob",
}
