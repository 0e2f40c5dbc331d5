"""The text of a MySQL column type, as SHOW CREATE TABLE or a DDL statement spells it -> a source column.

Owns: the spelling of types: synonyms, default sizes, labels.
Must not know: where the text was read.
"""

import re
from collections.abc import Mapping
from typing import Final

from syncmgr.job.schema import SourceColumn

_LABEL: Final = re.compile(r"'((?:[^'\\]|''|\\.)*)'", re.DOTALL)
_LABELS: Final = re.compile(rf" *{_LABEL.pattern}(?: *, *{_LABEL.pattern})* *", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "r": "\r", "0": "\0", "t": "\t", "Z": "\x1a"}
_SPELLING: Final = re.compile(r"(\w+(?: +\w+)*) *(?:\((.*)\))?((?: +\w+)*) *", re.DOTALL)
_NUMBERS: Final = re.compile(r" *(\d+) *(?:, *(\d+) *)?")
_SIGNS: Final = frozenset({"signed", "unsigned", "zerofill"})
_LABELLED: Final = frozenset({"enum", "set"})
_FLOAT_DIGITS: Final = 24  # FLOAT(25) is a double

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
    """The column that `text` spells. What cannot be read keeps its text as type word, of which nothing is known."""
    found = _SPELLING.fullmatch(text)
    words = [] if found is None else f"{found[1]} {found[3]}".lower().split()
    word = " ".join(w for w in words if w not in _SIGNS)
    word = SYNONYMS.get(word, word)
    arguments = "" if found is None else found[2] or ""
    numbers = _NUMBERS.fullmatch(arguments)
    readable = _LABELS.fullmatch(arguments) if word in _LABELLED else numbers or not arguments
    if not word or not readable:
        return SourceColumn(name=name, type=text.lower(), charset=charset, nullable=nullable, key=key)
    first, second = (0, 0) if numbers is None else (int(numbers[1]), int(numbers[2] or 0))
    if word == "float" and first > _FLOAT_DIGITS and numbers is not None and numbers[2] is None:
        word = "double"
    return SourceColumn(
        name=name,
        type=word,
        unsigned=not {"unsigned", "zerofill"}.isdisjoint(words) and word not in _LABELLED,
        precision=_precision(word, first, told=numbers is not None),
        scale=second if word == "decimal" else 0,
        length=_length(word, first),
        charset=charset,
        members=labels(arguments) if word in _LABELLED else (),
        nullable=nullable,
        key=key,
    )


def _precision(word: str, first: int, *, told: bool) -> int:
    if word == "decimal":
        return first if told else 10
    return first if word in {"datetime", "timestamp", "time"} else 0


def _length(word: str, first: int) -> int:
    """MySQL takes 1 where no length is given."""
    if word in {"char", "binary", "bit"}:
        return first or 1
    return first if word in {"varchar", "varbinary"} else 0


def labels(text: str) -> tuple[str, ...]:
    """The labels in enum('a','b''c') as information_schema prints them."""
    return tuple(_unescaped(found[1]) for found in _LABEL.finditer(text))


def _unescaped(text: str) -> str:
    return re.sub(r"''|\\(.)", lambda m: "'" if m[1] is None else _ESCAPES.get(m[1], m[1]), text, flags=re.DOTALL)
