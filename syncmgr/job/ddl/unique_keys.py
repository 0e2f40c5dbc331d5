"""The unique keys of a source table besides its primary key, as statements change them.

Owns: which there are after an ALTER TABLE, and which columns they have. What is not certain stays a key.
Must not know: the primary key, channels, what a key is used for.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from mysqlddl.nodes import (
    AddColumn,
    AddUnique,
    ChangeColumn,
    Clause,
    DropColumn,
    DropIndex,
    Quiet,
    RenameColumn,
)
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import UniqueKey


def altered_keys(keys: Sequence[UniqueKey] | None, clauses: Sequence[Clause]) -> tuple[UniqueKey, ...] | None:
    """None if they were not known. A dropped column leaves its keys, as in MySQL."""
    if keys is None:
        return None
    stay = remaining(keys, clauses)
    if any(isinstance(clause, Quiet) and clause.what in {"RENAME INDEX", "RENAME KEY"} for clause in clauses):
        stay = tuple(replace(key, name="") for key in stay)
    names = dict(_renamed(clauses))
    stay = tuple(replace(key, columns=_columns(key, names)) for key in stay)
    return (*(key for key in stay if key.columns), *_added(clauses))


def remaining(keys: Iterable[UniqueKey], clauses: Iterable[Clause]) -> tuple[UniqueKey, ...]:
    """Those that no clause drops, by their names."""
    dropped = {folded_name(clause.name) for clause in clauses if isinstance(clause, DropIndex) and clause.sure}
    return tuple(key for key in keys if folded_name(key.name) not in dropped)


def _renamed(clauses: Iterable[Clause]) -> Iterator[tuple[str, str | None]]:
    """By the folded old name; None: the column is dropped."""
    for clause in clauses:
        match clause:
            case DropColumn(name=name):
                yield folded_name(name), None
            case RenameColumn(old=old, new=new):
                yield folded_name(old), new
            case ChangeColumn(old=old, definition=definition):
                yield folded_name(old), definition.column.name
            case _:
                pass


def _columns(key: UniqueKey, names: dict[str, str | None]) -> tuple[str, ...]:
    now = (names.get(folded_name(column), column) for column in key.columns)
    return tuple(column for column in now if column is not None)


def _added(clauses: Iterable[Clause]) -> Iterator[UniqueKey]:
    for clause in clauses:
        match clause:
            case AddUnique(key=key):
                yield key
            case AddColumn(definition=definition) | ChangeColumn(definition=definition) if definition.unique:
                yield UniqueKey(name="", columns=(definition.column.name,))
            case _:
                pass
