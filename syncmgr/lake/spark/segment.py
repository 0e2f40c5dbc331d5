"""Segments as Spark reads them.

Owns: the Spark type in which each Arrow type of a segment comes back from Parquet.
Must not know: what the rows mean or where they go.
"""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.parquet as pq

from syncmgr.job.channel.description import quoted
from syncmgr.job.epoch import StagedFile


def spark_type(kind: pa.DataType) -> str:  # noqa: C901, PLR0911, PLR0912 - one row per Arrow type
    """Spark's name for an Arrow type, unsigned ones widened so that their whole range fits. Raises TypeError."""
    match str(kind):
        case "int8":
            return "TINYINT"
        case "uint8" | "int16":
            return "SMALLINT"
        case "uint16" | "int32":
            return "INT"
        case "uint32" | "int64":
            return "BIGINT"
        case "uint64":
            return "DECIMAL(20,0)"
        case "float":
            return "FLOAT"
        case "double":
            return "DOUBLE"
        case "bool":
            return "BOOLEAN"
        case "date32[day]":
            return "DATE"
        case "timestamp[us]":
            return "TIMESTAMP_NTZ"
        case "timestamp[us, tz=UTC]":
            return "TIMESTAMP"
        case "string" | "large_string" | "dictionary<values=string, indices=int32, ordered=0>":
            return "STRING"
        case "binary" | "large_binary":
            return "BINARY"
        case _ if pa.types.is_decimal128(kind):
            return f"DECIMAL({kind.precision},{kind.scale})"
        case text:
            raise TypeError(f"segments hold no {text}")


def by_schema(files: Iterable[StagedFile]) -> dict[str, list[str]]:
    """Paths by the Spark schema of their rows, as DDL text: nothing is inferred by Spark."""
    groups: dict[str, list[str]] = {}
    for file in files:
        schema = pq.read_schema(file.path)
        ddl = ", ".join(f"{quoted(column.name)} {spark_type(column.type)}" for column in schema)
        groups.setdefault(ddl, []).append(file.path)
    return groups
