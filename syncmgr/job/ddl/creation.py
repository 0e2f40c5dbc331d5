"""The columns of a table that is recreated under a synced name.

Owns: what CREATE TABLE says of them, and what it takes from another known table.
Must not know: channels, targets, what becomes of the rows.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from mysqlddl.nodes import ColumnDefinition, CreateTable, Table
from syncmgr.job.ddl.terms import RefusedError
from syncmgr.job.types.schema import SourceTable


def created_table(
    statement: CreateTable, known: Iterable[SourceTable], names: Callable[[SourceTable, Table], bool]
) -> tuple[CreateTable, str | None]:
    """With all its columns; and the charset of the table, None if not known. Raises RefusedError.

    `names`: whether a name refers to it.
    """
    if statement.select:
        raise RefusedError("it creates the table again, with columns of a query, which are not in the binlog")
    if statement.versioned:
        raise RefusedError(
            "it creates the table again WITH SYSTEM VERSIONING: historical rows come with the current ones"
        )
    if statement.like is None:
        return statement, statement.charset
    template = next((table for table in known if names(table, statement.like)), None)
    if template is None:
        name = ".".join(statement.like)
        raise RefusedError(f"it creates the table again like {name}, whose columns are not known: no table of the job")
    keys = sorted((column for column in template.columns if column.key), key=lambda column: column.key)
    columns = tuple(ColumnDefinition(column=column) for column in template.columns)
    primary = tuple(column.name for column in keys)
    return replace(statement, columns=columns, primary=primary, unique=template.unique), template.charset
