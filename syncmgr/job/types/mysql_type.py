"""The types of MySQL and MariaDB.

Owns: the one table of them: a row for each type word, from which every module that decides by type takes its families.
Must not know: columns, what a type becomes in the lake, how a value is decoded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

import pyarrow as pa


class Family(Enum):
    """Types that are treated alike."""

    INTEGER = auto()
    REAL = auto()  # a binary fraction
    DECIMAL = auto()
    BIT = auto()
    YEAR = auto()
    DATE = auto()
    MOMENT = auto()  # a date with a time
    TIME = auto()
    TEXT = auto()
    BYTES = auto()
    LABELLED = auto()
    GEOMETRY = auto()
    IDENTIFIER = auto()  # MariaDB's
    JSON = auto()


class Brackets(Enum):
    """What stands in brackets after the word, if anything does."""

    NOTHING = auto()
    DIGITS = auto()  # all, and those of the fraction
    FRACTION = auto()  # digits of a second's fraction
    LENGTH = auto()
    LABELS = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class MysqlType:
    """`arrow`: in which its values travel in a segment; of a decimal, if it has more digits than Arrow's; of an
    integer with its sign. `size`: bits of an integer, bytes of an identifier, and the most bytes of a TEXT or BLOB type
    whose length is not in brackets; else 0. `longest`: characters of an identifier's text.
    """

    family: Family
    arrow: pa.DataType
    brackets: Brackets = Brackets.NOTHING
    size: int = 0
    longest: int = 0


def _integer(bits: int, arrow: pa.DataType) -> MysqlType:
    return MysqlType(family=Family.INTEGER, arrow=arrow, size=bits)


def _text(size: int = 0) -> MysqlType:
    return MysqlType(family=Family.TEXT, arrow=pa.string(), brackets=_sized(size), size=size)


def _bytes(size: int = 0, brackets: Brackets | None = None) -> MysqlType:
    return MysqlType(family=Family.BYTES, arrow=pa.binary(), brackets=brackets or _sized(size), size=size)


def _sized(size: int) -> Brackets:
    return Brackets.NOTHING if size else Brackets.LENGTH


def _moment(family: Family, arrow: pa.DataType) -> MysqlType:
    return MysqlType(family=family, arrow=arrow, brackets=Brackets.FRACTION)


def _identifier(size: int, longest: int) -> MysqlType:
    return MysqlType(family=Family.IDENTIFIER, arrow=pa.string(), size=size, longest=longest)


_LABELLED: Final = MysqlType(family=Family.LABELLED, arrow=pa.string(), brackets=Brackets.LABELS)
_GEOMETRY: Final = MysqlType(family=Family.GEOMETRY, arrow=pa.binary())  # MySQL's SRID and WKB

TYPES: Final[Mapping[str, MysqlType]] = {
    "tinyint": _integer(8, pa.int8()),
    "smallint": _integer(16, pa.int16()),
    "mediumint": _integer(24, pa.int32()),
    "int": _integer(32, pa.int32()),
    "bigint": _integer(64, pa.int64()),
    "float": MysqlType(family=Family.REAL, arrow=pa.float32(), brackets=Brackets.DIGITS),
    "double": MysqlType(family=Family.REAL, arrow=pa.float64(), brackets=Brackets.DIGITS),
    "decimal": MysqlType(family=Family.DECIMAL, arrow=pa.string(), brackets=Brackets.DIGITS),
    "bit": MysqlType(family=Family.BIT, arrow=pa.uint64(), brackets=Brackets.LENGTH),
    "year": MysqlType(family=Family.YEAR, arrow=pa.int16()),
    "date": MysqlType(family=Family.DATE, arrow=pa.date32()),
    "datetime": _moment(Family.MOMENT, pa.timestamp("us")),  # of no zone
    "timestamp": _moment(Family.MOMENT, pa.timestamp("us", "UTC")),
    "time": _moment(Family.TIME, pa.string()),  # it reaches 838 hours and below zero
    "char": _text(),
    "varchar": _text(),
    "tinytext": _text(2**8 - 1),
    "text": _text(2**16 - 1),
    "mediumtext": _text(2**24 - 1),
    "longtext": _text(2**32 - 1),
    "binary": _bytes(),
    "varbinary": _bytes(),
    "tinyblob": _bytes(2**8 - 1),
    "blob": _bytes(2**16 - 1),
    "mediumblob": _bytes(2**24 - 1),
    "longblob": _bytes(2**32 - 1),
    "vector": _bytes(brackets=Brackets.NOTHING),
    "enum": _LABELLED,
    "set": _LABELLED,
    "json": MysqlType(family=Family.JSON, arrow=pa.string()),
    "geometry": _GEOMETRY,
    "point": _GEOMETRY,
    "linestring": _GEOMETRY,
    "polygon": _GEOMETRY,
    "multipoint": _GEOMETRY,
    "multilinestring": _GEOMETRY,
    "multipolygon": _GEOMETRY,
    "geomcollection": _GEOMETRY,
    "geometrycollection": _GEOMETRY,
    "uuid": _identifier(16, 36),
    "inet6": _identifier(16, 39),
    "inet4": _identifier(4, 15),
}
UNSIGNED: Final[Mapping[pa.DataType, pa.DataType]] = {
    pa.int8(): pa.uint8(),
    pa.int16(): pa.uint16(),
    pa.int32(): pa.uint32(),
    pa.int64(): pa.uint64(),
}


def words(family: Family) -> frozenset[str]:
    """All types of a family."""
    return frozenset(word for word, row in TYPES.items() if row.family is family)


def brackets(word: str) -> Brackets:
    """NOTHING of an unknown type word."""
    return TYPES[word].brackets if word in TYPES else Brackets.NOTHING
