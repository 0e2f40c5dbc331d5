"""Types of the lake in Doris' words.

Owns: which types exist, which of them are stored alike, and what each is called in an expression.
Must not know: table formats, statements, tables, values.
"""

from collections.abc import Mapping
from typing import Final

from syncmgr.job.types.schema import (
    TargetType,
)

_SPARK: Final[Mapping[str, str]] = {
    "BOOLEAN": "BOOLEAN",
    "TINYINT": "INT",  # the lake has no smaller integer; `spark_cast` keeps the range
    "SMALLINT": "INT",
    "INT": "INT",
    "BIGINT": "BIGINT",
    "LARGEINT": "DECIMAL(38, 0)",
    "FLOAT": "FLOAT",
    "DOUBLE": "DOUBLE",
    "DATE": "DATE",
    "DATETIME": "TIMESTAMP_NTZ",
    "TIMESTAMP": "TIMESTAMP",
    "CHAR": "STRING",
    "VARCHAR": "STRING",
    "STRING": "STRING",
    "JSON": "STRING",
    "BINARY": "BINARY",
}
_STORED_AS: Final[Mapping[str, TargetType]] = {  # the others as themselves
    **dict.fromkeys(("TINYINT", "SMALLINT"), TargetType(name="INT")),
    **dict.fromkeys(("CHAR", "VARCHAR", "JSON"), TargetType(name="STRING")),
    "LARGEINT": TargetType(name="DECIMAL", args=(38, 0)),
}
CHARACTERS: Final = frozenset({"CHAR", "VARCHAR", "STRING"})
TYPE_NAMES: Final = (*_SPARK, "DECIMAL")


def stored(kind: TargetType) -> TargetType:
    """What the files hold: some types differ only in their range or their name."""
    return _STORED_AS.get(kind.name, TargetType(name=kind.name, args=kind.args if kind.name == "DECIMAL" else ()))


def spark_type(kind: TargetType) -> str:
    """Spark's word for the column type. Raises KeyError for a word that CREATE TABLE does not have."""
    return f"DECIMAL({kind.args[0]}, {kind.args[1]})" if kind.name == "DECIMAL" else _SPARK[kind.name]


def spark_cast(expression: str, kind: TargetType) -> str:
    """Spark SQL that gives the expression the target's type; under ANSI it fails where the value does not fit."""
    if kind.name in {"TINYINT", "SMALLINT"}:
        return f"CAST(CAST({expression} AS {kind.name}) AS INT)"
    return f"CAST({expression} AS {spark_type(kind)})"


def parse_type(text: str) -> TargetType:
    """The inverse of TargetType.text."""
    name, _, rest = text.partition("(")
    return TargetType(name=name, args=tuple(int(number) for number in rest.rstrip(")").split(",") if number))
