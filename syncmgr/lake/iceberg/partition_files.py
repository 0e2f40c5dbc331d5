"""Files that Spark has written, each with the partition that its folders name.

Owns: how a partition's values appear in the names of folders, and which value of Iceberg each of them is.
Must not know: what the files hold, what they are for.
"""

import math
import re
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import quoted
from syncmgr.lake.cures import Name, in_catalog
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import VOID, JsonValue, Layout, PartitionField
from syncmgr.lake.spark.jvm import Java
from syncmgr.lake.spark.launch import CATALOG

PART: Final = "syncmgr_p"  # and the place of a field: the column that names folders
NULL: Final = "__HIVE_DEFAULT_PARTITION__"  # Spark's name of the folder of NULL
LONG: Final = "h"  # and its hash: a value that is too long for a name; of any other it is "x" and hex digits
NAMED_BYTES: Final = 100  # a name has at most 255, with the column in front
TRANSFORM_FUNCTIONS: Final = {"year": "years", "month": "months", "day": "days", "hour": "hours"}
KINDS: Final[Mapping[str, str]] = {"year": "int", "month": "int", "hour": "int", "day": "date"}
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def files_below(iceberg: Iceberg, table: Java, layout: Layout, root: str, name: Name) -> list[Java]:
    """DataFiles, with column bounds. Raises SOURCE_VALUE, FOREIGN_CHANGE."""
    return [
        file
        for folder, partition in _leaves(iceberg, layout, root, name)
        for file in iceberg.files(table, folder, partition)
    ]


def folder_of(sql: str) -> str:
    """SQL of the name that a partition's value gives its folder. `sql`: of the value as text or bytes."""
    long = f"concat('{LONG}', sha2(CAST({sql} AS BINARY), 256))"
    return f"IF(octet_length({sql}) <= {NAMED_BYTES}, concat('x', hex({sql})), {long})"


def transformed(part: PartitionField, sql: str) -> str:
    """SQL of the value of a partition field that is made from a value."""
    if part.transform == "identity":
        return sql
    wide = re.fullmatch(r"(bucket|truncate)\[(\d+)\]", part.transform)
    if wide:
        return f"{CATALOG}.system.{wide[1]}({wide[2]}, {sql})"
    return f"{CATALOG}.system.{TRANSFORM_FUNCTIONS[part.transform]}({sql})"


def _leaves(iceberg: Iceberg, layout: Layout, root: str, table: Name) -> Iterator[tuple[str, Mapping[int, JsonValue]]]:
    """Folders that hold files, each with its partition: the values of the fields that are not NULL."""
    leaves = list(_walk(iceberg, root, len(layout.divisions)))
    long = _long_values(iceberg, layout, root, leaves)
    for path in leaves:
        partition = {}
        for part, folder in zip(layout.divisions, path, strict=True):
            name = folder.partition("=")[2]
            given = None if name == NULL else long.get(name) if name.startswith(LONG) else bytes.fromhex(name[1:])
            if given is not None:
                partition[part.id] = _value(part, layout, given, table)
        yield "/".join([root, *path]), partition


def _long_values(
    iceberg: Iceberg, layout: Layout, root: str, leaves: Collection[tuple[str, ...]]
) -> Mapping[str, bytes]:
    """Values that are too long for the name of a folder, by that name: those that the rows in it have. Files of
    deleted keys have none of a column that is no key, and no commit takes them.
    """
    found: dict[str, bytes] = {}
    for place, part in enumerate(layout.divisions):
        column, field = layout.by_id(part.source_id), f"{PART}{place}"
        if column is None or not any(path[place].startswith(f"{field}={LONG}") for path in leaves):
            continue
        rows = iceberg.spark.read.parquet(iceberg.storage.for_spark(root)).where(f"{field} LIKE '{LONG}%'")
        value = F.expr(f"CAST({transformed(part, quoted(column.name))} AS BINARY)")
        values = rows.groupBy(field).agg(F.first(value, ignorenulls=True)).collect()
        found |= {name: bytes(of) for name, of in values if of is not None}
    return found


def refuse_unwritable(
    iceberg: Iceberg, layout: Layout, columns: Collection[int], files: Collection[Java], table: Name
) -> None:
    """`files`: of a partition each, made from these columns. Raises SOURCE_VALUE and FOREIGN_CHANGE for a value that a
    commit cannot name, or a reader not find.
    """
    anything = iceberg.jvm.java.lang.Class.forName("java.lang.Object")
    for place, part in enumerate(layout.partition):
        kind = kind_of(part, layout)
        if (
            part.transform == VOID
            or part.source_id not in columns
            or not kind.startswith(("float", "double", "decimal"))
        ):
            continue
        for file in files:
            value = file.partition().get(place, anything)
            if value is not None:
                _value(part, layout, str(value).encode(), table)


def kind_of(part: PartitionField, layout: Layout) -> str:
    """Iceberg's word for the type of a partition field's values."""
    name, _, _ = part.transform.partition("[")
    column = layout.by_id(part.source_id)
    return KINDS.get(name) or ("int" if name == "bucket" or column is None else column.type)


def _value(part: PartitionField, layout: Layout, given: bytes, table: Name) -> JsonValue:
    """Raises SOURCE_VALUE, and FOREIGN_CHANGE for a transform that gives a value beyond the type of its column, which
    Iceberg does not write.
    """
    kind = kind_of(part, layout)
    if kind == "binary":
        return given.hex()
    text = given.decode()
    if kind in {"float", "double"} and not math.isfinite(float(text)):
        reason = "the table is partitioned by it"
        raise SyncError(Code.SOURCE_VALUE, column=part.name, table=".".join(table), value=text, reason=reason)
    digits = re.fullmatch(r"decimal\((\d+), ?(\d+)\)", kind)
    if digits and abs(Decimal(text).scaleb(int(digits[2]))) >= 10 ** int(digits[1]):
        cure = f"type in Spark: ALTER TABLE {in_catalog(table)} DROP PARTITION FIELD {quoted(part.name)}"
        reason = f"{part.transform} of a row, by which it is partitioned, is {text}, which {kind} does not hold; {cure}"
        raise SyncError(Code.FOREIGN_CHANGE, table=".".join(table), reason=reason)
    return json_value(kind, text)


def json_value(kind: str, text: str) -> JsonValue:
    """A value of Iceberg's type `kind`, from Spark's text of it; a timestamp with a zone from its microseconds."""
    match kind:
        case "boolean":
            return text == "true"
        case "int" | "long":
            return int(text)
        case "float" | "double":
            return float(text)
        case "timestamp":
            return text.replace(" ", "T")
        case "timestamptz":
            return (EPOCH + timedelta(microseconds=int(text))).isoformat()
        case _ if kind.startswith("decimal("):
            return format(Decimal(text), "f")
    return text


def _walk(iceberg: Iceberg, root: str, depth: int) -> Iterator[tuple[str, ...]]:
    if not depth:
        yield ()
        return
    for name in iceberg.folders(root):
        for rest in _walk(iceberg, f"{root}/{name}", depth - 1):
            yield (name, *rest)
