"""A table of the local lake, as a reader without Spark sees it.

Owns: its rows and its files, as pyiceberg reads them: for a few rows that takes a tenth of Spark's
CPU time.
Must not know: pytest, how the table was written.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile
from pyiceberg.table import Snapshot, Table
from pyiceberg.types import IntegerType, LongType, StringType

ALIKE: Final = (IntegerType, LongType, StringType)  # whose values Spark gives as the same Python values
EQUALITY: Final = 2  # the content of a delete file that pyiceberg refuses


@contextmanager
def opened(lake_dir: Path, db: str, name: str) -> Iterator[Table]:
    catalog = SqlCatalog("lake", uri=f"sqlite:///{lake_dir}/catalog.db", warehouse=str(lake_dir))
    try:
        yield catalog.load_table((db, name))
    finally:
        catalog.engine.dispose()


def rows(table: Table) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in table.scan().to_arrow().to_pylist()]


def is_alike(table: Table) -> bool:
    """Whether Spark reads the same rows with the same Python values."""
    snapshot = table.current_snapshot()
    has_types = all(isinstance(field.field_type, ALIKE) for field in table.schema().fields)
    return has_types and not (snapshot is not None and any(f.content == EQUALITY for f in files(table, snapshot)))


def files(table: Table, snapshot: Snapshot) -> Iterator[DataFile]:
    """The data and delete files that it has."""
    for manifest in snapshot.manifests(table.io):
        yield from (entry.data_file for entry in manifest.fetch_manifest_entry(table.io))


def all_files(table: Table) -> Iterator[DataFile]:
    """Those of every snapshot, each once for each manifest that names it."""
    manifests = {each.manifest_path: each for snapshot in table.snapshots() for each in snapshot.manifests(table.io)}
    for manifest in manifests.values():
        yield from (entry.data_file for entry in manifest.fetch_manifest_entry(table.io))


def nulls_first(row: tuple[object, ...]) -> tuple[tuple[bool, object], ...]:
    """The order of Spark's ORDER BY ALL."""
    return tuple((value is not None, value) for value in row)
