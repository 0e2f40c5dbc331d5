"""The one Spark job of an epoch, or of a chunk: change rows in, new row images and vanished keys out.

Owns: netting, WHERE, expressions, casts, partition values, and how they are written as Parquet.
Must not know: tokens, transactions, snapshots.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import literal, quoted
from syncmgr.job.epoch import ChannelCommit
from syncmgr.job.rows.batch import OP, SEQ, ChangeKind
from syncmgr.job.snapshot.chunk_rows import ChunkRows
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import arrow_type
from syncmgr.lake.cures import in_catalog
from syncmgr.lake.executors.row_sink import DATA, GONE, KIND, RowSink
from syncmgr.lake.executors.row_source import RowSource
from syncmgr.lake.iceberg.layout import Field, Layout, PartitionField
from syncmgr.lake.iceberg.partition_files import PART, folder_of, kind_of, transformed
from syncmgr.lake.spark.exact_cast import UNHELD, exact_cast
from syncmgr.lake.spark.query_errors import condition_and_message
from syncmgr.lake.spark.segment import by_schema
from syncmgr.lake.spark.segment import spark_type as segment_type

ONE_TASK_ROWS: Final = 500_000  # below it a shuffle between tasks costs more than it saves: twice the CPU time
DATA_EXCEPTION: Final = re.compile(r"SQLSTATE: 22\w{3}")
_CAST: Final = re.compile(r'value (?P<value>.+?) of the type "[^"]+" cannot be cast to "(?P<wanted>[^"]+)"')
PLAIN_COLUMN: Final = re.compile(r"`(?:[^`]|``)+`")
NULL_IN_REQUIRED: Final = "syncmgr: NULL in "
SPARK_TYPES: Final = {
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "timestamp": "TIMESTAMP_NTZ",
    "timestamptz": "TIMESTAMP",
    "string": "STRING",
    "binary": "BINARY",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteSpec:
    """What a write is to produce. `gone`: all keys are also written as vanished; False: the index knows their rows.
    `distinct`: no key has two changes, so there is nothing to net.
    """

    sink: RowSink
    gone: bool
    distinct: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class FilledColumn:
    """A target column and the SQL over source columns that fills it, cast to the target's type.

    `expression`: the same before the cast; None: nothing fills it, it is NULL.
    """

    field: Field
    expression: str | None
    sql: str
    key: bool


def spark_type(field: Field) -> str:
    """Spark's word for the type of an Iceberg column. Raises NOT_SUPPORTED for types we never create."""
    if field.type.startswith("decimal("):
        return field.type.upper()
    try:
        return SPARK_TYPES[field.type]
    except KeyError:
        raise SyncError(Code.NOT_SUPPORTED, what=f"column type {field.type} of column {field.name}") from None


def is_known(word: str) -> bool:
    """Whether it is Iceberg's word for a type that we write."""
    return word in SPARK_TYPES or word.startswith("decimal(")


def filled(channel: ChannelCommit, layout: Layout) -> tuple[FilledColumn, ...]:
    """The columns of files, in the order of the table; those that the channel does not fill are NULL.

    A file that lacks a column of the table breaks Iceberg's vectorised reader, which is not used for the types that we
    never create: no file has them. Raises UNKNOWN_COLUMN, COLUMN_NOT_COVERED.
    """
    texts = {}
    for mapped in channel.columns:
        field = layout.field(mapped.target)
        if field is None:
            raise SyncError(Code.UNKNOWN_COLUMN, column=mapped.target, where=f"{channel.db}.{channel.table}")
        texts[field.id] = mapped.expression
    keys = {folded_name(key) for key in channel.keys}
    columns = []
    for field in layout.fields:
        if field.required and field.id not in texts:
            raise SyncError(Code.COLUMN_NOT_COVERED, column=field.name, table=f"{channel.db}.{channel.table}")
        if field.id not in texts and not is_known(field.type):
            continue
        sql = f"CAST({texts.get(field.id, 'NULL')} AS {spark_type(field)})"
        key = folded_name(field.name) in keys
        columns.append(FilledColumn(field=field, expression=texts.get(field.id), sql=sql, key=key))
    return tuple(columns)


def write(
    source: RowSource, channel: ChannelCommit, layout: Layout, writing: WriteSpec, staged: Sequence[str] = ()
) -> None:
    """`staged`: files with the rows of a chunk."""
    rows = changes(source, channel, staged)
    types = {folded_name(column.name): column.dataType.simpleString().upper() for column in rows.schema}
    columns = tuple(_exact(column, types, channel) for column in filled(channel, layout))
    as_they_are = not channel.keys or (writing.distinct and not writing.gone)
    shape = _appends(channel) if as_they_are else _upserts(channel, columns, gone=writing.gone)
    excerpt = None if channel.chunk is None or channel.chunk.excerpt is None else channel.chunk.excerpt.lake
    kinds = (DATA, GONE) if writing.gone else (DATA,)
    save(shape(rows), columns, layout, writing.sink, kinds, where=excerpt)


def save(
    rows: DataFrame,
    columns: tuple[FilledColumn, ...],
    layout: Layout,
    sink: RowSink,
    kinds: Sequence[int],
    *,
    where: str | None = None,
) -> None:
    """Rows that have a `syncmgr_kind`, one of `kinds`; `where`: over the target's columns."""
    images = _images(rows, columns, layout)
    images = images if where is None else images.where(where)
    keys = [column.field for column in columns if column.key]
    sink.save(images, {kind: [c.field for c in columns] if kind == DATA else keys for kind in kinds})


def _exact(column: FilledColumn, types: Mapping[str, str], channel: ChannelCommit) -> FilledColumn:
    """Nothing is rounded in a column that a source column fills as it is. `types`: of those, in Spark's words, by
    folded name. Raises FOREIGN_CHANGE for one of a type that its values are none of.
    """
    kind = types.get(folded_name((column.expression or "")[1:-1].replace("``", "`")))
    if kind is None or column.expression is None or not PLAIN_COLUMN.fullmatch(column.expression):
        return column
    sql = exact_cast(column.expression, kind, spark_type(column.field), column.field.name)
    if sql is None:
        raise _changed_type(column.field, f"values of {kind}", channel)
    return replace(column, sql=sql)


def _changed_type(field: Field, what: str, channel: ChannelCommit, value: str | None = None) -> SyncError:
    """CREATE SYNC compared the types: another engine has changed this one since. `value`: of a row; the message ends
    with it, as not everyone may read it.
    """
    name = channel.db, channel.table
    reason = (
        f"its column {field.name} is {field.type}, which does not hold {what} that the source has; ALTER SYNC JOB ... "
        f"RESYNC TABLE gives it another type where it can; or, in Spark, ALTER TABLE {in_catalog(name)} DROP COLUMN "
        f"{quoted(field.name)} and ADD COLUMN it with the type of the source, and RESYNC TABLE"
        f"{'' if value is None else f'; the value is {value}'}"
    )
    return SyncError(Code.FOREIGN_CHANGE, table=".".join(name), reason=reason)


def changes(source: RowSource, channel: ChannelCommit, staged: Sequence[str] = ()) -> DataFrame:
    """The rows of the source that are to be committed. `staged`: as in `write`."""
    if channel.chunk is not None:
        return _chunk_rows(source, channel.chunk, staged)
    [(ddl, paths)] = _one_schema(channel)
    return _narrow(source(ddl, paths), channel)


def _chunk_rows(source: RowSource, chunk: ChunkRows, staged: Sequence[str]) -> DataFrame:
    """As changes of one epoch, each an insert."""
    ddl = ", ".join(f"{quoted(column.name)} {segment_type(arrow_type(column))}" for column in chunk.wanted)
    return source(ddl, staged).selectExpr("*", f"CAST({ChangeKind.INSERT:d} AS TINYINT) AS `{OP}`", f"0L AS `{SEQ}`")


def _one_schema(channel: ChannelCommit) -> list[tuple[str, list[str]]]:
    """An epoch is cut at every DDL, so the segments in it have one schema."""
    groups = list(by_schema(channel.files).items())
    if len(groups) != 1:
        raise SyncError(Code.LAKE_FAILED, reason="the segments of one epoch differ in their columns")
    return groups


def _narrow(rows: DataFrame, channel: ChannelCommit) -> DataFrame:
    return rows.coalesce(1) if sum(file.rows for file in channel.files) <= ONE_TASK_ROWS else rows


def _upserts(
    channel: ChannelCommit, columns: tuple[FilledColumn, ...], *, gone: bool
) -> Callable[[DataFrame], DataFrame]:
    """Last change of each key, once per kind of file it goes to."""
    keys = [F.expr(column.sql).alias(f"syncmgr_k{place}") for place, column in enumerate(columns) if column.key]
    last = F.expr(f"max_by(struct(*), `{SEQ}`)").alias("syncmgr_last")
    live = _live(channel)

    def shape(rows: DataFrame) -> DataFrame:
        net = rows.groupBy(*keys).agg(last).selectExpr("syncmgr_last.*")
        if not gone:
            return net.where(live).selectExpr("*", f"{DATA} AS `{KIND}`")
        kinds = f"IF({live}, ARRAY({DATA}, {GONE}), ARRAY({GONE}))"
        return net.selectExpr("*", f"explode({kinds}) AS `{KIND}`")

    return shape


def _live(channel: ChannelCommit) -> str:
    return f"`{OP}` <> {ChangeKind.DELETE:d}" + (f" AND ({channel.where}) IS TRUE" if channel.where else "")


def _appends(channel: ChannelCommit) -> Callable[[DataFrame], DataFrame]:
    live = _live(channel)
    return lambda rows: rows.where(live).selectExpr("*", f"{DATA} AS `{KIND}`")


def _images(rows: DataFrame, columns: tuple[FilledColumn, ...], layout: Layout) -> DataFrame:
    """Target columns, `syncmgr_kind`, and a `syncmgr_p<i>` per partition field."""
    values = [
        # without their ids in the files Iceberg would match columns by position
        F.expr(_value(column)).alias(column.field.name, metadata={"parquet.field.id": column.field.id})
        for column in columns
    ]
    by_id = {column.field.id: column for column in columns}
    parts = [
        F.expr(folder_of(_part_value(part, layout, by_id.get(part.source_id)))).alias(f"{PART}{place}")
        for place, part in enumerate(layout.divisions)
    ]
    return rows.select(*values, KIND, *parts)


def _part_value(part: PartitionField, layout: Layout, column: FilledColumn | None) -> str:
    """A value of a partition as the text, or the bytes, of which `partition_files` makes Iceberg's. A field inside of a
    column is NULL like that: nothing fills it.
    """
    if column is None:
        return "CAST(NULL AS STRING)"
    sql, kind = transformed(part, column.sql), kind_of(part, layout)
    return sql if kind == "binary" else f"CAST({f'unix_micros({sql})' if kind == 'timestamptz' else sql} AS STRING)"


def _value(column: FilledColumn) -> str:
    sql = column.sql
    if column.field.required:
        sql = f"coalesce({sql}, raise_error({literal(NULL_IN_REQUIRED + column.field.name)}))"
    return sql if column.key else f"IF(`{KIND}` = {DATA}, {sql}, NULL)"


def value_error(text: str, channel: ChannelCommit, layout: Layout) -> SyncError | None:
    """The error of a value that a target column cannot hold; None if Spark's message is about something else."""
    table = f"{channel.db}.{channel.table}"
    missing = re.search(re.escape(NULL_IN_REQUIRED) + r"(.+?)(?: SQLSTATE|\n|$)", text)
    if missing:
        return SyncError(Code.SOURCE_VALUE, column=missing[1], table=table, value="NULL", reason="it is NOT NULL")
    unheld = UNHELD.search(text)
    field = None if unheld is None else layout.field(unheld["column"])
    if unheld is not None and field is not None:
        return _changed_type(field, "a value", channel, unheld["value"])
    if not DATA_EXCEPTION.search(text):
        return None
    _, message = condition_and_message(text)
    cast = _CAST.search(message)
    wanted = cast["wanted"] if cast else None
    if channel.where and all(PLAIN_COLUMN.fullmatch(mapped.expression) for mapped in channel.columns):
        # CREATE SYNC checked plain columns against their targets: only the condition computes anything
        return SyncError(Code.BAD_EXPRESSION, expression=channel.where, reason=f"it fails for a row: {message}")
    columns = [c.field.name for c in filled(channel, layout) if wanted is None or spark_type(c.field) == wanted]
    value = cast["value"] if cast else "a value"
    names = " or ".join(columns or [c.target for c in channel.columns])
    if wanted is not None:
        message = f"it cannot be cast to {wanted}"  # Spark's advice is for whoever writes a query
    return SyncError(Code.SOURCE_VALUE, column=names, table=table, value=value, reason=message)
