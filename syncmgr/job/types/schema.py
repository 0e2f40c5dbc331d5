"""Tables as the core sees them: source columns, target columns, and what fits into what.

Owns: columns of MySQL as values, the Arrow type in which each travels, the target types and their ranges.
Must not know: where a schema was read, how a value is decoded or written.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.mysql_type import TYPES, UNSIGNED, Brackets, Family, brackets, words

MOST_TABLE_SIZE: Final = 4 << 20  # of a SourceTable; a hundred ENUMs of a thousand labels take the half of it
MAX_COLUMNS: Final = 4096  # of a table, and so of an answer; MySQL's own limit
INTEGER_BITS: Final = {word: TYPES[word].size for word in TYPES if TYPES[word].family is Family.INTEGER}
TEXT: Final = words(Family.TEXT)
BYTES: Final = words(Family.BYTES)
LABELLED: Final = words(Family.LABELLED)
GEOMETRY: Final = words(Family.GEOMETRY)
IDENTIFIERS: Final = {word: TYPES[word].size for word in TYPES if TYPES[word].family is Family.IDENTIFIER}
MAX_DECIMAL_DIGITS: Final = 38  # of Arrow's decimal128, Spark and the lake alike


_DEFAULT_OF: Final = re.compile(r"\bdefault\s*\(", re.IGNORECASE)
_PLAIN: Final = re.compile(r"[\w$]+")  # a name that is spelled in one way


def mentions(text: str, name: str) -> bool:
    """Whether a name occurs in a text as a separate word; case does not count."""
    return re.search(rf"(?<!\w){re.escape(name.casefold())}(?!\w)", text.casefold()) is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceColumn:
    """One column of a MySQL table, as information_schema or a FULL table map describes it.

    `type` is MySQL's type word in lower case ("bigint", "varchar", "enum", ...), without width or sign.
    `precision`: digits of a decimal, and of a float or double that was given both M and D; 0: it was not, and rounds
    nothing. A table map does not contain those. Of datetime, timestamp and time: digits of the second's fraction.
    `length`: characters of char and varchar, bytes of binary and varbinary, bits of bit; 0 if not known.
    `members`: labels of enum and set in their order. `key`: 1-based place in the primary key, 0 if none.
    """

    name: str
    type: str
    unsigned: bool = False
    precision: int = 0
    scale: int = 0
    length: int = 0
    charset: str | None = None  # MySQL's name; None: not text
    members: tuple[str, ...] = ()
    nullable: bool = True
    key: int = 0

    @property
    def text(self) -> str:
        """The type as MySQL prints it."""
        word = self.type
        match brackets(word):
            case Brackets.DIGITS if self.precision or word == "decimal":
                word += f"({self.precision},{self.scale})"
            case Brackets.FRACTION if self.precision:
                word += f"({self.precision})"
            case Brackets.LENGTH if self.length:
                word += f"({self.length})"
            case _ if self.members:
                word += "(" + ",".join("'" + member.replace("'", "''") + "'" for member in self.members) + ")"
        return word + (" unsigned" if self.unsigned else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class UniqueKey:
    """A unique key besides the primary one. `name`: "" if not known. A column "": a key part that is not a column."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class GeneratedColumn:
    """A column whose values the server computes. `reads`: the columns that its expression may read; `defaults`: perhaps
    the DEFAULT of one, which MariaDB allows. `zoned`: its values may depend on the time zone of the session that
    computes them, as the server described it.
    """

    name: str
    reads: tuple[str, ...]
    defaults: bool = False
    zoned: bool = field(default=False, compare=False)


def read_by(expression: str, columns: Iterable[str]) -> tuple[str, ...]:
    """Those of a table that an expression may read; a name with other characters may have another spelling."""
    return tuple(name for name in columns if _PLAIN.fullmatch(name) is None or mentions(expression, name))


def has_default(expression: str) -> bool:
    """Whether it may read the DEFAULT of a column."""
    return _DEFAULT_OF.search(expression) is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceTable:
    """A table of a MySQL server. `charset`: of new text columns without a stated one; None: not known.

    `unique`: its unique keys beside the primary one, perhaps some that have gone; `generated`: of its columns;
    `numbered`: its AUTO_INCREMENT column, "" if there is none; None: not known. No table map has them, so they are
    left out where tables are compared.
    """

    db: str
    name: str
    columns: tuple[SourceColumn, ...]
    charset: str | None = None
    unique: tuple[UniqueKey, ...] | None = field(default=None, compare=False)
    generated: tuple[GeneratedColumn, ...] | None = field(default=(), compare=False)
    numbered: str | None = field(default=None, compare=False)

    @property
    def primary(self) -> frozenset[str]:
        """The columns of its primary key, folded."""
        return frozenset(folded_name(column.name) for column in self.columns if column.key)

    @property
    def label(self) -> str:
        return f"{self.db}.{self.name}"

    @property
    def size(self) -> int:
        """Characters of its columns and keys, which are stored, and read again, with each job that has it."""
        columns = sum(len(c.name) + len(c.type) + sum(map(len, c.members)) for c in self.columns)
        return columns + sum(len(name) for key in self.unique or () for name in (key.name, *key.columns))

    def column(self, name: str) -> SourceColumn | None:
        """MySQL compares column names without case."""
        folded = folded_name(name)
        return next((c for c in self.columns if folded_name(c.name) == folded), None)


def arrow_type(column: SourceColumn) -> pa.DataType:
    """The Arrow type in which a column's values travel in a segment. Raises KeyError for an unknown type word."""
    row = TYPES[column.type]
    if row.family is Family.DECIMAL and column.precision <= MAX_DECIMAL_DIGITS:
        return pa.decimal128(column.precision, column.scale)
    return UNSIGNED[row.arrow] if row.family is Family.INTEGER and column.unsigned else row.arrow


def has_arrow_type(column: SourceColumn) -> bool:
    try:
        arrow_type(column)
    except KeyError:
        return False
    return True


def differing(known: SourceTable, found: SourceTable) -> str | None:
    """In words, the differences by which rows without names would be misread: the order of the columns, and their
    labels.
    """
    names, now = ([folded_name(column.name) for column in table.columns] for table in (known, found))
    if names != now:
        shown = [", ".join(column.name for column in table.columns) for table in (found, known)]
        return f"its columns are ({shown[0]}), the job knows ({shown[1]})"
    for before, after in zip(known.columns, found.columns, strict=True):
        if before.members != after.members:
            return f"column '{after.name}' is {after.text}, the job knows {before.text}"
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetType:
    """A column type of CREATE TABLE: canonical word in upper case and its arguments, e.g. DECIMAL (12, 2)."""

    name: str
    args: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        return self.name + (f"({','.join(map(str, self.args))})" if self.args else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetColumn:
    """A column of a table of the lake."""

    name: str
    type: TargetType
    nullable: bool = True
    comment: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class TableSize:
    """Rows that are not deleted, and bytes of files."""

    rows: int
    bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetTable:
    """A table of the lake as CREATE TABLE made it. `keys` empty: rows are only appended.

    `reserved_columns`: names that its format has for columns of its own. Of an existing table also: its `uuid`, and the
    tokens of the channels that have committed epochs. `is_unused`: it is as it was created, without rows. `is_spare`:
    and it was created for a job. `lacks_defaults`: what kind of table it is, if that cannot show a value in rows that
    were written without it. `size`: by the count of its last commit; None: it counts nothing.
    """

    db: str
    name: str
    columns: tuple[TargetColumn, ...]
    keys: tuple[str, ...] = ()
    duplicate_key: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()  # transforms as Spark prints them: "bucket(4, id)", "day(at)", "region"
    comment: str = ""
    properties: tuple[tuple[str, str], ...] = ()
    reserved_columns: frozenset[str] = field(compare=False)
    uuid: str = field(default="", compare=False)
    writers: tuple[str, ...] = field(default=(), compare=False)
    is_unused: bool = field(default=False, compare=False)
    is_spare: bool = field(default=False, compare=False)
    lacks_defaults: str = field(default="", compare=False)
    size: TableSize | None = field(default=None, compare=False)

    def is_placed_by(self, column: str) -> bool:
        """Whether its partitions depend on that column."""
        return any(mentions(transform, column) for transform in self.partition)

    @property
    def label(self) -> str:
        return f"{self.db}.{self.name}"

    def column(self, name: str) -> TargetColumn | None:
        folded = folded_name(name)
        return next((c for c in self.columns if folded_name(c.name) == folded), None)
