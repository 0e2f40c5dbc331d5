"""The words of a statement in a binlog, and a cursor over them.

Owns: quotes, escapes, comments and conditional comments as the session's sql_mode has them. A scanner of its own:
sqlglot's knows neither ANSI_QUOTES nor NO_BACKSLASH_ESCAPES, and takes ten times as long.
Must not know: any statement.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple, TypeVar

from syncmgr.job.types.folding import folded_table

T = TypeVar("T")

WORD: Final = "word"  # keyword or bare name: the reader decides which
NAME: Final = "name"
STRING: Final = "string"
NUMBER: Final = "number"
BITS: Final = "bits"  # X'4d', 0x4d, b'01', 0b01: the text as written
SIGN: Final = "sign"
END: Final = "end"


class UnclearError(ValueError):
    """A statement that cannot be parsed to its end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Modes:
    """The session state that changes how its statements are parsed. `strict`: values that do not fit are errors.

    `mariadb`: who wrote the statement. `folds`: the server compares names of tables without case. `dates_nulls`:
    explicit_defaults_for_timestamp is OFF, so a TIMESTAMP is NOT NULL by default, and NULL means the current time.
    `oracle`: MariaDB's sql_mode of that name, in which a function without arguments is called without brackets.
    `pads`: PAD_CHAR_TO_FULL_LENGTH, so that a CHAR is read with spaces up to its length. `short_reals`: REAL_AS_FLOAT.
    `keys_beside`: REFERENCES beside a column makes a foreign key, as it does not in MySQL 8. `keeps_zeros`:
    NO_AUTO_VALUE_ON_ZERO. `empty_nulls`: MariaDB's EMPTY_STRING_IS_NULL. `maxdb`: MariaDB's sql_mode of that name, in
    which TIMESTAMP means DATETIME. `client`, `connection`: the charset in which the statement was sent, and the one to
    which its texts were converted.
    """

    ansi_quotes: bool = False
    no_backslash: bool = False
    strict: bool = False
    mariadb: bool = False
    folds: bool = False
    dates_nulls: bool = False
    oracle: bool = False
    pads: bool = False
    short_reals: bool = False
    keys_beside: bool = True
    keeps_zeros: bool = False
    empty_nulls: bool = False
    maxdb: bool = False
    client: str = "utf8mb4"
    connection: str = "utf8mb4"

    def folded(self, table: tuple[str, str]) -> tuple[str, str]:
        """As the server compares names, of a database and in it."""
        return folded_table(table) if self.folds else table


ORDINARY: Final = Modes()


class Token(NamedTuple):
    """`text` is the unquoted value; `word` in capitals, "" if it cannot be a keyword. `start`, `end`: offsets."""

    kind: str
    text: str
    word: str
    start: int
    end: int


MAX_TOKENS: Final = 2_000_000  # which take a quarter of a GiB; an INSERT of 8 MiB of numbers has as many
_CHARACTER: Final = r"[\w$\u0080-\U0010ffff]"
_ESCAPED: Final = {q: rf"{q}(?:[^{q}\\]++|\\.|{q}{q})*+{q}" for q in "'\""}
_PLAIN: Final = {q: rf"{q}(?:[^{q}]++|{q}{q})*+{q}" for q in "'\"`"}
_ESCAPES: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


@cache
def _pattern(modes: Modes) -> re.Pattern[str]:
    strings = _PLAIN if modes.no_backslash else _ESCAPED
    names = [_PLAIN["`"], *([_PLAIN['"']] if modes.ansi_quotes else [])]
    quoted = [strings["'"], *([] if modes.ansi_quotes else [strings['"']])]
    mark = "M?!" if modes.mariadb else "!"
    return re.compile(
        rf"""
          (?P<space>\s+ | \#[^\n]* | --(?=\s|\Z)[^\n]* | /\*(?!{mark}).*?\*/ | /\*{mark}\d{{0,6}})
        | (?P<close>\*/)
        | (?P<bits>[xX]'[\da-fA-F]*' | [bB]'[01]*' | 0[xX][\da-fA-F]+(?!{_CHARACTER}) | 0[bB][01]+(?!{_CHARACTER}))
        | (?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?(?!{_CHARACTER}))
        | (?P<word>{_CHARACTER}+)
        | (?P<name>{"|".join(names)})
        | (?P<string>{"|".join(quoted)})
        | (?P<endless>['"`] | /\*)
        | (?P<sign>.)
        """,
        re.VERBOSE | re.DOTALL,
    )


def scan(statement: str, modes: Modes) -> list[Token]:
    """All tokens and an END. The content of a conditional comment counts: the server that logged it has run it.

    Raises UnclearError for an unterminated quote or comment, for names in an unknown charset, and for more than
    MAX_TOKENS.
    """
    tokens: list[Token] = []
    for found in _pattern(modes).finditer(statement):
        kind, text = found.lastgroup, found[0]
        match kind:
            case "space" | "close":
                continue
            case "word":
                token = Token(WORD, text, text.upper(), found.start(), found.end())
            case "sign":
                token = Token(SIGN, text, text, found.start(), found.end())
            case "name" | "string":
                token = Token(kind, _unquoted(text, kind, modes), "", found.start(), found.end())
            case "number" | "bits":
                token = Token(kind, text, "", found.start(), found.end())
            case _:
                raise UnclearError(f"something at {found.start()} has no end")
        tokens.append(token)
        if len(tokens) > MAX_TOKENS:
            raise UnclearError(f"more than {MAX_TOKENS} words")
    if any(token.kind in {WORD, NAME} and not _is_text(token.text) for token in tokens):
        raise UnclearError("a name in an unknown charset")
    while tokens and tokens[-1].word == ";":
        tokens.pop()
    tokens.append(Token(END, "", "", len(statement), len(statement)))
    return tokens


def _unquoted(text: str, kind: str, modes: Modes) -> str:
    mark, inner = text[0], text[1:-1]
    if kind == NAME or modes.no_backslash or "\\" not in inner:
        return inner.replace(mark + mark, mark)
    pattern = rf"{mark}{mark}|\\(.)"
    return re.sub(pattern, lambda m: mark if m[1] is None else _ESCAPES.get(m[1], m[1]), inner, flags=re.DOTALL)


def _is_text(text: str) -> bool:
    """Whether it has no byte that could not be decoded."""
    return text.isascii() or not any("\udc80" <= character <= "\udcff" for character in text)


@cache
def _by_first_word(phrases: tuple[str, ...]) -> dict[str, list[tuple[str, list[str]]]]:
    """The longest first."""
    found: dict[str, list[tuple[str, list[str]]]] = {}
    for phrase in sorted(phrases, key=len, reverse=True):
        words = phrase.split()
        found.setdefault(words[0], []).append((phrase, words))
    return found


class Words:
    """Reads forward; every reader takes what it names or raises UnclearError. No keyword matches a quoted name."""

    def __init__(self, statement: str, modes: Modes) -> None:
        self.modes = modes
        self._statement = statement
        self._tokens = scan(statement, modes)
        self._at = 0

    @property
    def token(self) -> Token:
        """The token here."""
        return self._tokens[self._at]

    @property
    def tokens(self) -> Sequence[Token]:
        """All of them, including those already taken, and the END."""
        return self._tokens

    def again(self, at: int) -> "Words":
        """Another cursor, before the token of that number."""
        made = copy(self)
        made._at = at  # noqa: SLF001 - one of its own kind
        return made

    @property
    def done(self) -> bool:
        return self.token.kind == END

    def ahead(self, count: int) -> Token:
        return self._tokens[min(self._at + count, len(self._tokens) - 1)]

    def take(self) -> Token:
        token = self.token
        if token.kind == END:
            raise self.unclear("something")
        self._at += 1
        return token

    def sees(self, *words: str) -> bool:
        return all(self.ahead(place).word == word for place, word in enumerate(words))

    def skip(self, *words: str) -> bool:
        """Take these words if all of them are here."""
        tokens, at = self._tokens, self._at
        for word in words:
            if tokens[at].word != word:
                return False
            at += 1
        self._at = at
        return True

    def skip_any(self, words: Collection[str]) -> str:
        """Take the one of these words that is here; "" if none is."""
        word = self.token.word
        if not word or word not in words:
            return ""
        self._at += 1
        return word

    def skip_phrase(self, phrases: tuple[str, ...]) -> str:
        """Take the longest of these phrases that is here; "" if none is."""
        for phrase, words in _by_first_word(phrases).get(self.token.word, ()):
            if self.skip(*words):
                return phrase
        return ""

    def expect(self, *words: str) -> None:
        if not self.skip(*words):
            raise self.unclear(" ".join(words))

    def unclear(self, wanted: str) -> UnclearError:
        near = self._statement[self.token.start : self.token.start + 40]
        return UnclearError(f"expected {wanted} near '{near}'")

    def end(self) -> None:
        if not self.done:
            raise self.unclear("the end")

    def name(self) -> str:
        if self.token.kind not in {NAME, WORD, STRING}:  # a string: ANSI_QUOTES if the mode is not known
            raise self.unclear("a name")
        return self.take().text

    def table(self, default_db: str) -> tuple[str, str]:
        """By the name that the server has for it."""
        return self.modes.folded(_qualified(self, default_db))

    def string(self) -> str:
        """Adjacent strings are one."""
        if self.token.kind != STRING:
            raise self.unclear("a string")
        text = self.take().text
        while self.token.kind == STRING:
            text += self.take().text
        return text

    def number(self) -> int:
        if self.token.kind != NUMBER or not self.token.text.isdecimal():
            raise self.unclear("a number")
        return int(self.take().text)

    def listed(self, item: Callable[[], T]) -> list[T]:
        """At least one, commas between."""
        found = [item()]
        while self.skip(","):
            found.append(item())
        return found

    def brackets(self) -> str:
        """( ... ) with its content, as text; raises if none begins here or it does not end."""
        start = self.token.start
        self.expect("(")
        depth = 1
        while depth:
            word = self.take().word
            depth += (word == "(") - (word == ")")
        return self._statement[start : self._tokens[self._at - 1].end]

    def skip_brackets(self) -> bool:
        if not self.sees("("):
            return False
        self.brackets()
        return True

    def take_value(self) -> Token:
        """A token, or brackets with their content as one."""
        if not self.sees("("):
            return self.take()
        start = self.token.start
        text = self.brackets()
        return Token(SIGN, text, "(", start, start + len(text))

    def text_from(self, first: Token) -> str:
        """The statement's text from a token up to the last one taken."""
        return self._statement[first.start : self._tokens[self._at - 1].end]

    def rest(self) -> None:
        """Whatever follows."""
        self._at = len(self._tokens) - 1


def until(words: Words, ends: Callable[[Token], bool]) -> Iterator[Token]:
    """Tokens outside brackets up to one that ends it, a comma or a closing bracket; brackets count as one."""
    while not words.done and words.token.word not in {",", ")"} and not ends(words.token):
        yield words.take_value()


def _qualified(words: Words, default_db: str) -> tuple[str, str]:
    if words.skip("."):
        return default_db, words.name()
    first = words.name()
    if words.skip("."):
        return first, words.name()
    if words.token.kind == NUMBER and words.token.text.startswith("."):
        return first, words.take().text[1:]
    return default_db, first
