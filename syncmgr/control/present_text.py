"""The CREATE SYNC that gives a job the channels that it has now.

Owns: what the text of a job lacks since tables, or columns, were renamed at the source.
Must not know: which jobs there are, servers, what is stored.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from syncmgr.control.statement_text import only, pattern_of, statement_of
from syncmgr.job.channel.description import ChannelDescription, MappedColumn
from syncmgr.job.source import Can
from syncmgr.job.sync_job import SyncJob
from syncmgr.job.types.folding import folded_name
from syncsql import Channel, ColumnMapping, DatabaseColumn, Expression, Name, Shards, Tables, quote_name

_Node = Channel | Tables | Shards
_Column = ColumnMapping | DatabaseColumn


def present_text(job: SyncJob) -> str:
    """A table that its text would read by another name, or into another target, is named, and excluded from patterns.

    One that was dropped at the source is left to the text, since no statement can name it.
    """
    if Can.LIST_TABLES not in job.source.can:
        return job.statement
    statement = statement_of(job)
    there = [channel for channel in job.channels if channel.history.is_read and not channel.history.source_dropped]
    moved = [channel for channel in there if not any(_gives(node, job.db, channel) for node in statement.channels)]
    if not moved:
        return job.statement
    kept = [left for node in statement.channels if (left := _without(node, job.db, moved)) is not None]
    named = [_named(channel, job.db, statement.channels) for channel in moved]
    return replace(statement, channels=(*kept, *named)).masked().sql()


def _gives(node: _Node, db: str, channel: ChannelDescription) -> bool:
    """Whether CREATE SYNC would make that channel of it."""
    if not _fills(node, db, channel):
        return False
    match node:
        case Channel(source=source, columns=columns):
            return (source.db, source.name) == _table(channel) and _now(columns, channel) == columns
        case Tables():
            return pattern_of(node).has(_table(channel)) and not _now((), channel)
        case Shards(columns=columns):
            return pattern_of(node).has(_table(channel)) and _now(columns, channel) == columns


def _fills(node: _Node, db: str, channel: ChannelDescription) -> bool:
    """Whether the target is its own."""
    target = channel.target_db, channel.target
    match node:
        case Channel(target=home):
            return channel.part is None and (home.db or db, home.name) == target
        case Tables(target_db=home_db):
            return channel.part is None and (home_db, channel.source.name) == target
        case Shards(target=home):
            return channel.part is not None and (home.db or db, home.name) == target


def _without(node: _Node, db: str, moved: Iterable[ChannelDescription]) -> _Node | None:
    """What a text says that names those itself."""
    match node:
        case Channel():
            return None if any(_fills(node, db, channel) for channel in moved) else node
        case Tables(source=Name() as source):
            homes = {(channel.target_db, channel.target) for channel in moved}
            return None if (node.target_db, source.name) in homes else node
        case Tables() | Shards():
            meant = [table for table in map(_table, moved) if pattern_of(node).has(table)]
            return replace(node, exclude=(*node.exclude, *(Name(db=of, name=name) for of, name in meant)))


def _named(channel: ChannelDescription, db: str, nodes: Iterable[_Node]) -> Channel | Shards:
    """That channel alone, with what the text says of its target."""
    source = Name(db=channel.source.db, name=channel.source.name)
    for node in nodes:
        if isinstance(node, Channel) and _fills(node, db, channel):
            columns = tuple(each for each in _now(node.columns, channel) if isinstance(each, ColumnMapping))
            return replace(node, source=source, columns=columns)
        if isinstance(node, Shards) and _fills(node, db, channel):
            alone = only(node, _table(channel))
            assert isinstance(alone, Shards), "of many comes one of them"
            return replace(alone, columns=_now(node.columns, channel))
    columns = tuple(each for each in _now((), channel) if isinstance(each, ColumnMapping))
    return Channel(source=source, target=Name(db=channel.target_db, name=channel.target), columns=columns)


def _now(columns: tuple[_Column, ...], channel: ChannelDescription) -> tuple[_Column, ...]:
    """A column list by the present names of source columns; () if none is needed."""
    by_target = {folded_name(column.target): column for column in channel.columns}
    if columns:
        return tuple(_renamed(column, by_target.get(folded_name(column.target))) for column in columns)
    if all(column.source is None or _is_alike(column.source, column.target) for column in channel.columns):
        return ()
    return tuple(_listed(channel.columns))


def _renamed(column: _Column, now: MappedColumn | None) -> _Column:
    if isinstance(column, DatabaseColumn) or now is None or now.source is None:
        return column
    before = column.target if column.expression is None else column.expression.columns()[0]
    return column if _is_alike(before, now.source) else _plain(column.target, now.source)


def _listed(columns: Iterable[MappedColumn]) -> Iterator[_Column]:
    for column in columns:
        if column.constant is not None:
            yield DatabaseColumn(target=column.target)
        elif column.source is not None:
            yield _plain(column.target, column.source)


def _plain(target: str, source: str) -> ColumnMapping:
    if _is_alike(target, source):
        return ColumnMapping(target=target)
    name = quote_name(source)
    return ColumnMapping(target=target, expression=Expression(canonical=name, text=name, line=1, column=1))


def _is_alike(one: str, other: str) -> bool:
    return folded_name(one) == folded_name(other)


def _table(channel: ChannelDescription) -> tuple[str, str]:
    return channel.source.db, channel.source.name
