"""What a job was told to do: its source, and which table goes into which.

Owns: the properties of FROM BINLOG and PROPERTIES, the plan of a channel and every check that needs no IO.
Must not know: servers, Spark, statements' text.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal, get_args

from syncmgr.errors import Code, SyncError
from syncmgr.job.epoch import MappedColumn
from syncmgr.job.schema import SourceTable, TargetColumn, TargetTable
from syncmgr.job.target import fits, spark_cast
from syncmgr.settings import SETTINGS, did_you_mean, find, parse

BINLOG: Final = "FROM BINLOG"
PROPERTIES: Final = "PROPERTIES"


class AppendOnChange(StrEnum):
    """What an update or delete of the source does to a target without a key."""

    ERROR = "error"
    APPEND = "append"  # an update appends its new row, a delete appends nothing
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Property:
    """One key of FROM BINLOG. `default` None: the key must be given."""

    name: str
    default: str | None
    doc: str


MYSQL_PROPERTIES: Final = (
    Property("type", None, "`mysql`: the job reads MySQL's binlog itself."),
    Property("mysql.host", None, "Host name or address of the MySQL or MariaDB server."),
    Property("mysql.port", "3306", "Its port."),
    Property("mysql.user", None, "A user with REPLICATION SLAVE, REPLICATION CLIENT and SELECT on the tables."),
    Property("mysql.password", None, "Its password; encrypted at rest, masked wherever it could show."),
    Property("mysql.server_id", "0", "Replica id of this job on the server; 0 derives one from the job."),
    Property("mysql.ssl", "preferred", "`disabled`, `preferred` or `required`."),
    Property(
        "start",
        "latest",
        "`latest`, `earliest`, a GTID set, or `file:position`: where a new job begins to read.",
    ),
)
SECRET: Final = frozenset({"mysql.password", "canal.password"})
SslMode = Literal["disabled", "preferred", "required"]
SSL_MODES: Final[tuple[SslMode, ...]] = get_args(SslMode)

# Properties of a job beside the settings that it may override.
JOB_PROPERTIES: Final = (
    Property(
        "append_on_change",
        AppendOnChange.ERROR,
        "What an update or delete does to a target without a key: `error`, `append` or `ignore`.",
    ),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceDescription:
    """FROM BINLOG ("type" = "mysql", ...) with every default filled in."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    server_id: int
    ssl: SslMode
    start: str

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def config(self) -> str:
        """JobConfig of SHOW SYNC JOB, in Doris' form."""
        return f"address:{self.address},user:{self.user},server_id:{self.server_id},start:{self.start}"


def source_of(given: Mapping[str, str]) -> SourceDescription:
    """The source that FROM BINLOG describes. Raises PROPERTY_MISSING, PROPERTY_UNKNOWN, PROPERTY_WRONG."""
    kind = given.get("type")
    if kind is None:
        raise SyncError(Code.PROPERTY_MISSING, name="type", where=BINLOG)
    if kind.lower() != "mysql":
        raise SyncError(Code.PROPERTY_WRONG, name="type", value=kind, reason='it must be "mysql"')
    values = _filled(given, MYSQL_PROPERTIES, BINLOG)
    ssl = next((mode for mode in SSL_MODES if mode == values["mysql.ssl"]), None)
    if ssl is None:
        raise _wrong("mysql.ssl", values["mysql.ssl"], f"it must be one of {', '.join(SSL_MODES)}")
    if not values["mysql.host"]:
        raise _wrong("mysql.host", "", "it must not be empty")
    return SourceDescription(
        host=values["mysql.host"],
        port=_whole("mysql.port", values["mysql.port"], 1, 65535),
        user=values["mysql.user"],
        password=values["mysql.password"],
        server_id=_whole("mysql.server_id", values["mysql.server_id"], 0, 2**32 - 1),
        ssl=ssl,
        start=values["start"],
    )


def overrides_of(given: Mapping[str, str]) -> dict[str, str]:
    """The checked PROPERTIES of a job. Raises PROPERTY_UNKNOWN, PROPERTY_WRONG."""
    names = [s.name for s in SETTINGS if s.job] + [p.name for p in JOB_PROPERTIES]
    for name, value in given.items():
        if name not in names:
            raise SyncError(Code.PROPERTY_UNKNOWN, name=name, where=PROPERTIES, hint=did_you_mean(name, names))
        if name == "append_on_change":
            if value not in list(AppendOnChange):
                raise _wrong(name, value, "it must be error, append or ignore")
        else:
            try:
                parse(find(name), value)
            except SyncError as error:
                raise _wrong(name, value, str(error.context["reason"])) from None
    return dict(given)


def _filled(given: Mapping[str, str], table: Sequence[Property], where: str) -> dict[str, str]:
    names = [p.name for p in table]
    for name in given:
        if name not in names:
            raise SyncError(Code.PROPERTY_UNKNOWN, name=name, where=where, hint=did_you_mean(name, names))
    values = {}
    for entry in table:
        value = given.get(entry.name, entry.default)
        if value is None:
            raise SyncError(Code.PROPERTY_MISSING, name=entry.name, where=where)
        values[entry.name] = value
    return values


def _whole(name: str, text: str, least: int, most: int) -> int:
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        raise _wrong(name, text, f"it must be a whole number from {least} to {most}")
    return int(text)


def _wrong(name: str, value: str, reason: str) -> SyncError:
    return SyncError(Code.PROPERTY_WRONG, name=name, value=value, reason=reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnItem:
    """One entry of a channel's column list: `target`, or `target = expression` with the source columns it reads."""

    target: str
    expression: str | None = None  # Spark SQL
    reads: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """WHERE of a channel: Spark SQL and the source columns it reads."""

    expression: str
    reads: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelDescription:
    """Source table -> target table, resolved against both schemas.

    `token`: random, made at CREATE SYNC, never reused. `source`: the schema at the job's start position. `reads`:
    the source columns that a segment must hold. `keys`: target key columns; `source_keys`: the source columns behind
    them, in the same order. `where`: Spark SQL or None.
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
) -> ChannelDescription:
    """The channel that these descriptions make.

    `unique_keys`: the column sets of the source's primary and NOT NULL unique keys. No items: every source column
    goes into the target column of its name. Raises UNKNOWN_COLUMN, DUPLICATE_COLUMN, SOURCE_UNKNOWN_COLUMN,
    TYPE_DOES_NOT_FIT, NO_CHANNEL_KEY, COLUMN_NOT_COVERED.
    """
    items = items or [ColumnItem(target=column.name) for column in source.columns]
    mapped = [_mapped(item, source, target) for item in items]
    _refuse_duplicates(column.target for column, _ in mapped)
    plain = {
        column.target: reads[0] for (column, reads), item in zip(mapped, items, strict=True) if not item.expression
    }
    source_keys = _source_keys(target, plain)
    if target.keys:
        _check_key_covers(source, target, source_keys, list(unique_keys))
    _check_not_null(source, target, mapped, plain)
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
        source_keys=source_keys,
        reads=tuple(c.name for c in source.columns if c.name in needed),
        where=where.expression if where else None,
    )


def _mapped(item: ColumnItem, source: SourceTable, target: TargetTable) -> tuple[MappedColumn, tuple[str, ...]]:
    column = target.column(item.target)
    if column is None:
        raise SyncError(Code.UNKNOWN_COLUMN, column=item.target, where=target.label)
    if item.expression is not None:
        if column.name in target.keys:
            reason = f"key column '{column.name}' cannot be an expression; name a source column of the same name"
            raise SyncError(Code.NO_CHANNEL_KEY, table=target.label, reason=reason)
        reads = tuple(_source_column(source, name) for name in item.reads)
        return MappedColumn(target=column.name, expression=_narrowed(item.expression, column)), reads
    name = _source_column(source, item.target)
    _check_fits(source, name, column)
    return MappedColumn(target=column.name, expression=quoted(name)), (name,)


def _narrowed(expression: str, column: TargetColumn) -> str:
    """Iceberg stores TINYINT and SMALLINT as int: their ranges hold only where the expression is cast."""
    return spark_cast(expression, column.type) if column.type.name in {"TINYINT", "SMALLINT"} else expression


def quoted(name: str) -> str:
    """A column name in Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def _source_column(source: SourceTable, name: str) -> str:
    column = source.column(name)
    if column is None:
        hint = did_you_mean(name, [c.name for c in source.columns])
        raise SyncError(Code.SOURCE_UNKNOWN_COLUMN, table=source.label, column=name, hint=hint)
    return column.name


def _check_fits(source: SourceTable, name: str, column: TargetColumn) -> None:
    origin = source.column(name)
    assert origin is not None
    reason = fits(origin, column.type)
    if reason:
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


def _source_keys(target: TargetTable, plain: Mapping[str, str]) -> tuple[str, ...]:
    missing = [key for key in target.keys if key not in plain]
    if missing:
        reason = f"key column '{missing[0]}' is not in the channel's column list"
        raise SyncError(Code.NO_CHANNEL_KEY, table=target.label, reason=reason)
    return tuple(plain[key] for key in target.keys)


def _check_key_covers(
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


def _check_not_null(
    source: SourceTable,
    target: TargetTable,
    mapped: Iterable[tuple[MappedColumn, tuple[str, ...]]],
    plain: Mapping[str, str],
) -> None:
    filled = {column.target for column, _ in mapped}
    for column in target.columns:
        if column.nullable:
            continue
        origin = source.column(plain[column.name]) if column.name in plain else None
        if column.name not in filled:
            raise SyncError(Code.COLUMN_NOT_COVERED, column=column.name, table=target.label)
        if origin is not None and origin.nullable:
            raise SyncError(
                Code.TYPE_DOES_NOT_FIT,
                source=f"{source.label}.{origin.name}",
                source_type=origin.text,
                target=column.name,
                target_type=f"{column.type.text} NOT NULL",
                reason="the source column may be NULL",
            )
