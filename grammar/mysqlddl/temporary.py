"""Temporary tables, which hide tables of the same names from one session.

Owns: which statement is only about them, and what they are called after it.
Must not know: which of them exist, what happens to the job.

A session that logs rows logs nothing about them except, on MariaDB, RENAME TABLE; others log everything, like for any
other table. The binlog shows whether a statement, or one before it in the same call of a routine, has used such a
table.
"""

from collections.abc import Collection, Iterable

from mysqlddl.nodes import (
    AlterTable,
    ChangeIndex,
    MergeTables,
    RenameTables,
    Table,
    TruncateTable,
)
from mysqlddl.reading import Modes, UnclearError, read

Pair = tuple[Table, Table]  # a table's name, and the one that it gets


def is_temporary(text: str, db: str, own: Collection[Table], modes: Modes, *, used: bool) -> bool:
    """Whether it alters, empties or renames no other table. `own`: the session's, folded; `used`: as the binlog shows.

    CREATE and DROP say so themselves: servers log the parts of a DROP in statements of their own.
    """
    try:
        statement = read(text, db, modes)
    except UnclearError:
        return False
    match statement:
        case AlterTable(clauses=clauses) if any(isinstance(clause, MergeTables) for clause in clauses):
            return False
        case AlterTable(table=table) | ChangeIndex(table=table) | TruncateTable(table=table):
            return used and modes.folded(table) in own
        case RenameTables(pairs=pairs):
            return not renamed(pairs, own, modes)[0]
        case _:
            return False


def may_be_temporary(text: str, db: str, modes: Modes, *, numbered: bool, names_databases: bool) -> bool:
    """Whether the one that it alters or empties may be, if the binlog shows that such a table was used.

    MySQL's DDL has the `numbered` transaction if the table is not a temporary one, and its engine has transactions;
    TRUNCATE always has it, but states the database if it is one.
    """
    try:
        statement = read(text, db, modes)
    except UnclearError:
        return False
    match statement:
        case TruncateTable():
            return not numbered or names_databases
        case AlterTable() | ChangeIndex():
            return not numbered
        case _:
            return False


def renamed(pairs: Iterable[Pair], own: Collection[Table], modes: Modes) -> tuple[tuple[Pair, ...], frozenset[Table]]:
    """Of RENAME TABLE those pairs that are of other tables, and what the session's are called after all of them.

    MySQL renames none of the session's by it.
    """
    others, now = list[Pair](), set(own)
    for old, new in pairs:
        if modes.mariadb and modes.folded(old) in now:
            now.remove(modes.folded(old))
            now.add(modes.folded(new))
        else:
            others.append((old, new))
    return tuple(others), frozenset(now)
