"""A channel as a statement wants it -> its description.

Owns: the plan of a channel and every check of it that needs no IO.
Must not know: servers, Spark, statements' text.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from syncmgr.config.settings import did_you_mean
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.attempts import gathered
from syncmgr.job.channel.description import ChannelDescription, MappedColumn, literal, quoted
from syncmgr.job.channel.shard import DATABASE, check_apart
from syncmgr.job.types.column_type import same_labels
from syncmgr.job.types.fitting import Fit, fit
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import SourceTable, TargetColumn, TargetTable
from syncmgr.job.types.table_rules import is_reserved
from syncmgr.job.types.target import spark_cast

SHOWN: Final = 100
MOST_COMPUTED: Final = 64 << 10  # characters of the expressions and the WHERE of a channel


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnItem:
    """One entry of a channel's column list: `target`, or `target = expression` with the source columns it reads.

    `constant`: the text that it has in every row, instead of an expression.
    """

    target: str
    expression: str | None = None  # Spark SQL
    reads: tuple[str, ...] = ()
    constant: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """WHERE of a channel: Spark SQL and the source columns it reads."""

    expression: str
    reads: tuple[str, ...]


def refuse_long(items: Iterable[ColumnItem], where: Condition | None) -> None:
    """They are stored, and read again, with the job. Raises BAD_EXPRESSION."""
    texts = [item.expression for item in items if item.expression is not None]
    texts += [] if where is None else [where.expression]
    size = sum(map(len, texts))
    if size > MOST_COMPUTED:
        longest = max(texts, key=len)
        reason = (
            f"the expressions and the WHERE of its table have {size} characters together, more than {MOST_COMPUTED}"
        )
        raise SyncError(Code.BAD_EXPRESSION, expression=f"{longest[:SHOWN]}...", reason=reason)


def plan_channel(
    *,
    token: str,
    source: SourceTable,
    unique_keys: Iterable[tuple[str, ...]],
    target: TargetTable,
    items: Sequence[ColumnItem],
    where: Condition | None,
    checked: bool = False,
    shard: bool = False,
) -> ChannelDescription:
    """The channel that these descriptions make.

    `unique_keys`: the column sets of the source's primary and NOT NULL unique keys. No items: every source column
    goes into the target column of its name. `checked`: each value will be checked, so a target may be narrower than its
    source. `shard`: tables of other databases go into the target, too. Raises BAD_EXPRESSION, UNKNOWN_COLUMN,
    DUPLICATE_COLUMN, SOURCE_UNKNOWN_COLUMN, TYPE_DOES_NOT_FIT, NO_CHANNEL_KEY, COLUMN_NOT_COVERED, SHARDS_REFUSED:
    lists every wrong name; if all names are right, everything that does not fit.
    """
    refuse_long(items, where)
    takes_new_columns = not items
    items = items or [ColumnItem(target=column.name) for column in source.columns]
    if shard:
        items = _with_database_column(items, source, target)
    mapped = gathered(partial(_mapped, item, source, target) for item in items)
    _refuse_duplicates(column.target for column, _ in mapped)
    copies = (each for each, item in zip(mapped, items, strict=True) if not item.expression and item.constant is None)
    plain = {column.target: reads[0] for column, reads in copies}
    constants = {column.target for column, _ in mapped if column.constant is not None}
    checks = [
        *(partial(_check_fits, source, name, target, filled, checked=checked) for filled, name in plain.items()),
        partial(_check_keys, source, target, plain, constants, list(unique_keys)),
        *(partial(_check_filled, source, target, c, mapped, plain.get(c.name)) for c in target.columns),
    ]
    gathered(checks)
    needed = {name for _, reads in mapped for name in reads}
    if where is not None:
        needed |= {_source_column(source, name, target) for name in where.reads}
    return ChannelDescription(
        token=token,
        source=source,
        target_db=target.db,
        target=target.name,
        columns=tuple(column for column, _ in mapped),
        keys=target.keys,
        source_keys=_source_keys(target, plain, constants),
        reads=tuple(c.name for c in source.columns if c.name in needed),
        where=where.expression if where else None,
        takes_new_columns=takes_new_columns,
    )


def _with_database_column(items: Sequence[ColumnItem], source: SourceTable, target: TargetTable) -> list[ColumnItem]:
    """With the column that has the name of the source's database."""
    if not any(item.constant is not None for item in items):
        items = [*items, ColumnItem(target=DATABASE, constant=source.db)]
    column = next(item.target for item in items if item.constant is not None)
    check_apart(target, column, source.db, source.label)
    return list(items)


def _mapped(item: ColumnItem, source: SourceTable, target: TargetTable) -> tuple[MappedColumn, tuple[str, ...]]:
    column = target.column(item.target)
    if column is None:
        raise SyncError(Code.UNKNOWN_COLUMN, column=item.target, where=target.label)
    if item.constant is not None:
        return MappedColumn(target=column.name, expression=literal(item.constant), constant=item.constant), ()
    if item.expression is not None:
        if column.name in target.keys:
            reason = f"key column '{column.name}' cannot be an expression; name a source column of the same name"
            raise SyncError(Code.NO_CHANNEL_KEY, table=target.label, reason=reason)
        reads = tuple(_source_column(source, name, target) for name in item.reads)
        return MappedColumn(target=column.name, expression=_narrowed(item.expression, column)), reads
    name = _source_column(source, item.target, target)
    return MappedColumn(target=column.name, expression=quoted(name)), (name,)


def _narrowed(expression: str, column: TargetColumn) -> str:
    """The lake stores TINYINT and SMALLINT as int: their ranges hold only where the expression is cast."""
    return spark_cast(expression, column.type) if column.type.name in {"TINYINT", "SMALLINT"} else expression


def _source_column(source: SourceTable, name: str, target: TargetTable) -> str:
    column = source.column(name)
    if column is None:
        hint = did_you_mean(name, [c.name for c in source.columns])
        raise SyncError(Code.SOURCE_UNKNOWN_COLUMN, table=source.label, column=name, hint=hint)
    if is_reserved(column.name, target):
        reason = f"its column '{column.name}' cannot be read, since staged rows have one of that name; leave it out"
        raise SyncError(Code.BAD_TABLE, table=source.label, reason=reason)
    return column.name


def _check_fits(source: SourceTable, name: str, target: TargetTable, filled: str, *, checked: bool) -> None:
    origin, column = source.column(name), target.column(filled)
    assert origin is not None
    assert column is not None
    found, reason = fit(origin, column.type)
    if found is Fit.CHECKED and not checked:
        reason += '; or set "on_value_error", and each value is looked at'
    if found is Fit.NEVER or (found is Fit.CHECKED and not checked):
        raise SyncError(
            Code.TYPE_DOES_NOT_FIT,
            source=f"{source.label}.{name}",
            source_type=origin.text,
            target=column.name,
            target_type=column.type.text,
            reason=reason,
        )


def _refuse_duplicates(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SyncError(Code.DUPLICATE_COLUMN, column=name)
        seen.add(name)


def _source_keys(target: TargetTable, plain: Mapping[str, str], constants: Collection[str]) -> tuple[str, ...]:
    keys = [key for key in target.keys if key not in constants]
    missing = [key for key in keys if key not in plain]
    if missing:
        reason = f"key column '{missing[0]}' is not in the channel's column list"
        raise SyncError(Code.NO_CHANNEL_KEY, table=target.label, reason=reason)
    return tuple(plain[key] for key in keys)


def _check_keys(
    source: SourceTable,
    target: TargetTable,
    plain: Mapping[str, str],
    constants: Collection[str],
    unique_keys: Sequence[tuple[str, ...]],
) -> None:
    if target.keys:
        check_key_covers(source, target, _source_keys(target, plain, constants), unique_keys)


def check_key_covers(
    source: SourceTable,
    target: TargetTable,
    source_keys: Sequence[str],
    unique_keys: Sequence[tuple[str, ...]],
) -> None:
    """Two source rows must never share a target key, or one of them would be lost."""
    folded = {folded_name(name) for name in source_keys}
    covered = [key for key in unique_keys if {folded_name(name) for name in key} <= folded]
    doubts = [_same_labels(source, key) for key in covered]
    if None in doubts:
        return
    if doubts:
        reason = (
            f"{doubts[0]}, so that two rows of {source.label} could share a key; drop that label, or give it a text"
        )
        raise SyncError(Code.NO_CHANNEL_KEY, table=target.label, reason=reason)
    known = " or ".join("(" + ", ".join(key) + ")" for key in unique_keys)
    reason = f"its UNIQUE KEY must include all columns of a primary or NOT NULL unique key of {source.label}" + (
        f": {known}" if known else ", which has none; use DUPLICATE KEY to append"
    )
    raise SyncError(Code.NO_CHANNEL_KEY, table=target.label, reason=reason)


def _same_labels(source: SourceTable, key: Iterable[str]) -> str | None:
    columns = (column for name in key if (column := source.column(name)) is not None)
    return next((why for column in columns if (why := same_labels(column)) is not None), None)


def _check_filled(
    source: SourceTable,
    target: TargetTable,
    column: TargetColumn,
    mapped: Iterable[tuple[MappedColumn, tuple[str, ...]]],
    origin: str | None,
) -> None:
    """A NOT NULL column never gets a NULL. `origin`: the source column that fills it unchanged.

    A key column that is not filled is reported by the key check.
    """
    is_filled = column.name in {each.target for each, _ in mapped}
    if column.nullable or (column.name in target.keys and not is_filled):
        return
    if not is_filled:
        raise SyncError(Code.COLUMN_NOT_COVERED, column=column.name, table=target.label)
    filling = None if origin is None else source.column(origin)
    if filling is not None and filling.nullable:
        raise SyncError(
            Code.TYPE_DOES_NOT_FIT,
            source=f"{source.label}.{filling.name}",
            source_type=filling.text,
            target=column.name,
            target_type=f"{column.type.text} NOT NULL",
            reason="the source column may be NULL",
        )


def check_loadable(channel: ChannelDescription, *, is_empty: bool) -> None:
    """Whether a snapshot may fill the target. Raises SNAPSHOT_REFUSED."""
    if not is_empty:
        reason = "the target is not empty; drop it and create it again"
        if channel.part is not None:
            reason = f"the target has rows of {channel.part.value} from before; drop it and create it again"
        raise SyncError(Code.SNAPSHOT_REFUSED, table=f"{channel.target_db}.{channel.target}", reason=reason)
