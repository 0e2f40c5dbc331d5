"""Key columns of data and delete files as Spark reads them, with the file and the place of each row.

Owns: how files are read by tasks on this machine, and by those on others.
Must not know: what is looked up by the keys.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StructType

from syncmgr.job.channel.description import literal, quoted
from syncmgr.lake.executors.file_scan import AT, POSITION, ScannedFile, scanned
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import Field
from syncmgr.lake.iceberg.snapshot_files import ContentFile
from syncmgr.lake.spark.jvm import Java

NO_IDS: Final = "doesn't contain any field Ids"  # Spark's words for a file that was made without Iceberg


class KeyFiles(Protocol):
    """Of one table, while it is open."""

    def rows(self, key: Sequence[Field], schema: StructType, files: Sequence[ContentFile]) -> DataFrame:
        """The columns of a key, by their ids and under these names, then `at` and `position`; `schema`: the same for
        Spark. Evaluating it fails with NO_IDS for a file without ids.
        """

    def names(self, path: str) -> tuple[str, ...]:
        """What `at` may be for a file."""


@contextmanager
def key_files(iceberg: Iceberg, session: SparkSession, io: Java, paths: Sequence[str]) -> Iterator[KeyFiles]:
    """`paths`: of all files that may be read."""
    if not iceberg.storage.spark_is_here:
        with ExitStack() as scans:
            yield _ByIceberg(iceberg, session, io, scans)
        return
    with iceberg.storage.for_reading(io, paths) as at:
        yield _OnThisMachine(iceberg, session, at)


class _OnThisMachine:
    """By Spark's own reader, from files of the local disk. `at`: where each is."""

    def __init__(self, iceberg: Iceberg, session: SparkSession, at: Mapping[str, str]) -> None:
        self._iceberg, self._session, self._at = iceberg, session, at

    def rows(self, key: Sequence[Field], schema: StructType, files: Sequence[ContentFile]) -> DataFrame:
        found = self._session.read.schema(schema).parquet(*(self._at[file.path] for file in files))
        place = F.col("_metadata.row_index").alias("position")
        return found.select(*(field.name for field in key), F.col("_metadata.file_path").alias("at"), place)

    def names(self, path: str) -> tuple[str, ...]:
        return self._iceberg.spark_paths(self._at[path])


class _ByIceberg:
    """By Iceberg's reader on the executors, which reaches files as the table does."""

    def __init__(self, iceberg: Iceberg, session: SparkSession, io: Java, scans: ExitStack) -> None:
        self._iceberg, self._session, self._io, self._scans = iceberg, session, io, scans

    def rows(self, key: Sequence[Field], schema: StructType, files: Sequence[ContentFile]) -> DataFrame:  # noqa: ARG002
        own = [ScannedFile(path=file.path, bytes=file.bytes, rows=file.rows) for file in files]
        found = self._scans.enter_context(scanned(self._iceberg, self._session, self._io, own, key))
        missing = f"raise_error({literal(NO_IDS)})"  # a key is never NULL: the file has no column of that id
        values = (F.expr(f"coalesce({quoted(field.name)}, {missing})").alias(field.name) for field in key)
        return found.select(*values, F.col(AT).alias("at"), F.col(POSITION).alias("position"))

    def names(self, path: str) -> tuple[str, ...]:
        return (path,)
