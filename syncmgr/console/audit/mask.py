"""Statements as they may be shown.

Owns: the one rule that removes secrets from SQL text.
Must not know: where the text is shown.
"""

import re
from typing import Final

STARS: Final = "'********'"

# possessive, and each character in only one alternative: no text takes more than one pass
_TOKEN: Final = re.compile(
    r"""
      (?P<gap>\s++ | /\*.*?(?:\*/|\Z) | --(?=\s|\Z)[^\n]*+ | \#[^\n]*+)
    | (?P<text>"(?:\\.|""|[^"\\]++)*+(?:"|\\?\Z) | '(?:\\.|''|[^'\\]++)*+(?:'|\\?\Z))
    | `[^`]*+`? | [\w.$]++ | .
    """,
    re.VERBOSE | re.DOTALL,
)
_SECRET: Final = re.compile(r"password|passwd|secret", re.IGNORECASE)
_ANY: Final = re.compile(r"password|passwd|secret|identified", re.IGNORECASE)
_UNENDED: Final = re.compile(r"""(?:password|passwd|secret)\s*[=:]\s*["']\Z""", re.IGNORECASE)  # it ends before a value
_BETWEEN: Final = re.compile(r"""["']\s*[=:]\s*["']""")  # of a name and a value: the name lacks its first quote
_ENDS: Final = frozenset("(),;")  # and whitespace: none of a value without quotes
_SIGNS: Final = frozenset("+-=")  # a secret follows them, possibly after spaces


def mask(sql: str) -> str:
    """The text with the value of every password in it replaced by stars, with or without quotes, even a truncated
    one.
    """
    if _ANY.search(sql) is None:
        return sql
    pieces: list[str] = []
    before, last = "", ""  # the two tokens before this one
    all_secret = False  # after IDENTIFIED and SET PASSWORD, to the end of the statement
    bare = ""  # an unquoted token of the secret at this place, after the stars that replace it
    for match in _TOKEN.finditer(sql):
        piece = match[0]
        if bare and _goes_on(bare, match):
            bare = piece if bare in _SIGNS and not match["gap"] else bare
            continue
        bare = ""
        if match["gap"]:
            pieces.append(piece)
            continue
        follows = _is_value(before, last, all_secret=all_secret) or _is_mistyped(before, last, match)
        if follows and piece not in _ENDS:
            bare = "" if match["text"] else piece
            pieces.append(STARS)
        else:
            pieces.append(STARS if match["text"] and all_secret else piece)
        all_secret = piece != ";" and (all_secret or _begins_secret(last, piece))
        before, last = last, piece
    return "".join(pieces)


def _is_value(before: str, last: str, *, all_secret: bool) -> bool:
    """Whether a secret follows these tokens, whatever it looks like."""
    if last in {"=", ":"}:
        return all_secret or _SECRET.search(before) is not None
    return all_secret and last.upper() == "BY"


def _is_mistyped(before: str, last: str, match: re.Match[str]) -> bool:
    """Whether a secret follows these tokens if a sign or a quote before it was forgotten."""
    if _BETWEEN.fullmatch(last):
        return _SECRET.search(before) is not None
    follows = match["text"] is not None and _BETWEEN.fullmatch(match["text"]) is None and _SECRET.search(last)
    return bool(follows or _UNENDED.search(last))


def _goes_on(bare: str, match: re.Match[str]) -> bool:
    """To whitespace. A comment that begins before it may be a part of a password that should have had quotes."""
    return match[0] not in _ENDS and (bare in _SIGNS or not match[0].isspace())


def _begins_secret(last: str, piece: str) -> bool:
    return piece.upper() == "IDENTIFIED" or (last.upper() == "SET" and piece.upper() == "PASSWORD")
