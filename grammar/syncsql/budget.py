"""How large a text may be, checked before anything is built from it.

Owns: the bounds of tokens and nesting of one text, and a scan that detects an excess without building anything.
Must not know: any statement, the bytes that a text may have.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from syncsql.errors import NestedTooDeeplyError, TooLargeError, error_at

QUESTIONS: Final = frozenset({"SELECT", "WITH", "VALUES"})  # what a query begins with, after its brackets
MOST_TOKENS: Final = 200_000
DEEPEST: Final = 100  # nested brackets, CASEs and prefixes
LONGEST_CHAIN: Final = 2_000  # words and signs without a comma, AND, OR, WHEN, THEN or ELSE: 1 + 1 + 1 ...
MOST_JOINED: Final = 500  # UNIONs and JOINs, which are nested however they are typed
MOST_NESTED_TYPES: Final = 100  # ARRAY<ARRAY<...

# Strings and comments as Spark parses them, since Spark is to be protected from what is outside strings: r'\' ends. #
# What is not closed extends to the end.
_PIECE: Final = re.compile(
    r"""
      (?P<opaque>(?<![\w$])[rR]'[^']*(?:'|\Z) | (?<![\w$])[rR]"[^"]*(?:"|\Z)
        | '(?:[^'\\]++|\\.|'')*+(?:'|\\?\Z) | "(?:[^"\\]++|\\.|"")*+(?:"|\\?\Z))
    | (?P<nothing>/\*(?!\+).*?(?:\*/|\Z) | \#[^\n]* | --(?=\s|\Z)[^\n]* | \s{64,}+)
    | (?P<number>\d[\w.]*)
    | (?P<word>[^\W\d][\w$]* | `(?:[^`]++|``)*+(?:`|\Z))
    | (?P<sign>[^\s\w'"`])
    """,
    re.VERBOSE | re.DOTALL,
)
_NUMBERS: Final = re.compile(r"(?<=,)\s*+-?\d[\d.]*+(?:\s*+,\s*+-?\d[\d.]*+){50,}+")
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
_PREFIXES: Final = frozenset({"NOT", "!", "-", "+", "~", "BINARY"})
_JOINING: Final = frozenset({"UNION", "EXCEPT", "INTERSECT", "MINUS", "JOIN", "VIEW"})
_TYPES: Final = frozenset({"ARRAY", "MAP", "STRUCT"})
_APART: Final = frozenset({",", "AND", "OR", "WHEN", "THEN", "ELSE"})
_FLATTEN: Final = "write it flatter: WITH names part of a query, IN takes a list, CASE several WHENs"


def is_query(source: str) -> bool:
    """Whether it is one query and nothing else.

    Raises TooLargeError or NestedTooDeeplyError for a text that must not be parsed.
    """
    scan = _Scan()
    for piece in _PIECE.finditer(source):
        kind = piece.lastgroup
        scan.tokens += 1
        if scan.tokens > MOST_TOKENS:
            raise TooLargeError(what="words, signs and values", limit=MOST_TOKENS)
        if kind == "nothing":
            continue
        if kind not in {"word", "sign"}:
            scan.prefixes = 0
        elif what := scan.take(piece[0].upper()):
            reason = f"more than {what}; {_FLATTEN}"
            raise error_at(source, piece.start(), piece.end(), reason, kind=NestedTooDeeplyError)
    return scan.first in QUESTIONS and not scan.several


def without_numbers(query: str) -> str:
    """A query of the same length whose long lists of numbers are blanks: only Spark reads those, and each number as a
    separate token would take a hundred times its size.
    """
    return _NUMBERS.sub(lambda found: " " * (len(found[0]) - 1) + "0", query)  # where it ends may be the query's end


@dataclass(slots=True)
class _Scan:
    """Where the scan of a text is.

    `outer`: the chains around the innermost bracket or CASE. `first`: the first word or sign after opening brackets.
    """

    tokens: int = 0
    chain: int = 0
    prefixes: int = 0
    joined: int = 0
    types: int = 0
    first: str = ""
    last: str = ""
    several: bool = False
    outer: list[int] = field(default_factory=list)

    def take(self, text: str) -> str:
        """A word or a sign; which bound it exceeds, "" for none."""
        self._step(text)
        self.several = self.several or self.last == ";"
        self.first = self.first or (text if text != "(" else "")
        last, self.last = self.last, text
        self.joined += text in _JOINING or (last == "|" and text == ">")
        self.types += last in _TYPES and text == "<"
        return next((what for passed, what in _BOUNDS if passed(self)), "")

    def _step(self, text: str) -> None:
        self.prefixes = self.prefixes + 1 if text in _PREFIXES else 0
        if text in _OPENING or text == "CASE":
            self.outer.append(self.chain + 1)
            self.chain = 0
        elif text in _CLOSING or text == "END":
            self.chain = self.outer.pop() if self.outer else 0
        elif text == ";":
            self.chain = self.joined = self.types = 0
            self.outer.clear()
        else:
            self.chain = 0 if text in _APART else self.chain + 1


_BOUNDS: Final[tuple[tuple[Callable[[_Scan], bool], str], ...]] = (
    (lambda scan: len(scan.outer) + scan.prefixes > DEEPEST, f"{DEEPEST} brackets, CASEs or NOTs in one another"),
    (lambda scan: scan.chain > LONGEST_CHAIN, f"{LONGEST_CHAIN} words and signs in one chain"),
    (lambda scan: scan.joined > MOST_JOINED, f"{MOST_JOINED} JOINs and UNIONs"),
    (lambda scan: scan.types > MOST_NESTED_TYPES, f"{MOST_NESTED_TYPES} types in one another"),
)
