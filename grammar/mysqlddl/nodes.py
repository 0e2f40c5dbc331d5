"""What a statement of a MySQL server says about tables.

Owns: the shape of statements and of the clauses of ALTER TABLE.
Must not know: how they are spelled, what happens to them.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from syncmgr.job.types.schema import SourceColumn, UniqueKey

Table = tuple[str, str]  # database, name
CONVERT_PARTITION: Final = "CONVERT PARTITION"  # it becomes a table


class DefaultKind(StrEnum):
    """What a DEFAULT is."""

    NULL = "NULL"
    STRING = "STRING"
    NUMBER = "NUMBER"  # with its sign; TRUE is 1
    BITS = "BITS"  # X'4d', 0x4d, b'01', 0b01 as written
    NOW = "NOW"  # with that many digits of the second's fraction; as many as the column if not stated
    EXPRESSION = "EXPRESSION"  # different per row, or unknown


@dataclass(frozen=True, kw_only=True, slots=True)
class Default:
    """DEFAULT of a column; `text` is a string's value, otherwise as written. `charset`: of a string's bytes."""

    kind: DefaultKind
    text: str = ""
    charset: str = "utf8mb4"


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnDefinition:
    """A column as ADD, MODIFY or CREATE define it.

    `column.charset` None: the table's own, which the statement does not tell. `comment` None: none was given.
    `expression`: from which its values follow. `numbered`: AUTO_INCREMENT. `unique`, `primary`: a key beside it.
    `dated`: a NOT NULL TIMESTAMP in which a NULL becomes the time of the statement. `undeclared`: one of a session with
    explicit_defaults_for_timestamp OFF. `updated`: it has ON UPDATE.
    `versioned`: its rows of the past stay in the table. `checked`: a CHECK beside it. `cascades`: a foreign key beside
    it changes rows of its table.
    """

    column: SourceColumn
    default: Default | None = None
    comment: str | None = None
    expression: str = ""
    numbered: bool = False
    invisible: bool = False
    unique: bool = False
    primary: bool = False
    dated: bool = False
    undeclared: bool = False
    updated: bool = False
    versioned: bool = False
    checked: bool = False
    cascades: bool = False

    @property
    def computed(self) -> bool:
        return bool(self.expression)


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """FIRST, or AFTER a column."""

    after: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class AddColumn:
    """ADD [COLUMN]"""

    definition: ColumnDefinition
    place: Place | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class DropColumn:
    """DROP [COLUMN]"""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RenameColumn:
    """RENAME COLUMN"""

    old: str
    new: str
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeColumn:
    """CHANGE, or MODIFY, in which both names are the same."""

    old: str
    definition: ColumnDefinition
    place: Place | None = None
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class AddPrimaryKey:
    """`columns`: for an expression or a period, its text in brackets."""

    columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class DropPrimaryKey:
    """DROP PRIMARY KEY"""


@dataclass(frozen=True, kw_only=True, slots=True)
class AddUnique:
    """ADD UNIQUE"""

    key: UniqueKey


@dataclass(frozen=True, kw_only=True, slots=True)
class DropIndex:
    """DROP INDEX, KEY or CONSTRAINT: of a key, perhaps a unique one. `sure`: no other constraint of that name is
    meant.
    """

    name: str
    sure: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class RenameTo:
    """RENAME TO"""

    table: Table


@dataclass(frozen=True, kw_only=True, slots=True)
class ConvertCharset:
    """CONVERT TO CHARACTER SET; None: DEFAULT, the database's.

    `keeps_room`: for as many characters as a column had, even if the statement defines it as a smaller text.
    """

    charset: str | None
    keeps_room: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class DefaultCharset:
    """[DEFAULT] CHARACTER SET or COLLATE: of texts without a stated one from here on; None: not known."""

    charset: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TableComment:
    """COMMENT = 'text'"""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RowsChange:
    """Rows are added or removed without row events. `what`: the clause; `other`: a further table whose rows do."""

    what: str
    other: Table | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class MergeTables:
    """UNION = (...) of a MERGE table: rows of these are written under its name, too."""

    tables: tuple[Table, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Quiet:
    """Leaves rows and columns as they are. `what`: the clause, by name. `default`: the column whose DEFAULT it changes,
    "" if it changes none.
    """

    what: str
    default: str = ""


Clause = (
    AddColumn
    | DropColumn
    | RenameColumn
    | ChangeColumn
    | AddPrimaryKey
    | DropPrimaryKey
    | AddUnique
    | DropIndex
    | RenameTo
    | ConvertCharset
    | DefaultCharset
    | TableComment
    | RowsChange
    | MergeTables
    | Quiet
)


@dataclass(frozen=True, kw_only=True, slots=True)
class AlterTable:
    """`ignore`: rows that a new unique key forbids were dropped."""

    table: Table
    clauses: tuple[Clause, ...]
    ignore: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeIndex:
    """CREATE INDEX, or DROP INDEX; as clauses of ALTER TABLE."""

    table: Table
    clauses: tuple[Clause, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateTable:
    """`like`: the table that it is a copy of. `select`: its rows and perhaps columns come from a query.

    `charset`: of the texts without a stated one; None: the database's, or an unknown one.
    `begins`: the rows of its query follow, up to the end of the transaction. `merged`: those whose rows are its own, if
    it is a MERGE table. `versioned`: rows of the past stay in it. `unique`: its unique keys besides the primary one;
    None: not known, as of a copy. `cascades`: a foreign key changes its rows.
    """

    table: Table
    columns: tuple[ColumnDefinition, ...] = ()
    primary: tuple[str, ...] = ()
    charset: str | None = None
    like: Table | None = None
    select: bool = False
    replaces: bool = False
    if_not_exists: bool = False
    temporary: bool = False
    begins: bool = False
    merged: tuple[Table, ...] = ()
    versioned: bool = False
    unique: tuple[UniqueKey, ...] | None = None
    cascades: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateTrigger:
    """Of one event on a table. `writes`: the tables that it changes, none if its body cannot be parsed."""

    name: Table
    table: Table
    event: str
    after: bool
    writes: frozenset[Table] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class DropTrigger:
    """DROP TRIGGER"""

    name: Table


@dataclass(frozen=True, kw_only=True, slots=True)
class DropTables:
    """DROP TABLE"""

    tables: tuple[Table, ...]
    temporary: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RenameTables:
    """One after the other, all of them or none, except missing ones with MariaDB's IF EXISTS."""

    pairs: tuple[tuple[Table, Table], ...]
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class TruncateTable:
    """TRUNCATE TABLE"""

    table: Table


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateDatabase:
    """CREATE DATABASE"""

    name: str
    replaces: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class DropDatabase:
    """DROP DATABASE"""

    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Other:
    """Changes neither rows nor columns of any table. `what`: its first words."""

    what: str


Statement = (
    AlterTable
    | ChangeIndex
    | CreateTable
    | CreateTrigger
    | DropTrigger
    | DropTables
    | RenameTables
    | TruncateTable
    | CreateDatabase
    | DropDatabase
    | Other
)
