"""The rows of a chunk as Spark reads them.

Owns: the relation that has the columns of a segment, which rows are left out of it and reported.
Must not know: chunks' plans, commits, where the rows go, how a source reads.
"""

from dataclasses import replace
from typing import assert_never

from pyspark.sql import DataFrame, SparkSession

from syncmgr.job.channel.description import quoted
from syncmgr.job.rows.batch import OP, SEQ, ChangeKind
from syncmgr.job.rows.dead_letter import DeadLetter
from syncmgr.job.snapshot.chunk_rows import ArrowRows, ChunkRows, JdbcSelect
from syncmgr.job.types.schema import SourceColumn
from syncmgr.lake.spark.chunk_values import CheckedColumn, dead_letters, held, kept_out, value_sql


def relation(spark: SparkSession, chunk: ChunkRows) -> DataFrame:
    """Its wanted columns in the types of a segment, `_op` and `_seq`; one partition. Reads only the types so far.

    Nothing is pushed down: WHERE means what Spark says.
    """
    columns, rows = _held(chunk), _wire(spark, chunk)
    out = kept_out(chunk, columns)
    rows = rows if out is None else rows.where(f"NOT ({out})")
    keys = [one for one, name in zip(columns, chunk.columns, strict=True) if name in chunk.keys]
    values = [
        f"{value_sql(chunk, one, keys)} AS {quoted(name)}" for one, name in zip(columns, chunk.columns, strict=True)
    ]
    return rows.selectExpr(*values, f"CAST({ChangeKind.INSERT:d} AS TINYINT) AS `{OP}`", f"0L AS `{SEQ}`")


def letters(spark: SparkSession, chunk: ChunkRows, token: str) -> tuple[DeadLetter, ...]:
    """Of the rows that `relation` leaves out, in a separate read, which needs no handshake."""
    columns = _held(chunk)
    out = kept_out(chunk, columns)
    if out is None:
        return ()
    return dead_letters(
        _wire(spark, replace(chunk, exact=False)).where(out), columns, token=token, most=chunk.max_dead_letters + 1
    )


def _held(chunk: ChunkRows) -> list[CheckedColumn]:
    return [held(chunk, _column(chunk, name), f"c{place}") for place, name in enumerate(chunk.columns)]


def _wire(spark: SparkSession, chunk: ChunkRows) -> DataFrame:
    """The wanted columns under the names c0, c1, ..."""
    rows = chunk.reader.rows(chunk)
    match rows:
        case JdbcSelect():
            return _selected(spark, rows)
        case ArrowRows():
            return spark.createDataFrame(rows.read())
        case _:
            assert_never(rows)


def _selected(spark: SparkSession, select: JdbcSelect) -> DataFrame:
    columns = [(f"c{place}", *types) for place, types in enumerate(select.columns)]
    return (
        spark.read.format("jdbc")
        .options(**select.options)
        .option("dbtable", f"({select.query}) chunk")
        .option("customSchema", ", ".join(f"{name} {sent}" for name, sent, _ in columns))
        .load()
        .selectExpr(*(name if sent == kind else f"CAST({name} AS {kind}) AS {name}" for name, sent, kind in columns))
    )


def _column(chunk: ChunkRows, name: str) -> SourceColumn:
    column = chunk.table.column(name)
    assert column is not None, "a channel reads columns of its source"
    return column
