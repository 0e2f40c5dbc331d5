"""Patterns of tables: one over database.table, as LIKE or REGEXP.

Owns: their value and print, how their string is parsed, and how a pattern is typed.
Must not know: where a pattern may occur, which tables match it.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# A backslash stands for itself except before these, so '\.' and '\\.' are one pattern. A quote may be doubled.
_ESCAPES: Final = {
    "'": re.compile(r"""\\([\\'"])|(')'"""),
    '"': re.compile(r"""\\([\\'"])|(")\""""),
}
_PIECES: Final = re.compile(r"\\.|.", re.DOTALL)


class PatternKind(StrEnum):
    """What the text of a pattern is."""

    LIKE = "LIKE"
    REGEXP = "REGEXP"


@dataclass(frozen=True, kw_only=True, slots=True)
class TablePattern:
    """LIKE 'pattern' or REGEXP 'pattern' over database.table."""

    kind: PatternKind
    text: str

    def sql(self) -> str:
        escaped = self.text.replace("\\", "\\\\").replace('"', '\\"')
        return f'{self.kind} "{escaped}"'


def pattern_text(literal: str) -> str:
    """What a string literal, quotes and all, says as a pattern."""
    return _ESCAPES[literal[0]].sub(lambda found: found[1] or found[2], literal[1:-1])


def typed(text: str) -> str:
    """The pattern as a user would type it: a backslash is doubled only where it must be."""
    return "'" + re.sub(r"\\(?=[\\'\"]|\Z)", r"\\\\", text).replace("'", "''") + "'"


def escaped(name: str) -> str:
    """The part of a LIKE pattern that matches only this name."""
    return re.sub(r"([\\%_.])", r"\\\1", name)


def has_dot(like: str) -> bool:
    """Whether a LIKE pattern has the dot between database and table; an escaped one is part of a name."""
    return "." in _PIECES.findall(like)
