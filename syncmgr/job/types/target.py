"""Types of the lake in Doris' words.

Owns: which there are, and what each is in Iceberg's and Spark's words.
Must not know: Iceberg, Spark, statements, tables, values.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.types.schema import (
    TargetType,
)

TYPES: Final = "syncmgr.types"  # property of a table: JSON, field id -> type in Doris' words


@dataclass(frozen=True, kw_only=True, slots=True)
class _Words:
    iceberg: str
    spark: str


_INT: Final = _Words(iceberg="int", spark="INT")
_STRING: Final = _Words(iceberg="string", spark="STRING")
_WORDS: Final[Mapping[str, _Words]] = {
    "BOOLEAN": _Words(iceberg="boolean", spark="BOOLEAN"),
    "TINYINT": _INT,  # Iceberg has no smaller integer; `spark_cast` keeps the range
    "SMALLINT": _INT,
    "INT": _INT,
    "BIGINT": _Words(iceberg="long", spark="BIGINT"),
    "LARGEINT": _Words(iceberg="decimal(38, 0)", spark="DECIMAL(38, 0)"),
    "FLOAT": _Words(iceberg="float", spark="FLOAT"),
    "DOUBLE": _Words(iceberg="double", spark="DOUBLE"),
    "DATE": _Words(iceberg="date", spark="DATE"),
    "DATETIME": _Words(iceberg="timestamp", spark="TIMESTAMP_NTZ"),
    "TIMESTAMP": _Words(iceberg="timestamptz", spark="TIMESTAMP"),
    "CHAR": _STRING,
    "VARCHAR": _STRING,
    "STRING": _STRING,
    "JSON": _STRING,
    "BINARY": _Words(iceberg="binary", spark="BINARY"),
}
CHARACTERS: Final = frozenset({"CHAR", "VARCHAR", "STRING"})
TYPE_NAMES: Final = (*_WORDS, "DECIMAL")
_FOREIGN: Final[Mapping[str, str]] = {  # in tables that others made
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "timestamp": "DATETIME",
    "timestamptz": "TIMESTAMP",
    "string": "STRING",
    "binary": "BINARY",
}


def iceberg_type(kind: TargetType) -> str:
    """Iceberg's word for a target type. Raises KeyError for a word that CREATE TABLE does not have."""
    return f"decimal({kind.args[0]}, {kind.args[1]})" if kind.name == "DECIMAL" else _WORDS[kind.name].iceberg


def spark_type(kind: TargetType) -> str:
    """Spark's word for the column type. Raises KeyError for a word that CREATE TABLE does not have."""
    return f"DECIMAL({kind.args[0]}, {kind.args[1]})" if kind.name == "DECIMAL" else _WORDS[kind.name].spark


def spark_cast(expression: str, kind: TargetType) -> str:
    """Spark SQL that gives the expression the target's type; under ANSI it fails where the value does not fit."""
    if kind.name in {"TINYINT", "SMALLINT"}:
        return f"CAST(CAST({expression} AS {kind.name}) AS INT)"
    return f"CAST({expression} AS {spark_type(kind)})"


def from_iceberg(word: str) -> TargetType:
    """The target type of a column that somebody else created. Raises NOT_SUPPORTED."""
    numbers = re.fullmatch(r"decimal\((\d+), ?(\d+)\)", word)
    if numbers:
        return TargetType(name="DECIMAL", args=(int(numbers[1]), int(numbers[2])))
    if word in _FOREIGN:
        return TargetType(name=_FOREIGN[word])
    raise SyncError(Code.NOT_SUPPORTED, what=f"column type {word}")


def parse_type(text: str) -> TargetType:
    """The inverse of TargetType.text."""
    name, _, rest = text.partition("(")
    return TargetType(name=name, args=tuple(int(number) for number in rest.rstrip(")").split(",") if number))
