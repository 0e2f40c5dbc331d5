"""How many tasks of Spark a step over the list of a table's files takes.

Owns: that number, from how many files there are.
Must not know: what is done with them.
"""

from typing import Final

from pyspark.sql import SparkSession

from syncmgr.lake.iceberg.table_metadata import TableTotals

SHUFFLE_PARTS: Final = "spark.sql.shuffle.partitions"
MOST: Final = 200  # with which Spark begins, and Iceberg's procedures run them all, however small the table is
FILES: Final = 10_000  # their paths are some MB


def tasks(files: int, cores: int) -> int:
    """One for each part of the list, and work for all cores."""
    return min(MOST, max(cores, files // FILES))


def set_tasks(session: SparkSession, totals: TableTotals | None) -> None:
    """For the next steps of a session that reads lists of files, and no rows. `totals`: of the table."""
    files = totals.files if totals else 0
    session.conf.set(SHUFFLE_PARTS, str(tasks(files, session.sparkContext.defaultParallelism)))
