"""What a job was told to do: which table goes into which, and its properties.

Owns: PROPERTIES, the plan of a channel and every check that needs no IO.
Must not know: servers, Spark, statements' text.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

from syncmgr.config.settings import SETTINGS, did_you_mean, find, parse
from syncmgr.errors import Code, SyncError, gathered
from syncmgr.job.channel.channel_state import Stop
from syncmgr.job.channel.shard import DATABASE, Part, check_apart
from syncmgr.job.ddl_policy import OF_ONE_KIND, OnDdl, OnDdlStop
from syncmgr.job.position import Position, has_passed
from syncmgr.job.property import Property, wrong_property
from syncmgr.job.statement.words import Modes
from syncmgr.job.types.fitting import Fit, fit
from syncmgr.job.types.schema import SourceTable, TargetColumn, TargetTable
from syncmgr.job.types.target import spark_cast

PROPERTIES: Final = "PROPERTIES"
_PLAIN: Final = re.compile(r"`((?:[^`]|``)+)`")  # an expression that is one source column


@dataclass(frozen=True, kw_only=True, slots=True)
class MappedColumn:
    """Target column and the Spark SQL expression over source columns that fills it.

    `constant`: the text that it has in every row, of which `expression` is the literal; None: rows differ.
    """

    target: str
    expression: str
    constant: str | None = None

    @property
    def source(self) -> str | None:
        """The source column that fills it as it is; None: something is computed."""
        found = _PLAIN.fullmatch(self.expression)
        return None if found is None else found[1].replace("``", "`")


class AppendOnChange(StrEnum):
    """What an update or delete of the source does to a target without a key."""

    ERROR = "error"
    APPEND = "append"  # an update appends its new row, a delete appends nothing
    IGNORE = "ignore"


class OnValueError(StrEnum):
    """What a value that its target column cannot hold does."""

    STOP = "stop"  # its table stops in front of it; the last one pauses the job
    NULL = "null"  # NULL takes its place, where the target allows that
    DEAD_LETTER = "dead-letter"  # the row is not in the target as long as it has the value, and is told


class WithoutKey(StrEnum):
    """What becomes of a table without a key that a pattern means."""

    REFUSE = "refuse"
    APPEND = "append"  # its target has no key, either


# Properties of a job beside the settings that it may override.
JOB_PROPERTIES: Final = (
    Property(
        "append_on_change",
        AppendOnChange.ERROR,
        "What an update or delete does to a target without a key: `error`, `append` or `ignore`.",
    ),
    Property(
        "tables_without_key",
        WithoutKey.REFUSE,
        "Of a whole database: `refuse` the statement for a table without a key, or `append` to its target.",
    ),
    Property(
        "on_ddl",
        OnDdl.EVOLVE,
        "What becomes of DDL on a synced table: `evolve`, `add_only`, `ignore` or `pause`; see DDL.",
    ),
    Property("on_drop_column", "as on_ddl", "Of a dropped column alone: `drop`, `keep` it with NULL, or `pause`."),
    Property("on_old_values", "pause", "Where nobody can tell a new column's values in old rows: `pause`, or `null`."),
    Property(
        "on_type_change",
        "pause",
        "Of a type that changes values, or that the target cannot take: `pause`, or `new_column`, called `name__2`.",
    ),
    Property("on_truncate", "as on_ddl", "Of TRUNCATE alone: `apply`, `ignore` or `pause`."),
    Property(
        "on_drop_table",
        "as on_ddl",
        "Of a dropped table alone: `keep` the target's rows, `drop` the target, or `pause`.",
    ),
    Property(
        "on_rows_change",
        "as on_ddl",
        "Of rows that change unseen, as by DROP PARTITION, alone: `pause`, `keep` the target's rows, or `resync` them.",
    ),
    Property(
        "on_ddl_stop",
        "table, with on_ddl pause: job",
        "What stops at a statement that cannot be followed: its `table` alone, until RESYNC TABLE, or the `job`. The "
        "last table that is read stops the job; so does each one of a job on canal, which has no rows to bring.",
    ),
    Property(
        "on_value_error",
        OnValueError.STOP,
        "What a value that its target cannot hold does: `stop`, `null` or `dead-letter`; see Values that do not fit. "
        "Where it is given, a target may be narrower than its source, and each value is looked at.",
    ),
)
_CHOICES: Final[Mapping[str, Collection[str]]] = {
    "append_on_change": list(AppendOnChange),
    "tables_without_key": list(WithoutKey),
    "on_ddl": list(OnDdl),
    "on_ddl_stop": list(OnDdlStop),
    "on_value_error": list(OnValueError),
    **{name: deeds for name, (_, deeds) in OF_ONE_KIND.items()},
}


def overrides_of(given: Mapping[str, str]) -> dict[str, str]:
    """The checked PROPERTIES of a job. Raises PROPERTY_UNKNOWN, PROPERTY_WRONG."""
    names = [s.name for s in SETTINGS if s.job] + [p.name for p in JOB_PROPERTIES]
    for name, value in given.items():
        if name not in names:
            raise SyncError(Code.PROPERTY_UNKNOWN, name=name, where=PROPERTIES, hint=did_you_mean(name, names))
        if name in _CHOICES:
            *choices, last = _CHOICES[name]
            if value not in [*choices, last]:
                raise wrong_property(name, value, f"it must be {', '.join(choices)} or {last}")
        else:
            try:
                parse(find(name), value)
            except SyncError as error:
                raise wrong_property(name, value, str(error.context["reason"])) from None
    return dict(given)


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnItem:
    """One entry of a channel's column list: `target`, or `target = expression` with the source columns it reads.

    `constant`: the text that it has in every row, in place of an expression.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """The name that a column list gives to the source column at its place, and the target type that it must fit.

    `type` "": no target column has the name, so that the source column is passed over.
    """

    name: str
    type: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PastDdl:
    """A statement, and what is needed to read it again."""

    text: str
    db: str
    modes: Modes


@dataclass(frozen=True, kw_only=True, slots=True)
class Shadow:
    """A copy of a source table that a migration tool alters, fills, and puts in its place in the end.

    `alters`: what has changed it since it was a copy. `triggers`: those by which a tool brings changes of the table
    into it, each with its event. `left`: no copy, but a name that the table itself had before. `log`: no copy, but a
    table that its tool keeps beside it.
    """

    db: str
    name: str
    alters: tuple[PastDdl, ...] = ()
    left: bool = False
    log: bool = False
    triggers: tuple[tuple[str, str], ...] = ()

    @property
    def is_copy(self) -> bool:
        return not (self.left or self.log)


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelDescription:
    """Source table -> target table, resolved against both schemas.

    `token`: random, made at CREATE SYNC, never reused. `source`: the schema at the job's start position. `reads`:
    the source columns that a segment must hold. `keys`: target key columns; `source_keys`: the source columns behind
    them, in the same order, but for one that has the same text in every row. `where`: Spark SQL or None. `places`:
    empty where columns are mapped by name; else Doris' list, which names the source columns by their place: `reads`
    and `source_keys` hold its names, and `source` has no columns until the first rows have told them. `follows`: there
    is no column list, so that new columns come along. `gone`: the source table was dropped; `dropped`: the target with
    it. `left`: target columns that it filled once, which keep those values. `shadows`: copies that may take its place,
    and the names that it left. `after`: of a table that joined its job: changes up to there are none of it.
    `known_at`: where in the binlog the table was as `source` says; None: of a job of an earlier version, or on canal.
    `stopped`: why it is not read any more, None: it is. `nameless`: rows of it came without the names of their columns,
    and nobody has compared these with the server's since.
    """

    token: str
    source: SourceTable
    target_db: str
    target: str
    columns: tuple[MappedColumn, ...]
    keys: tuple[str, ...]
    source_keys: tuple[str, ...]
    reads: tuple[str, ...]
    where: str | None = None
    places: tuple[Listed, ...] = ()
    follows: bool = False
    gone: bool = False
    dropped: bool = False
    left: tuple[str, ...] = ()
    shadows: tuple[Shadow, ...] = ()
    after: Position | None = None
    known_at: Position | None = None
    stopped: Stop | None = None
    nameless: bool = False

    def skips(self, end: Position) -> bool:
        """Whether nothing of this channel is wanted up to there: it came, or comes, with the rows of the table."""
        return self.after is not None and has_passed(self.after, end)

    @property
    def is_read(self) -> bool:
        return self.stopped is None and not self.dropped

    @property
    def expressions(self) -> str:
        """The texts in which source columns are named beside those that fill a column as they are."""
        computed = (c.expression for c in self.columns if c.source is None and c.constant is None)
        return "\n".join([*computed, self.where or ""])

    @property
    def way(self) -> str:
        """The same where the same columns of the source go into the same ones of the target."""
        columns = [self.source.column(name) for name in self.reads]
        return hashlib.sha256(repr((columns, self.columns)).encode()).hexdigest()[:16]

    @property
    def part(self) -> Part | None:
        """Where other channels fill the same target: the rows that are its own."""
        found = ((c.target, c.constant) for c in self.columns if c.constant is not None)
        return next((Part(column=column, value=value) for column, value in found), None)

    @property
    def filled(self) -> str:
        """How Status names what it fills."""
        return self.target if self.part is None else f"{self.target} ({self.part.value})"

    @property
    def label(self) -> str:
        """As Doris' Channel column prints it."""
        return f"{self.source.label}->{self.target}"


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
    goes into the target column of its name. `checked`: each value will be looked at, so that a target may be narrower
    than its source. `shard`: tables of other databases go into the target, too. Raises UNKNOWN_COLUMN,
    DUPLICATE_COLUMN, SOURCE_UNKNOWN_COLUMN, TYPE_DOES_NOT_FIT, NO_CHANNEL_KEY, COLUMN_NOT_COVERED, SHARDS_REFUSED:
    every name that is wrong, else everything that does not fit.
    """
    follows = not items
    items = items or [ColumnItem(target=column.name) for column in source.columns]
    if shard:
        items = _told_apart(items, source, target)
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
        needed |= {_source_column(source, name) for name in where.reads}
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
        follows=follows,
    )


def _told_apart(items: Sequence[ColumnItem], source: SourceTable, target: TargetTable) -> list[ColumnItem]:
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
        reads = tuple(_source_column(source, name) for name in item.reads)
        return MappedColumn(target=column.name, expression=_narrowed(item.expression, column)), reads
    name = _source_column(source, item.target)
    return MappedColumn(target=column.name, expression=quoted(name)), (name,)


def _narrowed(expression: str, column: TargetColumn) -> str:
    """Iceberg stores TINYINT and SMALLINT as int: their ranges hold only where the expression is cast."""
    return spark_cast(expression, column.type) if column.type.name in {"TINYINT", "SMALLINT"} else expression


def literal(text: str) -> str:
    """A text in Spark SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quoted(name: str) -> str:
    """A column name in Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def _source_column(source: SourceTable, name: str) -> str:
    column = source.column(name)
    if column is None:
        hint = did_you_mean(name, [c.name for c in source.columns])
        raise SyncError(Code.SOURCE_UNKNOWN_COLUMN, table=source.label, column=name, hint=hint)
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
    folded = {name.casefold() for name in source_keys}
    if any({name.casefold() for name in key} <= folded for key in unique_keys):
        return
    known = " or ".join("(" + ", ".join(key) + ")" for key in unique_keys)
    reason = f"its UNIQUE KEY must include all columns of a primary or NOT NULL unique key of {source.label}" + (
        f": {known}" if known else ", which has none; use DUPLICATE KEY to append"
    )
    raise SyncError(Code.NO_CHANNEL_KEY, table=target.label, reason=reason)


def _check_filled(
    source: SourceTable,
    target: TargetTable,
    column: TargetColumn,
    mapped: Iterable[tuple[MappedColumn, tuple[str, ...]]],
    origin: str | None,
) -> None:
    """A column that takes no NULL gets none. `origin`: the source column that fills it as it is.

    What is said of a key that is not filled is said by the check of keys.
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
        reason = "the target is not empty; drop it and create it anew"
        if channel.part is not None:
            reason = f"the target has rows of {channel.part.value} from before; drop it and create it anew"
        raise SyncError(Code.SNAPSHOT_REFUSED, table=f"{channel.target_db}.{channel.target}", reason=reason)
