"""Where the parameters of a prepared statement stand.

Owns: finding '?' outside of strings, names and comments.
Must not know: what the statement means.
"""

import re
from itertools import islice
from typing import Final

MOST: Final = 0xFFFF  # the protocol counts them by 16 bits

# what is not closed goes to the end: were it tried again from each character, a long text would take for ever
_OPAQUE: Final = re.compile(
    r"""
      '(?:[^'\\]++|\\.|'')*+(?:'|\\?\Z) | "(?:[^"\\]++|\\.|"")*+(?:"|\\?\Z) | `(?:[^`]++|``)*+(?:`|\Z)
    | /\*.*?(?:\*/|\Z) | \#[^\n]* | --(?=\s|\Z)[^\n]*
    | (?P<place>\?)
    """,
    re.VERBOSE | re.DOTALL,
)


def placeholders(sql: str) -> tuple[int, ...]:
    """Offsets of the parameters, in order; of more than can be, one too many."""
    found = (match.start() for match in _OPAQUE.finditer(sql) if match["place"])
    return tuple(islice(found, MOST + 1))
