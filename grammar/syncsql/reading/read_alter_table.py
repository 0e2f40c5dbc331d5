"""Reads ALTER TABLE.

Owns: its clauses, in MySQL's and in Doris' words, and what is said of those that are not offered.
Must not know: what a column is made of, what the lake makes of a clause.
"""

from collections.abc import Mapping
from typing import Final

from syncsql.reading.cursor import Cursor
from syncsql.reading.lists import read_properties
from syncsql.reading.read_column import column_definition
from syncsql.statements.alter_table import (
    AddColumn,
    Alteration,
    AlterTable,
    CommentColumn,
    CommentTable,
    DropColumn,
    ModifyColumn,
    Place,
    RenameColumn,
    SetProperties,
)
from syncsql.statements.table import EnableFeature

_KEYS: Final = "the key of a table cannot be changed; create another table with CREATE TABLE"
_PARTITIONS: Final = "partitions come and go by themselves; leave it out"
_NOT_OFFERED: Final[Mapping[tuple[str, ...], str]] = {
    **{(verb, word): _KEYS for verb in ("ADD", "DROP") for word in ("PRIMARY", "UNIQUE", "KEY", "INDEX")},
    **{(verb, word): _PARTITIONS for verb in ("ADD", "DROP") for word in ("PARTITION",)},
    ("RENAME", "TO"): "a table keeps its name; create another one, and a job that fills it",
    ("CHANGE",): "there is no CHANGE; write RENAME COLUMN and MODIFY COLUMN",
    ("ALTER",): "there is no ALTER COLUMN; write MODIFY COLUMN",
    ("ENGINE",): "the engine of a table cannot be changed; leave it out",
}


def alter_table(at: Cursor) -> AlterTable | EnableFeature:
    """After ALTER TABLE."""
    table = at.name("a table name")
    if at.take("ENABLE"):
        at.expect("FEATURE")
        return at.end(EnableFeature(table=table, feature=at.string("a feature")))
    alterations = [_alteration(at)]
    while at.take_sign(","):
        alterations.append(_alteration(at))
    return at.end(AlterTable(table=table, alterations=tuple(alterations)))


def _alteration(at: Cursor) -> Alteration:
    for words, reason in _NOT_OFFERED.items():
        if at.sees(*words):
            raise at.error(reason)
    match at.take_any("ADD", "DROP", "RENAME", "MODIFY", "COMMENT", "SET"):
        case "ADD":
            return _added(at)
        case "DROP":
            at.take("COLUMN")
            return DropColumn(name=at.identifier("a column name"))
        case "RENAME":
            return _renamed(at)
        case "MODIFY":
            return _modified(at)
        case "COMMENT":
            return _table_comment(at)
        case "SET":
            return SetProperties(properties=read_properties(at))
        case _:
            raise at.error("expected ADD, DROP, RENAME COLUMN, MODIFY, COMMENT, SET or ENABLE FEATURE")


def _added(at: Cursor) -> AddColumn:
    at.take("COLUMN")
    return AddColumn(column=column_definition(at), place=_place(at))


def _renamed(at: Cursor) -> RenameColumn:
    at.expect("COLUMN")
    name = at.identifier("a column name")
    at.take("TO")
    return RenameColumn(name=name, to=at.identifier("a column name"))


def _modified(at: Cursor) -> ModifyColumn | CommentColumn | CommentTable:
    if at.take("COMMENT"):
        return _table_comment(at)
    at.take("COLUMN")
    if at.word(1) == "COMMENT":
        name = at.identifier("a column name")
        at.take("COMMENT")
        return CommentColumn(name=name, comment=at.string("a comment"))
    return ModifyColumn(column=column_definition(at), place=_place(at))


def _table_comment(at: Cursor) -> CommentTable:
    at.take_sign("=")
    return CommentTable(comment=at.string("a comment"))


def _place(at: Cursor) -> Place | None:
    if at.take("FIRST"):
        return Place()
    return Place(after=at.identifier("a column name")) if at.take("AFTER") else None
