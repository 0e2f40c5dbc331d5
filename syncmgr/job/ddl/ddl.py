"""What a statement in the stream does to synced tables without row events.

Owns: which tables and columns a DDL statement concerns and whether their rows survive it. When in doubt: all tables
that it can mean, and that rows do not survive.
Must not know: where the statement came from, what happens to the job.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final, assert_never

from mysqlddl import nodes
from mysqlddl.nodes import Table
from mysqlddl.reading import ORDINARY, Modes, UnclearError, read
from mysqlddl.table.keys import CASCADING
from syncmgr.job.ddl.copies.migration_tool import is_copy, is_log, keeps_up
from syncmgr.job.types.folding import folded_name, loosely_folded

__all__ = [
    "Concern",
    "Table",
    "altered",
    "arrivals",
    "begins",
    "cascades",
    "concerned",
    "meant",
    "mentioned",
    "named",
    "renewed",
    "retypes",
    "touched",
]

_BEGINNING: Final = re.compile(  # of a CREATE TABLE that cannot be parsed
    r"^\s*CREATE\s+(?:OR\s+REPLACE\s+)?TABLE\b.*\bSTART\s+TRANSACTION\s*$", re.IGNORECASE | re.DOTALL
)
_QUOTES: Final = frozenset('`"')
_QUOTED_BREAKS: Final = frozenset({"`\n", '"\n'})
_LONGEST_QUALIFIER: Final = 136  # characters with its dot, of which a name has 64
_QUALIFIER: Final = re.compile(r"(?:(?<![\w$`\"*/])([\w$]+)|(?<!`)`([^`]+)`)\.\Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class Concern:
    """What a statement does to synced tables. `clauses`: those of an ALTER.

    `rows_survive` False: rows were changed, added or removed without row events. `columns`, folded: those that were
    added, dropped, renamed or recomputed, so their values are not what earlier row events said.
    """

    tables: tuple[Table, ...]
    rows_survive: bool
    columns: frozenset[str] = frozenset()
    clauses: tuple[nodes.Clause, ...] = ()


@dataclass(slots=True)
class _Effect:
    """What a statement does to whichever table."""

    tables: list[Table] = field(default_factory=list)
    rows_survive: bool = True
    columns: set[str] = field(default_factory=set)
    clauses: tuple[nodes.Clause, ...] = ()
    database: str | None = None  # every table of it

    def loses(self, *tables: Table) -> None:
        self.tables += tables
        self.rows_survive = False


def concerned(statement: str, default_db: str, synced: Collection[Table], modes: Modes = ORDINARY) -> Concern | None:
    """What a statement outside any transaction does to the synced tables, None if nothing."""
    try:
        effect = _effect(read(statement, default_db, modes))
    except UnclearError:
        tables = touched(statement, default_db, synced)
        return Concern(tables=tables, rows_survive=False) if tables else None
    named = {_folded(table) for table in effect.tables}
    database = loosely_folded(effect.database) if effect.database is not None else None
    hit = tuple(t for t in synced if _folded(t) in named or loosely_folded(t[0]) == database)
    if not hit:
        return None
    return Concern(
        tables=hit,
        rows_survive=effect.rows_survive,
        columns=frozenset(effect.columns),
        clauses=effect.clauses,
    )


def meant(
    statement: str, default_db: str, synced: Collection[Table], modes: Modes, *, with_rows: bool = False
) -> tuple[Table, ...]:
    """The synced tables that a statement is about; if it cannot be parsed, those that it may mean.

    `synced` may have the names of triggers, too. `with_rows`: rows follow it in its transaction, so it does not make a
    copy for a tool to fill.
    """
    try:
        parsed = read(statement, default_db, modes)
    except UnclearError:
        return touched(statement, default_db, synced)
    effect = _effect(parsed)
    match parsed:
        case nodes.CreateTable(table=table, temporary=False):
            effect.tables += [table, *([] if with_rows else _copied(parsed, synced))]
        case nodes.ChangeIndex(table=table):
            effect.tables.append(table)
        case nodes.CreateTrigger(table=table):
            heeded = keeps_up(parsed) or any(is_copy(table, of=t) for t in synced)
            effect.tables += [table] * heeded
        case nodes.DropTrigger(name=name):
            effect.tables.append(name)
        case _:
            pass
    folded = modes.folded
    named = {folded(table) for table in effect.tables}
    database = None if effect.database is None else folded((effect.database, ""))[0]
    return tuple(t for t in synced if folded(t) in named or folded(t)[0] == database)


def arrivals(statement: str, default_db: str, modes: Modes) -> tuple[Table, ...]:
    """The tables that a statement makes, or gives a new name; none if it cannot be parsed.

    In lower case if the server stores names so (lower_case_table_names = 1), however they were typed.
    """
    return tuple(new for _, new in named(statement, default_db, modes))


def named(statement: str, default_db: str, modes: Modes) -> tuple[tuple[Table | None, Table], ...]:
    """The same, each preceded by the name that it had; None: it is created."""
    try:
        parsed = read(statement, default_db, modes)
    except UnclearError:
        return ()
    match parsed:
        case nodes.CreateTable(table=table, temporary=False):
            return ((None, table),)
        case nodes.RenameTables(pairs=pairs):
            return tuple(pairs)
        case nodes.AlterTable(table=table, clauses=clauses):
            return tuple(pair for clause in clauses for pair in _named_by(table, clause))
        case _:
            return ()


def altered(statement: str, default_db: str, modes: Modes) -> Table | None:
    """The table that an ALTER TABLE names; None if it is another statement, or cannot be parsed."""
    try:
        parsed = read(statement, default_db, modes)
    except UnclearError:
        return None
    return parsed.table if isinstance(parsed, nodes.AlterTable) else None


def _named_by(table: Table, clause: nodes.Clause) -> tuple[tuple[Table | None, Table], ...]:
    match clause:
        case nodes.RenameTo(table=new):
            return ((table, new),)
        case nodes.RowsChange(what=nodes.CONVERT_PARTITION, other=new) if new is not None:
            return ((None, new),)
        case _:
            return ()


def begins(statement: str, default_db: str, modes: Modes) -> bool:
    """Whether it is a CREATE TABLE whose rows follow in its transaction; the text of a routine may end like one."""
    try:
        parsed = read(statement, default_db, modes)
    except UnclearError:
        return _BEGINNING.search(statement) is not None
    return isinstance(parsed, nodes.CreateTable) and parsed.begins


def _copied(statement: nodes.CreateTable, synced: Collection[Table]) -> list[Table]:
    """The tables of which it may be a migration tool's copy, or a helper table of such a copy."""
    if statement.select or statement.begins:
        return []
    return [t for t in synced if is_copy(statement.table, of=t) or is_log(statement.table, of=t)]


def mentioned(statement: str, synced: Collection[Table]) -> tuple[Table, ...]:
    """The synced tables whose bare name occurs anywhere in the text."""
    text = loosely_folded(statement)
    return tuple(t for t in synced if re.search(rf"(?<!\w){re.escape(loosely_folded(t[1]))}(?!\w)", text))


def touched(statement: str, default_db: str, synced: Collection[Table]) -> tuple[Table, ...]:
    """The synced tables that a row-changing statement can mean: a qualified name only in its own database, if that is
    certain.
    """
    return tuple(table for table in mentioned(statement, synced) if _can_mean(statement, default_db, table))


def _can_mean(statement: str, default_db: str, table: Table) -> bool:
    """Takes time that grows with the text alone, however often the name is in it: a server may send any text."""
    db, name = map(loosely_folded, table)
    text, default = loosely_folded(statement), loosely_folded(default_db)
    places = re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)
    return any(_qualifier(text, place.start(), default) in {db, None} for place in places)


def _qualifier(text: str, at: int, default_db: str) -> str | None:
    """The database of a name that begins there; None if it is not certain."""
    if text[max(at - 2, 0) : at] in _QUOTED_BREAKS:
        return None
    at -= text[max(at - 1, 0) : at] in _QUOTES
    end = _without_blanks(text, at)
    if _ends_comment(text, end, at):
        return None
    if text[max(end - 1, 0) : end] != ".":
        return default_db
    dot = end - 1
    end = _without_blanks(text, dot)
    if _ends_comment(text, end, dot):
        return None
    start = max(end - _LONGEST_QUALIFIER, 0)
    found = _QUALIFIER.search(f"{text[start:end]}.")
    return None if found is None or (start and not found.start()) else found[1] or found[2]


def _without_blanks(text: str, end: int) -> int:
    while end and text[end - 1].isspace():
        end -= 1
    return end


def _ends_comment(text: str, end: int, at: int) -> bool:
    """Whether a comment ends there, or seems to; only blanks follow until `at`."""
    if text[max(end - 2, 0) : end] == "*/":
        return True
    if "\n" not in text[end:at]:
        return False
    line = text.rfind("\n", 0, end) + 1
    return "#" in text[line:end] or "--" in text[line:end]


def _folded(table: Table) -> Table:
    return loosely_folded(table[0]), loosely_folded(table[1])


def _effect(statement: nodes.Statement) -> _Effect:  # noqa: C901 - one row per statement
    effect = _Effect()
    match statement:
        case nodes.AlterTable():
            _alter(statement, effect)
        case nodes.CreateTable():
            if statement.replaces and not statement.temporary:
                effect.loses(statement.table)  # without OR REPLACE it exists, or an earlier statement has dropped it
            if statement.merged:
                effect.loses(*statement.merged)
        case nodes.DropTables():
            if not statement.temporary:
                effect.loses(*statement.tables)
        case nodes.RenameTables():
            effect.loses(*(table for pair in statement.pairs for table in pair))
        case nodes.TruncateTable():
            effect.loses(statement.table)
        case nodes.CreateDatabase(name=name, replaces=replaces):
            effect.database, effect.rows_survive = (name, False) if replaces else (None, True)
        case nodes.DropDatabase(name=name):
            effect.database, effect.rows_survive = name, False
        case nodes.ChangeIndex() | nodes.CreateTrigger() | nodes.DropTrigger() | nodes.Other():
            pass
        case _:
            assert_never(statement)
    return effect


def _alter(statement: nodes.AlterTable, effect: _Effect) -> None:
    effect.tables.append(statement.table)
    effect.clauses = statement.clauses
    effect.rows_survive = not statement.ignore  # duplicates in a new unique key were removed
    for clause in statement.clauses:
        match clause:
            case nodes.RenameTo(table=table):
                effect.loses(table)
            case nodes.RowsChange(other=other):
                effect.loses(*([other] if other else []))
            case nodes.MergeTables(tables=tables):
                effect.loses(*tables)
            case _:
                effect.columns |= {folded_name(name) for name in renewed(clause)}


def cascades(clause: nodes.Clause) -> bool:
    """Whether it adds a foreign key that changes rows of the table besides the statements on it."""
    match clause:
        case nodes.Quiet(what=what):
            return what == f"ADD {CASCADING}"
        case nodes.AddColumn(definition=definition):
            return definition.cascades
        case _:
            return False


def retypes(clause: nodes.Clause) -> bool:
    """Whether existing columns may have another type or collation after it."""
    return isinstance(clause, nodes.ChangeColumn | nodes.ConvertCharset)


def renewed(clause: nodes.Clause) -> tuple[str, ...]:
    """Columns whose values are not what earlier row events said."""
    match clause:
        case nodes.AddColumn(definition=definition):
            return (definition.column.name,)
        case nodes.DropColumn(name=name):
            return (name,)
        case nodes.RenameColumn(old=old, new=new):
            return old, new
        case nodes.ChangeColumn(old=old, definition=definition):
            new = definition.column.name
            return (old, new) if definition.computed or folded_name(old) != folded_name(new) else ()
        case _:
            return ()
