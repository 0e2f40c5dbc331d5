"""What a client wrote about a job, in the core's words.

Owns: the way from the nodes of CREATE SYNC and ALTER SYNC to values of the core, and the text that a job keeps.
Must not know: which jobs there are, what is stored.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final, assert_never

import syncsql
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_plan import ColumnItem, Condition
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.channel.patterns import DatabasePattern, Pattern, ShardPattern, family, namesakes
from syncmgr.job.channel.table_pattern import PatternKind, TablePattern, literal
from syncmgr.job.job_properties import DDL_PROPERTIES, overrides_of
from syncmgr.job.property import wrong_property
from syncmgr.job.show_sync import Joining
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.job.snapshot.resync_where import excerpt_of
from syncmgr.job.source import Can, SourceDescription
from syncmgr.job.sync_job import SyncJob
from syncmgr.job.types.schema import TargetTable
from syncsql import (
    AlterSync,
    Channel,
    ColumnMapping,
    CreateSync,
    DatabaseColumn,
    Expression,
    Name,
    Property,
    SetSource,
    Shards,
    SqlSyntaxError,
    Tables,
    WholeDatabase,
    escaped,
    quote_name,
    typed,
)

MOST_NAMED: Final = 10_000  # in one statement, which checks each of them on its own; a pattern means any number
_ODD: Final = re.compile(r"[%\\]")


def altered(job: SyncJob, node: AlterSync) -> SyncJob:
    """The job with what ALTER SYNC ... SET says. Raises PROPERTY_UNKNOWN, PROPERTY_WRONG."""
    properties = {**job.properties, **overrides_of({each.key: each.value for each in node.properties})}
    refuse_on_source(job.source, properties)
    printed = tuple(Property(key=key, value=value) for key, value in properties.items())
    return job.with_properties(properties, replace(statement_of(job), properties=printed).masked().sql())


def moved(job: SyncJob, node: SetSource) -> SyncJob:
    """The job with the source of ALTER SYNC ... SET SOURCE.

    Raises PROPERTY_UNKNOWN, PROPERTY_WRONG, PROPERTY_MISSING.
    """
    changed, statement = {each.key: each.value for each in node.properties}, statement_of(job)
    source = job.source.altered(changed)
    means, written = source.properties(), {each.key: each.value for each in statement.binlog}
    # What another property stands instead of now is said no more.
    kept = {key: value for key, value in written.items() if means[key] or not value}
    printed = tuple(Property(key=key, value=value) for key, value in (kept | changed).items())
    return job.with_source(source, replace(statement, binlog=printed).masked().sql())


def renamed(job: SyncJob, to: str) -> SyncJob:
    """The job with the name of ALTER SYNC ... RENAME TO."""
    return job.renamed(to, replace(statement_of(job), job=Name(db=job.db, name=to)).masked().sql())


def with_channels(job: SyncJob, channels: Iterable[Channel | Tables | Shards]) -> SyncJob:
    """The job whose text also has what ALTER SYNC ... ADD TABLE says; what its patterns cover is left to them."""
    statement, wanted = statement_of(job), patterns(job)
    new = (each for each in channels if not any(_is_matched(each, pattern) for pattern in wanted))
    return job.with_statement(replace(statement, channels=(*statement.channels, *new)).masked().sql())


def _is_matched(node: Channel | Tables | Shards, pattern: Tables | Shards) -> bool:
    """Whether a pattern says the same of one of its tables."""
    if not (isinstance(node, Tables) and isinstance(node.source, Name)):
        return False
    table = str(node.source.db), node.source.name
    return pattern_of(pattern).has(table) and only(pattern, table) == node


def lacked(job: SyncJob, labels: Iterable[str]) -> dict[str, Joining]:
    """Of these tables those that match the job's patterns and are not in it yet, with how they join."""
    synced = {channel.source.label for channel in job.channels}
    wanted = [(each, pattern_of(each)) for each in patterns(job)]
    tables = {label: (label.partition(".")[0], label.partition(".")[2]) for label in labels if label not in synced}
    meant = ((label, only(node, table)) for label, table in tables.items() for node, of in wanted if of.has(table))
    return {label: _joining(job, node, tables[label]) for label, node in meant}


def _joining(job: SyncJob, node: Tables | Shards, table: tuple[str, str]) -> Joining:
    add, name = node.sql(), Name(db=table[0], name=table[1]).sql()
    if isinstance(node, Shards):
        return Joining(table=name, add=add)
    target = node.target_db, table[1]
    filling = next((each for each in job.channels if (each.target_db, each.target) == target), None)
    if filling is None:
        return Joining(table=name, add=add)
    source = Name(db=filling.source.db, name=filling.source.name).sql()
    left = {(shadow.db, shadow.name) for shadow in filling.history.shadows if shadow.left}
    return Joining(
        table=name, add=add, filled_by=source, is_successor=filling.history.stopped is not None and table in left
    )


def excluding(job: SyncJob, db: str, name: str) -> SyncJob | None:
    """The job whose patterns no longer match a table that it does not have; None: they did not."""
    label, out, statement = f"{db}.{name}", Name(db=db, name=name), statement_of(job)
    if not lacked(job, [label]):
        return None
    channels = (
        each
        if isinstance(each, Channel) or not pattern_of(each).has((db, name))
        else replace(each, exclude=(*each.exclude, out))
        for each in statement.channels
    )
    return job.with_statement(replace(statement, channels=tuple(channels)).masked().sql())


def means(job: SyncJob, channel: ChannelDescription) -> bool:
    """Whether the job's text does: a channel that left it is removed when the run that reads it has ended."""
    return any(_without(each, job.db, channel) != each for each in statement_of(job).channels)


def without(job: SyncJob, channel: ChannelDescription) -> SyncJob:
    """The job whose text no longer covers a channel: it is not named, or patterns exclude its source."""
    statement = statement_of(job)
    kept = [left for each in statement.channels if (left := _without(each, job.db, channel)) is not None]
    return job.with_statement(replace(statement, channels=tuple(kept)).masked().sql())


def _without(node: Channel | Tables | Shards, db: str, channel: ChannelDescription) -> Channel | Tables | Shards | None:
    out = Name(db=channel.source.db, name=channel.source.name)
    match node:
        case Channel():
            return None if (node.target.db or db, node.target.name) == (channel.target_db, channel.target) else node
        case Tables(source=Name()):
            return None if (node.source, node.target_db) == (out, channel.target_db) else node
        case Tables() if node.target_db != channel.target_db:
            return node
        case Tables() | Shards():
            meant = pattern_of(node).has((channel.source.db, channel.source.name))
            return replace(node, exclude=(*node.exclude, out)) if meant else node
        case _:
            assert_never(node)


def forgetting(job: SyncJob, channels: Iterable[ChannelDescription]) -> SyncJob:
    """The job whose text does not name channels whose targets are gone; what its patterns match may come back."""
    statement = statement_of(job)
    gone = {(channel.target_db, channel.target) for channel in channels}
    kept = tuple(
        each
        for each in statement.channels
        if not isinstance(each, Channel) or (each.target.db or job.db, each.target.name) not in gone
    )
    return job.with_statement(replace(statement, channels=kept).masked().sql())


def pattern_of(node: Tables | Shards) -> Pattern:
    """The tables that it means. Raises NOT_SUPPORTED, BAD_PATTERN."""
    exclude = tuple(_excluded(each) for each in node.exclude)
    if isinstance(node, Shards):
        return namesakes(_pattern(node.source), exclude)
    match node.source:
        case syncsql.TablePattern() as source:
            return family(_pattern(source), exclude)
        case Name(db=db, name=name):
            return DatabasePattern(db=str(db), named=name, exclude=exclude)
        case WholeDatabase(db=db):
            return DatabasePattern(db=db, exclude=exclude)
        case _:
            assert_never(node.source)


def _pattern(node: syncsql.TablePattern) -> TablePattern:
    return TablePattern(kind=PatternKind(node.kind.value), text=node.text)


def _excluded(node: Name | syncsql.TablePattern) -> tuple[str, str] | TablePattern:
    """Raises BAD_PATTERN."""
    if isinstance(node, Name):
        return str(node.db), node.name
    pattern = _pattern(node)
    pattern.check()
    return pattern


def only(node: Tables | Shards, table: tuple[str, str]) -> Tables | Shards:
    """What it says of one of its tables."""
    db, name = table
    match node:
        case Tables():
            return replace(node, source=Name(db=db, name=name), exclude=())
        case Shards():
            alone = syncsql.TablePattern(kind=syncsql.PatternKind.LIKE, text=f"{literal(db)}.{literal(name)}")
            return replace(node, source=alone, exclude=())
        case _:
            assert_never(node)


def databases(node: Tables | Shards) -> str:
    """A LIKE pattern for the databases that it is about, and maybe others. Raises as `pattern_of` does."""
    match pattern_of(node):
        case DatabasePattern(db=db):
            return literal(db)
        case ShardPattern(pattern=pattern):
            return pattern.databases


def odd_names(channels: Iterable[Channel | Tables | Shards]) -> dict[tuple[str, str | None], str]:
    """Names in it with % or a backslash, which may be meant as a pattern, and how that is written.

    A database and one of its tables, or None for all of them.
    """
    found: dict[tuple[str, str | None], str] = {}
    for each in channels:
        into = f"{quote_name(each.target_db)}.*" if isinstance(each, Tables) else each.target.sql()
        if not isinstance(each.source, syncsql.TablePattern):
            table = _parts(each.source)
            found[table] = f"FROM {_as_pattern(*table, 'TABLES ')} INTO {into}"
            if isinstance(each, Tables) and "%" in table[0]:
                found[table] = f"FROM database.* INTO {into} for each database"
        for out in () if isinstance(each, Channel) else each.exclude:
            if isinstance(out, Name):
                found[_parts(out)] = f"EXCLUDE ({_as_pattern(*_parts(out), '')})"
    return {(db, name): how for (db, name), how in found.items() if _ODD.search(f"{db}{name}")}


def _parts(source: Name | WholeDatabase) -> tuple[str, str | None]:
    return (source.db, None) if isinstance(source, WholeDatabase) else (str(source.db), source.name)


def _as_pattern(db: str, name: str | None, word: str) -> str:
    """If only characters of names are escaped in it, a name was meant."""
    if "%" not in f"{db}{name}".replace("\\%", ""):
        bare = [quote_name(re.sub(r"\\([\\%_])", r"\1", part)) for part in (db, name) if part is not None]
        return ".".join(bare if name is not None else [*bare, "*"])
    parts = (part if "%" in part else escaped(part) for part in (db, "%" if name is None else name))
    return f"{word}LIKE {typed('.'.join(parts))}"


def check_names(channels: Iterable[Channel | Tables | Shards], found: Collection[tuple[str, str]]) -> None:
    """Raises NO_TABLE_MATCHES if a name that looks like a pattern is not that of a table, BAD_PATTERN if a name after
    EXCLUDE is not a table of its pattern.
    """
    channels = tuple(channels)
    databases_found = {db for db, _ in found}
    for (db, name), how in odd_names(channels).items():
        there = db in databases_found if name is None else (db, name) in found
        if not there:
            wrong = f"a quoted name is no pattern: write {how} if that is meant"
            hint = f"; {wrong}; if the table is there, the user lacks SELECT on it"
            raise SyncError(Code.NO_TABLE_MATCHES, pattern=f"the name {db}.{name or '*'}", hint=hint)
    for each in channels:
        if isinstance(each, Channel):
            continue
        _check_case(each, found)
        if isinstance(each.source, syncsql.TablePattern):
            _check_excluded(each)


def _check_case(node: Tables | Shards, found: Collection[tuple[str, str]]) -> None:
    """A name in another case excludes nothing, even if the server treats it as the same."""
    folded = {(db.casefold(), name.casefold()): (db, name) for db, name in found}
    for out in (each for each in node.exclude if isinstance(each, Name)):
        table = str(out.db), out.name
        there = folded.get((table[0].casefold(), table[1].casefold()))
        if table not in found and there is not None:
            reason = f"EXCLUDE names {'.'.join(table)}, and the table is {'.'.join(there)}; write it so"
            raise SyncError(Code.BAD_PATTERN, pattern=node.source.sql(), reason=reason)


def _check_excluded(node: Tables | Shards) -> None:
    meant = pattern_of(replace(node, exclude=()))
    for out in node.exclude:
        if isinstance(out, Name) and not meant.has((str(out.db), out.name)):
            reason = f"EXCLUDE names {out.db}.{out.name}, which it does not mean; leave that out, or fix the name"
            raise SyncError(Code.BAD_PATTERN, pattern=node.source.sql(), reason=reason)


def patterns(job: SyncJob) -> tuple[Tables | Shards, ...]:
    """What a job says of tables that it does not name."""
    return tuple(each for each in statement_of(job).channels if not isinstance(each, Channel))


def statement_of(job: SyncJob) -> CreateSync:
    """The text that it keeps, read."""
    [parsed] = syncsql.parse(job.statement)
    assert isinstance(parsed.statement, CreateSync), "a job keeps the text that made it"
    return parsed.statement


def refuse_on_source(source: SourceDescription, properties: Mapping[str, str]) -> None:
    """Raises PROPERTY_WRONG for properties that a job on it cannot have."""
    refused = dict(source.refused)
    if Can.FOLLOW_DDL not in source.can:
        kind = source.kind.lower()
        why = f"a job on {kind} goes on where its columns stay as they are, and pauses at every other DDL"
        refused |= dict.fromkeys(DDL_PROPERTIES, why)
    for name, reason in refused.items():
        if name in properties:
            raise wrong_property(name, properties[name], reason)


def refuse_many(channels: Collection[Channel | Tables | Shards]) -> None:
    """Raises STATEMENT_TOO_LARGE."""
    if len(channels) > MOST_NAMED:
        advice = "FROM db.* means any number of tables, and ALTER SYNC JOB ... ADD TABLE takes those beyond that"
        raise SyncError(Code.STATEMENT_TOO_LARGE, limit=MOST_NAMED, what="tables and patterns", advice=advice)


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


def excerpt(channel: ChannelDescription, target: TargetTable, where: Expression) -> KeyRange:
    """Of the rows of a channel, by the WHERE of RESYNC TABLE. Raises RESYNC_WHERE, SOURCE_UNKNOWN_COLUMN."""
    try:
        test = where.comparisons()
    except SqlSyntaxError as error:
        reason = f"{error.reason}, not {error.near}"
        raise SyncError(Code.RESYNC_WHERE, table=channel.source.label, condition=where.sql(), reason=reason) from error
    return excerpt_of(channel, target, test, where.sql())


def _spark(expression: Expression) -> str:
    """The expression in Spark SQL. Raises SYNTAX if Spark has none."""
    try:
        return expression.spark()
    except SqlSyntaxError as error:
        raise SyncError(
            Code.SYNTAX, reason=error.reason, near=error.near, line=error.line, column=error.column
        ) from error
