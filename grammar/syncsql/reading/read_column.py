"""Reads the column list of CREATE TABLE.

Owns: the names of types and how many numbers each takes, what follows a type, MySQL's PRIMARY KEY among columns.
Must not know: the clauses after the list, what the lake makes of a column.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from syncsql.reading.cursor import Cursor, number_between
from syncsql.reading.lists import read_identifiers, unseen
from syncsql.statements.table import ColumnDefinition, DataType, Default, DefaultKind
from syncsql.tokens import Kind


@dataclass(frozen=True, kw_only=True, slots=True)
class _TypeRule:
    """The canonical name, the least and greatest value of each number in brackets, how many of them are required."""

    name: str
    ranges: tuple[tuple[int, int], ...] = ()
    needed: int = 0
    missing: tuple[int, ...] = ()  # the defaults of omitted numbers


INTEGERS: Final = ("TINYINT", "SMALLINT", "INT", "BIGINT", "LARGEINT")
_DECIMAL: Final = _TypeRule(name="DECIMAL", ranges=((1, 38), (0, 38)), needed=1, missing=(0,))
_DATETIME: Final = _TypeRule(name="DATETIME", ranges=((0, 6),))
_BINARY: Final = _TypeRule(name="BINARY", ranges=((1, 2**31 - 1),))
_TYPES: Final[Mapping[str, _TypeRule]] = {
    **{name: _TypeRule(name=name) for name in ("BOOLEAN", "FLOAT", "DOUBLE", "DATE", "STRING", "JSON")},
    # MySQL's display widths, which say nothing of the values
    **{name: _TypeRule(name=name, ranges=((0, 255),)) for name in INTEGERS},
    **dict.fromkeys(("DECIMAL", "DECIMALV3", "NUMERIC"), _DECIMAL),
    **dict.fromkeys(("DATETIME", "DATETIMEV2"), _DATETIME),
    **dict.fromkeys(("BINARY", "VARBINARY", "BLOB"), _BINARY),
    "BOOL": _TypeRule(name="BOOLEAN"),
    "INTEGER": _TypeRule(name="INT", ranges=((0, 255),)),
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
_NO_INDEX: Final = "there are no indexes; leave it out"
_NOT_A_COLUMN: Final[Mapping[str, str]] = {
    "PRIMARY": "PRIMARY KEY belongs after the columns",
    "UNIQUE": "write UNIQUE KEY (columns) after the column list",
    "INDEX": _NO_INDEX,
    "KEY": _NO_INDEX,
    "CONSTRAINT": "there are no constraints; leave it out",
    "FOREIGN": "there are no foreign keys; leave it out",
}
_NOT_AN_OPTION: Final[Mapping[str, str]] = {
    **dict.fromkeys(_AGGREGATES, _NO_AGGREGATE),
    "UNIQUE": "write UNIQUE KEY (columns) after the column list",
    "KEY": "write UNIQUE KEY (columns) after the column list",
    "GENERATED": "there are no generated columns; map target = expression in CREATE SYNC",
    "AS": "there are no generated columns; map target = expression in CREATE SYNC",
    "ON": "there is no ON UPDATE; the values come from the source",
    "UNSIGNED": "there are no unsigned types; take the next larger one (DECIMAL(20, 0) for BIGINT UNSIGNED)",
    "CHARACTER": "all text is UTF-8; leave CHARACTER SET out",
    "COLLATE": "all text is UTF-8 and compares by its bytes; leave COLLATE out",
}


def column_list(at: Cursor) -> tuple[tuple[ColumnDefinition, ...], tuple[str, ...]]:
    """The columns, and MySQL's primary key."""
    seen: set[str] = set()
    primary: list[str] = []

    def one() -> ColumnDefinition | None:
        if seen and _sees_primary_key(at):
            _primary_key(at, primary)
            return None
        following = at.peek(1)
        if at.word() in _NOT_A_COLUMN and following is not None and following.text.upper() not in _TYPES:
            raise at.error(_NOT_A_COLUMN[at.word() or ""])
        return _column(at, unseen(at, seen, at.identifier("a column name"), "column"), primary)

    columns = tuple(each for each in at.in_brackets(one, "column") if each is not None)
    return columns, tuple(primary)


def column_definition(at: Cursor) -> ColumnDefinition:
    """One column, which is no key."""
    return _column(at, at.identifier("a column name"), None)


def _sees_primary_key(at: Cursor) -> bool:
    """PRIMARY, or CONSTRAINT [name] PRIMARY."""
    return at.sees("PRIMARY") or at.sees("CONSTRAINT", "PRIMARY") or (at.sees("CONSTRAINT") and at.word(2) == "PRIMARY")


def _primary_key(at: Cursor, primary: list[str]) -> None:
    if at.take("CONSTRAINT") and not at.sees("PRIMARY"):
        at.identifier("a constraint name")
    if primary:
        raise at.error("the primary key is given twice")
    at.expect("PRIMARY", "KEY")
    primary += read_identifiers(at, "column")


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


def _column(at: Cursor, name: str, primary: list[str] | None) -> ColumnDefinition:
    """Adds to `primary` a column that is the whole key; None: there can be none."""
    kind, options = _data_type(at), _ColumnOptions()
    while True:
        if primary is None and at.sees("PRIMARY"):
            raise at.error("the key of a table cannot be changed")
        if primary and at.sees("PRIMARY"):
            raise at.error("the primary key is given twice")
        if not options.take(at):
            break
    if at.word() in _NOT_AN_OPTION:
        raise at.error(_NOT_AN_OPTION[at.word() or ""])
    if primary is not None and "PRIMARY" in options.given:
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
        args.append(number_between(at, low, high))
    at.expect_sign(")", f"after the length of {rule.name}")
    return tuple(args)


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
    digits = number_between(at, 0, 6)
    at.expect_sign(")", "after the digits of a second")
    return str(digits)
