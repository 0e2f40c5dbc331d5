"""Literals of MySQL in Spark's words.

Owns: numbers, texts, patterns of LIKE; types of CAST.
Must not know: operators, functions.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from mysqlselect import conversions
from mysqlselect.types import (
    BYTES,
    DATETIME,
    DOUBLE,
    INT,
    TEXT,
    WIDEST,
    NotSupportedRefusal,
    Value,
    decimal,
    quoted,
)

_INTEGER: Final = re.compile(r"[0-9]{1,18}")
_DECIMAL: Final = re.compile(r"([0-9]*)\.?([0-9]*)")


def number(text: str) -> Value:
    """Raises NotSupportedRefusal."""
    if _INTEGER.fullmatch(text):
        return Value(str(int(text)), INT, int(text))
    found = _DECIMAL.fullmatch(text)
    if found is None:
        return Value(f"CAST('{text}' AS DOUBLE)", DOUBLE)
    whole, fraction = found[1].lstrip("0"), found[2]
    precision = max(len(whole), 1) + len(fraction)
    if precision > WIDEST:
        raise NotSupportedRefusal(f"a number of more than {WIDEST} digits")
    sql = f"CAST('{whole or '0'}.{fraction or '0'}' AS DECIMAL({precision},{len(fraction)}))"
    return Value(sql, decimal(len(fraction), precision))


def text(content: str) -> Value:
    return Value(quoted(content), TEXT, content)


def like(pattern: str, escape: str) -> str:
    """The same pattern, escaped as Spark has it: MySQL lets any character be escaped."""
    out, characters = "", iter(pattern)
    for each in characters:
        if each == escape:
            after = next(characters, escape)
            out += f"\\{after}" if after in "%_\\" else after
        else:
            out += "\\\\" if each == "\\" else each
    return quoted(out)


def _char(value: Value, kind: exp.DataType) -> Value:
    found = conversions.text(value)
    lengths = kind.expressions
    return Value(f"left({found.sql}, {lengths[0].name})", TEXT) if lengths else found


def _decimal(value: Value, kind: exp.DataType) -> Value:
    numbers = [int(each.name) for each in kind.expressions]
    precision, scale = (*numbers, *(10, 0)[len(numbers) :])
    if precision > WIDEST:
        raise NotSupportedRefusal(f"CAST AS DECIMAL of more than {WIDEST} digits")
    found = conversions.number(value)
    return Value(f"CAST({found.sql} AS DECIMAL({precision},{scale}))", decimal(scale, precision))


def _unsigned(value: Value, _kind: exp.DataType) -> Value:
    found = conversions.integer(value).sql
    wide = f"CAST({found} AS DECIMAL(20,0))"
    return Value(f"IF({found} < 0, CAST({wide} + 18446744073709551616 AS DECIMAL(20,0)), {wide})", decimal(0, 20))


def _bytes(value: Value, kind: exp.DataType) -> Value:
    if kind.expressions:
        raise NotSupportedRefusal("CAST AS BINARY(n)")
    return value if value.type == BYTES else Value(f"CAST({conversions.text(value).sql} AS BINARY)", BYTES)


def _moment(value: Value, kind: exp.DataType) -> Value:
    found = conversions.moment(value)
    if kind.expressions and kind.expressions[0].name != "0":
        return found
    second = f"date_trunc('SECOND', {found.sql} + INTERVAL '0.5' SECOND)"
    return Value(f"CAST({second} AS TIMESTAMP_NTZ)", DATETIME)


def _time(value: Value, _kind: exp.DataType) -> Value:
    return Value(f"date_format({conversions.moment(value).sql}, 'HH:mm:ss')", TEXT)


_CASTS: Final[Mapping[str, Callable[[Value, exp.DataType], Value]]] = {
    "BIGINT": lambda value, _: conversions.integer(value),
    "UBIGINT": _unsigned,
    "CHAR": _char,
    "NCHAR": _char,
    "VARCHAR": _char,
    "TEXT": _char,
    "DECIMAL": _decimal,
    "DATE": lambda value, _: conversions.day(value),
    "DATETIME": _moment,
    "TIME": _time,
    "DOUBLE": lambda value, _: conversions.double(value),
    "BINARY": _bytes,
    "CHARACTER_SET": lambda value, _: conversions.text(value),
}
_OF_SPARK: Final = frozenset(
    {
        "INT",
        "SMALLINT",
        "TINYINT",
        "BOOLEAN",
        "TIMESTAMP",
        "TIMESTAMPTZ",
        "TIMESTAMPNTZ",
        "TIMESTAMPLTZ",
        "ARRAY",
        "MAP",
    }
)


def cast(value: Value, kind: exp.DataType) -> Value | None:
    """None: MySQL has no such CAST. Raises Refusal."""
    name = kind.this.name if isinstance(kind, exp.DataType) else str(kind)
    if name in _CASTS:
        return _CASTS[name](value, kind)
    if name in _OF_SPARK:
        return None
    raise NotSupportedRefusal(f"CAST AS {name}")
