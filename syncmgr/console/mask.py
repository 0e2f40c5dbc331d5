"""Statements as they may be shown.

Owns: the one rule that takes secrets out of SQL text.
Must not know: where the text is shown.
"""

import re
from typing import Final

STARS: Final = "'********'"

# possessive, and each character in one alternative alone: no text takes more than one pass
_TOKEN: Final = re.compile(
    r"""
      (?P<gap>\s++ | /\*.*?(?:\*/|\Z) | --(?=\s|\Z)[^\n]*+ | \#[^\n]*+)
    | (?P<text>"(?:\\.|""|[^"\\]++)*+(?:"|\\?\Z) | '(?:\\.|''|[^'\\]++)*+(?:'|\\?\Z))
    | `[^`]*+`? | [\w.$]++ | .
    """,
    re.VERBOSE | re.DOTALL,
)
_SECRET: Final = re.compile(r"password|passwd|secret", re.IGNORECASE)


def mask(sql: str) -> str:
    """The text with the value of every password in it replaced by stars; one that was cut off too."""
    if '"' not in sql and "'" not in sql:
        return sql
    pieces: list[str] = []
    before, last = "", ""  # the two tokens before this one
    all_secret = False  # behind IDENTIFIED and SET PASSWORD, to the end of the statement
    for match in _TOKEN.finditer(sql):
        piece = match[0]
        if match["gap"]:
            pieces.append(piece)
            continue
        is_value = last == "=" and _SECRET.search(before) is not None
        pieces.append(STARS if match["text"] and (is_value or all_secret) else piece)
        all_secret = piece != ";" and (all_secret or _begins_secret(last, piece))
        before, last = last, piece
    return "".join(pieces)


def _begins_secret(last: str, piece: str) -> bool:
    return piece.upper() == "IDENTIFIED" or (last.upper() == "SET" and piece.upper() == "PASSWORD")
