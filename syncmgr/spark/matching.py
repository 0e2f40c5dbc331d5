"""The keys of a table that a condition means, in files that look like those of vanished keys.

Owns: one scan of the key columns.
Must not know: transactions, tokens, who wrote the condition.
"""

from pyspark.sql import SparkSession

from syncmgr.job.description import quoted
from syncmgr.spark.launch import CATALOG
from syncmgr.spark.layout import Layout
from syncmgr.spark.rows import GONE, KIND, Filled, save, spark_type


def write_matching(
    spark: SparkSession, table: tuple[str, str], where: str, layout: Layout, folder: str, codec: str
) -> None:
    """`table`: database and name; its keys as they are now. `where`: Spark SQL over them. Writes as rows.write does."""
    keys = {field.id: quoted(field.name) for field in layout.fields if field.id in layout.identifier}
    columns = tuple(
        Filled(
            field=field,
            expression=None,
            sql=f"CAST({keys.get(field.id, 'NULL')} AS {spark_type(field)})",
            key=field.id in keys,
        )
        for field in layout.fields
    )
    found = spark.table(f"{CATALOG}.{quoted(table[0])}.{quoted(table[1])}").where(where)
    save(found.selectExpr(*keys.values(), f"{GONE} AS `{KIND}`"), columns, layout, folder, codec)
