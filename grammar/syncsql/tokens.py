"""From text to tokens and statements.

Owns: what is a word, a quoted name, a string, a number; conditional comments; where one statement ends.
Must not know: any statement.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final

from sqlglot import TokenType
from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token as RawToken

from syncsql import budget
from syncsql.errors import error_at

CLAIMED_VERSION: Final = 80099  # conditional comments up to MySQL 8.0 are ours

# One alternative per thing that may hold any character; the last two are those that never end. It begins with a set #
# of characters, so that anything between such things is skipped quickly.
_OPAQUE: Final = re.compile(
    r"""
    ['"`/\#-] (?:
      (?<=')(?:[^'\\]++|\\.|'')*+' | (?<=")(?:[^"\\]++|\\.|"")*+" | (?<=`)(?:[^`]++|``)*+`
    | (?<=/)(?P<conditional>\*!(?P<version>\d{5,6})?(?P<body>.*?)\*/)
    | (?<=/)\*.*?\*/ | (?<=\#)[^\n]* | (?<=-)-(?=\s|\Z)[^\n]*
    | (?P<open>(?<=['"`])|(?<=/)\*) )
    """,
    re.VERBOSE | re.DOTALL,
)
_BEGUN: Final = re.compile(r"/\*!(?P<version>\d{5,6})?")
_LONG: Final = 1024  # characters, from which on sqlglot is not to scan a literal, a comment or blanks
_SLOW: Final = re.compile(
    rf"""
      (?P<literal>'(?:[^'\\]++|\\.|'')*+' | "(?:[^"\\]++|\\.|"")*+")
    | `(?:[^`]++|``)*+` | /\*\+.*?\*/
    | (?P<nothing>/\*.*?\*/ | \#[^\n]* | --(?=\s|\Z)[^\n]* | (?<!\s)\s{{{_LONG},}}+)
    """,
    re.VERBOSE | re.DOTALL,
)
# Lone surrogates replace what is found first and must not be found again: no text that came as bytes has them.
_BACKSLASH, _QUOTE, _DOUBLE_QUOTE = "\ud800", "\ud801", "\ud802"
_ESCAPES: Final[Mapping[str, str]] = {
    "\\\\": _BACKSLASH,
    "\\'": _QUOTE,
    '\\"': _DOUBLE_QUOTE,
    "\\%": f"{_BACKSLASH}%",
    "\\_": f"{_BACKSLASH}_",
    **{typed: value for typed, value in MySQL.UNESCAPED_SEQUENCES.items() if "\\" not in value},
}
_BAD_BITS: Final = re.compile(r"(?<![\w$])(?:x'(?![\da-f]*')|b'(?![01]*'))[^']*'", re.IGNORECASE)
_WORD: Final = re.compile(r"[\w$\u0080-\U0010ffff]+")
_PIECE: Final = re.compile(r"\S+")


class Kind(StrEnum):
    """What a token is."""

    WORD = "WORD"  # keyword or bare name: the parser decides which
    NAME = "NAME"  # in backticks
    STRING = "STRING"
    NUMBER = "NUMBER"
    SIGN = "SIGN"  # everything else


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """text is the unquoted value; start and end are offsets into the source, end exclusive; raw indexes RawTokens."""

    kind: Kind
    text: str
    start: int
    end: int
    raw: int


class _MySQLTokenizer(MySQL.Tokenizer):
    """Without it, REPLACE or RENAME at the start of a text makes one string of all that follows."""

    COMMANDS: ClassVar[set[TokenType]] = set()


_KINDS: Final = {
    TokenType.IDENTIFIER: Kind.NAME,
    TokenType.STRING: Kind.STRING,
    TokenType.NUMBER: Kind.NUMBER,
    TokenType.HEX_STRING: Kind.SIGN,
    TokenType.BIT_STRING: Kind.SIGN,
    TokenType.NATIONAL_STRING: Kind.SIGN,
    TokenType.HINT: Kind.SIGN,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenisedStatement:
    """The tokens of one statement and what they were cut from.

    raw holds sqlglot's tokens of the whole text, which Token.raw indexes; end is the offset where the statement ends.
    """

    source: str
    tokens: Sequence[Token]
    raw: Sequence[RawToken]
    end: int

    @property
    def text(self) -> str:
        return self.source[self.tokens[0].start : self.tokens[-1].end]


def statements(sql: str) -> Iterator[TokenisedStatement]:
    """The statements between semicolons; empty ones are left out. Raises TooLargeError, too."""
    source = expand_conditional_comments(sql)
    is_query = budget.is_query(source)
    raw = raw_tokens(budget.without_numbers(source) if is_query else source)
    group: list[Token] = []
    for token in _tokens(source, raw):
        if token.kind is Kind.SIGN and token.text == ";":
            if group:
                yield TokenisedStatement(source=source, tokens=group, raw=raw, end=token.start)
            group = []
        else:
            group.append(token)
    if group:
        yield TokenisedStatement(source=source, tokens=group, raw=raw, end=len(source))


def expand_conditional_comments(sql: str) -> str:
    """Blank out the marks of /*!40101 ... */ so that its body counts, as in MySQL.  Every offset stays."""
    pieces: list[str] = []
    done = 0
    for match in _closed(sql):
        if match["conditional"] is not None and _is_ours(match):
            pieces += [sql[done : match.start()], *_blanked(sql, match)]
            done = match.end()
    if not done:
        return sql
    expanded = "".join([*pieces, sql[done:]])
    for _ in _closed(expanded):  # what a body begins may have no end now
        pass
    return expanded


def expand_begun(sql: str) -> str:
    """The same of the beginning of a text: the last comment may lack its end."""
    pieces: list[str] = []
    done = 0
    for match in _OPAQUE.finditer(sql):
        if match["open"] is not None:
            begun = _BEGUN.match(sql, match.start())
            if begun is not None and _is_ours(begun):
                pieces += [sql[done : begun.start()], " " * len(begun[0])]
                done = begun.end()
            break
        if match["conditional"] is not None and _is_ours(match):
            pieces += [sql[done : match.start()], *_blanked(sql, match)]
            done = match.end()
    return "".join([*pieces, sql[done:]])


def _is_ours(conditional: re.Match[str]) -> bool:
    return int(conditional["version"] or 0) <= CLAIMED_VERSION


def _blanked(sql: str, conditional: re.Match[str]) -> tuple[str, str, str]:
    start, end = conditional.span("body")
    return " " * (start - conditional.start()), sql[start:end], " " * (conditional.end() - end)


def _closed(sql: str) -> Iterator[re.Match[str]]:
    """All strings, names and comments. Raises if one has no end: searches of those would start over at each."""
    for match in _OPAQUE.finditer(sql):
        if match["open"] is not None:
            what = {"'": "string", '"': "string", "`": "name"}.get(match[0], "comment")
            raise error_at(sql, match.start(), match.end(), f"unterminated {what}")
        yield match


def raw_tokens(source: str) -> list[RawToken]:
    """Sqlglot's tokens, as its expression parser expects them."""
    values: dict[int, str] = {}
    try:
        tokens = _MySQLTokenizer(dialect=MySQL()).tokenize(_quickly_read(source, values))
    except TokenError:
        wrong = _BAD_BITS.search(source)
        start, end = wrong.span() if wrong else (0, 1)
        raise error_at(source, start, end, "this is no hexadecimal or bit literal") from None
    for token in tokens if values else ():
        token.text = values.get(token.end, token.text)
    return tokens


def _quickly_read(source: str, values: dict[int, str]) -> str:
    """A text of the same length and tokens whose long literals have no escapes, and which has no long comments and
    blanks: sqlglot takes a Python step per character of those, while a megabyte takes a C step here. `values`
    gets those literals, by where they end.
    """
    if len(source) < _LONG:
        return source

    def plain(found: re.Match[str]) -> str:
        text = found[0]
        if len(text) < _LONG or found.lastgroup is None:
            return text
        if found["nothing"]:
            return " " * len(text)
        if "\\" not in text and text[0] not in text[1:-1]:
            return text
        values[found.end() - 1] = _value(text)
        return text[0] + "x" * (len(text) - 2) + text[0]

    return _SLOW.sub(plain, source)


def _value(literal: str) -> str:
    quote, value = literal[0], literal[1:-1]
    for typed, meant in _ESCAPES.items():
        value = value.replace(typed, meant)
    value = value.replace(quote * 2, quote).replace("\\", "")
    return value.replace(_BACKSLASH, "\\").replace(_QUOTE, "'").replace(_DOUBLE_QUOTE, '"')


def _tokens(source: str, raw: Sequence[RawToken]) -> Iterator[Token]:
    for index, token in enumerate(raw):
        start, end = token.start, token.end + 1
        kind = _KINDS.get(token.token_type)
        if kind is not None:
            yield Token(kind=kind, text=token.text, start=start, end=end, raw=index)
            continue
        for piece in _PIECE.finditer(source, start, end):  # sqlglot makes one token of ORDER BY
            kind = Kind.WORD if _WORD.fullmatch(piece[0]) else Kind.SIGN
            yield Token(kind=kind, text=piece[0], start=piece.start(), end=piece.end(), raw=index)
