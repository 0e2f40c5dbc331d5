"""The text of a MySQL column type, as SHOW CREATE TABLE or a DDL statement writes it -> a source column.

Owns: the notation of types: synonyms, default sizes, labels.
Must not know: where the text was read.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from syncmgr.job.types.charset import is_exchanged, max_bytes, same_bytes
from syncmgr.job.types.mysql_type import TYPES, Brackets, brackets
from syncmgr.job.types.schema import LABELLED, TEXT, SourceColumn

_LABEL: Final = re.compile(r"'((?:[^'\\]|''|\\.)*)'", re.DOTALL)
_LABELS: Final = re.compile(rf" *{_LABEL.pattern}(?: *, *{_LABEL.pattern})* *", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "r": "\r", "0": "\0", "t": "\t", "Z": "\x1a"}
_SPELLING: Final = re.compile(r"(\w++(?: ++\w++)*+) *+(?:\((.*)\))?((?: ++\w++)*+) *+", re.DOTALL)
_NUMBERS: Final = re.compile(r" *(\d+) *(?:, *(\d+) *)?")
_SIGNS: Final = frozenset({"signed", "unsigned", "zerofill"})
_FLOAT_DIGITS: Final = 24  # FLOAT(25) is a double
YEAR_OF_TWO_DIGITS: Final = "year(2)"  # of MariaDB: a SELECT shows 99, or 0, where the binlog has 1999, or 2000

ROOMS: Final = {size: TYPES[f"{size}text"].size for size in ("tiny", "", "medium", "long")}
_OF_BYTES: Final[Mapping[str, str]] = {
    "char": "binary",
    "varchar": "varbinary",
    "tinytext": "tinyblob",
    "text": "blob",
    "mediumtext": "mediumblob",
    "longtext": "longblob",
}
SYNONYMS: Final[Mapping[str, str]] = {
    "bool": "tinyint",
    "boolean": "tinyint",
    "int1": "tinyint",
    "int2": "smallint",
    "int3": "mediumint",
    "middleint": "mediumint",
    "int4": "int",
    "integer": "int",
    "int8": "bigint",
    "dec": "decimal",
    "fixed": "decimal",
    "numeric": "decimal",
    "float4": "float",
    "float8": "double",
    "double precision": "double",
    "character": "char",
    "character varying": "varchar",
    "varcharacter": "varchar",
    "geometrycollection": "geomcollection",
}


def source_column(
    name: str, text: str, *, charset: str | None = None, nullable: bool = True, key: int = 0
) -> SourceColumn:
    """The column that `text` describes. What cannot be parsed keeps its text as an unknown type word."""
    found = _SPELLING.fullmatch(text)
    words = [] if found is None else f"{found[1]} {found[3]}".lower().split()
    word = " ".join(w for w in words if w not in _SIGNS)
    word = SYNONYMS.get(word, word)
    arguments = "" if found is None else found[2] or ""
    numbers = _NUMBERS.fullmatch(arguments)
    readable = _LABELS.fullmatch(arguments) if word in LABELLED else numbers or not arguments
    if not word or not readable:
        return SourceColumn(name=name, type=text.lower(), charset=charset, nullable=nullable, key=key)
    first, second = (0, 0) if numbers is None else (int(numbers[1]), int(numbers[2] or 0))
    word = YEAR_OF_TWO_DIGITS if (word, first) == ("year", 2) else word
    both = numbers is not None and numbers[2] is not None
    if word == "float" and first > _FLOAT_DIGITS and not both:
        word = "double"
    return SourceColumn(
        name=name,
        type=word,
        unsigned=not {"unsigned", "zerofill"}.isdisjoint(words) and word not in LABELLED,
        precision=_precision(word, first, stated=numbers is not None, both=both),
        scale=second if brackets(word) is Brackets.DIGITS else 0,
        length=_length(word, first),
        charset=charset,
        members=labels(arguments) if word in LABELLED else (),
        nullable=nullable,
        key=key,
    )


def _precision(word: str, first: int, *, stated: bool, both: bool) -> int:
    if word == "decimal":
        return first if stated else 10
    match brackets(word):
        case Brackets.DIGITS:
            return first if both else 0
        case Brackets.FRACTION:
            return first
        case _:
            return 0


def _length(word: str, first: int) -> int:
    """MySQL uses 1 if no length is given."""
    if brackets(word) is not Brackets.LENGTH:
        return 0
    return first if word in {"varchar", "varbinary"} else first or 1


def set_of(labels: Iterable[str]) -> str:
    """The value of a SET as the servers show it: no comma before a label as long as there is no text."""
    text = ""
    for label in labels:
        text = f"{text},{label}" if text else label
    return text


def same_labels(column: SourceColumn) -> str | None:
    """Why two values of an ENUM or SET, which the server tells apart, are one text; None: no two are."""
    if "" not in column.members:
        return None
    without = "the value of no label" if column.type == "set" else "the value that the servers store for a wrong label"
    return f"'' is a label of column '{column.name}', and {without} is the same text"


def room(word: str) -> int:
    """Bytes that a value of a TEXT or BLOB type has at most."""
    return ROOMS[word.removesuffix("text").removesuffix("blob")]


def smallest(family: str, size: int) -> str:
    """The word of the smallest type of the family "text" or "blob" for values of that many bytes."""
    return next((word for word, most in ROOMS.items() if size <= most), "long") + family


def sized(column: SourceColumn, charset: str | None) -> SourceColumn:
    """As the server creates it if its texts have that charset: TEXT(n) is the smallest type for n characters, and what
    is too long for a row becomes a text, or bytes. A charset of None is not known.
    """
    match column.type:
        case "text" if column.length:
            size = column.length * max_bytes(charset)
        case "varchar" if column.length * (1 if charset is None else max_bytes(charset)) > ROOMS[""]:
            size = column.length * max_bytes(charset)
        case "varbinary" if column.length > ROOMS[""]:
            size = column.length
        case "blob" if column.length:
            size = column.length
        case _:
            return column
    return replace(column, type=smallest("text" if column.type in TEXT else "blob", size), length=0)


def of_bytes(column: SourceColumn) -> SourceColumn:
    """What CHARACTER SET binary makes of it; enum and set stay what they are."""
    return replace(column, type=_OF_BYTES[column.type], charset=None) if column.type in _OF_BYTES else column


def of_text(column: SourceColumn) -> SourceColumn:
    """What another COLLATE than binary makes of bytes in MariaDB."""
    word = next((text for text, octets in _OF_BYTES.items() if octets == column.type), column.type)
    return replace(column, type=word)


def converted(column: SourceColumn, before: str | None, now: str | None) -> SourceColumn:
    """What CONVERT TO CHARACTER SET makes of a column: it has room for as many characters. None is not known.

    Labels are not converted: their bytes stay, and may then mean other texts, so the type becomes unknown.
    """
    if column.type in LABELLED and not same_bytes(column.members, before, now):
        return replace(column, type=f"{column.type} with the bytes of its labels in {now}", members=(), charset=now)
    if is_large(column):
        column = replace(column, type="text", length=characters(column, before))
    return sized(in_charset(column, now), now)


def with_readable_labels(column: SourceColumn) -> SourceColumn:
    """The type becomes unknown if its charset has other labels than the statement."""
    if not any(is_exchanged(label, column.charset) for label in column.members):
        return column
    return replace(column, type=f"{column.type} with labels that {column.charset} cannot hold", members=())


def in_charset(column: SourceColumn, charset: str | None) -> SourceColumn:
    """Of its stated size."""
    column = replace(column, charset=charset)
    return of_bytes(column) if charset == "binary" else column


def characters(column: SourceColumn, charset: str | None) -> int:
    """The number that is sure to fit in a text. A charset of None is not known."""
    if not is_large(column):
        return column.length
    return room(column.type) // (1 if charset is None else max_bytes(charset))


def is_large(column: SourceColumn) -> bool:
    """Whether it is a text whose capacity is counted in bytes."""
    return column.type in TEXT and column.type not in {"char", "varchar"}


def labels(text: str) -> tuple[str, ...]:
    """The labels in enum('a','b''c') as information_schema prints them."""
    return tuple(_unescaped(found[1]) for found in _LABEL.finditer(text))


def _unescaped(text: str) -> str:
    return re.sub(r"''|\\(.)", lambda m: "'" if m[1] is None else _ESCAPES.get(m[1], m[1]), text, flags=re.DOTALL)
