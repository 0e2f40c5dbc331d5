"""Copies of a source table that migration tools make, alter, fill, and put in its place.

Owns: which of them may have lost rows or values.
Must not know: channels, targets, when a copy is swapped in, how a tool is recognized.
"""

from collections.abc import Iterator, Sequence

from mysqlddl import nodes
from mysqlddl.nodes import Table
from syncmgr.job.ddl.alteration import Alteration, has_charset
from syncmgr.job.ddl.copies.migration_tool import heeds_warnings
from syncmgr.job.ddl.terms import RefusedError
from syncmgr.job.ddl.unique_keys import remaining
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.keeping import kept
from syncmgr.job.types.schema import SourceColumn, SourceTable, UniqueKey


def refuse_refilled(alteration: Alteration, copy: Table) -> None:
    """Tools copy by name: a column that was dropped and added may still have its old values.

    Raises RefusedError.
    """
    dropped = {folded_name(column.name) for column in alteration.dropped}
    again = (c.now.name for c in alteration.columns if c.before is None and folded_name(c.now.name) in dropped)
    if (name := next(again, None)) is not None:
        raise RefusedError(f"its copy {'.'.join(copy)} has another column '{name}', into which values may be copied")


def refuse_lossy(table: SourceTable, clauses: Sequence[nodes.Clause], copy: Table) -> None:
    """Raises RefusedError. Tools copy with INSERT IGNORE: of rows that collide in a new unique key one remains, and
    likewise of rows whose keys become equal. `table`: as the copy was before these clauses.
    """
    name = ".".join(copy)
    if any(_brings_key(table, clause) for clause in clauses):
        raise RefusedError(f"its copy {name} has a new unique key, for which rows may have been left out")
    if not heeds_warnings(copy) and any(_leaves_out(clause) for clause in clauses):
        raise RefusedError(f"its copy {name} has a new constraint or partitions, for which rows may have been left out")
    joined = next(_joined(table, clauses), None)
    if joined is not None:
        key = "a key" if table.unique is not None or joined.key else "what may be a unique key"
        raise RefusedError(
            f"its copy {name} has column '{joined.name}' of {key} with another type or collation, or no more, so that "
            "keys may be equal that were not, and rows may have been left out"
        )


def _brings_key(table: SourceTable, clause: nodes.Clause) -> bool:
    match clause:
        case nodes.AddPrimaryKey(columns=names):
            keys = {folded_name(column.name) for column in table.columns if column.key}
            return not keys or not keys <= {folded_name(name) for name in names}
        case nodes.AddUnique():
            return True
        case nodes.AddColumn(definition=definition) | nodes.ChangeColumn(definition=definition):
            return definition.unique or definition.primary
        case _:
            return False


def _leaves_out(clause: nodes.Clause) -> bool:
    """Whether INSERT IGNORE skips, with a warning, rows that do not fit it."""
    match clause:
        case nodes.Quiet(what=what):
            return what == "PARTITION BY" or what.startswith(("ADD CHECK", "ADD FOREIGN KEY"))
        case nodes.AddColumn(definition=definition) | nodes.ChangeColumn(definition=definition):
            return definition.checked
        case _:
            return False


def _joined(table: SourceTable, clauses: Sequence[nodes.Clause]) -> Iterator[SourceColumn]:
    """Columns of keys that remain, in which two keys may become equal."""
    keys = None if table.unique is None else remaining(table.unique, clauses)
    for clause in clauses:
        match clause:
            case nodes.ChangeColumn(old=old, definition=definition):
                found = table.column(old)
                if found is not None and _is_in_key(found, keys) and _may_join(found, definition.column):
                    yield found
            case nodes.ConvertCharset():
                yield from (c for c in table.columns if has_charset(c) and _is_in_key(c, keys))
            case nodes.DropColumn(name=name):
                found = table.column(name)
                if found is not None and _shortens(found, keys):
                    yield found
            case _:
                pass


def _is_in_key(column: SourceColumn, keys: Sequence[UniqueKey] | None) -> bool:
    """If the unique keys are not known, any column may be in one; likewise if one covers more columns."""
    if column.key or keys is None:
        return True
    return any(folded_name(each) in {folded_name(column.name), ""} for key in keys for each in key.columns)


def _shortens(column: SourceColumn, keys: Sequence[UniqueKey] | None) -> bool:
    """Whether a unique key remains without the column."""
    if keys is None:
        return True
    names = [{folded_name(each) for each in key.columns} for key in keys]
    return any(folded_name(column.name) in key and len(key) > 1 for key in names)


def _may_join(key: SourceColumn, now: SourceColumn) -> bool:
    """Whether two keys may become equal. No statement states the former collation of a text, nor a default one."""
    return key.charset is not None or now.charset is not None or not kept(key, now, strict=False)


def alike(source: SourceTable, statement: nodes.CreateTable) -> bool:
    """Whether it creates a table with the same columns, as tools do that copy the text of SHOW CREATE TABLE."""
    made = [(each.column.name, each.column.text) for each in statement.columns]
    return made == [(column.name, column.text) for column in source.columns]
