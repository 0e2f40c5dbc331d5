"""CREATE TABLE as MySQL prints it.

Owns: the typography that drivers read columns from: small types, quotes, one line of options behind the columns.
Must not know: where the table is. The text still parses to the same statement.
"""

from dataclasses import replace
from typing import Final

from syncsql import ColumnDefinition, CreateTable, quote_name

_ESCAPES: Final = str.maketrans({"\\": "\\\\", "'": "''", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"})
_WORDS: Final = {"STRING": "text"}  # where MySQL has a word for it, and the grammar knows both


def type_text(name: str, args: tuple[int, ...]) -> str:
    """A type in MySQL's typography: decimal(12,2)."""
    return _WORDS.get(name, name.lower()) + (f"({','.join(map(str, args))})" if args else "")


def create_text(statement: CreateTable) -> str:
    columns = ",\n".join(map(_column, statement.columns))
    _, _, options = replace(statement, columns=()).sql().partition("\n)")
    return f"CREATE TABLE {quote_name(statement.table.name)} (\n{columns}\n)" + options.replace("\n", " ")


def _column(column: ColumnDefinition) -> str:
    text = f"  {quote_name(column.name)} {type_text(column.type.name, column.type.args)}"
    text += {True: " NULL", False: " NOT NULL", None: ""}[column.nullable]
    if column.default is not None:
        text += f" DEFAULT {column.default.sql()}"
    return text if column.comment is None else f"{text} COMMENT '{column.comment.translate(_ESCAPES)}'"
