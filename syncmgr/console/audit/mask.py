"""Statements as they may be shown.

Owns: the one rule that removes secrets from SQL text.
Must not know: where the text is shown.
"""

import re
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
)
_SECRET: Final = re.compile(_WORDS, re.IGNORECASE)
_IDENTIFIED: Final = re.compile(r"in?d[entif]{3,9}[dy]", re.IGNORECASE)
_ANY: Final = re.compile(rf"{_WORDS}|{_IDENTIFIED.pattern}|\buser\b", re.IGNORECASE)
_UNENDED: Final = re.compile(rf"""(?:{_WORDS})\s*[=:]\s*["']\Z""", re.IGNORECASE)  # it ends before a value
_BETWEEN: Final = re.compile(r"""["']\s*[=:]\s*["']""")  # of a name and a value: the name lacks its first quote
_ENDS: Final = frozenset("(),;")  # and whitespace: none of a value without quotes
_SIGNS: Final = frozenset("+-=>")  # a secret follows them, possibly after spaces
_BEFORE_USER: Final = frozenset({"USER", "EXISTS", "@", ","})  # what is quoted after them is a name, or a host


def mask(sql: str) -> str:
    """The text with the value of every password in it replaced by stars, with or without quotes, even a truncated
    one, and so is each comment that seems to have one.
    """
    return sql if _ANY.search(_plain(sql)) is None else _masked(sql)


def _masked(sql: str, *, nested: bool = False) -> str:
    """`nested`: in a literal, whose own literals are no statements."""
    masking = _Masking(nested=nested)
    return "".join(masking.shown(match, sql) for match in _TOKEN.finditer(expand_begun(sql)))


def _plain(text: str) -> str:
    """Without backslashes, which mean nothing before most characters."""
    return text.replace("\\", "")


class _Masking:
    """What was read so far. `before`, `last`: the two tokens before this one. `bare`: an unquoted token of the secret
    at this place, after the stars that replace it. `depth`: brackets that are open in a secret.
    """

    def __init__(self, *, nested: bool) -> None:
        self._nested = nested
        self._before, self._last = "", ""
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
        hides = self._hides(match, calls=bool(bare) and match[0] == "(")
        self._note(match[0], hides=hides)
        hides = hides or (match["text"] is not None and not self._nested and _has_secret(typed))
        return STARS if hides else typed

    def _comment(self, text: str) -> str:
        if not self._all_secret and _ANY.search(_plain(text)) is None:
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
        self._all_secret = piece != ";" and (self._all_secret or begins)
        is_user = word == "USER" and self._last.upper() in {"CREATE", "ALTER"}
        self._of_user = piece != ";" and (self._of_user or is_user)
        self._before, self._last, self._hid_last = self._last, piece, hides

    def _is_value(self) -> bool:
        """Whether a secret follows, whatever it looks like."""
        if self._last in {"=", ":"}:
            return self._all_secret or _SECRET.search(_plain(self._before)) is not None
        return self._all_secret and self._last.upper() == "BY"

    def _is_mistyped(self, match: re.Match[str]) -> bool:
        """Whether a secret follows if a sign or a quote before it was forgotten."""
        last = _plain(self._last)
        if _BETWEEN.fullmatch(last):
            return _SECRET.search(self._before) is not None
        follows = match["text"] is not None and _BETWEEN.fullmatch(match["text"]) is None and _SECRET.search(last)
        return bool(follows or _UNENDED.search(last))

    def _is_unnamed(self) -> bool:
        """Whether a text in CREATE USER is where neither a name nor a host is."""
        return self._of_user and self._last.upper() not in _BEFORE_USER


def _has_secret(text: str) -> bool:
    """Whether a literal is a statement, or JSON, with a secret in it."""
    if _ANY.search(text) is None:
        return False
    quote, said = text[0], text[1:-1]
    said = said.replace(quote * 2, quote).replace(f"\\{quote}", quote)
    return _masked(said, nested=True) != said


def _goes_on(bare: str, match: re.Match[str]) -> bool:
    """To whitespace. A comment that begins before it may be a part of a password that should have had quotes."""
    return match[0] not in _ENDS and (bare in _SIGNS or not match[0].isspace())
