"""All rows of a table written anew, with the values that new columns have in rows from before.

Owns: what each column of a row becomes.
Must not know: statements, transactions, tokens.
"""

import json
from collections.abc import Mapping

from pyspark.sql import SparkSession

from syncmgr.job.description import quoted
from syncmgr.spark.launch import CATALOG
from syncmgr.spark.layout import Field, Layout
from syncmgr.spark.rows import DATA, KIND, Filled, save, spark_type


def refill(
    spark: SparkSession, table: tuple[str, str], before: Layout, layout: Layout, values: Mapping[str, str], folder: str
) -> None:
    """`table`: database and name; its columns are those of `before`, and become those of `layout`. `values`: of
    columns, in the JSON of Iceberg's specification. Writes as rows.write does.
    """
    names = {field.id: field.name for field in before.fields}
    columns = tuple(
        Filled(field=field, expression=None, sql=_sql(field, names.get(field.id), values.get(field.name)), key=False)
        for field in layout.fields
    )
    rows = spark.table(f"{CATALOG}.{quoted(table[0])}.{quoted(table[1])}").selectExpr("*", f"{DATA} AS `{KIND}`")
    save(rows, columns, layout, folder, "zstd")


def _sql(field: Field, name: str | None, value: str | None) -> str:
    sql = quoted(name) if name is not None else "NULL" if value is None else literal(field, value)
    return f"CAST({sql} AS {spark_type(field)})"


def literal(field: Field, value: str) -> str:
    """A value in Iceberg's JSON as one of Spark, to be cast to the column's type."""
    told = json.loads(value)
    text = told if isinstance(told, str) else value
    if field.type == "binary":
        return f"X'{text}'"
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
