"""Statements older than the place in the binlog at which the schema of a table is known.

Owns: which of them a target with the later columns tolerates; what such a table's columns are after one.
Must not know: policies, how a target is changed, the binlog.

The earlier columns are known only from rows, which FULL metadata names.
"""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from mysqlddl import nodes
from mysqlddl.nodes import Clause, Table
from mysqlddl.reading import Modes, UnclearError, read
from syncmgr.job.ddl import ddl
from syncmgr.job.ddl.alteration import ImpossibleError, altered, has_charset
from syncmgr.job.ddl.unique_keys import altered_keys
from syncmgr.job.ddl.value_loss import numbered, retyped, without_null
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import SourceColumn, SourceTable

UNKNOWN: Final = "may change the values of rows that were read, whose type is not known this far back"


def matters(clauses: Sequence[Clause], later: SourceTable, read_ones: Collection[str]) -> str | None:
    """Why the target cannot stay as it is, whatever the columns were; None: it can. `later`: the table as known.

    `read_ones`: its columns that are read.
    """
    names = {folded_name(name) for name in read_ones}
    touched = [name for clause in clauses for name in ddl.renewed(clause) if folded_name(name) in names]
    if touched:
        return f"it adds, drops, renames or recomputes column '{touched[0]}'"
    generated = later.generated
    reads_generated = generated is None or any(folded_name(each.name) in names for each in generated)
    if reads_generated and any(map(ddl.retypes, clauses)):
        return "it may change a column from which one that is read is generated"
    return None


def loses(
    clauses: Sequence[Clause], later: SourceTable, seen: SourceTable | None, read_ones: Collection[str], modes: Modes
) -> str | None:
    """How values in the target may have changed at the source. `seen`: the table as rows last described it.

    Raises ImpossibleError.
    """
    names = {folded_name(name) for name in read_ones}
    if seen is None:
        hit = next((c.name for c in later.columns if folded_name(c.name) in names and _may_retype(clauses, c)), None)
        return None if hit is None else f"column '{hit}': it {UNKNOWN}"
    alteration = altered(seen, clauses)
    for column in alteration.columns:
        before, now, definition = column.before, column.now, column.definition
        if before is None or folded_name(before.name) not in names or not (definition or column.recoded):
            continue
        dated = definition is not None and definition.dated
        if definition is not None and definition.numbered:
            why = numbered(before, now, None, keeps_zeros=modes.keeps_zeros)
            if why is not None:
                return why
        why = retyped(before, now, strict=modes.strict, pads=modes.pads)
        why = why or without_null(before, now, strict=modes.strict, dated=dated)
        if why is not None:
            return why
    return None


def _may_retype(clauses: Sequence[Clause], column: SourceColumn) -> bool:
    for clause in clauses:
        match clause:
            case nodes.ChangeColumn(old=name):
                if folded_name(name) == folded_name(column.name):
                    return True
            case nodes.ConvertCharset():
                if has_charset(column):
                    return True
            case _:
                pass
    return False


def makes_key(
    clauses: Sequence[Clause], later: SourceTable, seen: SourceTable | None, keys: Collection[str]
) -> str | None:
    """Why rows that were read before may have shared a key of the target, `keys`: a statement makes a key of some of
    these columns alone.

    `later`, `seen`: as in `loses`. If the later primary key corresponds to the target's, all rows have shown theirs.
    """
    wanted = {folded_name(name) for name in keys}
    if any(table is not None and _has_key(table, wanted) for table in (later, seen)):
        return None
    primary = [clause.columns for clause in clauses if isinstance(clause, nodes.AddPrimaryKey)]
    made = [*primary, *(key.columns for key in altered_keys((), clauses) or ())]
    hit = next((columns for columns in made if columns and wanted.issuperset(map(folded_name, columns))), None)
    if hit is None:
        return None
    return (
        f"it makes a key of {', '.join(hit)}, by which the target distinguishes rows: some that were read may share it"
    )


def _has_key(table: SourceTable, wanted: AbstractSet[str]) -> bool:
    return bool(table.primary) and table.primary <= wanted


def behind(tables: Mapping[Table, SourceTable], text: str, db: str, modes: Modes) -> dict[Table, SourceTable]:
    """What is known of tables after a statement; of others only rows show it."""
    hit = ddl.meant(text, db, tables, modes)
    left = {table: _behind(seen, text, db, modes) if table in hit else seen for table, seen in tables.items()}
    return {table: seen for table, seen in left.items() if seen is not None}


def has_other_key(seen: SourceTable, later: SourceTable, keys: Collection[str]) -> bool:
    """Whether its rows were distinguished by another primary key, so that two may share one of the target."""
    wanted = {folded_name(name) for name in keys}
    return _has_key(later, wanted) and not _has_key(seen, wanted)


def _behind(seen: SourceTable, text: str, db: str, modes: Modes) -> SourceTable | None:
    try:
        statement = read(text, db, modes)
        match statement:
            case nodes.ChangeIndex(table=table) if modes.folded(table) == modes.folded((seen.db, seen.name)):
                return seen
            case nodes.AlterTable(table=table, clauses=clauses) if _stays(clauses):
                is_it = modes.folded(table) == modes.folded((seen.db, seen.name))
                return altered(seen, clauses).table if is_it else None
            case _:
                return None
    except (UnclearError, ImpossibleError):
        return None


def _stays(clauses: Sequence[Clause]) -> bool:
    return not any(isinstance(clause, nodes.RenameTo | nodes.RowsChange) for clause in clauses)
