"""The types of a SELECT's values, as far as MySQL's rules depend on them.

Owns: kinds of values, and a translated expression with its type.
Must not know: sqlglot, functions, where a table's columns come from.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

WIDEST: Final = 38  # digits of a DECIMAL of Spark
DIGITS_OF_INTEGER: Final = 19
MOST_SCALE: Final = 30  # as MySQL has
_WITH_FRACTION: Final = "yyyy-MM-dd HH:mm:ss.SSSSSS"
DIGITS_OF_FLOAT: Final = 24  # bits, which tell a FLOAT from a DOUBLE


class Kind(StrEnum):
    """UNKNOWN: what MySQL does not have, and Spark decides. DATETIME has no zone; TIMESTAMP is a moment."""

    NULL = "NULL"
    BOOL = "BOOL"
    INT = "INT"
    DECIMAL = "DECIMAL"
    DOUBLE = "DOUBLE"
    TEXT = "TEXT"
    BYTES = "BYTES"
    DATE = "DATE"
    DATETIME = "DATETIME"
    TIMESTAMP = "TIMESTAMP"
    JSON = "JSON"
    UNKNOWN = "UNKNOWN"


NUMBERS: Final = frozenset({Kind.BOOL, Kind.INT, Kind.DECIMAL, Kind.DOUBLE})
MOMENTS: Final = frozenset({Kind.DATETIME, Kind.TIMESTAMP})
TIMES: Final = frozenset({Kind.DATE, *MOMENTS})


@dataclass(frozen=True, slots=True)
class Type:
    """`precision` and `scale` of a DECIMAL: the digits that MySQL shows of it, and those of a DATETIME's
    fraction; the precision of a DOUBLE is that of a FLOAT,
    or 0.
    """

    kind: Kind
    precision: int = 0
    scale: int = 0


NULL: Final = Type(Kind.NULL)
BOOL: Final = Type(Kind.BOOL)
INT: Final = Type(Kind.INT, DIGITS_OF_INTEGER)
DOUBLE: Final = Type(Kind.DOUBLE)
TEXT: Final = Type(Kind.TEXT)
BYTES: Final = Type(Kind.BYTES)
DATE: Final = Type(Kind.DATE)
DATETIME: Final = Type(Kind.DATETIME)
TIMESTAMP: Final = Type(Kind.TIMESTAMP)
JSON: Final = Type(Kind.JSON)
UNKNOWN: Final = Type(Kind.UNKNOWN)


def decimal(scale: int, precision: int = WIDEST) -> Type:
    return Type(Kind.DECIMAL, min(precision, WIDEST), min(scale, MOST_SCALE))


@dataclass(frozen=True, slots=True)
class Value:
    """An expression in Spark's words. `constant`: what a literal says. `has_more_digits`: it is computed with
    more digits than MySQL shows. `is_average`: and MySQL goes on with nine of them.
    """

    sql: str
    type: Type
    constant: str | int | None = None
    has_more_digits: bool = False
    is_average: bool = False

    @property
    def kind(self) -> Kind:
        return self.type.kind

    def shown(self) -> "Value":
        """With the digits that MySQL shows."""
        if not self.has_more_digits:
            return self
        if self.kind is Kind.DOUBLE:
            return Value(f"CAST({self.sql} AS DECIMAL({WIDEST},{self.type.scale}))", decimal(self.type.scale))
        if self.kind is Kind.DATETIME:
            return Value(f"left(date_format({self.sql}, '{_WITH_FRACTION}'), {20 + self.type.scale})", TEXT)
        sql = f"CAST({self.sql} AS DECIMAL({WIDEST},{self.type.scale}))"
        return replace(self, sql=sql, has_more_digits=False, is_average=False)


class Refusal(Exception):  # noqa: N818 - it is no fault
    """What has no equal in Spark, or what MySQL refuses as well."""


class NotSupportedRefusal(Refusal):
    """Of this part of the text."""


class WrongValueRefusal(Refusal):
    """A constant that is no date or time, where one is needed."""


class ParameterCountRefusal(Refusal):
    """Of the function of that name."""


class UnfinishedRefusal(Refusal):
    """A text that ends with this word."""


class UnknownFunctionRefusal(Refusal):
    """The function of that name."""


class ForSparkError(Exception):
    """The text is not MySQL's: it is for Spark, as typed."""


def quoted(text: str) -> str:
    """A text as Spark reads it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def named(*parts: str) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)
