"""A statement as one short line per fact, and the cases of grammar/corpus/ddl: a text, a dashed line, what it says."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mysqlddl import nodes
from mysqlddl.reading import Modes, UnclearError, read

CORPUS = Path(__file__).parents[3] / "grammar" / "corpus" / "ddl"
MODES = {
    "plain": Modes(),
    "mariadb": Modes(mariadb=True),
    "ansi": Modes(ansi_quotes=True),
    "no backslash": Modes(no_backslash=True),
    "short reals": Modes(short_reals=True),
    "oracle": Modes(mariadb=True, ansi_quotes=True, oracle=True),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    file: str
    modes: str
    sql: str
    outcome: str

    def __str__(self) -> str:
        return f"{self.file}: {self.sql[:60]}"


def cases() -> Iterator[Case]:
    """Cases are apart by an empty line; a line `-- mode` before a text names the session's modes."""
    for path in sorted(CORPUS.glob("*.test")):
        for block in path.read_text().strip("\n").split("\n\n"):
            sql, outcome = block.split("\n----\n")
            modes = "plain"
            if sql.startswith("-- mode "):
                head, sql = sql.split("\n", 1)
                modes = head.removeprefix("-- mode ")
            yield Case(file=path.stem, modes=modes, sql=sql, outcome=outcome.rstrip("\n"))


def outcome(sql: str, modes: str = "plain") -> str:
    try:
        return shown(read(sql, "shop", MODES[modes]))
    except UnclearError as error:
        return f"unclear: {error}"


def shown(statement: nodes.Statement) -> str:  # noqa: C901, PLR0911 - one row per statement
    match statement:
        case nodes.AlterTable(table=table, clauses=clauses, ignore=ignore):
            head = f"alter {_named(table)}{' ignore' * ignore}"
            return "\n".join([head, *(f"  {clause(each)}" for each in clauses)])
        case nodes.ChangeIndex(table=table, clauses=clauses):
            return "\n".join([f"index of {_named(table)}", *(f"  {clause(each)}" for each in clauses)])
        case nodes.CreateTrigger():
            time = "after" if statement.after else "before"
            writes = ", ".join(map(_named, sorted(statement.writes)))
            on = f"{time} {statement.event} on {_named(statement.table)}"
            return f"trigger {_named(statement.name)} {on} writes({writes})"
        case nodes.DropTrigger(name=name):
            return f"drop trigger {_named(name)}"
        case nodes.CreateTable():
            return _created(statement)
        case nodes.DropTables(tables=tables, temporary=temporary):
            return f"drop{' temporary' * temporary} {' '.join(map(_named, tables))}"
        case nodes.RenameTables(pairs=pairs):
            return "rename " + ", ".join(f"{_named(old)} -> {_named(new)}" for old, new in pairs)
        case nodes.TruncateTable(table=table):
            return f"truncate {_named(table)}"
        case nodes.CreateDatabase(name=name, replaces=replaces):
            return f"create{' or replace' * replaces} database {name}"
        case nodes.DropDatabase(name=name):
            return f"drop database {name}"
        case nodes.Other(what=what):
            return f"other: {what}"


def _created(statement: nodes.CreateTable) -> str:
    words = ("replaces", "if_not_exists", "temporary", "select", "begins", "versioned")
    facts = "".join(f" {word}" for word in words if getattr(statement, word))
    facts += f" like {_named(statement.like)}" if statement.like else ""
    facts += f" merged({', '.join(map(_named, statement.merged))})" if statement.merged else ""
    facts += f" charset={statement.charset}" if statement.charset else ""
    facts += f" key({', '.join(statement.primary)})" if statement.primary else ""
    facts += "".join(f" unique {key.name}({', '.join(key.columns)})" for key in statement.unique or ())
    return "\n".join([f"create {_named(statement.table)}{facts}", *(f"  {column(each)}" for each in statement.columns)])


def clause(each: nodes.Clause) -> str:  # noqa: C901, PLR0911, PLR0912 - one row per clause
    match each:
        case nodes.AddColumn(definition=definition, place=place, if_not_exists=if_not_exists):
            return f"add {column(definition)}{_placed(place)}{' if not exists' * if_not_exists}"
        case nodes.DropColumn(name=name, if_exists=if_exists):
            return f"drop {name}{' if exists' * if_exists}"
        case nodes.RenameColumn(old=old, new=new, if_exists=if_exists):
            return f"rename {old} -> {new}{' if exists' * if_exists}"
        case nodes.ChangeColumn(old=old, definition=definition, place=place, if_exists=if_exists):
            return f"change {old}: {column(definition)}{_placed(place)}{' if exists' * if_exists}"
        case nodes.AddPrimaryKey(columns=columns):
            return f"primary key({', '.join(columns)})"
        case nodes.DropPrimaryKey():
            return "drop primary key"
        case nodes.AddUnique(key=key):
            return f"unique {key.name}({', '.join(key.columns)})"
        case nodes.DropIndex(name=name, sure=sure):
            return f"drop {'index' if sure else 'constraint'} {name}"
        case nodes.RenameTo(table=table):
            return f"rename to {_named(table)}"
        case nodes.ConvertCharset(charset=charset):
            return f"convert to {charset}"
        case nodes.DefaultCharset(charset=charset):
            return f"charset {charset}"
        case nodes.TableComment(text=text):
            return f"table comment {text!r}"
        case nodes.RowsChange(what=what, other=other):
            return f"rows change: {what}{f' {_named(other)}' if other else ''}"
        case nodes.MergeTables(tables=tables):
            return f"merges {', '.join(map(_named, tables))}"
        case nodes.Quiet(what=what):
            return f"quiet: {what}"


def column(definition: nodes.ColumnDefinition) -> str:
    found = definition.column
    text = f"{found.name}: {found.text}"
    text += f" charset={found.charset}" if found.charset else ""
    text += "" if found.nullable else " not null"
    if definition.default is not None:
        text += f" default {definition.default.kind.lower()} {definition.default.text!r}"
    words = ("computed", "numbered", "invisible", "unique", "primary")
    text += "".join(f" {word}" for word in words if getattr(definition, word))
    return text + (f" comment {definition.comment!r}" if definition.comment is not None else "")


def _placed(place: nodes.Place | None) -> str:
    if place is None:
        return ""
    return " first" if place.after is None else f" after {place.after}"


def _named(table: nodes.Table) -> str:
    return ".".join(table)
