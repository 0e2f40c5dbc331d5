"""Tables of the lake in Doris' words: what each type holds, which tables can be, what fits into what.

Owns: the target types in Iceberg's and Spark's words, the rules of CREATE TABLE, and one rule per MySQL type:
nothing is truncated silently, so what may not fit is refused beforehand.
Must not know: Iceberg, Spark, statements, single values, expressions.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.types.schema import (
    BYTES,
    GEOMETRY,
    INTEGER_BITS,
    MAX_DECIMAL_DIGITS,
    TEXT,
    SourceColumn,
    TargetColumn,
    TargetTable,
    TargetType,
)

TYPES: Final = "syncmgr.types"  # property of a table: JSON, field id -> type in Doris' words
RESERVED_PREFIX: Final = "syncmgr_"
RESERVED: Final = frozenset({"_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_op", "_seq"})
NAME_LENGTH: Final = 64  # MySQL's own bound


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


def _codec(value: str) -> str | None:
    known = ("zstd", "snappy", "gzip", "uncompressed")
    return None if value in known else f"it must be one of {', '.join(known)}"


def _format(value: str) -> str | None:
    return None if value in {"2", "3"} else "it must be 2 or 3"


def _size(value: str) -> str | None:
    return None if value.isdecimal() and int(value) >= 1024 * 1024 else "it must be a number of bytes, at least 1048576"


# Properties of CREATE TABLE, under Iceberg's own names; each check gives the reason why a value is wrong.
PROPERTIES: Final[Mapping[str, Callable[[str], str | None]]] = {
    "format-version": _format,
    "write.parquet.compression-codec": _codec,
    "write.target-file-size-bytes": _size,
}


RESERVED_DATABASES: Final = frozenset({"lake", "spark_catalog", "global_temp", "information_schema", "system"})


def check_name(name: str, what: str) -> None:
    """Raises BAD_NAME for a database or table name that Iceberg or a file system cannot carry."""
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
    """The rules of CREATE TABLE. Raises BAD_NAME, DUPLICATE_COLUMN, UNKNOWN_COLUMN, BAD_TABLE, PROPERTY_*."""
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
    _check_properties(table)


def _bad(table: TargetTable, reason: str) -> SyncError:
    return SyncError(Code.BAD_TABLE, table=table.label, reason=reason)


def _check_columns(table: TargetTable) -> None:
    if not table.columns:
        raise _bad(table, "it has no columns")
    seen = set()
    for column in table.columns:
        folded = column.name.casefold()
        if folded in seen:
            raise SyncError(Code.DUPLICATE_COLUMN, column=column.name)
        seen.add(folded)
        if folded in RESERVED or folded.startswith(RESERVED_PREFIX):
            raise _bad(table, f"the column name '{column.name}' is reserved")
        if not column.name or len(column.name) > NAME_LENGTH or re.search(r"[\x00-\x1f\x7f]", column.name):
            reason = f"it must have 1 to {NAME_LENGTH} characters, no control characters among them"
            raise SyncError(Code.BAD_NAME, what="column", name=column.name, reason=reason)


def _check_key(table: TargetTable, names: tuple[str, ...], clause: str) -> None:
    for name in names:
        if table.column(name) is None:
            raise SyncError(Code.UNKNOWN_COLUMN, column=name, where=clause)
    if len({name.casefold() for name in names}) < len(names):
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
    """Iceberg refuses what is equal here."""
    kind = "time" if transform.kind in {"year", "month", "day", "hour"} else transform.kind
    return kind, transform.column.casefold()


_MOMENTS: Final = frozenset({"DATETIME", "TIMESTAMP"})
_WHOLE: Final = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT", "LARGEINT", "DECIMAL"})
_CHARACTERS: Final = frozenset({"CHAR", "VARCHAR", "STRING"})
_PARTITIONABLE: Final[Mapping[str, frozenset[str]]] = {
    "identity": _WHOLE | _CHARACTERS | {"BOOLEAN", "DATE"},
    "bucket": _WHOLE | _CHARACTERS | _MOMENTS | {"DATE", "BINARY"},
    "truncate": _WHOLE | _CHARACTERS,
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
    if table.keys and column.name.casefold() not in {key.casefold() for key in table.keys}:
        reason = (
            f"it is partitioned by '{column.name}', which is not in its UNIQUE KEY: a row could change its partition"
        )
        raise _bad(table, reason)


def _check_properties(table: TargetTable) -> None:
    seen = set()
    for name, value in table.properties:
        if name in seen:
            raise SyncError(Code.PROPERTY_TWICE, name=name)
        seen.add(name)
        if name not in PROPERTIES:
            near = difflib.get_close_matches(name, list(PROPERTIES), n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise SyncError(Code.PROPERTY_UNKNOWN, name=name, where="CREATE TABLE", hint=hint)
        reason = PROPERTIES[name](value)
        if reason:
            raise SyncError(Code.PROPERTY_WRONG, name=name, value=value, reason=reason)


SECOND_DIGITS: Final = 6  # of DATETIME and TIMESTAMP without a number: the lake keeps microseconds
TARGET_BITS: Final = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
EXACT_BITS: Final = {"FLOAT": 24, "DOUBLE": 53}
_TEXT_LENGTH: Final = {"tinytext": 255, "text": 65_535, "mediumtext": 2**24 - 1, "longtext": 2**32 - 1}
_FLOAT_LENGTH: Final = 25
_IDENTIFIER_LENGTH: Final = {"uuid": 36, "inet6": 39, "inet4": 15}
_DATE_LENGTH: Final = 10
_MOMENT_LENGTH: Final = 26


def fits(source: SourceColumn, target: TargetType) -> str | None:
    """Why the whole range of a MySQL column does not fit a target column; None where it does.

    Text takes whatever has an exact text. A MySQL type without a rule never fits.
    """
    rule = _RULES.get(source.type)
    if rule is None:
        return f"nothing is known of MySQL's type {source.type}"
    return rule(source, target)


def _integer_range(source: SourceColumn) -> tuple[int, int]:
    if source.type == "year":
        return 0, 2155
    if source.type == "bit":
        return 0, 2 ** (source.length or 64) - 1
    bits = INTEGER_BITS[source.type]
    return (0, 2**bits - 1) if source.unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _integer(source: SourceColumn, target: TargetType) -> str | None:
    low, high = _integer_range(source)
    if target.name == "BOOLEAN" and high == 1:
        return None
    digits = len(str(max(-low, high)))
    return _whole_number(low, high, digits, target)


def _decimal(source: SourceColumn, target: TargetType) -> str | None:
    precision, scale = source.precision, source.scale
    if precision > MAX_DECIMAL_DIGITS:  # it travels as text
        return _text(precision + 3, target)
    digits = precision - scale
    if not scale:
        highest = 10**digits - 1
        return _whole_number(-highest, highest, digits, target)
    if target.name == "DECIMAL":
        return _digits(digits, scale, target)
    if target.name in _CHARACTERS:
        return _text(max(digits, 1) + scale + 2, target)
    return f"it has {scale} decimals; use DECIMAL({precision},{scale})"


def _whole_number(low: int, high: int, digits: int, target: TargetType) -> str | None:
    match target.name:
        case "TINYINT" | "SMALLINT" | "INT" | "BIGINT" as name:
            bound = 2 ** (TARGET_BITS[name] - 1)
            return None if -bound <= low and high < bound else f"it reaches from {low} to {high}"
        case "LARGEINT":
            return None
        case "DECIMAL":
            return _digits(digits, 0, target)
        case "FLOAT" | "DOUBLE" as name:
            return None if max(-low, high) <= 2 ** EXACT_BITS[name] else f"{name} does not hold all of its digits"
        case "CHAR" | "VARCHAR" | "STRING":
            return _text(digits + (low < 0), target)
        case name:
            return f"a number is no {name}"


def _digits(whole: int, scale: int, target: TargetType) -> str | None:
    precision, decimals = target.args
    if precision - decimals >= whole and decimals >= scale:
        return None
    return f"it needs {whole} digits before and {scale} behind the point"


def _text(length: int, target: TargetType) -> str | None:
    """`length`: characters of the longest value."""
    if target.name == "STRING":
        return None
    if target.name in {"CHAR", "VARCHAR"}:
        room = target.args[0] if target.args else 1
        return None if room >= length else f"its text has up to {length} characters"
    return f"its text is no {target.name}; use STRING"


def _float(source: SourceColumn, target: TargetType) -> str | None:
    if target.name == "DOUBLE" or (target.name == "FLOAT" and source.type == "float"):
        return None
    if target.name in _CHARACTERS:
        return _text(_FLOAT_LENGTH, target)
    return f"a {source.type} may have digits that {target.name} does not hold"


def _date(_source: SourceColumn, target: TargetType) -> str | None:
    if target.name in {"DATE", "DATETIME"}:
        return None
    return _text(_DATE_LENGTH, target) if target.name in _CHARACTERS else f"a date is no {target.name}"


def _moment(source: SourceColumn, target: TargetType) -> str | None:
    """A timestamp is a point of time and reads as UTC where the target has no zone; a datetime is no point of time."""
    if target.name == "DATETIME" or (target.name == "TIMESTAMP" and source.type == "timestamp"):
        room = target.args[0] if target.args else SECOND_DIGITS
        return None if room >= source.precision else f"it has {source.precision} digits of a second"
    if target.name == "TIMESTAMP":
        return "a datetime has no time zone; use DATETIME"
    return _text(_MOMENT_LENGTH, target) if target.name in _CHARACTERS else f"a {source.type} is no {target.name}"


def _time(source: SourceColumn, target: TargetType) -> str | None:
    length = 10 + (source.precision + 1 if source.precision else 0)
    if target.name in _CHARACTERS:
        return _text(length, target)
    return f"a time reaches from -838:59:59 to 838:59:59; use STRING or VARCHAR({length})"


def _characters(source: SourceColumn, target: TargetType) -> str | None:
    length = _TEXT_LENGTH.get(source.type, source.length)
    if not length and target.name in {"CHAR", "VARCHAR"}:
        return "its length is not known; use STRING"
    return _text(length, target)


def _labels(source: SourceColumn, target: TargetType) -> str | None:
    lengths = [len(member) for member in source.members]
    if not lengths and target.name in {"CHAR", "VARCHAR"}:
        return "its labels are not known; use STRING"
    return _text(max(lengths, default=0) if source.type == "enum" else sum(lengths) + len(lengths) - 1, target)


def _identifier(source: SourceColumn, target: TargetType) -> str | None:
    return _text(_IDENTIFIER_LENGTH[source.type], target)


def _json(_source: SourceColumn, target: TargetType) -> str | None:
    return None if target.name in {"JSON", "STRING"} else "JSON fits only JSON and STRING"


def _bytes(source: SourceColumn, target: TargetType) -> str | None:
    if target.name != "BINARY":
        return "bytes are no text and no number; use BINARY"
    known = source.length if source.type in {"binary", "varbinary"} else 0
    if target.args and not known:
        return "its length is not known; use BINARY without a length"
    return f"it holds up to {known} bytes" if target.args and target.args[0] < known else None


_RULES: Final[Mapping[str, Callable[[SourceColumn, TargetType], str | None]]] = {
    **dict.fromkeys((*INTEGER_BITS, "year", "bit"), _integer),
    **dict.fromkeys(("float", "double"), _float),
    **dict.fromkeys(("datetime", "timestamp"), _moment),
    **dict.fromkeys(("enum", "set"), _labels),
    **dict.fromkeys(TEXT, _characters),
    **dict.fromkeys(BYTES | GEOMETRY, _bytes),
    **dict.fromkeys(_IDENTIFIER_LENGTH, _identifier),
    "decimal": _decimal,
    "date": _date,
    "time": _time,
    "json": _json,
}
