"""The text of a value that MySQL, MariaDB and Spark write alike, so that hashes of rows can be compared.

Owns: the expression on both sides for each pair of a source type and a target type, and what such a text shows.
Must not know: connections, Spark's sessions, tables.

Equal texts mean equal values, and the other way round. No text has a comma or is NULL_TEXT, but that of a NULL.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Final

from syncmgr.job.channel.description import quoted as lake_quoted
from syncmgr.job.snapshot.select_list import quoted as source_quoted
from syncmgr.job.types.schema import (
    BYTES,
    GEOMETRY,
    IDENTIFIERS,
    INTEGER_BITS,
    MAX_DECIMAL_DIGITS,
    TEXT,
    SourceColumn,
    TargetType,
)

NULL_TEXT: Final = "N"
_INTEGERS: Final = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT", "LARGEINT"})
_TEXTS: Final = frozenset({"CHAR", "VARCHAR", "STRING", "JSON"})
_BIG: Final = frozenset(
    {"tinytext", "text", "mediumtext", "longtext", "tinyblob", "blob", "mediumblob", "longblob", "json", "vector"}
)
_REALS: Final = frozenset({("float", "FLOAT"), ("float", "DOUBLE"), ("double", "DOUBLE")})
_MOMENTS: Final = frozenset({("datetime", "DATETIME"), ("timestamp", "DATETIME"), ("timestamp", "TIMESTAMP")})
_MOMENT: Final = "yyyy-MM-dd HH:mm:ss.SSSSSS"
_BITS: Final = "CAST(reflect('java.lang.Double', 'doubleToRawLongBits', coalesce(CAST({c} AS DOUBLE), 0D)) AS BIGINT)"


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """`source` in MySQL's words, `lake` in Spark's: both NULL for NULL. `shown`: the value, of such a text."""

    source: str
    lake: str
    shown: Callable[[str], str | int | float]


def form(column: SourceColumn, target: str, kind: TargetType) -> Form | None:
    """None: there is no such text for a column of that type in a target column of that type."""
    there, word = lake_quoted(target), column.type
    if kind.name in _INTEGERS | {"DECIMAL", "FLOAT", "DOUBLE"}:
        return _number(column, there, kind)
    if kind.name in {"DATE", "DATETIME", "TIMESTAMP"}:
        return _time(column, there, kind)
    if kind.name in _TEXTS:
        return _characters(column, word, there)
    if kind.name == "BINARY" and word in BYTES | GEOMETRY:
        here = source_quoted(column.name)
        return _digest(here, there) if word in _BIG else _hex(here, there, "0x{}".format)
    return None


def _number(column: SourceColumn, there: str, kind: TargetType) -> Form | None:
    here = source_quoted(column.name)
    match column.type:
        case word if word in INTEGER_BITS and kind.name in _INTEGERS:
            return Form(source=_whole(here, unsigned=column.unsigned), lake=_text(there), shown=int)
        case "year" | "bit" if kind.name in _INTEGERS:
            return Form(source=_whole(here, unsigned=True), lake=_text(there), shown=int)
        case "decimal" if kind.name == "DECIMAL" and column.precision <= MAX_DECIMAL_DIGITS:
            same = kind.args[1] == column.scale
            return Form(source=_exact(column), lake=_text(there), shown=str) if same else None
        case "float" | "double" if (column.type, kind.name) in _REALS:
            return _real(here, there)
        case _:
            return None


def _time(column: SourceColumn, there: str, kind: TargetType) -> Form | None:
    here = source_quoted(column.name)
    if (column.type, kind.name) == ("date", "DATE"):
        return Form(source=f"CAST({here} AS CHAR)", lake=f"date_format({there}, 'yyyy-MM-dd')", shown=str)
    if (column.type, kind.name) in _MOMENTS:
        source = f"CAST(CAST({here} AS DATETIME(6)) AS CHAR)"
        return Form(source=source, lake=f"date_format({there}, '{_MOMENT}')", shown=str)
    return None


def _whole(name: str, *, unsigned: bool) -> str:
    """The inner cast takes the zeros of ZEROFILL away."""
    return f"CAST(CAST({name} AS {'UNSIGNED' if unsigned else 'SIGNED'}) AS CHAR)"


def _exact(column: SourceColumn) -> str:
    return f"CAST(CAST({source_quoted(column.name)} AS DECIMAL({column.precision},{column.scale})) AS CHAR)"


def _text(name: str) -> str:
    return f"CAST({name} AS STRING)"


def _real(here: str, there: str) -> Form:
    """The bits: texts of a double differ between the servers. Spark's `reflect` fails on a NULL."""
    bits = _BITS.format(c=there)
    return Form(
        source=f"HEX(REVERSE(SUBSTRING(ST_AsWKB(POINT({here}, 0)), 6, 8)))",
        lake=f"IF({there} IS NULL, NULL, lpad(hex({bits}), 16, '0'))",
        shown=lambda text: float(struct.unpack(">d", bytes.fromhex(text))[0]),
    )


def _characters(column: SourceColumn, word: str, there: str) -> Form | None:
    here = source_quoted(column.name)
    if word in TEXT:
        told = f"CONVERT({here} USING utf8mb4)"
    elif word == "decimal" and column.precision > MAX_DECIMAL_DIGITS:
        told = _exact(column)
    elif word in {"enum", "set", "json", "time", *IDENTIFIERS}:
        told = f"CONVERT(CAST({here} AS CHAR) USING utf8mb4)"
    else:
        return None
    return _digest(told, there) if word in _BIG else _hex(told, there, lambda text: bytes.fromhex(text).decode())


def _hex(told: str, there: str, shown: Callable[[str], str]) -> Form:
    return Form(source=f"HEX({told})", lake=f"hex(CAST({there} AS BINARY))", shown=shown)


def _digest(told: str, there: str) -> Form:
    """Of what may be longer than a packet of the server, since a row's text would be NULL."""
    return Form(source=f"SHA2({told}, 256)", lake=f"sha2(CAST({there} AS BINARY), 256)", shown="sha256:{}".format)


def key_text(value: object) -> str:
    """Of a key's value as it is staged, in the same form. Raises TypeError for what is no key's."""
    match value:
        case bool() | float():
            raise TypeError(value)
        case int():
            return str(value)
        case Decimal():
            return f"{value:f}"
        case str():
            return value.encode().hex().upper()
        case bytes():
            return value.hex().upper()
        case datetime():
            return value.strftime("%Y-%m-%d %H:%M:%S.%f").rjust(26, "0")
        case date():
            return value.isoformat()
        case _:
            raise TypeError(value)
