"""CREATE TABLE as MySQL prints it.

Owns: the typography that drivers read columns and keys from: lower-case types, quotes, the key as a line after the
columns, the options on the line of the bracket, and PARTITION BY on one of its own, as SQLAlchemy needs it.
Must not know: where the table is. The text still parses to the same statement.
"""

from dataclasses import replace
from typing import Final

from syncsql import ColumnDefinition, CreateTable, KeyKind, TableKey, quote_name

_ESCAPES: Final = str.maketrans({"\\": "\\\\", "'": "''", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"})
_WORDS: Final = {"STRING": "text"}  # if MySQL has a word for it, and the grammar knows both


def type_text(name: str, args: tuple[int, ...]) -> str:
    """A type in MySQL's typography: decimal(12,2)."""
    return _WORDS.get(name, name.lower()) + (f"({','.join(map(str, args))})" if args else "")


def create_text(statement: CreateTable) -> str:
    primary = _primary_key(statement.key)
    lines = ",\n".join([*map(_column, statement.columns), *primary])
    rest = replace(statement, columns=(), key=None if primary else statement.key, comment=None)
    before = _options(replace(rest, partition_by=(), distribution=None, properties=()))
    behind = _options(replace(rest, engine=None, options=(), key=None))
    comment = "" if statement.comment is None else f" COMMENT={_quoted(statement.comment)}"
    line = "\n" if statement.partition_by else ""
    head = f"CREATE TABLE {quote_name(statement.table.name)} (\n{lines}\n)"
    return head + before + comment + line + (behind.lstrip() if line else behind)


def _options(statement: CreateTable) -> str:
    _, _, options = statement.sql().partition("\n)")
    return options.replace("\n", " ")


def _quoted(text: str) -> str:
    return f"'{text.translate(_ESCAPES)}'"


def _primary_key(key: TableKey | None) -> list[str]:
    """Drivers look for it among the columns; MySQL puts no space between the names."""
    if key is None or key.kind is not KeyKind.UNIQUE:
        return []
    return [f"  PRIMARY KEY ({','.join(map(quote_name, key.columns))})"]


def _column(column: ColumnDefinition) -> str:
    text = f"  {quote_name(column.name)} {type_text(column.type.name, column.type.args)}"
    text += {True: " NULL", False: " NOT NULL", None: ""}[column.nullable]
    if column.default is not None:
        text += f" DEFAULT {column.default.sql()}"
    return text if column.comment is None else f"{text} COMMENT {_quoted(column.comment)}"
