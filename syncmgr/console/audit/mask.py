"""Statements as they may be shown.

Owns: the one rule that removes secrets from SQL text.
Must not know: where the text is shown.
"""

import re
import unicodedata
from typing import Final

from syncsql import expand_begun

STARS: Final = "'********'"
HIDDEN: Final = "********"  # in place of what a comment says

# possessive, and each character in only one alternative: no text takes more than one pass
_TOKEN: Final = re.compile(
    r"""
      (?P<gap>\s++ | (?P<comment>/\*.*?(?:\*/|\Z) | --(?=\s|\Z)[^\n]*+ | \#[^\n]*+))
    | (?P<text>"(?:\\.|""|[^"\\]++)*+(?:"|\\?\Z) | '(?:\\.|''|[^'\\]++)*+(?:'|\\?\Z))
    | `[^`]*+`? | [\w.$]++ | .
    """,
    re.VERBOSE | re.DOTALL,
)
# Misspelt words count, too: such a statement fails, and the log has what was typed.
_WORDS: Final = (
    r"p[a-z]{0,3}s[a-z]{0,2}w[a-z]{0,3}[dt]|passord|passphrase|(?<![a-z])(?:pass|pwd)(?![a-z])|secret|webhook"
    r"|auth(?:entication)?_string|credential|(?:account|access)[._]?key|(?<![a-z])token(?![a-z])"
)
_SECRET: Final = re.compile(_WORDS, re.IGNORECASE)
_IDENTIFIED: Final = re.compile(r"in?d[entif]{3,9}[dy]", re.IGNORECASE)
_USER: Final = re.compile(r"us?e?r|ues?r", re.IGNORECASE)
_MAKES: Final = re.compile(r"c[reat]{3,6}|a[lter]{3,5}", re.IGNORECASE)  # CREATE and ALTER, misspelt, too
_ANY: Final = re.compile(rf"{_WORDS}|{_IDENTIFIED.pattern}|\b(?:{_USER.pattern})\b", re.IGNORECASE)
# of a user and a host in a URL; bounded, so that each place is looked at once
_URL: Final = re.compile(r"""(://[^\s/:@'"]{0,255}+:)[^\s'"]{1,255}@""")
# what a text ends with whose rest is computed
_FRAGMENT: Final = re.compile(
    rf"""(?:{_IDENTIFIED.pattern}\s+by|\bset\s+password\b[^'"]{{0,99}}[=\s])[\s'"\\]*\Z""", re.IGNORECASE
)
_UNENDED: Final = re.compile(rf"""(?:{_WORDS})\s*[=:]\s*["']\Z""", re.IGNORECASE)  # it ends before a value
_BETWEEN: Final = re.compile(r"""["']\s*[=:]\s*["']""")  # of a name and a value: the name lacks its first quote
_ENDS: Final = frozenset("(),;")  # and whitespace: none of a value without quotes
_SIGNS: Final = frozenset("+-=>")  # a secret follows them, possibly after spaces
_ASSIGNS: Final = frozenset("=:\uff1d\uff1a")  # of full width, too
_COMPARES: Final = frozenset("<>!@")
NESTED: Final = 3  # literals in literals that are read
_BEFORE_USER: Final = frozenset({"USER", "EXISTS", "@", ","})  # what is quoted after them is a name, or a host


def mask(sql: str) -> str:
    """The text with the value of every password in it replaced by stars, with or without quotes, even a truncated
    one, and so is each comment that seems to have one.
    """
    sql = _URL.sub(rf"\1{HIDDEN}@", sql)
    return sql if _ANY.search(_plain(sql)) is None else _masked(sql)


def _masked(sql: str, *, nested: int = 0) -> str:
    """`nested`: in so many literals."""
    masking = _Masking(nested=nested)
    return "".join(masking.shown(match, sql) for match in _TOKEN.finditer(expand_begun(sql)))


def _plain(text: str) -> str:
    """Without backslashes, which mean nothing before most characters, and as ASCII where it looks like that."""
    text = text.replace("\\", "")
    if text.isascii():
        return text
    return "".join(
        each for each in unicodedata.normalize("NFKD", text) if unicodedata.category(each) not in {"Mn", "Cf"}
    )


class _Masking:
    """What was read so far. `before`, `last`: the two tokens before this one. `name`: one that is of a secret, if there
    were only `signs` since. `bare`: an unquoted token of the secret at this place, after the stars that replace it.
    `depth`: brackets that are open in a secret.
    """

    def __init__(self, *, nested: int) -> None:
        self._nested = nested
        self._before, self._last = "", ""
        self._name, self._signs = "", set[str]()
        self._all_secret = False  # after IDENTIFIED and SET PASSWORD, to the end of the statement
        self._of_user = False  # after CREATE USER and ALTER USER
        self._bare, self._depth = "", 0
        self._hid_last = False

    def shown(self, match: re.Match[str], sql: str) -> str:
        """The next token, or stars for it; empty: those of the last one stand for it, too."""
        bare, self._bare = self._bare, ""
        if bare and _goes_on(bare, match):
            self._bare = match[0] if bare in _SIGNS and not match["gap"] else bare
            return ""
        typed = sql[match.start() : match.end()]  # with the marks of a conditional comment
        if match["gap"]:
            return typed if match["comment"] is None else self._comment(typed)
        if match[0][0] == "`" and _is_statement(match[0], self._nested + 1):
            return STARS
        hides = self._hides(match, calls=bool(bare) and match[0] == "(")
        self._note(match[0], hides=hides)
        hides = hides or (match["text"] is not None and _has_secret(typed, self._nested + 1))
        return STARS if hides else typed

    def _comment(self, text: str) -> str:
        is_read_elsewhere = self._name and text.startswith(("/*M!", "/*+"))
        if not self._all_secret and not is_read_elsewhere and _ANY.search(_plain(text)) is None:
            return text
        return f"/* {HIDDEN} */" if text.startswith("/*") else f"-- {HIDDEN}"

    def _hides(self, match: re.Match[str], *, calls: bool) -> bool:
        """`calls`: the last token was a function that makes a secret, and its arguments follow."""
        piece, is_text = match[0], match["text"] is not None
        if self._depth:
            self._depth += (piece == "(") - (piece == ")")
            return piece not in _ENDS
        follows = self._is_value() or self._is_mistyped(match)
        if piece == "(" and (follows or calls):
            self._depth = 1
        if follows and piece not in _ENDS:
            self._bare = "" if is_text else piece
            return True
        return is_text and (self._all_secret or self._hid_last or self._is_unnamed())

    def _note(self, piece: str, *, hides: bool) -> None:
        word = piece.upper()
        begins = _IDENTIFIED.fullmatch(word) is not None or (self._of_user and word == "BY")
        begins = begins or (self._last.upper() == "SET" and _SECRET.match(piece) is not None)
        begins = begins or (piece[0] in "\"'" and _FRAGMENT.search(piece[1:-1]) is not None)
        self._all_secret = piece != ";" and (self._all_secret or begins)
        is_user = _USER.fullmatch(word) is not None and _MAKES.fullmatch(self._last) is not None
        is_sign = len(piece) == 1 and not piece.isalnum() and piece not in _ENDS
        if is_sign and self._name:
            self._signs.add(piece)
        else:
            self._name, self._signs = piece if not hides and _SECRET.search(_plain(piece)) else "", set()
        self._of_user = piece != ";" and (self._of_user or is_user)
        self._before, self._last, self._hid_last = self._last, piece, hides

    def _is_value(self) -> bool:
        """Whether a secret follows, whatever it looks like."""
        if self._last in _ASSIGNS and self._all_secret:
            return True
        if self._name and _ASSIGNS & self._signs:
            return not _COMPARES & self._signs
        return self._all_secret and self._last.upper() in {"BY", "TO"}

    def _is_mistyped(self, match: re.Match[str]) -> bool:
        """Whether a secret follows if a sign or a quote before it was forgotten."""
        last = _plain(self._last)
        if _BETWEEN.fullmatch(last):
            return _SECRET.search(self._before) is not None
        is_value = match["text"] is not None and _BETWEEN.fullmatch(match["text"]) is None
        is_named = bool(self._name) and "@" not in self._signs
        calls = self._last == "(" and _SECRET.search(_plain(self._before)) is not None
        return (is_value and (is_named or calls)) or _UNENDED.search(last) is not None

    def _is_unnamed(self) -> bool:
        """Whether a text in CREATE USER is where neither a name nor a host is."""
        return self._of_user and self._last.upper() not in _BEFORE_USER


def _has_secret(text: str, nested: int) -> bool:
    """Whether a literal is a statement, or JSON, with a secret in it. `nested`: as of _masked."""
    if _ANY.search(_plain(text)) is None:
        return False
    if nested > NESTED:
        return True
    quote, content = text[0], text[1:-1]
    content = content.replace(quote * 2, quote).replace(f"\\{quote}", quote)
    return _masked(content, nested=nested) != content


def _is_statement(name: str, nested: int) -> bool:
    """Whether a quoted name is the rest of a text, or a part of it, since a backtick was forgotten or is too many."""
    return len(name) == 1 or name[-1] != "`" or _has_secret(name, nested)


def _goes_on(bare: str, match: re.Match[str]) -> bool:
    """To whitespace, except after an introducer. A comment that begins before it may be a part of a password that
    should have had quotes.
    """
    return match[0] not in _ENDS and (bare in _SIGNS or bare[0] == "_" or not match[0].isspace())
