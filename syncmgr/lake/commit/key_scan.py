"""The keys of a table that match a condition, in files of the same form as those of vanished keys.

Owns: one scan of the key columns.
Must not know: transactions, tokens, who wrote the condition.
"""

from pyspark.sql import SparkSession

from syncmgr.job.channel.description import quoted
from syncmgr.job.epoch import ChannelCommit
from syncmgr.lake.commit.rows import FilledColumn, is_known, save, spark_type
from syncmgr.lake.executors.row_sink import GONE, KIND, RowSink
from syncmgr.lake.iceberg.layout import Layout
from syncmgr.lake.spark.launch import CATALOG


def write_matching(spark: SparkSession, channel: ChannelCommit, where: str, layout: Layout, sink: RowSink) -> None:
    """The keys of a channel's rows as its table has them now. `where`: Spark SQL over them.

    The key is the channel's: that of the table is another one if another engine has changed its identifier fields.
    """
    own = [field for field in map(layout.field, channel.keys) if field is not None]
    keys = {field.id: quoted(field.name) for field in own}
    columns = tuple(
        FilledColumn(
            field=field,
            expression=None,
            sql=f"CAST({keys.get(field.id, 'NULL')} AS {spark_type(field)})",
            key=field.id in keys,
        )
        for field in layout.fields
        if is_known(field.type)
    )
    found = spark.table(f"{CATALOG}.{quoted(channel.db)}.{quoted(channel.table)}").where(where)
    save(found.selectExpr(*keys.values(), f"{GONE} AS `{KIND}`"), columns, layout, sink, (GONE,))
