"""The one Spark job of an epoch, or of a chunk: change rows in, new row images and vanished keys out.

Owns: netting, WHERE, expressions, casts, partition values, and how they are written as Parquet.
Must not know: tokens, transactions, snapshots.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import literal
from syncmgr.job.epoch import ChannelCommit
from syncmgr.job.rows.batch import OP, SEQ, ChangeKind
from syncmgr.job.types.folding import folded_name
from syncmgr.lake.iceberg.layout import Field, Layout, PartitionField
from syncmgr.lake.spark.chunk_relation import relation
from syncmgr.lake.spark.chunk_values import refused
from syncmgr.lake.spark.launch import CATALOG
from syncmgr.lake.spark.query_errors import told
from syncmgr.lake.spark.segment import by_schema

DATA, GONE = 0, 1  # folders syncmgr_kind=0: row images; syncmgr_kind=1: keys that must vanish
KIND: Final = "syncmgr_kind"
ONE_TASK_ROWS: Final = 500_000  # below it a shuffle between tasks costs more than it saves: twice the CPU time
DATA_EXCEPTION: Final = re.compile(r"SQLSTATE: 22\w{3}")
_CAST: Final = re.compile(r'value (?P<value>.+?) of the type "[^"]+" cannot be cast to "(?P<wanted>[^"]+)"')
PLAIN_COLUMN: Final = re.compile(r"`(?:[^`]|``)+`")
NULL_IN_REQUIRED: Final = "syncmgr: NULL in "
ZSTD_LEVEL: Final = {"parquet.compression.codec.zstd.level": "1"}  # small files that compaction rewrites
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
TRANSFORM_FUNCTIONS: Final = {"year": "years", "month": "months", "day": "days", "hour": "hours"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Writing:
    """What a write is to produce. `gone`: all keys are also written as vanished; False: the index knows their rows.
    `distinct`: no key has two changes, so there is nothing to net.
    """

    folder: str
    codec: str
    gone: bool
    distinct: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Filled:
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


def filled(channel: ChannelCommit, layout: Layout) -> tuple[Filled, ...]:
    """All columns of the table, in its order; those that the channel does not fill are NULL.

    A file that lacks a column of the table breaks Iceberg's vectorised reader. Raises UNKNOWN_COLUMN,
    COLUMN_NOT_COVERED.
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
        sql = f"CAST({texts.get(field.id, 'NULL')} AS {spark_type(field)})"
        key = folded_name(field.name) in keys
        columns.append(Filled(field=field, expression=texts.get(field.id), sql=sql, key=key))
    return tuple(columns)


def write(spark: SparkSession, channel: ChannelCommit, layout: Layout, writing: Writing) -> None:
    """Writes `folder`/syncmgr_kind=<kind>[/syncmgr_p0=x<hex>...]/*.parquet."""
    columns = filled(channel, layout)
    as_they_are = not channel.keys or (writing.distinct and not writing.gone)
    shape = _appends(channel) if as_they_are else _upserts(channel, columns, gone=writing.gone)
    excerpt = None if channel.chunk is None or channel.chunk.excerpt is None else channel.chunk.excerpt.lake
    save(shape(changes(spark, channel)), columns, layout, writing.folder, writing.codec, where=excerpt)


def save(
    rows: DataFrame,
    columns: tuple[Filled, ...],
    layout: Layout,
    folder: str,
    codec: str,
    *,
    where: str | None = None,
) -> None:
    """Rows that have a `syncmgr_kind`, as `write` does; `where`: over the target's columns."""
    images, options = _images(rows, columns, layout), {"compression": codec, **ZSTD_LEVEL}
    images = images if where is None else images.where(where)
    images.write.partitionBy(*images.columns[len(columns) :]).options(**options).parquet(folder)


def changes(spark: SparkSession, channel: ChannelCommit) -> DataFrame:
    """The rows of the source that are to be committed, which have yet to be read."""
    if channel.chunk is not None:
        return relation(spark, channel.chunk)
    [(ddl, paths)] = _one_schema(channel)
    return _narrow(spark.read.schema(ddl).parquet(*paths), channel)


def _one_schema(channel: ChannelCommit) -> list[tuple[str, list[str]]]:
    """An epoch is cut at every DDL, so the segments in it have one schema."""
    groups = list(by_schema(channel.files).items())
    if len(groups) != 1:
        raise SyncError(Code.LAKE_FAILED, reason="the segments of one epoch differ in their columns")
    return groups


def _narrow(rows: DataFrame, channel: ChannelCommit) -> DataFrame:
    return rows.coalesce(1) if sum(file.rows for file in channel.files) <= ONE_TASK_ROWS else rows


def _upserts(channel: ChannelCommit, columns: tuple[Filled, ...], *, gone: bool) -> Callable[[DataFrame], DataFrame]:
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


def _images(rows: DataFrame, columns: tuple[Filled, ...], layout: Layout) -> DataFrame:
    """Target columns, `syncmgr_kind`, and a `syncmgr_p<i>` per partition field: x and the value's text in hex."""
    values = [
        # without their ids in the files Iceberg would match columns by position
        F.expr(_value(column)).alias(column.field.name, metadata={"parquet.field.id": column.field.id})
        for column in columns
    ]
    by_id = {column.field.id: column for column in columns}
    parts = [
        F.concat(F.lit("x"), F.hex(F.expr(f"CAST({_transformed(part, by_id[part.source_id].sql)} AS STRING)"))).alias(
            f"syncmgr_p{place}",
        )
        for place, part in enumerate(layout.partition)
    ]
    return rows.select(*values, KIND, *parts)


def _value(column: Filled) -> str:
    sql = column.sql
    if column.field.required:
        sql = f"coalesce({sql}, raise_error({literal(NULL_IN_REQUIRED + column.field.name)}))"
    return sql if column.key else f"IF(`{KIND}` = {DATA}, {sql}, NULL)"


def _transformed(part: PartitionField, sql: str) -> str:
    if part.transform == "identity":
        return sql
    wide = re.fullmatch(r"(bucket|truncate)\[(\d+)\]", part.transform)
    if wide:
        return f"{CATALOG}.system.{wide[1]}({wide[2]}, {sql})"
    return f"{CATALOG}.system.{TRANSFORM_FUNCTIONS[part.transform]}({sql})"


def value_error(text: str, channel: ChannelCommit, layout: Layout) -> SyncError | None:
    """The error of a value that a target column cannot hold; None if Spark's message is about something else."""
    table = f"{channel.db}.{channel.table}"
    stopped = refused(text, table)
    if stopped is not None:
        return stopped
    missing = re.search(re.escape(NULL_IN_REQUIRED) + r"(.+?)(?: SQLSTATE|\n|$)", text)
    if missing:
        return SyncError(Code.SOURCE_VALUE, column=missing[1], table=table, value="NULL", reason="it is NOT NULL")
    if not DATA_EXCEPTION.search(text):
        return None
    _, message = told(text)
    cast = _CAST.search(message)
    wanted = cast["wanted"] if cast else None
    if channel.where and all(PLAIN_COLUMN.fullmatch(mapped.expression) for mapped in channel.columns):
        # CREATE SYNC checked plain columns against their targets: only the condition computes anything
        return SyncError(Code.BAD_EXPRESSION, expression=channel.where, reason=message)
    columns = [c.field.name for c in filled(channel, layout) if wanted is None or spark_type(c.field) == wanted]
    value = cast["value"] if cast else "a value"
    names = " or ".join(columns or [c.target for c in channel.columns])
    return SyncError(Code.SOURCE_VALUE, column=names, table=table, value=value, reason=message)
