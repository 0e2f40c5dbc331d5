"""Reads the statements about databases and tables.

Owns: their syntax in Doris' order of clauses, and which parts of MySQL's own CREATE TABLE are accepted.
Must not know: what a column is made of, what the lake makes of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from syncsql.reading.cursor import Cursor, number_between
from syncsql.reading.lists import read_identifiers, read_properties, take_if_exists, take_if_not_exists
from syncsql.reading.read_alter_table import alter_table
from syncsql.reading.read_column import column_list
from syncsql.statements.alter_table import AlterTable
from syncsql.statements.table import (
    CreateDatabase,
    CreateTable,
    Distribution,
    DropDatabase,
    DropTable,
    EnableFeature,
    KeyKind,
    OptionKind,
    TableKey,
    TableOption,
    Transform,
    TransformKind,
)

_NO_AGGREGATE_KEY: Final = "there is no AGGREGATE KEY; use UNIQUE KEY, or DUPLICATE KEY to append"
_PRIMARY_KEY_INSIDE: Final = "PRIMARY KEY belongs in the column list; after it, write UNIQUE KEY (columns)"
_TRANSFORMS: Final[Mapping[str, TransformKind]] = {
    **{kind.value: kind for kind in TransformKind if kind is not TransformKind.IDENTITY},
    **{f"{kind.value}S": kind for kind in (TransformKind.YEAR, TransformKind.MONTH, TransformKind.DAY)},
    "HOURS": TransformKind.HOUR,
}
_WIDE: Final = frozenset({TransformKind.BUCKET, TransformKind.TRUNCATE})
_MOST: Final = 2**31 - 1  # of buckets or a truncation: Iceberg holds it in 32 bits


def create_database(at: Cursor) -> CreateDatabase:
    """After CREATE DATABASE."""
    if_not_exists = take_if_not_exists(at)
    return at.end(CreateDatabase(name=at.identifier("a database name"), if_not_exists=if_not_exists))


def drop_database(at: Cursor) -> DropDatabase:
    """After DROP DATABASE."""
    if_exists = take_if_exists(at)
    name = at.identifier("a database name")
    return at.end(DropDatabase(name=name, if_exists=if_exists, force=at.take("FORCE")))


def drop_table(at: Cursor) -> DropTable:
    """After DROP TABLE."""
    if_exists = take_if_exists(at)
    table = at.name("a table name")
    if at.sees_sign(","):
        raise at.error("one table at a time")
    return at.end(DropTable(table=table, if_exists=if_exists, force=at.take("FORCE")))


def create_table(at: Cursor) -> CreateTable:
    """After CREATE TABLE."""
    if_not_exists = take_if_not_exists(at)
    table = at.name("a table name")
    _refuse_copies(at)
    columns, primary = column_list(at)
    options = _Options()
    while options.take(at):
        pass
    key = _key(at, primary)
    comment = _comment(at, options.comment)
    partition_by = _partition_by(at)
    distribution = _distribution(at)
    properties = read_properties(at) if at.take("PROPERTIES") else ()
    _refuse_rest(at)
    return CreateTable(
        table=table,
        columns=columns,
        engine=options.engine,
        options=tuple(options.others),
        key=key,
        comment=comment,
        partition_by=partition_by,
        distribution=distribution,
        properties=properties,
        if_not_exists=if_not_exists,
    )


def _refuse_copies(at: Cursor) -> None:
    if at.sees("LIKE") or at.sees("AS") or at.sees("SELECT"):
        raise at.error("a table is created from its columns; LIKE and AS SELECT are not offered")


_CLAUSE_ORDER: Final = "ENGINE and options of MySQL, KEY, COMMENT, PARTITION BY, DISTRIBUTED BY, PROPERTIES"
_CLAUSE_WORDS: Final = frozenset(
    {"ENGINE", *OptionKind, "UNIQUE", "DUPLICATE", "COMMENT", "PARTITION", "DISTRIBUTED", "PROPERTIES"}
)


def _refuse_rest(at: Cursor) -> None:
    if at.word() in _CLAUSE_WORDS:
        raise at.error(f"this clause is given twice or out of order; the order is {_CLAUSE_ORDER}")
    at.end(None)


_OPTION_WORDS: Final[Mapping[str, OptionKind]] = {
    **{kind.value: kind for kind in OptionKind},
    "CHARACTER": OptionKind.CHARSET,
}


@dataclass(kw_only=True)
class _Options:
    """MySQL's options of a table, each once and in any order."""

    engine: str | None = None
    comment: str | None = None
    others: list[TableOption] = field(default_factory=list)

    def take(self, at: Cursor) -> bool:
        """Whether there was one."""
        if at.sees("ENGINE"):
            self._once(at, self.engine is not None)
            at.take("ENGINE")
            at.expect_sign("=", "after ENGINE")
            self.engine = at.identifier("an engine name")
        elif at.sees("COMMENT") and at.sees_sign("=", 1):
            self._once(at, self.comment is not None)
            at.take("COMMENT")
            at.take_sign("=")
            self.comment = at.string("a comment")
        else:
            return self._other(at)
        return True

    def _other(self, at: Cursor) -> bool:
        by_default = at.take("DEFAULT")
        kind = _OPTION_WORDS.get(at.word() or "")
        if by_default and kind not in {OptionKind.CHARSET, OptionKind.COLLATE}:
            raise at.error("expected CHARSET or COLLATE")
        if kind is None:
            return False
        self._once(at, any(each.kind is kind for each in self.others))
        if at.take("CHARACTER"):
            at.expect("SET")
        else:
            at.take(kind)
        at.take_sign("=")
        is_number = kind is OptionKind.AUTO_INCREMENT
        value = str(at.number("a whole number")) if is_number else at.identifier(f"a name after {kind}")
        self.others.append(TableOption(kind=kind, value=value))
        return True

    def _once(self, at: Cursor, given: bool) -> None:  # noqa: FBT001 - whether it is the second
        if given:
            raise at.error("this option is given twice")


def _key(at: Cursor, primary: tuple[str, ...]) -> TableKey | None:
    if at.sees("AGGREGATE"):
        raise at.error(_NO_AGGREGATE_KEY)
    if at.sees("PRIMARY"):
        raise at.error(_PRIMARY_KEY_INSIDE)
    start = at.peek()
    word = at.take_any(*KeyKind)
    if word is None:
        return TableKey(kind=KeyKind.UNIQUE, columns=primary) if primary else None
    at.expect("KEY")
    key = TableKey(kind=KeyKind(word), columns=read_identifiers(at, "column"))
    if primary:
        raise at.error("the key is given twice: a PRIMARY KEY is a UNIQUE KEY", start)
    return key


def _comment(at: Cursor, given: str | None) -> str | None:
    start = at.peek()
    if not at.take("COMMENT"):
        return given
    comment = at.string("a comment")
    if given is not None:
        raise at.error("the comment is given twice", start)
    return comment


def _partition_by(at: Cursor) -> tuple[Transform, ...]:
    if at.sees("AUTO", "PARTITION"):
        raise at.error("partitions come and go by themselves; write PARTITION BY (month(column)) or the like")
    if not at.take("PARTITION"):
        return ()
    at.expect("BY")
    if at.sees("RANGE") or at.sees("LIST"):
        raise at.error("partitions come and go by themselves; write PARTITION BY (month(column)) or the like")
    return at.in_brackets(lambda: _transform(at), "partition")


def _transform(at: Cursor) -> Transform:
    kind = _TRANSFORMS.get(at.word() or "")
    if not at.sees_sign("(", 1):
        return Transform(kind=TransformKind.IDENTITY, column=at.identifier("a column name"))
    if kind is None:
        raise at.error("unknown partition transform; known are bucket, truncate, year, month, day and hour")
    at.take(at.word() or "")
    at.take_sign("(")
    width = None
    if kind in _WIDE:
        width = number_between(at, 1, _MOST)
        at.expect_sign(",", "after the number")
    column = at.identifier("a column name")
    at.expect_sign(")", "after the column name")
    return Transform(kind=kind, column=column, width=width)


def _distribution(at: Cursor) -> Distribution | None:
    if not at.take("DISTRIBUTED"):
        return None
    at.expect("BY")
    columns: tuple[str, ...] = ()
    if not at.take("RANDOM"):
        if not at.take("HASH"):
            raise at.error("expected HASH or RANDOM")
        columns = read_identifiers(at, "column")
    buckets = None
    if at.take("BUCKETS") and not at.take("AUTO"):
        buckets = number_between(at, 1, _MOST)
    return Distribution(columns=columns, buckets=buckets)


CREATE: Final[Mapping[str, Callable[[Cursor], CreateDatabase | CreateTable]]] = {
    "DATABASE": create_database,
    "SCHEMA": create_database,
    "TABLE": create_table,
}
ALTER: Final[Mapping[str, Callable[[Cursor], AlterTable | EnableFeature]]] = {"TABLE": alter_table}
DROP: Final[Mapping[str, Callable[[Cursor], DropDatabase | DropTable]]] = {
    "DATABASE": drop_database,
    "SCHEMA": drop_database,
    "TABLE": drop_table,
}
