"""What a client wrote about a job, in the core's words.

Owns: the way from the nodes of CREATE SYNC and ALTER SYNC to values of the core, and the text that a job keeps.
Must not know: which jobs there are, what is stored.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

import syncsql
from syncmgr.errors import Code, SyncError
from syncmgr.job.description import ChannelDescription, ColumnItem, Condition, overrides_of
from syncmgr.job.excerpt import Excerpt
from syncmgr.job.policy import OF_ONE_KIND
from syncmgr.job.resync_where import excerpt_of
from syncmgr.job.schema import TargetTable
from syncmgr.job.source import CanalDescription, SourceDescription, wrong_property
from syncmgr.job.sync_job import SyncJob
from syncmgr.job.whole import Family, Namesakes, Pattern, literal, matches
from syncsql import (
    AlterSync,
    Channel,
    ColumnMapping,
    CreateSync,
    DatabaseColumn,
    Expression,
    Name,
    Property,
    Shards,
    SqlSyntaxError,
    Tables,
)

_NOT_ON_CANAL: Final = {
    **dict.fromkeys(
        ("on_ddl", *OF_ONE_KIND),
        "a job on canal goes on where its columns stay as they are, and pauses at every other DDL",
    ),
    "on_value_error": "a job on canal pauses at a value that its target cannot hold",
}


def altered(job: SyncJob, node: AlterSync) -> SyncJob:
    """The job with what ALTER SYNC ... SET says. Raises PROPERTY_UNKNOWN, PROPERTY_WRONG."""
    properties = {**job.properties, **overrides_of({each.key: each.value for each in node.properties})}
    refuse_on_canal(job.source, properties)
    printed = tuple(Property(key=key, value=value) for key, value in properties.items())
    return job.with_properties(properties, replace(_statement(job), properties=printed).masked().sql())


def renamed(job: SyncJob, to: str) -> SyncJob:
    """The job with the name of ALTER SYNC ... RENAME TO."""
    return job.renamed(to, replace(_statement(job), job=Name(db=job.db, name=to)).masked().sql())


def with_channels(job: SyncJob, channels: Iterable[Channel | Tables | Shards]) -> SyncJob:
    """The job whose text has what ALTER SYNC ... ADD TABLE says, too."""
    statement = _statement(job)
    return job.with_statement(replace(statement, channels=(*statement.channels, *channels)).masked().sql())


def without(job: SyncJob, channel: ChannelDescription) -> SyncJob:
    """The job whose text does not mean a channel any more: it is not named, or patterns exclude its source."""
    statement, source = _statement(job), channel.source
    kept: list[Channel | Tables | Shards] = []
    for each in statement.channels:
        if isinstance(each, Shards):
            kept.append(_excluding(each, source.db) if pattern_of(each).has((source.db, source.name)) else each)
        elif isinstance(each, Channel):
            if (each.target.db or job.db, each.target.name) != (channel.target_db, channel.target):
                kept.append(each)
        elif (each.db, each.target_db) == (source.db, channel.target_db) and matches(each.pattern, source.name):
            out = Name(db=each.db, name=literal(source.name))
            kept.append(replace(each, exclude=(*(one for one in each.exclude if one != out), out)))
        else:
            kept.append(each)
    return job.with_statement(replace(statement, channels=tuple(kept)).masked().sql())


def _excluding(shards: Shards, db: str) -> Shards:
    return replace(shards, exclude=(*shards.exclude, Name(db=db, name=shards.table)))


def forgetting(job: SyncJob, channels: Iterable[ChannelDescription]) -> SyncJob:
    """The job whose text does not name channels whose targets are gone; what its patterns mean may come again."""
    statement = _statement(job)
    gone = {(channel.target_db, channel.target) for channel in channels}
    kept = tuple(
        each
        for each in statement.channels
        if not isinstance(each, Channel) or (each.target.db or job.db, each.target.name) not in gone
    )
    return job.with_statement(replace(statement, channels=kept).masked().sql())


def pattern_of(node: Tables | Shards) -> Pattern:
    """The tables that a pattern means."""
    if isinstance(node, Shards):
        return Namesakes(databases=node.databases, table=node.table, exclude=tuple(str(out.db) for out in node.exclude))
    return Family(db=node.db, pattern=node.pattern, exclude=tuple(out.name for out in node.exclude))


def databases(node: Tables | Shards) -> str:
    """The pattern of LIKE for the databases that it is about."""
    return node.databases if isinstance(node, Shards) else literal(node.db)


def patterns(job: SyncJob) -> tuple[Tables | Shards, ...]:
    """What a job says of tables that it does not name."""
    return tuple(each for each in _statement(job).channels if not isinstance(each, Channel))


def _statement(job: SyncJob) -> CreateSync:
    [parsed] = syncsql.parse(job.statement)
    assert isinstance(parsed.statement, CreateSync), "a job keeps the text that made it"
    return parsed.statement


def refuse_on_canal(source: SourceDescription, properties: Mapping[str, str]) -> None:
    """Raises PROPERTY_WRONG for what a job on canal cannot have."""
    for name, reason in _NOT_ON_CANAL.items() if isinstance(source, CanalDescription) else ():
        if name in properties:
            raise wrong_property(name, properties[name], reason)


def refuse_twice(names: Iterable[str]) -> None:
    """Raises DUPLICATE_MAPPING."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SyncError(Code.DUPLICATE_MAPPING, table=name)
        seen.add(name)


def item(column: ColumnMapping) -> ColumnItem:
    """Of a column list. Raises SYNTAX."""
    if column.expression is None:
        return ColumnItem(target=column.target)
    return ColumnItem(
        target=column.target,
        expression=_spark(column.expression),
        reads=column.expression.columns(),
    )


def items(node: Channel | Shards, database: str) -> list[ColumnItem]:
    """Of the column list of a channel, or of shards in that database. Raises SYNTAX."""
    return [
        ColumnItem(target=column.target, constant=database) if isinstance(column, DatabaseColumn) else item(column)
        for column in node.columns
    ]


def condition(node: Channel | Shards) -> Condition | None:
    """Of a channel's WHERE. Raises SYNTAX."""
    if node.where is None:
        return None
    return Condition(expression=_spark(node.where), reads=node.where.columns())


def excerpt(channel: ChannelDescription, target: TargetTable, where: Expression) -> Excerpt:
    """Of the rows of a channel, by the WHERE of RESYNC TABLE. Raises RESYNC_WHERE, SOURCE_UNKNOWN_COLUMN."""
    try:
        test = where.comparisons()
    except SqlSyntaxError as error:
        reason = f"{error.reason}, not {error.near}"
        raise SyncError(Code.RESYNC_WHERE, table=channel.source.label, condition=where.sql(), reason=reason) from error
    return excerpt_of(channel, target, test, where.sql())


def _spark(expression: Expression) -> str:
    """The expression in Spark's words. Raises SYNTAX where Spark has none."""
    try:
        return expression.spark()
    except SqlSyntaxError as error:
        raise SyncError(
            Code.SYNTAX, reason=error.reason, near=error.near, line=error.line, column=error.column
        ) from error
