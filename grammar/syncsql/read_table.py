"""Reads the statements about databases and tables.

Owns: their syntax in Doris' order of clauses, what of MySQL's own CREATE TABLE is taken besides, the names of types and
how many numbers each takes.
Must not know: what the lake makes of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
    OptionKind,
    TableKey,
    TableOption,
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
_PRIMARY_KEY_INSIDE: Final = "PRIMARY KEY stands in the column list; behind it write UNIQUE KEY (columns)"
_NO_INDEX: Final = "there are no indexes; leave it out"
_NOT_A_COLUMN: Final[Mapping[str, str]] = {
    "PRIMARY": "PRIMARY KEY stands behind the columns",
    "UNIQUE": "write UNIQUE KEY (columns) behind the column list",
    "INDEX": _NO_INDEX,
    "KEY": _NO_INDEX,
    "CONSTRAINT": "there are no constraints; leave it out",
    "FOREIGN": "there are no foreign keys; leave it out",
}
_NOT_AN_OPTION: Final[Mapping[str, str]] = {
    **dict.fromkeys(_AGGREGATES, _NO_AGGREGATE),
    "UNIQUE": "write UNIQUE KEY (columns) behind the column list",
    "KEY": "write UNIQUE KEY (columns) behind the column list",
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
    columns, primary = _columns(at)
    options = _Options()
    while options.take(at):
        pass
    key = _key(at, primary)
    comment = _comment(at, options.comment)
    partition_by = _partition_by(at)
    distribution = _distribution(at)
    properties = at.properties() if at.take("PROPERTIES") else ()
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


def _columns(at: Cursor) -> tuple[tuple[ColumnDefinition, ...], tuple[str, ...]]:
    """And MySQL's primary key."""
    seen: set[str] = set()
    primary: list[str] = []

    def one() -> ColumnDefinition | None:
        if seen and _sees_primary_key(at):
            _primary_key(at, primary)
            return None
        following = at.peek(1)
        if at.word() in _NOT_A_COLUMN and following is not None and following.text.upper() not in _TYPES:
            raise at.error(_NOT_A_COLUMN[at.word() or ""])
        return _column(at, at.unseen(seen, at.identifier("a column name"), "column"), primary)

    columns = tuple(each for each in at.in_brackets(one, "column") if each is not None)
    return columns, tuple(primary)


def _sees_primary_key(at: Cursor) -> bool:
    """PRIMARY, or CONSTRAINT [name] PRIMARY."""
    return at.sees("PRIMARY") or at.sees("CONSTRAINT", "PRIMARY") or (at.sees("CONSTRAINT") and at.word(2) == "PRIMARY")


def _primary_key(at: Cursor, primary: list[str]) -> None:
    if at.take("CONSTRAINT") and not at.sees("PRIMARY"):
        at.identifier("a constraint name")
    if primary:
        raise at.error("the primary key is given twice")
    at.expect("PRIMARY", "KEY")
    primary += at.identifiers("column")


@dataclass(kw_only=True)
class _ColumnOptions:
    """What follows a column's type, each once and in any order, as MySQL has it."""

    given: set[str] = field(default_factory=set)
    nullable: bool | None = None
    default: Default | None = None
    comment: str | None = None

    def take(self, at: Cursor) -> bool:
        """Whether there was one."""
        word = "NULL" if at.sees("NOT") else at.word()
        if word not in {"NULL", "DEFAULT", "COMMENT", "AUTO_INCREMENT", "PRIMARY"}:
            return False
        if word in self.given:
            raise at.error("this option is given twice")
        self.given.add(word)
        match word:
            case "NULL":
                self.nullable = _nullable(at)
            case "DEFAULT":
                at.take("DEFAULT")
                self.default = _default(at)
            case "COMMENT":
                at.take("COMMENT")
                self.comment = at.string("a comment")
            case "PRIMARY":
                at.expect("PRIMARY", "KEY")
            case _:
                at.take(word)
        return True


def _column(at: Cursor, name: str, primary: list[str]) -> ColumnDefinition:
    """Adds to `primary` a column that is the whole key."""
    kind, options = _data_type(at), _ColumnOptions()
    while True:
        if primary and at.sees("PRIMARY"):
            raise at.error("the primary key is given twice")
        if not options.take(at):
            break
    if at.word() in _NOT_AN_OPTION:
        raise at.error(_NOT_AN_OPTION[at.word() or ""])
    if "PRIMARY" in options.given:
        primary.append(name)
    return ColumnDefinition(
        name=name,
        type=kind,
        nullable=options.nullable,
        default=options.default,
        auto_increment="AUTO_INCREMENT" in options.given,
        comment=options.comment,
    )


def _nullable(at: Cursor) -> bool:
    if at.take("NULL"):
        return True
    at.expect("NOT", "NULL")
    return False


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
            at.expect_sign("=", "behind ENGINE")
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
        value = str(at.number("a whole number")) if is_number else at.identifier(f"a name behind {kind}")
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
    key = TableKey(kind=KeyKind(word), columns=at.identifiers("column"))
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
