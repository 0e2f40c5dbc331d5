"""The condition of RESYNC TABLE ... WHERE: what it may be, and what it means in Spark's words and in MySQL's.

Owns: the rule that a condition concerns only keys, the types and constants that it may compare, both texts of it.
Must not know: servers, Spark, how rows are read.

A row that differs between source and target is identified by its key, which is the same in both. Spark evaluates the
keys of both sides, so they agree whatever the comparison means; the rows requested from the server must include them
all.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Final, assert_never

from syncmgr.config.settings import did_you_mean
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription, literal, quoted
from syncmgr.job.snapshot import select_list
from syncmgr.job.snapshot.key_range import KeyRange, key_columns
from syncmgr.job.types.schema import (
    BYTES,
    IDENTIFIERS,
    INTEGER_BITS,
    MAX_DECIMAL_DIGITS,
    TEXT,
    SourceColumn,
    TargetTable,
    TargetType,
)
from syncsql.comparison import Comparison, Constant, ConstantKind, Every, Sign, Some, Test

OUTSIDE: Final = (
    "column '{column}' is not in the key of the target: a row that differs may match in one of both tables alone, and"
    " would be lost or stay; compare {keys}, or leave WHERE out, and all rows are read"
)
LEAVE_OUT: Final = "leave WHERE out, and all rows are read"
_WHOLE_DIGITS: Final = {"TINYINT": 10, "SMALLINT": 10, "INT": 10, "BIGINT": 20, "LARGEINT": 38}  # as decimals of Spark
_LOSSLESS: Final = frozenset({"utf8mb4", "utf8mb3", "utf8", "latin1", "ascii"})  # to Unicode and back
_NUMBER: Final = re.compile(r"(-?)0*+(\d*+)(?:\.(\d*+))?")
_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?)?")


class _Kind(StrEnum):
    """How values are compared; the word says how a constant is to be written."""

    NUMBER = "a number with digits alone"
    DATE = "a date as 'YYYY-MM-DD'"
    MOMENT = "a moment as 'YYYY-MM-DD hh:mm:ss.ffffff', in UTC"
    TEXT = "a text in quotes"
    BYTES = "bytes as X'4d5a'"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Key:
    """A key column on both sides."""

    target: str
    type: TargetType
    column: SourceColumn
    kind: _Kind


def excerpt_of(channel: ChannelDescription, target: TargetTable, test: Test, text: str) -> KeyRange:
    """The part of a channel's rows that a condition means. `text`: of the condition.

    Raises SOURCE_UNKNOWN_COLUMN, RESYNC_WHERE.
    """
    try:
        keys = {name: _key(channel, target, name) for name in _names(test)}
        lake, source = _apart(channel, _spark(test, keys)), _mysql(test, keys)
    except _RefusedError as refused:
        raise SyncError(Code.RESYNC_WHERE, table=channel.source.label, condition=text, reason=str(refused)) from None
    columns = tuple(key.column.name for key in keys.values())
    return KeyRange(way=channel.mapping_fingerprint, text=text, columns=columns, lake=lake, source=source)


def _apart(channel: ChannelDescription, lake: str) -> str:
    """If other channels fill the same target: none of their rows."""
    part = channel.part
    return lake if part is None else f"{quoted(part.column)} = {literal(part.value)} AND ({lake})"


class _RefusedError(Exception):
    """The reason for which a condition cannot be taken."""


def _names(test: Test) -> tuple[str, ...]:
    """The columns that it compares, each once."""
    match test:
        case Comparison(column=column):
            return (column,)
        case Every(parts=parts) | Some(parts=parts):
            return tuple(dict.fromkeys(name for part in parts for name in _names(part)))
        case _:
            assert_never(test)


def _key(channel: ChannelDescription, target: TargetTable, name: str) -> _Key:
    column = channel.source.column(name)
    if column is None:
        hint = did_you_mean(name, [each.name for each in channel.source.columns])
        raise SyncError(Code.SOURCE_UNKNOWN_COLUMN, table=channel.source.label, column=name, hint=hint)
    filled = key_columns(channel)
    if column.name not in filled:
        keys = ", ".join(channel.source_keys)
        raise _RefusedError(OUTSIDE.format(column=column.name, keys=keys))
    there = target.column(filled[column.name])
    assert there is not None, "the target has its key"
    return _Key(target=there.name, type=there.type, column=column, kind=_kind(column, there.type))


def _kind(column: SourceColumn, kind: TargetType) -> _Kind:
    match kind.name:
        case "TINYINT" | "SMALLINT" | "INT" | "BIGINT" | "LARGEINT" | "DECIMAL" if _is_number(column):
            return _Kind.NUMBER
        case "DATE" if column.type == "date":
            return _Kind.DATE
        case "DATETIME" if column.type in {"date", "datetime", "timestamp"}:
            return _Kind.MOMENT
        case "TIMESTAMP" if column.type == "timestamp":
            return _Kind.MOMENT
        case "CHAR" | "VARCHAR" | "STRING" if column.type in TEXT or column.type in {"enum", "set", *IDENTIFIERS}:
            return _Kind.TEXT
        case "BINARY" if column.type in BYTES:
            return _Kind.BYTES
        case _:
            what = f"column '{column.name}' ({column.text}, in the target {kind.text})"
            raise _RefusedError(f"{what} may compare differently in the source and in the lake; {LEAVE_OUT}")


def _is_number(column: SourceColumn) -> bool:
    if column.type == "decimal":
        return column.precision <= MAX_DECIMAL_DIGITS
    return column.type in INTEGER_BITS or column.type in {"year", "bit"}


def _spark(test: Test, keys: Mapping[str, _Key]) -> str:
    match test:
        case Comparison(column=column, sign=sign, values=values):
            key = keys[column]
            return _comparison(quoted(key.target), sign, [_in_spark(key, value) for value in values])
        case Every(parts=parts):
            return " AND ".join(f"({_spark(part, keys)})" for part in parts)
        case Some(parts=parts):
            return " OR ".join(f"({_spark(part, keys)})" for part in parts)
        case _:
            assert_never(test)


def _comparison(name: str, sign: Sign, values: list[str]) -> str:
    """A key is never NULL on either side; MySQL would treat a zero date as NULL."""
    match sign:
        case Sign.NULL:
            return "FALSE"
        case Sign.NOT_NULL:
            return "TRUE"
        case Sign.EQUAL:
            return f"{name} IN ({', '.join(values)})"
        case Sign.DIFFERENT:
            return f"{name} NOT IN ({', '.join(values)})"
        case _:
            return f"{name} {sign} {values[0]}"


def _in_spark(key: _Key, value: Constant) -> str:
    text = _constant(key, value)
    match key.kind:
        case _Kind.NUMBER:
            return text
        case _Kind.DATE:
            return f"DATE'{text}'"
        case _Kind.MOMENT:
            return f"TIMESTAMP_NTZ'{text}'" if key.type.name == "DATETIME" else f"TIMESTAMP'{text}+00:00'"
        case _Kind.TEXT:
            return f"CAST(X'{text}' AS STRING)"
        case _Kind.BYTES:
            return f"X'{text}'"


def _mysql(test: Test, keys: Mapping[str, _Key]) -> str:
    match test:
        case Comparison(column=column, sign=sign):
            key, by_collation = keys[column], _by_collation(keys[column].column, test)
            values = [_in_mysql(key, value, by_collation=by_collation) for value in test.values]
            return _comparison(_asked(key, by_collation=by_collation), sign, values)
        case Every(parts=parts):
            return " AND ".join(f"({_mysql(part, keys)})" for part in parts)
        case Some(parts=parts):
            return " OR ".join(f"({_mysql(part, keys)})" for part in parts)
        case _:
            assert_never(test)


def _by_collation(column: SourceColumn, test: Comparison) -> bool:
    """Whether a text column's collation may compare, so that an index can be used. It treats identical values as equal,
    and others too; its order differs. The server raises an error for a constant that is not in the column's charset.
    """
    convertible = column.charset == "utf8mb4" or all(value.text.isascii() for value in test.values)
    return test.sign is Sign.EQUAL and column.type in TEXT and column.charset in _LOSSLESS and convertible


def _asked(key: _Key, *, by_collation: bool) -> str:
    """What the server compares."""
    selected = select_list.selected(key.column)
    match key.kind:
        case _Kind.NUMBER:
            return selected
        case _Kind.TEXT if not by_collation:
            return f"CAST(CONVERT({selected} USING utf8mb4) AS BINARY)"
        case _:
            return select_list.quoted(key.column.name)


def _in_mysql(key: _Key, value: Constant, *, by_collation: bool) -> str:
    text = _constant(key, value)
    match key.kind:
        case _Kind.NUMBER:
            return text
        case _Kind.DATE:
            return f"DATE'{text}'"
        case _Kind.MOMENT:
            return f"TIMESTAMP'{text}'"
        case _Kind.TEXT:
            return f"_utf8mb4 X'{text}'" if by_collation else f"X'{text}'"
        case _Kind.BYTES:
            return f"X'{text}'"


def _constant(key: _Key, value: Constant) -> str:
    """The one form of it that both understand; for texts and bytes the digits."""
    match key.kind, value.kind:
        case _Kind.NUMBER, ConstantKind.NUMBER:
            text = _number(key, value.text)
        case _Kind.DATE, ConstantKind.TEXT | ConstantKind.MOMENT:
            text = _date(value.text)
        case _Kind.MOMENT, ConstantKind.TEXT | ConstantKind.MOMENT:
            text = _moment(value.text)
        case _Kind.TEXT, ConstantKind.TEXT:
            text = value.text.encode().hex()
        case _Kind.BYTES, ConstantKind.BYTES if len(value.text) % 2 == 0:
            text = value.text
        case _:
            text = None
    if text is None:
        raise _RefusedError(f"'{value.text}' cannot be compared with column '{key.column.name}'; write {key.kind}")
    return text


def _number(key: _Key, text: str) -> str | None:
    """Whether it has only as many digits as Spark compares without loss."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    sign, whole, fraction = found[1], found[2], (found[3] or "").rstrip("0")
    if key.type.name == "DECIMAL":
        digits, scale = key.type.args[0] - key.type.args[1], key.type.args[1]
    else:
        digits, scale = _WHOLE_DIGITS[key.type.name], 0
    if max(digits, len(whole)) + max(scale, len(fraction)) > MAX_DECIMAL_DIGITS:
        raise _RefusedError(f"{text} has more digits than can be compared with column '{key.column.name}'")
    return f"{sign}{whole or 0}" + (f".{fraction}" if fraction else "")


def _date(text: str) -> str | None:
    found = _MOMENT.fullmatch(text)
    if found is None or found[2]:
        return None
    try:
        return date.fromisoformat(found[1]).isoformat()
    except ValueError:
        return None


def _moment(text: str) -> str | None:
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    written = f"{found[1]} {found[2] or '00:00:00'}.{(found[3] or '').ljust(6, '0')}"
    try:
        return datetime.fromisoformat(written).isoformat(sep=" ", timespec="microseconds")
    except ValueError:
        return None
