"""Reads the statements about databases and tables.

Owns: their syntax in Doris' order of clauses, the names of types and how many numbers each takes.
Must not know: what the lake makes of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from syncsql.cursor import Cursor
from syncsql.table import (
    ColumnDefinition,
    CreateDatabase,
    CreateTable,
    DataType,
    Default,
    DefaultKind,
    Distribution,
    DropDatabase,
    DropTable,
    KeyKind,
    TableKey,
    Transform,
    TransformKind,
)
from syncsql.tokens import Kind


@dataclass(frozen=True, kw_only=True, slots=True)
class _TypeRule:
    """The canonical name, the least and greatest value of each number in brackets, how many of them must be there."""

    name: str
    ranges: tuple[tuple[int, int], ...] = ()
    needed: int = 0
    missing: tuple[int, ...] = ()  # what stands for the numbers that were left out


_DECIMAL: Final = _TypeRule(name="DECIMAL", ranges=((1, 38), (0, 38)), needed=1, missing=(0,))
_DATETIME: Final = _TypeRule(name="DATETIME", ranges=((0, 6),))
_BINARY: Final = _TypeRule(name="BINARY", ranges=((1, 2**31 - 1),))
_TYPES: Final[Mapping[str, _TypeRule]] = {
    **{name: _TypeRule(name=name) for name in ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "LARGEINT")},
    **{name: _TypeRule(name=name) for name in ("FLOAT", "DOUBLE", "DATE", "STRING", "JSON")},
    **dict.fromkeys(("DECIMAL", "DECIMALV3", "NUMERIC"), _DECIMAL),
    **dict.fromkeys(("DATETIME", "DATETIMEV2"), _DATETIME),
    **dict.fromkeys(("BINARY", "VARBINARY", "BLOB"), _BINARY),
    "BOOL": _TypeRule(name="BOOLEAN"),
    "INTEGER": _TypeRule(name="INT"),
    "DATEV2": _TypeRule(name="DATE"),
    "TIMESTAMP": _TypeRule(name="TIMESTAMP", ranges=((0, 6),)),
    "CHAR": _TypeRule(name="CHAR", ranges=((1, 255),)),
    "VARCHAR": _TypeRule(name="VARCHAR", ranges=((1, 65533),)),
    "TEXT": _TypeRule(name="STRING"),
    "JSONB": _TypeRule(name="JSON"),
}

_TYPES_ELSEWHERE: Final[Mapping[str, str]] = {
    "MEDIUMINT": "INT",
    "REAL": "DOUBLE",
    "DEC": "DECIMAL",
    "TINYTEXT": "STRING",
    "MEDIUMTEXT": "STRING",
    "LONGTEXT": "STRING",
    "TINYBLOB": "BINARY",
    "MEDIUMBLOB": "BINARY",
    "LONGBLOB": "BINARY",
    "ENUM": "STRING",
    "SET": "STRING",
    "TIME": "STRING",
    "YEAR": "SMALLINT",
    "BIT": "BOOLEAN or BIGINT",
}
_AGGREGATES: Final = frozenset(
    {"SUM", "MIN", "MAX", "REPLACE", "REPLACE_IF_NOT_NULL", "HLL_UNION", "BITMAP_UNION", "QUANTILE_UNION", "GENERIC"}
)
_NO_AGGREGATE: Final = "there are no aggregate columns; use UNIQUE KEY and aggregate in SELECT"
_NO_AGGREGATE_KEY: Final = "there is no AGGREGATE KEY; use UNIQUE KEY, or DUPLICATE KEY to append"
_NO_PRIMARY_KEY: Final = "there is no PRIMARY KEY; write UNIQUE KEY (columns) behind the column list"
_NO_INDEX: Final = "there are no indexes; leave it out"
_NOT_A_COLUMN: Final[Mapping[str, str]] = {
    "PRIMARY": _NO_PRIMARY_KEY,
    "UNIQUE": "write UNIQUE KEY (columns) behind the column list",
    "INDEX": _NO_INDEX,
    "KEY": _NO_INDEX,
    "CONSTRAINT": "there are no constraints; leave it out",
    "FOREIGN": "there are no foreign keys; leave it out",
}
_NOT_AN_OPTION: Final[Mapping[str, str]] = {
    **dict.fromkeys(_AGGREGATES, _NO_AGGREGATE),
    "PRIMARY": _NO_PRIMARY_KEY,
    "UNIQUE": "write UNIQUE KEY (columns) behind the column list",
    "KEY": "write UNIQUE KEY (columns) behind the column list",
    "AUTO_INCREMENT": "there is no AUTO_INCREMENT; the values come from the source",
    "GENERATED": "there are no generated columns; map target = expression in CREATE SYNC",
    "AS": "there are no generated columns; map target = expression in CREATE SYNC",
    "ON": "there is no ON UPDATE; the values come from the source",
    "UNSIGNED": "there are no unsigned types; take the next larger one (DECIMAL(20, 0) for BIGINT UNSIGNED)",
    "CHARACTER": "all text is UTF-8; leave CHARACTER SET out",
    "COLLATE": "all text is UTF-8 and compares by its bytes; leave COLLATE out",
}
_TRANSFORMS: Final[Mapping[str, TransformKind]] = {
    **{kind.value: kind for kind in TransformKind if kind is not TransformKind.IDENTITY},
    **{f"{kind.value}S": kind for kind in (TransformKind.YEAR, TransformKind.MONTH, TransformKind.DAY)},
    "HOURS": TransformKind.HOUR,
}
_WIDE: Final = frozenset({TransformKind.BUCKET, TransformKind.TRUNCATE})
_MOST: Final = 2**31 - 1  # of buckets or a truncation: Iceberg holds it in 32 bits


def create_database(at: Cursor) -> CreateDatabase:
    """Behind CREATE DATABASE."""
    if_not_exists = at.take_if_not_exists()
    return at.end(CreateDatabase(name=at.identifier("a database name"), if_not_exists=if_not_exists))


def drop_database(at: Cursor) -> DropDatabase:
    """Behind DROP DATABASE."""
    if_exists = at.take_if_exists()
    name = at.identifier("a database name")
    return at.end(DropDatabase(name=name, if_exists=if_exists, force=at.take("FORCE")))


def drop_table(at: Cursor) -> DropTable:
    """Behind DROP TABLE."""
    if_exists = at.take_if_exists()
    table = at.name("a table name")
    if at.sees_sign(","):
        raise at.error("one table at a time")
    return at.end(DropTable(table=table, if_exists=if_exists, force=at.take("FORCE")))


def create_table(at: Cursor) -> CreateTable:
    """Behind CREATE TABLE."""
    if_not_exists = at.take_if_not_exists()
    table = at.name("a table name")
    _refuse_copies(at)
    columns = _columns(at)
    engine = _engine(at)
    key = _key(at)
    comment = at.string("a comment") if at.take("COMMENT") else None
    partition_by = _partition_by(at)
    distribution = _distribution(at)
    properties = at.properties() if at.take("PROPERTIES") else ()
    _refuse_rest(at)
    return CreateTable(
        table=table,
        columns=columns,
        engine=engine,
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


_CLAUSE_ORDER: Final = "ENGINE, KEY, COMMENT, PARTITION BY, DISTRIBUTED BY, PROPERTIES"
_CLAUSE_WORDS: Final = frozenset({"ENGINE", "UNIQUE", "DUPLICATE", "COMMENT", "PARTITION", "DISTRIBUTED", "PROPERTIES"})


def _refuse_rest(at: Cursor) -> None:
    if at.word() in _CLAUSE_WORDS:
        raise at.error(f"this clause is given twice or out of order; the order is {_CLAUSE_ORDER}")
    at.end(None)


def _columns(at: Cursor) -> tuple[ColumnDefinition, ...]:
    seen: set[str] = set()

    def one() -> ColumnDefinition:
        following = at.peek(1)
        if at.word() in _NOT_A_COLUMN and following is not None and following.text.upper() not in _TYPES:
            raise at.error(_NOT_A_COLUMN[at.word() or ""])
        return _column(at, at.unseen(seen, at.identifier("a column name"), "column"))

    return at.in_brackets(one, "column")


def _column(at: Cursor, name: str) -> ColumnDefinition:
    kind = _data_type(at)
    nullable = _nullable(at)
    default = _default(at) if at.take("DEFAULT") else None
    comment = at.string("a comment") if at.take("COMMENT") else None
    if at.word() in _NOT_AN_OPTION:
        raise at.error(_NOT_AN_OPTION[at.word() or ""])
    if at.sees("NOT") or at.sees("NULL") or at.sees("DEFAULT") or at.sees("COMMENT"):
        raise at.error("this option is given twice or out of order; the order is [NOT] NULL, DEFAULT, COMMENT")
    return ColumnDefinition(name=name, type=kind, nullable=nullable, default=default, comment=comment)


def _nullable(at: Cursor) -> bool | None:
    if at.take("NULL"):
        return True
    if at.sees("NOT"):
        at.expect("NOT", "NULL")
        return False
    return None


def _data_type(at: Cursor) -> DataType:
    start = at.peek()
    word = at.word() or ""
    rule = _TYPES.get(word)
    if rule is None:
        raise at.error(_no_type(word))
    at.take(word)
    args = _type_numbers(at, rule)
    if len(args) < rule.needed:
        raise at.error(f"{word} needs its precision, as in {word}(10, 2)", start)
    args += rule.missing[len(args) - rule.needed :] if rule.needed else ()
    if rule is _DECIMAL and args[1] > args[0]:
        raise at.error("the scale cannot be larger than the precision", start)
    return DataType(name=rule.name, args=args)


def _no_type(word: str) -> str:
    if word in _TYPES_ELSEWHERE:
        return f"there is no type {word}; use {_TYPES_ELSEWHERE[word]}"
    return f"unknown column type '{word}'" if word else "expected a column type"


def _type_numbers(at: Cursor, rule: _TypeRule) -> tuple[int, ...]:
    if not at.sees_sign("("):
        return ()
    if not rule.ranges:
        raise at.error(f"{rule.name} takes no length")
    at.take_sign("(")
    args: list[int] = []
    for low, high in rule.ranges:
        if args and not at.take_sign(","):
            break
        args.append(_bounded(at, low, high))
    at.expect_sign(")", f"behind the length of {rule.name}")
    return tuple(args)


def _bounded(at: Cursor, low: int, high: int) -> int:
    start = at.peek()
    number = at.number("a whole number")
    if not low <= number <= high:
        raise at.error(f"expected a number from {low} to {high}", start)
    return number


def _default(at: Cursor) -> Default:
    token = at.peek()
    if token is not None and token.kind is Kind.STRING:
        return Default(kind=DefaultKind.STRING, text=at.string("a default"))
    if at.take("NULL"):
        return Default(kind=DefaultKind.NULL)
    if truth := at.take_any("TRUE", "FALSE"):
        return Default(kind=DefaultKind.BOOLEAN, text=truth)
    if at.take("CURRENT_TIMESTAMP"):
        return Default(kind=DefaultKind.NOW, text=_now_digits(at))
    sign = "-" if at.take_sign("-") else ""
    return Default(kind=DefaultKind.NUMBER, text=sign + at.literal_number("a default: a string, a number or NULL"))


def _now_digits(at: Cursor) -> str:
    if not at.take_sign("("):
        return ""
    if at.take_sign(")"):
        return ""
    digits = _bounded(at, 0, 6)
    at.expect_sign(")", "behind the digits of a second")
    return str(digits)


def _engine(at: Cursor) -> str | None:
    if not at.take("ENGINE"):
        return None
    at.expect_sign("=", "behind ENGINE")
    return at.identifier("an engine name")


def _key(at: Cursor) -> TableKey | None:
    if at.sees("AGGREGATE"):
        raise at.error(_NO_AGGREGATE_KEY)
    if at.sees("PRIMARY"):
        raise at.error(_NO_PRIMARY_KEY)
    word = at.take_any(*KeyKind)
    if word is None:
        return None
    at.expect("KEY")
    return TableKey(kind=KeyKind(word), columns=at.identifiers("column"))


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
        width = _bounded(at, 1, _MOST)
        at.expect_sign(",", "behind the number")
    column = at.identifier("a column name")
    at.expect_sign(")", "behind the column name")
    return Transform(kind=kind, column=column, width=width)


def _distribution(at: Cursor) -> Distribution | None:
    if not at.take("DISTRIBUTED"):
        return None
    at.expect("BY")
    columns: tuple[str, ...] = ()
    if not at.take("RANDOM"):
        if not at.take("HASH"):
            raise at.error("expected HASH or RANDOM")
        columns = at.identifiers("column")
    buckets = None
    if at.take("BUCKETS") and not at.take("AUTO"):
        buckets = _bounded(at, 1, _MOST)
    return Distribution(columns=columns, buckets=buckets)


CREATE: Final[Mapping[str, Callable[[Cursor], CreateDatabase | CreateTable]]] = {
    "DATABASE": create_database,
    "SCHEMA": create_database,
    "TABLE": create_table,
}
DROP: Final[Mapping[str, Callable[[Cursor], DropDatabase | DropTable]]] = {
    "DATABASE": drop_database,
    "SCHEMA": drop_database,
    "TABLE": drop_table,
}
