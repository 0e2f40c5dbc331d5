"""The places of the parameters of a prepared statement.

Owns: finding '?' outside of strings, names and comments.
Must not know: what the statement means.
"""

import re
from itertools import islice
from typing import Final

MOST: Final = 0xFFFF  # the protocol counts them by 16 bits

# what is not closed extends to the end: if it were retried from each character, a long text would take forever
_OPAQUE: Final = re.compile(
    r"""
      '(?:[^'\\]++|\\.|'')*+(?:'|\\?\Z) | "(?:[^"\\]++|\\.|"")*+(?:"|\\?\Z) | `(?:[^`]++|``)*+(?:`|\Z)
    | /\*.*?(?:\*/|\Z) | \#[^\n]* | --(?=\s|\Z)[^\n]*
    | (?P<place>\?)
    """,
    re.VERBOSE | re.DOTALL,
)


def placeholders(sql: str) -> tuple[int, ...]:
    """Offsets of the parameters, in order; if there are too many, one more than allowed."""
    found = (match.start() for match in _OPAQUE.finditer(sql) if match["place"])
    return tuple(islice(found, MOST + 1))
