"""Steps that may be repeated.

Owns: whether a table, a column or an index of a step already exists.
Must not know: which steps there are.

MySQL and MariaDB commit what was done before each DDL statement, so a start that dies inside a migration leaves some of
its statements done and its version the previous one: the next start repeats the step.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op


def create_table(name: str, *parts: sa.schema.SchemaItem) -> None:
    if not _found().has_table(name):
        op.create_table(name, *parts)


def create_index(name: str, table: str, columns: list[str]) -> None:
    if name not in {index["name"] for index in _found().get_indexes(table)}:
        op.create_index(name, table, columns)


def add_column(table: str, column: sa.Column[Any]) -> None:
    """Never as a copy of the table: SQLite would delete what belongs to its rows with the old one."""
    if column.name not in _columns(table):
        op.add_column(table, column)


def alter_column(table: str, column: sa.Column[Any]) -> None:
    """Its type, on MySQL and MariaDB, which alone distinguish texts by length; never a copy, as above."""
    if op.get_bind().dialect.name in {"mysql", "mariadb"}:
        op.alter_column(table, column.name, existing_nullable=column.nullable, type_=column.type)


def drop_column(table: str, name: str) -> None:
    if name in _columns(table):
        op.drop_column(table, name)


def _columns(table: str) -> set[str]:
    return {column["name"] for column in _found().get_columns(table)}


def _found() -> sa.Inspector:
    """As it is now: an inspector caches what it read."""
    return sa.inspect(op.get_bind())
