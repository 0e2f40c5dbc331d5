"""The rules of CREATE TABLE in the lake.

Owns: which names, columns, keys and partitions a table can have, and how its properties are checked.
Must not know: the table format, Spark, statements, the source.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.types.folding import folded_in_lake, folded_name
from syncmgr.job.types.schema import (
    TargetColumn,
    TargetTable,
)
from syncmgr.job.types.target import CHARACTERS

RESERVED_PREFIX: Final = "syncmgr_"
STAGED: Final = frozenset({"_op", "_seq", "_when", "_file", "_offset", "_image"})  # columns of ours in staged rows
NAME_LENGTH: Final = 64  # MySQL's own bound


Check = Callable[[str], str | None]  # the reason why the value of a property is wrong
RESERVED_DATABASES: Final = frozenset({"lake", "spark_catalog", "global_temp", "information_schema", "system"})


def check_name(name: str, what: str) -> None:
    """Raises BAD_NAME for a database or table name that the lake or a file system cannot hold."""
    reason = None
    if not name or len(name) > NAME_LENGTH:
        reason = f"it must have 1 to {NAME_LENGTH} characters"
    elif re.search(r"[\x00-\x1f\x7f/\\.]", name):
        reason = "it must not contain '/', '\\', '.' or control characters"
    elif name != name.strip():
        reason = "it must not begin or end with a space"
    elif what == "database" and name.lower() in RESERVED_DATABASES:
        reason = "SELECT could not tell it from a name of Spark's or MySQL's own"
    if reason:
        raise SyncError(Code.BAD_NAME, what=what, name=name, reason=reason)


def check(table: TargetTable) -> None:
    """All rules of CREATE TABLE but those of its properties.

    Raises BAD_NAME, DUPLICATE_COLUMN, UNKNOWN_COLUMN, BAD_TABLE.
    """
    check_name(table.db, "database")
    check_name(table.name, "table")
    _check_columns(table)
    _check_key(table, table.keys, "UNIQUE KEY")
    _check_key(table, table.duplicate_key, "DUPLICATE KEY")
    for column in map(table.column, table.keys):
        assert column is not None
        _check_unique(table, column)
    transforms = [parse_transform(text) for text in table.partition]
    for transform in transforms:
        _check_partition(table, transform)
    if len({_sameness(each) for each in transforms}) < len(transforms):
        raise _bad(table, "two partition transforms of one column say the same; of year, month, day and hour name one")


def _bad(table: TargetTable, reason: str) -> SyncError:
    return SyncError(Code.BAD_TABLE, table=table.label, reason=reason)


def _check_columns(table: TargetTable) -> None:
    if not table.columns:
        raise _bad(table, "it has no columns")
    seen = set()
    for column in table.columns:
        folded = folded_in_lake(column.name)
        if folded in seen:
            raise SyncError(Code.DUPLICATE_COLUMN, column=column.name)
        seen.add(folded)
        if is_reserved(column.name, table):
            raise _bad(table, f"the column name '{column.name}' is reserved")
        check_column_name(column.name)


def check_column_name(name: str) -> None:
    """Raises BAD_NAME."""
    if not is_column_name(name):
        reason = f"it must have 1 to {NAME_LENGTH} characters, no control characters among them"
        raise SyncError(Code.BAD_NAME, what="column", name=name, reason=reason)


def is_reserved(column: str, target: TargetTable) -> bool:
    """Whether rows have a column of that name besides those of a table: for readers, or while they are staged. A column
    of the source that has it cannot be read, either.
    """
    folded = folded_in_lake(column)
    return folded in STAGED or folded in target.reserved_columns or folded.startswith(RESERVED_PREFIX)


def is_column_name(column: str) -> bool:
    """Whether the lake takes it, if it is not reserved."""
    return 0 < len(column) <= NAME_LENGTH and re.search(r"[\x00-\x1f\x7f]", column) is None


def _check_key(table: TargetTable, names: tuple[str, ...], clause: str) -> None:
    for name in names:
        if table.column(name) is None:
            raise SyncError(Code.UNKNOWN_COLUMN, column=name, where=clause)
    if len({folded_in_lake(name) for name in names}) < len(names):
        raise _bad(table, f"a column is named twice in {clause}")


def _check_unique(table: TargetTable, column: TargetColumn) -> None:
    if column.nullable:
        raise _bad(table, f"key column '{column.name}' must be NOT NULL")
    if column.type.name in {"FLOAT", "DOUBLE", "JSON"}:
        raise _bad(table, f"key column '{column.name}' cannot be {column.type.name}: equality is not exact there")


@dataclass(frozen=True, kw_only=True, slots=True)
class Transform:
    """A part of PARTITION BY: `kind` is identity, bucket, truncate, year, month, day or hour."""

    kind: str
    column: str
    width: int | None = None

    @property
    def text(self) -> str:
        """As Spark prints it: "bucket(4, id)", "day(at)", "region"."""
        if self.kind == "identity":
            return self.column
        width = "" if self.width is None else f"{self.width}, "
        return f"{self.kind}({width}{self.column})"


def parse_transform(text: str) -> Transform:
    """The inverse of Transform.text."""
    found = re.fullmatch(r"(bucket|truncate|year|month|day|hour)\((?:(\d+), )?(.+)\)", text, re.DOTALL)
    if found is None:
        return Transform(kind="identity", column=text)
    return Transform(kind=found[1], column=found[3], width=int(found[2]) if found[2] else None)


def _sameness(transform: Transform) -> tuple[str, str]:
    """A table format refuses partitions that are equal here."""
    kind = "time" if transform.kind in {"year", "month", "day", "hour"} else transform.kind
    return kind, folded_in_lake(transform.column)


_MOMENTS: Final = frozenset({"DATETIME", "TIMESTAMP"})
_WHOLE: Final = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT", "LARGEINT", "DECIMAL"})
_PARTITIONABLE: Final[Mapping[str, frozenset[str]]] = {
    "identity": _WHOLE | CHARACTERS | {"BOOLEAN", "DATE"},
    "bucket": _WHOLE | CHARACTERS | _MOMENTS | {"DATE", "BINARY"},
    "truncate": _WHOLE | CHARACTERS,
    "year": _MOMENTS | {"DATE"},
    "month": _MOMENTS | {"DATE"},
    "day": _MOMENTS | {"DATE"},
    "hour": _MOMENTS,
}


def can_be_bucketed(name: str) -> bool:
    """Whether hash buckets can place rows by a column of this type."""
    return name in _PARTITIONABLE["bucket"]


def _check_partition(table: TargetTable, transform: Transform) -> None:
    column = table.column(transform.column)
    if column is None:
        raise SyncError(Code.UNKNOWN_COLUMN, column=transform.column, where="PARTITION BY")
    if column.type.name not in _PARTITIONABLE[transform.kind]:
        hint = "; write day(...) or hour(...)" if column.type.name in _MOMENTS else ""
        raise _bad(table, f"{transform.text} cannot place rows by a {column.type.text} column{hint}")
    if table.keys and folded_name(column.name) not in {folded_name(key) for key in table.keys}:
        reason = (
            f"it is partitioned by '{column.name}', which is not in its UNIQUE KEY: a row could change its partition"
        )
        raise _bad(table, reason)


def check_properties(table: TargetTable, known: Mapping[str, Check]) -> None:
    """`known`: those of the table format. Raises PROPERTY_TWICE, PROPERTY_UNKNOWN, PROPERTY_WRONG."""
    seen = set()
    for name, value in table.properties:
        if name in seen:
            raise SyncError(Code.PROPERTY_TWICE, name=name)
        seen.add(name)
        if name not in known:
            near = difflib.get_close_matches(name, list(known), n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise SyncError(Code.PROPERTY_UNKNOWN, name=name, where="CREATE TABLE", hint=hint)
        reason = known[name](value)
        if reason:
            raise SyncError(Code.PROPERTY_WRONG, name=name, value=value, reason=reason)
