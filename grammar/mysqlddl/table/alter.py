"""ALTER TABLE.

Owns: its clauses, in both grammars.
Must not know: which columns the table has.
"""

from collections.abc import Callable, Mapping
from typing import Final

from mysqlddl.nodes import (
    CONVERT_PARTITION,
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    AlterTable,
    ChangeColumn,
    Clause,
    ConvertCharset,
    DropColumn,
    DropIndex,
    DropPrimaryKey,
    MergeTables,
    Quiet,
    RenameColumn,
    RenameTo,
    RowsChange,
    TableComment,
)
from mysqlddl.table import charsets, column, keys, options
from mysqlddl.words import Words

_LOUD: Final = (  # clauses that change rows without saying which, and are followed by names
    "TRUNCATE PARTITION",
    "DISCARD PARTITION",
    "IMPORT PARTITION",
    "DROP PARTITION",
)
_LOUD_ALONE: Final = (
    "DISCARD TABLESPACE",
    "IMPORT TABLESPACE",
    "ADD SYSTEM VERSIONING",
    "DROP SYSTEM VERSIONING",
)


def alter_table(words: Words, db: str, *, ignore: bool) -> AlterTable:
    """What follows ALTER [IGNORE] TABLE; `db`: of names without one. Raises UnclearError."""
    words.skip("IF", "EXISTS")
    table = words.table(db)
    patience(words)
    clauses: list[Clause] = []
    more = not words.done
    while more:
        clauses += _clause(words, db)
        more = words.skip(",") or _goes_on(words)
    words.end()
    return AlterTable(table=table, clauses=tuple(clauses), ignore=ignore)


def patience(words: Words) -> None:
    """MariaDB's WAIT n or NOWAIT, if it is here."""
    if words.skip("WAIT"):
        words.number()
    else:
        words.skip("NOWAIT")


def _goes_on(words: Words) -> bool:
    """Table options, and what concerns all partitions, need no comma before them."""
    return not words.done and not any(words.sees(word) for word in _HEADS)


def _clause(words: Words, db: str) -> list[Clause]:
    for begin, rest in _HEADS.items():
        if words.sees(begin):
            return _loud(words, db) or rest(words, db)
    text = options.comment(words)
    if text is not None:
        return [TableComment(text=text)]
    merged = options.merged(words, db)
    if merged is not None:
        return [MergeTables(tables=merged)]
    charset = charsets.table_charset(words)
    return [charset] if charset is not None else _loud(words, db) or _convert(words, db) or _quiet(words)


def _quiet(words: Words) -> list[Clause]:
    if options.partitioning(words):
        return [Quiet(what="PARTITION BY")]
    name = options.quiet_clause(words)
    if not name:
        raise words.unclear("a clause of ALTER TABLE")
    return [Quiet(what=name)]


def _loud(words: Words, db: str) -> list[Clause]:
    if name := words.skip_phrase(_LOUD):
        words.skip("IF", "EXISTS")
        if not words.skip("ALL"):
            words.listed(words.name)
        words.skip("TABLESPACE")
        return [RowsChange(what=name)]
    if name := words.skip_phrase(_LOUD_ALONE):
        return [RowsChange(what=name)]
    if engine := options.emptying(words):
        return [RowsChange(what=f"ENGINE = {engine}")]
    if words.skip("EXCHANGE", "PARTITION"):
        words.name()
        words.expect("WITH", "TABLE")
        other = words.table(db)
        words.skip("WITH", "VALIDATION")
        words.skip("WITHOUT", "VALIDATION")
        return [RowsChange(what="EXCHANGE PARTITION", other=other)]
    return []


def _convert(words: Words, db: str) -> list[Clause]:
    if words.skip("CONVERT", "PARTITION"):
        words.name()
        words.expect("TO", "TABLE")
        other = words.table(db)
        words.skip("WITH", "VALIDATION")
        words.skip("WITHOUT", "VALIDATION")
        return [RowsChange(what=CONVERT_PARTITION, other=other)]
    if words.skip("CONVERT", "TABLE"):
        other = words.table(db)
        words.expect("TO")
        words.rest()  # a partition's definition
        return [RowsChange(what="CONVERT TABLE", other=other)]
    if not words.skip("CONVERT", "TO"):
        return []
    if not (words.skip("CHARACTER", "SET") or words.skip("CHARSET") or words.skip("CHAR", "SET")):
        raise words.unclear("CHARACTER SET")
    charset = None if words.skip("DEFAULT") else charsets.charset_name(words)
    if words.skip("COLLATE"):
        words.skip("=")
        words.name()
    return [ConvertCharset(charset=charset, keeps_room=not words.modes.mariadb)]


def _add(words: Words, _db: str) -> list[Clause]:
    words.expect("ADD")
    if words.skip("COLUMN"):
        return _new_columns(words)
    if words.skip("PARTITION"):
        options.new_partitions(words)
        return [Quiet(what="ADD PARTITION")]
    key = _new_key(words)
    return _new_columns(words) if key is None else [key]


def _new_key(words: Words) -> Clause | None:
    """Or a check, if one is here."""
    symbol = keys.symbol(words)
    if words.skip("PRIMARY", "KEY"):
        words.skip("IF", "NOT", "EXISTS")
        keys.key_name(words)
        return AddPrimaryKey(columns=keys.key_parts(words))
    unique = keys.unique_key(words, symbol)
    if unique is not None:
        return AddUnique(key=unique)
    name = keys.key(words)
    return Quiet(what=f"ADD {name}") if name else None


def _new_columns(words: Words) -> list[Clause]:
    exists = words.skip("IF", "NOT", "EXISTS")
    if words.skip("("):
        found = words.listed(lambda: _new_column(words, exists=exists))
        words.expect(")")
        return found
    return [_new_column(words, exists=exists)]


def _new_column(words: Words, *, exists: bool) -> Clause:
    """Within ADD ( ... ) keys may be among the columns."""
    key = _new_key(words)
    if key is not None:
        return key
    definition = column.definition(words)
    return AddColumn(definition=definition, place=column.place(words), if_not_exists=exists)


def _drop(words: Words, _db: str) -> list[Clause]:
    words.expect("DROP")
    if words.skip("PRIMARY", "KEY"):
        return [DropPrimaryKey()]
    if words.skip("FOREIGN", "KEY"):
        words.skip("IF", "EXISTS")
        words.name()
        return [Quiet(what="DROP FOREIGN KEY")]
    if words.skip("PERIOD", "FOR"):
        words.name()
        return [Quiet(what="DROP PERIOD")]
    explicit = words.skip("COLUMN")
    kind = "" if explicit else words.skip_any({"INDEX", "KEY", "CONSTRAINT", "CHECK"})
    if kind:
        words.skip("IF", "EXISTS")
        return [DropIndex(name=words.name(), sure=kind in {"INDEX", "KEY"})]
    exists = words.skip("IF", "EXISTS")
    name = words.name()
    words.skip_any({"CASCADE", "RESTRICT"})
    return [DropColumn(name=name, if_exists=exists)]


def _modify(words: Words, _db: str) -> list[Clause]:
    words.expect("MODIFY")
    words.skip("COLUMN")
    exists = words.skip("IF", "EXISTS")
    definition = column.definition(words)
    place = column.place(words)
    return [ChangeColumn(old=definition.column.name, definition=definition, place=place, if_exists=exists)]


def _change(words: Words, _db: str) -> list[Clause]:
    words.expect("CHANGE")
    words.skip("COLUMN")
    exists = words.skip("IF", "EXISTS")
    old = words.name()
    definition = column.definition(words)
    return [ChangeColumn(old=old, definition=definition, place=column.place(words), if_exists=exists)]


def _rename(words: Words, db: str) -> list[Clause]:
    if words.sees("RENAME", "INDEX") or words.sees("RENAME", "KEY"):
        return _quiet(words)
    words.expect("RENAME")
    if words.skip("COLUMN"):
        exists = words.skip("IF", "EXISTS")
        old = words.name()
        words.expect("TO")
        return [RenameColumn(old=old, new=words.name(), if_exists=exists)]
    words.skip_any({"TO", "AS", "="})
    return [RenameTo(table=words.table(db))]


def _alter(words: Words, _db: str) -> list[Clause]:
    """SET DEFAULT and DROP DEFAULT concern future rows, which contain their values themselves."""
    if any(words.sees("ALTER", word) for word in ("INDEX", "KEY", "CHECK", "CONSTRAINT")):
        return _quiet(words)
    words.expect("ALTER")
    words.skip("COLUMN")
    words.skip("IF", "EXISTS")
    name = words.name()
    if words.skip("SET", "DEFAULT"):
        column.default(words)
    elif words.skip("SET", "VISIBLE") or words.skip("SET", "INVISIBLE"):
        name = ""
    elif not words.skip("DROP", "DEFAULT"):
        raise words.unclear("SET or DROP DEFAULT")
    return [Quiet(what="ALTER COLUMN", default=name)]


_HEADS: Final[Mapping[str, Callable[[Words, str], list[Clause]]]] = {
    "ADD": _add,
    "DROP": _drop,
    "MODIFY": _modify,
    "CHANGE": _change,
    "RENAME": _rename,
    "ALTER": _alter,
}
