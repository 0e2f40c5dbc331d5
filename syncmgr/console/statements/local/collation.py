"""How texts of information_schema are compared: as in MySQL's utf8mb3_general_ci.

Owns: what one character counts as, and that trailing spaces do not count; which number a text begins with.
Must not know: the caller, what SQLite is.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

COLLATION: Final = "GENERAL_CI"
_BEGINNING: Final = 64  # characters that are compared first, and cached: most texts differ there
_NUMBER: Final = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", re.ASCII)
_LONGEST_NUMBER: Final = 400


def folded(text: str) -> str:
    """Of the same length: without case and accents."""
    return text.upper() if text.isascii() else "".join(map(_weight, text))


@lru_cache(maxsize=4096)
def _weight(character: str) -> str:
    if character == "ß":
        return "S"
    upper = unicodedata.normalize("NFD", character)[0].upper()
    return upper if len(upper) == 1 else character


def compared(left: str, right: str) -> int:
    """Below 0: the left one comes first; 0: they are equal."""
    if left == right:
        return 0
    one, other = _beginning(left[:_BEGINNING]), _beginning(right[:_BEGINNING])
    if one == other and max(len(left), len(right)) > _BEGINNING:
        one, other = sorted_as(left), sorted_as(right)
    return (one > other) - (one < other)


def sorted_as(text: str) -> str:
    """Trailing spaces do not count, but sort after what is less than a space."""
    return folded(text).rstrip(" ") + " "


_beginning: Final = lru_cache(maxsize=1 << 16)(sorted_as)


def number_of(value: float | str | None) -> float | str | None:
    """The value of a text compared with a number: the number that it begins with, or 0."""
    if not isinstance(value, str):
        return value
    found = _NUMBER.match(value[:_LONGEST_NUMBER])
    return 0.0 if found is None else float(found[1])
