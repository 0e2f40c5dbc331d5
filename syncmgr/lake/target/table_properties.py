"""The properties of CREATE TABLE.

Owns: which of Iceberg's an operator may set, and to what.
Must not know: how a table is made.
"""

from collections.abc import Mapping
from typing import Final

from syncmgr.job.types.table_rules import Check


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
