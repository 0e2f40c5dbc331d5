"""Patterns over database.table, as LIKE or REGEXP: which tables match, and which part of one is a plain name.

Owns: the meaning of both. RE2 evaluates them, in linear time: no pattern of an operator holds anything up.
Must not know: statements, what is done with the tables.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from syncmgr.errors import Code, SyncError

_PIECES: Final = re.compile(r"\\.|.", re.DOTALL)
# Of a regular expression: an escape, a class, or one character.
_ATOMS: Final = re.compile(r"\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|.", re.DOTALL)
_ANY_CASE: Final = re.compile(r"\(\?(?!P)[a-zA-Z]*i")
_META: Final = frozenset("\\^$.*+?()[]{}|")
_REPEATS: Final = frozenset("*+?{")
_DOTS: Final = frozenset({r"\.", "[.]"})
LONGEST: Final = 1_000  # characters: two names have 129, and splitting a pattern into its parts is not linear


class PatternKind(StrEnum):
    """What the text of a pattern is."""

    LIKE = "LIKE"
    REGEXP = "REGEXP"


@dataclass(frozen=True, kw_only=True, slots=True)
class TablePattern:
    """Case counts. In LIKE an escaped dot is part of a name, and any other one may separate database and table."""

    kind: PatternKind
    text: str

    def matches(self, db: str, table: str) -> bool:
        """Raises BAD_PATTERN."""
        match self.kind:
            case PatternKind.LIKE:
                return matches(self.text, f"{db}.{table}")
            case PatternKind.REGEXP:
                return _found(self.text, f"{db}.{table}")
            case _:
                assert_never(self.kind)

    def check(self) -> None:
        """Raises BAD_PATTERN if it is not a pattern."""
        if len(self.text) > LONGEST:
            reason = f"it has {len(self.text)} characters, and at most {LONGEST} are read"
            raise SyncError(Code.BAD_PATTERN, pattern=f"{self.kind} '{self.text[:40]}...'", reason=reason)
        self.matches("", "")

    @property
    def label(self) -> str:
        return f"{self.kind} '{self.text}'"

    @property
    def database(self) -> str | None:
        """The only database whose tables match; None if there may be several."""
        match self.kind:
            case PatternKind.LIKE:
                pieces = _PIECES.findall(self.text)
                return _name(pieces[: pieces.index(".")]) if "." in pieces else None
            case PatternKind.REGEXP:
                return _database_of(_atoms(self.text))
            case _:
                assert_never(self.kind)

    @property
    def table(self) -> str | None:
        """The name of every table that matches; None if there may be several."""
        match self.kind:
            case PatternKind.LIKE:
                pieces = _PIECES.findall(self.text)
                return _name(_after_last_dot(pieces)) if "." in pieces else None
            case PatternKind.REGEXP:
                return _table_of(_atoms(self.text))
            case _:
                assert_never(self.kind)

    @property
    def databases(self) -> str:
        """A LIKE pattern for databases: it matches all whose tables may match, and others too."""
        match self.kind:
            case PatternKind.LIKE if self.table is not None:
                pieces = _PIECES.findall(self.text)
                return "".join(pieces[: -len(_after_last_dot(pieces)) - 1])
            case PatternKind.LIKE:
                return "%" if self.database is None else literal(self.database)
            case PatternKind.REGEXP:
                return literal(_prefix(_atoms(self.text))) + "%"
            case _:
                assert_never(self.kind)


def matches(like: str, name: str) -> bool:
    """Whether a name matches a LIKE pattern. Case counts."""
    made = "".join({"%": ".*", "_": "."}.get(piece, re.escape(piece[-1])) for piece in _PIECES.findall(like))
    return _found(rf"(?s)\A{made}\z", name)


def literal(name: str) -> str:
    """The LIKE pattern that only this name matches."""
    return re.sub(r"([\\%_.])", r"\\\1", name)


def _found(regexp: str, text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # a name of the binlog that no statement can write
        return False
    try:
        return bool(pc.match_substring_regex(pa.array([text]), regexp)[0].as_py())
    except pa.ArrowInvalid as error:
        reason = str(error).removeprefix("Invalid regular expression: ")
        raise SyncError(Code.BAD_PATTERN, pattern=f"REGEXP '{regexp}'", reason=reason) from error


def _after_last_dot(pieces: Sequence[str]) -> Sequence[str]:
    return pieces[len(pieces) - pieces[::-1].index(".") :]


def _name(pieces: Sequence[str]) -> str | None:
    """The literal name in pieces of a LIKE pattern; None if there is a wildcard."""
    return None if {"%", "_"}.intersection(pieces) else "".join(piece[-1] for piece in pieces)


def _atoms(regexp: str) -> Sequence[str]:
    r"""Empty if no part of it determines a whole name: with | outside brackets, (?i), or \Q."""
    atoms: list[str] = _ATOMS.findall(regexp)
    depth = 0
    if any(_ANY_CASE.match("".join(atoms[place:])) for place, atom in enumerate(atoms) if atom == "("):
        return []
    for atom in atoms:
        depth += (atom == "(") - (atom == ")")
        if atom == r"\Q" or (atom == "|" and depth == 0):
            return []
    return atoms


def _letter(atom: str) -> str | None:
    """The only character that an atom matches; None if it matches others, too."""
    if len(atom) == 1:
        return None if atom in _META else atom
    return atom[1] if atom[0] == "\\" and not atom[1].isalnum() else None


def _letters(atoms: Sequence[str]) -> str:
    """The literal text at the beginning, up to a dot between names or an atom that may match several characters."""
    found: list[str] = []
    for atom in atoms:
        letter = None if atom in _DOTS else _letter(atom)
        if letter is None:
            return "".join(found[:-1] if atom in _REPEATS else found)
        found.append(letter)
    return "".join(found)


def _prefix(atoms: Sequence[str]) -> str:
    return _letters(atoms[1:]) if atoms[:1] == ["^"] else ""


def _database_of(atoms: Sequence[str]) -> str | None:
    r"""Of ^name\. and whatever follows."""
    name = _prefix(atoms)
    rest = atoms[1 + len(name) :]
    ends = rest[:1] and rest[0] in _DOTS and not _REPEATS.intersection(rest[1:2])
    return name if name and ends else None


def _table_of(atoms: Sequence[str]) -> str | None:
    r"""Of whatever comes first and \.name$."""
    if atoms[-1:] != ["$"]:
        return None
    name = _letters(atoms[-2::-1])[::-1]
    before = atoms[-2 - len(name) : -1 - len(name)]
    return name if name and before and before[0] in _DOTS else None
