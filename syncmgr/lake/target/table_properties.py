"""What CREATE TABLE may say of a table of Iceberg.

Owns: which of Iceberg's properties an operator may set, and to what; the names of columns that Iceberg has itself.
Must not know: how a table is made.
"""

from collections.abc import Mapping
from typing import Final

from syncmgr.job.types.table_rules import Check

_OF_READERS: Final = ("_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number")
_OF_CHANGES: Final = ("_change_type", "_change_ordinal", "_commit_snapshot_id")  # of a reader of a table's changes
RESERVED_COLUMNS: Final = frozenset({*_OF_READERS, *_OF_CHANGES})


def _codec(value: str) -> str | None:
    known = ("zstd", "snappy", "gzip", "uncompressed")
    return None if value in known else f"it must be one of {', '.join(known)}"


def _format(value: str) -> str | None:
    return None if value in {"2", "3"} else "it must be 2 or 3"


def _size(value: str) -> str | None:
    return None if value.isdecimal() and int(value) >= 1024 * 1024 else "it must be a number of bytes, at least 1048576"


PROPERTIES: Final[Mapping[str, Check]] = {
    "format-version": _format,
    "write.parquet.compression-codec": _codec,
    "write.target-file-size-bytes": _size,
}
FIXED: Final = frozenset({"format-version"})
