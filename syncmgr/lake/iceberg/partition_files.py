"""Files that Spark has written, each with the partition that its folders name.

Owns: how a partition's values appear in the names of folders.
Must not know: what the files hold, what they are for.
"""

from collections.abc import Iterator
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import Layout
from syncmgr.lake.spark.jvm import Java

TAKEN_FOR_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


def files_below(iceberg: Iceberg, table: Java, layout: Layout, root: str, label: str) -> list[Java]:
    """DataFiles, with column bounds. `label`: of the table. Raises SOURCE_VALUE."""
    return [
        file
        for folder, partition in _leaves(iceberg, layout, root, label)
        for file in iceberg.files(table, folder, partition)
    ]


def _leaves(iceberg: Iceberg, layout: Layout, root: str, label: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Folders that hold files, each with its partition: field name -> value as text."""
    names = [field.name for field in layout.partition]
    for path in _walk(iceberg, root, len(names)):
        values = [bytes.fromhex(part.partition("=x")[2]).decode() for part in path]
        if TAKEN_FOR_NULL in values:
            reason = "Iceberg takes it for NULL in a partition"
            column, value = ", ".join(names), f"'{TAKEN_FOR_NULL}'"
            raise SyncError(Code.SOURCE_VALUE, column=column, table=label, value=value, reason=reason)
        yield "/".join([root, *path]), dict(zip(names, values, strict=True))


def _walk(iceberg: Iceberg, root: str, depth: int) -> Iterator[tuple[str, ...]]:
    if not depth:
        yield ()
        return
    for name in iceberg.folders(root):
        for rest in _walk(iceberg, f"{root}/{name}", depth - 1):
            yield (name, *rest)
