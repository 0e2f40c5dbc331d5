"""What CREATE SYNC asks Spark before a job exists.

Owns: the dry run of a channel's expressions on no rows.
Must not know: how rows are written.
"""

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from syncmgr.errors import Code, SyncError
from syncmgr.job.description import ChannelDescription
from syncmgr.job.schema import arrow_type
from syncmgr.spark.jvm import FAILURES, Iceberg, Layout, deterministic, failed
from syncmgr.spark.lake import Lake
from syncmgr.spark.rows import spark_type as column_type
from syncmgr.spark.segment import quoted, spark_type


class ChannelCheck:
    """Checks channels against the lake's own tables. Waits for a lake that is starting."""

    def __init__(self, lake: Lake, wait_second: float) -> None:
        self._lake = lake
        self._wait_second = wait_second

    def is_empty(self, db: str, table: str) -> bool:
        """Whether the table never had a snapshot. Raises NO_SUCH_TABLE, LAKE_STARTING, LAKE_FAILED."""
        iceberg = self._iceberg()
        try:
            return iceberg.load(db, table).currentSnapshot() is None
        except FAILURES as error:
            failed(error)

    def check_channel(self, channel: ChannelDescription) -> None:
        """Spark analyses every expression and WHERE on the source's columns. Raises BAD_EXPRESSION."""
        iceberg = self._iceberg()
        layout, _ = self._lake.describe(channel.target_db, channel.target)
        for text, wanted in _expressions(channel, layout):
            try:
                checked = _no_rows(iceberg, channel).selectExpr(f"CAST({text} AS {wanted}) AS checked")
                if not deterministic(checked):
                    raise SyncError(Code.BAD_EXPRESSION, expression=text, reason="its result changes from call to call")
            except PySparkException as error:
                reason = (error.getMessage() or str(error)).split("\n", 1)[0]
                raise SyncError(Code.BAD_EXPRESSION, expression=text, reason=reason) from error
            except FAILURES as error:
                failed(error)

    def _iceberg(self) -> Iceberg:
        self._lake.ready(self._wait_second)
        return self._lake.iceberg()


def _expressions(channel: ChannelDescription, layout: Layout) -> list[tuple[str, str]]:
    found = []
    for column in channel.columns:
        field = layout.field(column.target)
        if field is None:
            raise SyncError(Code.UNKNOWN_COLUMN, column=column.target, where=f"{channel.target_db}.{channel.target}")
        found.append((column.expression, column_type(field)))
    return found if channel.where is None else [*found, (channel.where, "BOOLEAN")]


def _no_rows(iceberg: Iceberg, channel: ChannelDescription) -> DataFrame:
    columns = (c for c in channel.source.columns if c.name in channel.reads)
    ddl = ", ".join(f"{quoted(c.name)} {spark_type(arrow_type(c))}" for c in columns)
    return iceberg.spark.createDataFrame([], ddl)
