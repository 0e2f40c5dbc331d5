"""All rows of a table rewritten, with the values that new columns have in older rows.

Owns: what each column of a row becomes.
Must not know: statements, transactions, tokens.
"""

import json
from collections.abc import Mapping

from pyspark.sql import SparkSession

from syncmgr.job.channel.description import literal as text_literal
from syncmgr.job.channel.description import quoted
from syncmgr.job.channel.shard import Part
from syncmgr.lake.commit.rows import FilledColumn, save, spark_type
from syncmgr.lake.executors.row_sink import DATA, KIND, RowSink
from syncmgr.lake.iceberg.layout import Field, Layout
from syncmgr.lake.spark.launch import CATALOG


def refill(
    spark: SparkSession,
    table: tuple[str, str],
    before: Layout,
    layout: Layout,
    values: Mapping[str, str],
    sink: RowSink,
    part: Part | None = None,
) -> None:
    """`table`: database and name; its columns are those of `before`, and become those of `layout`. `values`: of
    columns, in the JSON of Iceberg's specification. `part`: of its rows, None: all.
    """
    names = {field.id: field.name for field in before.fields}
    columns = tuple(
        FilledColumn(
            field=field, expression=None, sql=_sql(field, names.get(field.id), values.get(field.name)), key=False
        )
        for field in layout.fields
    )
    rows = spark.table(f"{CATALOG}.{quoted(table[0])}.{quoted(table[1])}")
    if part is not None:
        rows = rows.where(f"{quoted(part.column)} = {text_literal(part.value)}")
    rows = rows.selectExpr("*", f"{DATA} AS `{KIND}`")
    save(rows, columns, layout, sink, (DATA,))


def _sql(field: Field, name: str | None, value: str | None) -> str:
    sql = literal(field, value) if value is not None else "NULL" if name is None else quoted(name)
    return f"CAST({sql} AS {spark_type(field)})"


def literal(field: Field, value: str) -> str:
    """A value in Iceberg's JSON as a Spark value, to be cast to the column's type."""
    stored = json.loads(value)
    text = stored if isinstance(stored, str) else value
    if field.type == "binary":
        return f"X'{text}'"
    return text_literal(text)
