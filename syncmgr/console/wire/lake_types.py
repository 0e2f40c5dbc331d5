"""Spark's types in MySQL's terms.

Owns: the MySQL column of every Spark type, and the values that need another form to travel.
Must not know: queries, packets.
"""

import datetime as dt
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import partial
from typing import Final

import numpy as np

from syncmgr.console.wire.protocol import FieldType
from syncmgr.console.wire.results import Column, Row, text_of
from syncmgr.errors import Code, SyncError

Convert = Callable[[object], object]

_PLAIN: Final = {
    "void": FieldType.NULL,
    "boolean": FieldType.TINY,
    "tinyint": FieldType.TINY,
    "smallint": FieldType.SHORT,
    "int": FieldType.LONG,
    "bigint": FieldType.LONGLONG,
    "float": FieldType.FLOAT,
    "double": FieldType.DOUBLE,
    "string": FieldType.VAR_STRING,
    "binary": FieldType.BLOB,
    "date": FieldType.DATE,
    "timestamp": FieldType.TIMESTAMP,
    "timestamp_ntz": FieldType.DATETIME,
}
_MICROSECONDS: Final = {"timestamp": 6, "timestamp_ntz": 6}
_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")
_TEXT: Final = re.compile(r"(?:string|char|varchar)\b.*")
_NESTED: Final = re.compile(r"(?:array|map|struct)<.*>|variant")
_NO_NUMBERS: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}  # texts, as Spark's to_json has them
_INTERVAL: Final = re.compile(r"interval\b.*")


def column(name: str, spark_type: str, *, nullable: bool) -> Column:
    """Raises NOT_SUPPORTED for a type that has no MySQL form."""
    if spark_type in _PLAIN:
        decimals = _MICROSECONDS.get(spark_type)
        return Column(name=name, type=_PLAIN[spark_type], nullable=nullable, decimals=decimals)
    if match := _DECIMAL.fullmatch(spark_type):
        return Column(name=name, type=FieldType.NEWDECIMAL, nullable=nullable, decimals=int(match[2]))
    if _NESTED.fullmatch(spark_type):
        return Column(name=name, type=FieldType.JSON, nullable=nullable)
    if _TEXT.fullmatch(spark_type) or _INTERVAL.fullmatch(spark_type):
        return Column(name=name, nullable=nullable)
    raise SyncError(Code.NOT_SUPPORTED, what=f"column '{name}' of type {spark_type}")


def conversion(spark_type: str) -> Convert | None:
    """The conversion of a type's values before they are sent; None: none."""
    if spark_type == "float":
        return lambda value: text_of(float(str(np.float32(value))))  # type: ignore[arg-type]  # a float, says its type
    if _NESTED.fullmatch(spark_type):
        return _json
    return None


def _json(value: object) -> str:
    """Not json.dumps(): a decimal stays a number with its own digits there, too."""
    match value:
        case Decimal():
            return text_of(value)
        case bytes() | bytearray():
            return json.dumps(value.hex())
        case dt.date() | dt.timedelta():
            return json.dumps(text_of(value))
        case float() if not math.isfinite(value):
            return json.dumps(_NO_NUMBERS[str(value)])
        case list() | tuple():
            return f"[{', '.join(map(_json, value))}]"
        case dict():
            parts = (f"{_json(str(key))}: {_json(part)}" for key, part in value.items())
            return f"{{{', '.join(parts)}}}"
        case _:
            return json.dumps(value, ensure_ascii=False)


def converted(batch: Sequence[Row], spark_types: Sequence[str]) -> Iterable[Row]:
    """The rows of a batch as they are sent."""
    todo = [(index, convert) for index, name in enumerate(spark_types) if (convert := conversion(name))]
    return map(partial(_row, todo=todo), batch) if todo else batch


def _row(row: Row, todo: Sequence[tuple[int, Convert]]) -> Row:
    values = list(row)
    for index, convert in todo:
        if values[index] is not None:
            values[index] = convert(values[index])
    return values
