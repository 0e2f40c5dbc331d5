"""A statement of the binlog as a value.

Owns: which statements there are.
Must not know: which tables are synced, what happens to a statement.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from mysqlddl import trigger
from mysqlddl.nodes import (
    AddUnique,
    ChangeIndex,
    ColumnDefinition,
    CreateDatabase,
    CreateTable,
    DropDatabase,
    DropIndex,
    DropTables,
    Other,
    RenameTables,
    Statement,
    Table,
    TruncateTable,
)
from mysqlddl.table import alter, charsets, column, keys, options
from mysqlddl.words import ORDINARY, Modes, UnclearError, Words
from syncmgr.job.types.schema import UniqueKey

__all__ = ["ORDINARY", "Modes", "UnclearError", "first_word", "read"]

_HARMLESS: Final = frozenset(  # statements in a binlog that touch no table's rows or columns
    {
        "ANALYZE",
        "CHECK",
        "COMMENT",
        "FLUSH",
        "GRANT",
        "INSTALL",
        "OPTIMIZE",
        "REPAIR",
        "RESET",
        "REVOKE",
        "SET",
        "UNINSTALL",
    },
)
_WITHOUT_ROWS: Final = (  # what else can be created, altered, dropped or renamed
    "AGGREGATE",
    "ALGORITHM",
    "CATALOG",
    "DEFINER",
    "EVENT",
    "FUNCTION",
    "INSTANCE",
    "JSON",
    "LIBRARY",
    "LOGFILE",
    "MATERIALIZED",
    "PACKAGE",
    "PREPARE",
    "PROCEDURE",
    "PUBLIC",
    "RESOURCE",
    "ROLE",
    "SEQUENCE",
    "SERVER",
    "SPATIAL REFERENCE",
    "SQL",
    "TABLESPACE",
    "TEMPORARY SEQUENCE",
    "TRIGGER",
    "UNDO",
    "USER",
    "VIEW",
)
_INDEXES: Final = ("UNIQUE INDEX", "FULLTEXT INDEX", "SPATIAL INDEX", "VECTOR INDEX", "INDEX")


def read(statement: str, db: str = "", modes: Modes = ORDINARY) -> Statement:
    """What a statement says; `db`: of names without one. Raises UnclearError if no rule matches all of it."""
    try:
        return _read(Words(statement, modes), db)
    except RecursionError as error:
        raise UnclearError("nested too deeply") from error


def first_word(statement: str) -> str:
    """In capitals; "" if it begins with none."""
    try:
        return Words(statement, ORDINARY).token.word
    except UnclearError:
        return ""


def _read(words: Words, db: str) -> Statement:
    if words.skip("SET", "STATEMENT"):  # MariaDB: SET STATEMENT variable = value, ... FOR statement
        while not words.skip("FOR"):
            words.take_value()
    for verb, rest in _VERBS.items():
        if words.skip(verb):
            return rest(words, db)
    if word := words.skip_any(_HARMLESS):
        return Other(what=word)
    raise words.unclear("a statement")


def _other(words: Words, verb: str) -> Other:
    """CREATE VIEW and the like: their texts do not matter here, and continue with words of their own."""
    words.skip("OR", "REPLACE")
    if name := words.skip_phrase(_WITHOUT_ROWS):
        return Other(what=f"{verb} {name}")
    raise words.unclear(f"something to {verb}")


def _alter(words: Words, db: str) -> Statement:
    words.skip_any({"ONLINE", "OFFLINE"})
    ignore = words.skip("IGNORE")
    if words.skip("TABLE"):
        return alter.alter_table(words, db, ignore=ignore)
    if words.skip_any({"DATABASE", "SCHEMA"}):
        return Other(what="ALTER DATABASE")
    return _other(words, "ALTER")


def _create(words: Words, db: str) -> Statement:
    replaces = words.skip("OR", "REPLACE")
    temporary = words.skip("TEMPORARY")
    if words.skip("TABLE"):
        found = _create_table(words, db)
        return replace(found, replaces=replaces, temporary=temporary)
    if replaces and words.skip("SEQUENCE"):  # MariaDB's, which takes the place of a table of that name
        return DropTables(tables=(words.table(db),), temporary=temporary)
    if words.skip_any({"DATABASE", "SCHEMA"}):
        words.skip("IF", "NOT", "EXISTS")
        return CreateDatabase(name=words.name(), replaces=replaces)
    if not words.sees("SPATIAL", "REFERENCE"):
        words.skip_any({"ONLINE", "OFFLINE"})
        if kind := words.skip_phrase(_INDEXES):
            return _create_index(words, db, unique=kind == "UNIQUE INDEX")
    return trigger.created(words, db) or _other(words, "CREATE")


def _create_index(words: Words, db: str, *, unique: bool) -> ChangeIndex:
    words.skip("IF", "NOT", "EXISTS")
    name = words.name()
    if words.skip("USING") or words.skip("TYPE"):
        words.take()
    words.expect("ON")
    table = words.table(db)
    columns = keys.columns_of(keys.key_parts(words))
    alter.patience(words)
    keys.key_options(words)
    words.end()
    return ChangeIndex(table=table, clauses=(AddUnique(key=UniqueKey(name=name, columns=columns)),) if unique else ())


def _create_table(words: Words, db: str) -> CreateTable:
    exists = words.skip("IF", "NOT", "EXISTS")
    found = CreateTable(table=words.table(db), if_not_exists=exists)
    if words.skip("LIKE"):
        return _copied(words, db, found)
    if words.sees("(", "LIKE"):
        words.take()
        words.take()
        found = _copied(words, db, found)
        words.expect(")")
        return found
    if words.sees("(") and not _sees_query(words, 1):
        found = _body(words, found)
    return _behind_body(words, db, found)


def _copied(words: Words, db: str, found: CreateTable) -> CreateTable:
    return replace(found, like=words.table(db))


def _body(words: Words, found: CreateTable) -> CreateTable:
    """( column or key, ... )"""
    columns: list[ColumnDefinition] = []
    primary: list[str] = []
    unique: list[UniqueKey] = []
    words.expect("(")
    kinds = words.listed(lambda: _element(words, columns, primary, unique))
    words.expect(")")
    primary = primary or [each.column.name for each in columns if each.primary]
    unique += [UniqueKey(name="", columns=(each.column.name,)) for each in columns if each.unique]
    versioned = any(each.versioned for each in columns)
    cascades = keys.CASCADING in kinds or any(each.cascades for each in columns)
    made = replace(found, columns=tuple(columns), primary=tuple(primary), unique=tuple(unique))
    return replace(made, versioned=versioned, cascades=cascades)


def _element(words: Words, columns: list[ColumnDefinition], primary: list[str], unique: list[UniqueKey]) -> str:
    """The kind of key that it is, "" of a primary or unique one and of a column."""
    symbol = keys.symbol(words)
    if words.skip("PRIMARY", "KEY"):
        keys.key_name(words)
        primary += keys.key_parts(words)
        return ""
    if (another := keys.unique_key(words, symbol)) is not None:
        unique.append(another)
        return ""
    key = keys.key(words)
    if not key:
        columns.append(column.definition(words))
    return key


def _behind_body(words: Words, db: str, found: CreateTable) -> CreateTable:
    while True:
        merged = options.merged(words, db)
        if merged is not None:
            found = replace(found, merged=merged)
            continue
        charset = charsets.table_charset(words)
        name = options.option(words)
        if charset is not None:
            found = replace(found, charset=charset.charset or found.charset)
        if name == "START TRANSACTION":
            found = replace(found, begins=True)
        elif name == "WITH SYSTEM VERSIONING":
            found = replace(found, versioned=True)
        elif charset is None and not name and options.comment(words) is None and not words.skip(","):
            break
    options.partitioning(words)
    words.skip_any({"IGNORE", "REPLACE"})
    if words.skip("AS") or _sees_query(words, 0) or words.sees("("):
        words.rest()
        return replace(found, select=True)
    words.end()
    if not found.columns:
        raise words.unclear("columns, LIKE or a query")
    return found


def _sees_query(words: Words, ahead: int) -> bool:
    while words.ahead(ahead).word == "(":
        ahead += 1
    return words.ahead(ahead).word in {"SELECT", "WITH", "TABLE", "VALUES"}


def _drop(words: Words, db: str) -> Statement:
    temporary = words.skip("TEMPORARY")
    if words.skip_any({"TABLE", "TABLES"}):
        words.skip("IF", "EXISTS")
        tables = words.listed(lambda: words.table(db))
        alter.patience(words)
        words.skip_any({"RESTRICT", "CASCADE"})
        words.end()
        return DropTables(tables=tuple(tables), temporary=temporary)
    if words.skip_any({"DATABASE", "SCHEMA"}):
        words.skip("IF", "EXISTS")
        name = words.name()
        words.end()
        return DropDatabase(name=name)
    words.skip_any({"ONLINE", "OFFLINE"})
    if words.skip("INDEX"):
        return _drop_index(words, db)
    return trigger.dropped(words, db) or _other(words, "DROP")


def _drop_index(words: Words, db: str) -> ChangeIndex:
    words.skip("IF", "EXISTS")
    name = words.name()
    words.expect("ON")
    table = words.table(db)
    alter.patience(words)
    while options.quiet_clause(words):
        words.skip(",")
    words.end()
    return ChangeIndex(table=table, clauses=(DropIndex(name=name),))


def _rename(words: Words, db: str) -> Statement:
    if not words.skip_any({"TABLE", "TABLES"}):
        return _other(words, "RENAME")
    exists = words.skip("IF", "EXISTS")

    def pair() -> tuple[Table, Table]:
        old = words.table(db)
        alter.patience(words)
        words.expect("TO")
        return old, words.table(db)

    pairs = words.listed(pair)
    words.end()
    return RenameTables(pairs=tuple(pairs), if_exists=exists)


def _truncate(words: Words, db: str) -> Statement:
    words.skip("TABLE")
    table = words.table(db)
    alter.patience(words)
    words.end()
    return TruncateTable(table=table)


_VERBS: Final[Mapping[str, Callable[[Words, str], Statement]]] = {
    "ALTER": _alter,
    "CREATE": _create,
    "DROP": _drop,
    "RENAME": _rename,
    "TRUNCATE": _truncate,
}
