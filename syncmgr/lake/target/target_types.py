"""Types of the lake in Iceberg's terms.

Owns: Iceberg's word for each type that files hold, and the type that a word stands for.
Must not know: tables, values, the types of sources.
"""

import json
import re
from collections.abc import Mapping
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.types.schema import TargetType
from syncmgr.job.types.target import parse_type, stored

TYPES: Final = "syncmgr.types"  # property of a table: JSON, field id -> type in Doris' words
_WORDS: Final[Mapping[str, str]] = {
    "BOOLEAN": "boolean",
    "INT": "int",
    "BIGINT": "long",
    "FLOAT": "float",
    "DOUBLE": "double",
    "DATE": "date",
    "DATETIME": "timestamp",
    "TIMESTAMP": "timestamptz",
    "STRING": "string",
    "BINARY": "binary",
}
_TYPES: Final[Mapping[str, str]] = {word: name for name, word in _WORDS.items()}


def iceberg_type(kind: TargetType) -> str:
    """Raises KeyError for a type that CREATE TABLE does not have."""
    there = stored(kind)
    return f"decimal({there.args[0]}, {there.args[1]})" if there.name == "DECIMAL" else _WORDS[there.name]


def from_iceberg(word: str) -> TargetType:
    """The type of a column that another engine created. Raises NOT_SUPPORTED."""
    numbers = re.fullmatch(r"decimal\((\d+), ?(\d+)\)", word)
    if numbers:
        return TargetType(name="DECIMAL", args=(int(numbers[1]), int(numbers[2])))
    if word in _TYPES:
        return TargetType(name=_TYPES[word])
    raise SyncError(Code.NOT_SUPPORTED, what=f"column type {word}")


def kept_types(text: str | None) -> dict[str, str]:
    """Of a table, as its property has them: none for a table of another engine. Raises ValueError."""
    found = json.loads(text or "{}")
    try:
        for word in found.values():
            iceberg_type(parse_type(word))
    except (AttributeError, LookupError) as error:
        raise ValueError(text) from error
    kept: dict[str, str] = found
    return kept
