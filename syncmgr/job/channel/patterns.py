"""Whole databases, and shards in many: which tables a pattern means, and the target that a source table gets.

Owns: what the pattern of a channel may be, the key, types, comments and partitions of a target that is made
automatically.
Must not know: servers, statements, whether a target already exists.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from syncmgr.config.settings import did_you_mean
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel import shard
from syncmgr.job.channel.attempts import gathered
from syncmgr.job.channel.table_pattern import PatternKind, TablePattern
from syncmgr.job.types import table_rules
from syncmgr.job.types.column_range import fits
from syncmgr.job.types.derived_type import derived
from syncmgr.job.types.schema import SourceColumn, SourceTable, TargetColumn, TargetTable, TargetType

UNSEEN: Final = "; tables that the job's user may not SELECT from do not show"
BUCKET_ROWS: Final = 20_000_000  # of a table that is made: below twice that, partitions only make files small
MOST_BUCKETS: Final = 64
_OF_TOOLS: Final = re.compile(  # gh-ost, pt-online-schema-change, Spirit, LHM
    r"_.+_(?:gho|ghc|ghk|del|new|old|chkpnt)|_.+_old_\d+_\d+|_spirit_(?:checkpoint|sentinel)|lhm[an]_.+"
)
SERVERS_OWN: Final = frozenset({"information_schema", "mysql", "performance_schema", "sys"})
_NO_KEY: Final = frozenset({"FLOAT", "DOUBLE", "JSON"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A table of a server, and what is known of it besides its columns. `rows` and `bytes`: estimated by the server."""

    db: str
    name: str
    rows: int = 0
    bytes: int = 0
    comment: str = ""
    comments: Mapping[str, str] | None = None  # by column


Excluded = tuple[tuple[str, str] | TablePattern, ...]  # tables, and patterns of tables


@dataclass(frozen=True, kw_only=True, slots=True)
class DatabasePattern:
    """The tables of a database: the named one, those of a pattern, or all; without those of `exclude`."""

    db: str
    named: str | None = None
    pattern: TablePattern | None = None
    exclude: Excluded = ()

    def has(self, table: tuple[str, str]) -> bool:
        """Excludes tables that migration tools make or set aside, unless one is named."""
        db, name = table
        if db != self.db or db in SERVERS_OWN or _excludes(self.exclude, table):
            return False
        if self.named is not None:
            return name == self.named
        return (self.pattern is None or self.pattern.matches(db, name)) and (
            not _OF_TOOLS.fullmatch(name) or self._spells(name)
        )

    def _spells(self, name: str) -> bool:
        """Whether the pattern is exactly that name."""
        pattern = self.pattern
        if pattern is None or pattern.kind is not PatternKind.LIKE:
            return False
        return pattern.text.replace("\\", "") == f"{self.db}.{name}".replace("\\", "")

    def members(self, names: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """In order; none if all are excluded. Raises NO_TABLE_MATCHES."""
        label = f"{self.db}.{'*' if self.named is None else self.named}"
        names = tuple(names)
        near = "" if self.named is None else did_you_mean(self.named, [name for db, name in names if db == self.db])
        return _members(self, names, label if self.pattern is None else self.pattern.label, near)


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardPattern:
    """The tables of one name in the databases that match a pattern, without those of `exclude`."""

    table: str
    pattern: TablePattern
    exclude: Excluded = ()

    def has(self, table: tuple[str, str]) -> bool:
        """Never in the server's own databases."""
        db, name = table
        if name != self.table or db in SERVERS_OWN or _excludes(self.exclude, table):
            return False
        return self.pattern.matches(db, name)

    def members(self, names: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """In order; none if all are excluded. Raises NO_TABLE_MATCHES."""
        return _members(self, names, self.pattern.label)


Pattern = DatabasePattern | ShardPattern  # which tables belong to a job


def family(pattern: TablePattern, exclude: Excluded = ()) -> DatabasePattern:
    """The tables of a pattern, each of which goes to the target of its own name. Raises NOT_SUPPORTED, BAD_PATTERN."""
    pattern.check()
    if pattern.database is None:
        how = {
            PatternKind.LIKE: r"before its first dot it must be one name, with \_ for an underscore",
            PatternKind.REGEXP: r"it must begin with ^name\., and have no | outside brackets, no (?i) and no \Q",
        }
        what = f"INTO db.* from more than one database, as {pattern.label} may mean: {how[pattern.kind]}"
        raise SyncError(Code.NOT_SUPPORTED, what=what)
    return DatabasePattern(db=pattern.database, pattern=pattern, exclude=exclude)


def namesakes(pattern: TablePattern, exclude: Excluded = ()) -> ShardPattern:
    """The tables of a pattern, all of which go into one target. Raises NOT_SUPPORTED, BAD_PATTERN."""
    pattern.check()
    if pattern.table is None:
        how = {
            PatternKind.LIKE: r"after its last dot it must be one name, with \_ for an underscore",
            PatternKind.REGEXP: r"it must end in \.name$, and have no | outside brackets, no (?i) and no \Q",
        }
        what = f"one target for tables of different names, as {pattern.label} may mean: {how[pattern.kind]}"
        raise SyncError(Code.NOT_SUPPORTED, what=what)
    return ShardPattern(table=pattern.table, pattern=pattern, exclude=exclude)


def _excludes(exclude: Excluded, table: tuple[str, str]) -> bool:
    return any(out.matches(*table) if isinstance(out, TablePattern) else out == table for out in exclude)


def _members(
    pattern: Pattern, names: Iterable[tuple[str, str]], label: str, near: str = ""
) -> tuple[tuple[str, str], ...]:
    """`near`: a hint at another name, "": there is none."""
    names = tuple(names)
    if not any(map(replace(pattern, exclude=()).has, names)):
        alike = (name for name in map(".".join, names) if name.casefold() == label.casefold())
        raise SyncError(Code.NO_TABLE_MATCHES, pattern=label, hint=next(map(spelt, alike), near or UNSEEN))
    return tuple(sorted(filter(pattern.has, names)))


def spelt(label: str) -> str:
    """What a server reports that stores names in lower case, or compares them without case."""
    return f"; the server calls it {label}: write it so"


def sharded(made: TargetTable) -> TargetTable:
    """The target of one of many tables, turned into the target of all of them. Raises what CREATE TABLE does."""
    shared = replace(
        made,
        columns=(shard.COLUMN, *made.columns),
        keys=(shard.DATABASE, *made.keys) if made.keys else (),
        partition=(shard.DATABASE, *made.partition),
    )
    table_rules.check(shared)
    return shared


def target_of(
    source: SourceTable, unique_keys: Sequence[tuple[str, ...]], found: Found, db: str, reserved: frozenset[str]
) -> TargetTable:
    """The table that takes all of a source table. `reserved`: names that the table format has for columns of its own.
    Raises TYPE_DOES_NOT_FIT, and what CREATE TABLE does.
    """
    kinds = dict(gathered(partial(_named_kind, source, column) for column in source.columns))
    keys = _keys(source, unique_keys, kinds)
    columns = tuple(
        TargetColumn(
            name=column.name,
            type=kinds[column.name],
            nullable=column.name not in keys,
            comment=(found.comments or {}).get(column.name, ""),
        )
        for column in source.columns
    )
    made = TargetTable(
        db=db,
        name=source.name,
        columns=columns,
        keys=keys,
        partition=_partition(keys, found.rows, columns),
        comment=found.comment,
        reserved_columns=reserved,
    )
    table_rules.check(made)
    return made


def _named_kind(source: SourceTable, column: SourceColumn) -> tuple[str, TargetType]:
    found = derived(column)
    if found is None:
        raise SyncError(
            Code.TYPE_DOES_NOT_FIT,
            source=f"{source.label}.{column.name}",
            source_type=column.text,
            target=column.name,
            target_type="any type",
            reason=f"{fits(column, TargetType(name='STRING'))}; create the target without that column",
        )
    return column.name, found


def _keys(
    source: SourceTable, unique_keys: Sequence[tuple[str, ...]], kinds: Mapping[str, TargetType]
) -> tuple[str, ...]:
    """The first unique key, the primary one first, whose values are equal exactly when MySQL says so."""
    for key in unique_keys:
        names = tuple(column.name for name in key if (column := source.column(name)) is not None)
        if len(names) == len(key) and not any(kinds[name].name in _NO_KEY for name in names):
            return names
    return ()


def _partition(keys: tuple[str, ...], rows: int, columns: Sequence[TargetColumn]) -> tuple[str, ...]:
    """A huge table is partitioned by its key, so that upkeep rewrites a part of it at a time."""
    buckets = min(rows // BUCKET_ROWS, MOST_BUCKETS)
    kind = next((column.type.name for column in columns if column.name in keys[:1]), "")
    if buckets < 2 or not table_rules.can_be_bucketed(kind):
        return ()
    return (table_rules.Transform(kind="bucket", column=keys[0], width=buckets).text,)
