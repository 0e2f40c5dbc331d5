"""ALTER TABLE.

Owns: its values and their canonical print.
Must not know: how it is parsed, what the lake makes of it.
"""

from dataclasses import dataclass
from typing import TypeAlias

from syncsql.names import Name, Property, print_properties, quote_name, quote_string
from syncsql.statements.table import ColumnDefinition


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """FIRST, or AFTER a column."""

    after: str | None = None

    def sql(self) -> str:
        return "FIRST" if self.after is None else f"AFTER {quote_name(self.after)}"


def _placed(place: Place | None) -> str:
    return "" if place is None else f" {place.sql()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class AddColumn:
    """ADD [COLUMN] column type ... [FIRST | AFTER column]"""

    column: ColumnDefinition
    place: Place | None = None

    def sql(self) -> str:
        return f"ADD COLUMN {self.column.sql()}{_placed(self.place)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class DropColumn:
    """DROP [COLUMN] column"""

    name: str

    def sql(self) -> str:
        return f"DROP COLUMN {quote_name(self.name)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class RenameColumn:
    """RENAME COLUMN column [TO] column"""

    name: str
    to: str

    def sql(self) -> str:
        return f"RENAME COLUMN {quote_name(self.name)} TO {quote_name(self.to)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ModifyColumn:
    """MODIFY [COLUMN] column type ... [FIRST | AFTER column]"""

    column: ColumnDefinition
    place: Place | None = None

    def sql(self) -> str:
        return f"MODIFY COLUMN {self.column.sql()}{_placed(self.place)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class CommentColumn:
    """MODIFY COLUMN column COMMENT 'text'"""

    name: str
    comment: str

    def sql(self) -> str:
        return f"MODIFY COLUMN {quote_name(self.name)} COMMENT {quote_string(self.comment)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class CommentTable:
    """[MODIFY] COMMENT [=] 'text'"""

    comment: str

    def sql(self) -> str:
        return f"COMMENT = {quote_string(self.comment)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SetProperties:
    """SET ("key" = "value", ...)"""

    properties: tuple[Property, ...]

    def sql(self) -> str:
        return f"SET {print_properties(self.properties)}"


Alteration: TypeAlias = (
    AddColumn | DropColumn | RenameColumn | ModifyColumn | CommentColumn | CommentTable | SetProperties
)


@dataclass(frozen=True, kw_only=True, slots=True)
class AlterTable:
    """ALTER TABLE [db.]table alteration, ...: ADD, DROP, RENAME, MODIFY of columns, COMMENT, SET of properties"""

    table: Name
    alterations: tuple[Alteration, ...]

    def sql(self) -> str:
        return f"ALTER TABLE {self.table.sql()} {', '.join(each.sql() for each in self.alterations)}"
