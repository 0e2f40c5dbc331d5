"""MySQL's functions for SQLite.

Owns: what each one returns, and that none takes more time or memory than linear in its values' length: nothing
interrupts SQLite in the middle of a function, and its own LIKE, INSTR, REPLACE and TRIM are quadratic in a text's
length.
Must not know: the caller, how long a query may take.
"""

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from syncmgr.console.limits import KiB, MiB
from syncmgr.console.statements.local.collation import compared, folded, number_of, sorted_as

MAX_VALUE: Final = 4 * MiB
MAX_JSON: Final = 1 << 20  # characters that are parsed at once, while no other client is answered
MAX_JOINED: Final = 10_000  # values of one GROUP_CONCAT
MAX_PATTERN: Final = KiB  # characters of a LIKE
MAX_COMPARED: Final = 20_000_000  # characters of a text by those of a part of a pattern that has _
NUMBER_OF: Final = "NUMBER_OF"
BYTES_OF: Final = "BYTES_OF"  # LENGTH of SQLite counts characters
CONCAT_BY: Final = "GROUP_CONCAT_BY"
LEFT_OF: Final = "LEFT_OF"  # a word of a join
RIGHT_OF: Final = "RIGHT_OF"
FORMAT: Final = "FORMATTED_NUMBER"
MOST_DECIMALS: Final = 30


class TooMuchError(ValueError):
    """The value would be too long, or too expensive."""


def refuse_above(limit: int, size: int) -> None:
    if size > limit:
        raise TooMuchError


def _joined(separator: str, parts: Sequence[object]) -> str:
    texts = [str(part) for part in parts]
    refuse_above(MAX_VALUE, sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _concat(*parts: object) -> str | None:
    return None if None in parts else _joined("", parts)


def _concat_ws(separator: object, *parts: object) -> str | None:
    return None if separator is None else _joined(str(separator), [part for part in parts if part is not None])


class _ConcatBy:
    """GROUP_CONCAT(value ORDER BY key [DESC] SEPARATOR s), which this SQLite lacks."""

    def __init__(self) -> None:
        self._found: list[tuple[str, object]] = []
        self._descending, self._separator = False, ","
        self._size = 0

    def step(self, value: object, key: object, descending: int, separator: str) -> None:
        self._descending, self._separator = bool(descending), separator
        if value is None:
            return
        self._found.append((str(value), key))
        self._size += len(self._found[-1][0]) + (len(key) if isinstance(key, str | bytes) else 0)
        refuse_above(MAX_VALUE, self._size)
        refuse_above(MAX_JOINED, len(self._found))

    def finalize(self) -> str | None:
        self._found.sort(key=lambda one: _rank(one[1]), reverse=self._descending)
        return _joined(self._separator, [value for value, _ in self._found]) if self._found else None


def _rank(key: object) -> tuple[int, object]:
    """NULL before numbers before texts."""
    if isinstance(key, str):
        return 2, sorted_as(key)
    return (0, 0) if key is None else (1, key)


def _substring_index(text: object, delimiter: object, count: int | None) -> str | None:
    if text is None or delimiter is None or count is None:
        return None
    whole, mark = str(text), str(delimiter)
    if not mark or not count:
        return ""
    return _before(whole, mark, count) if count > 0 else _behind(whole, mark, -count)


def _before(whole: str, mark: str, count: int) -> str:
    end = -len(mark)
    for _ in range(count):
        end = whole.find(mark, end + len(mark))
        if end < 0:
            return whole
    return whole[:end]


def _behind(whole: str, mark: str, count: int) -> str:
    start = len(whole)
    for _ in range(count):
        start = whole.rfind(mark, 0, start)
        if start < 0:
            return whole
    return whole[start + len(mark) :]


def _field(wanted: object, *words: object) -> int:
    """As MySQL's default collation, without case."""
    refuse_above(MAX_VALUE, sum(len(str(word)) for word in words))
    if wanted is None:
        return 0
    places = (place for place, word in enumerate(words, 1) if word is not None and not compared(str(word), str(wanted)))
    return next(places, 0)


def _left(text: object, count: int) -> str | None:
    return None if text is None else str(text)[: max(count, 0)]


def _right(text: object, count: int) -> str | None:
    return None if text is None else str(text)[-count:] if count > 0 else ""


def _upper(text: object) -> str | None:
    return None if text is None else str(text).upper()


def _lower(text: object) -> str | None:
    return None if text is None else str(text).lower()


def _format(number: object, decimals: int) -> str | None:
    try:
        return None if number is None else f"{float(str(number)):,.{min(max(decimals, 0), MOST_DECIMALS)}f}"
    except ValueError:
        return None


def _instr(text: object, part: object) -> int | None:
    return None if text is None or part is None else folded(str(text)).find(folded(str(part))) + 1


def _replace(text: object, old: object, new: object) -> str | None:
    if text is None or old is None or new is None:
        return None
    whole, before, after = str(text), str(old), str(new)
    if not before:
        return whole
    refuse_above(MAX_VALUE, len(whole) + whole.count(before) * (len(after) - len(before)))
    return whole.replace(before, after)


def _trimmed(*, left: bool, right: bool) -> Callable[[object, object], str | None]:
    def trim(text: object, part: object) -> str | None:
        if text is None or part is None:
            return None
        whole, mark = str(text), str(part)
        start, end = 0, len(whole)
        while left and mark and start < end and whole.startswith(mark, start):
            start += len(mark)
        while right and mark and end - len(mark) >= start and whole.endswith(mark, start, end):
            end -= len(mark)
        return whole[start:end]

    return trim


class _Part(NamedTuple):
    """The part between two %. `pattern`: if it has _."""

    text: str
    pattern: re.Pattern[str] | None


def _like(pattern: object, value: object, escape: object = "\\") -> bool | None:
    if pattern is None or value is None or escape is None:
        return None
    refuse_above(MAX_PATTERN, len(str(pattern)))
    text, parts = folded(str(value)), _parts(folded(str(pattern)), folded(str(escape)))
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return len(text) == len(first.text) and _found(first, text, 0) == 0
    end = len(text) - len(last.text)
    place = len(first.text)
    if end < place or not _is_at(first, text, 0) or not _is_at(last, text, end):
        return False
    for part in parts[1:-1]:
        at = _found(part, text, place)
        if at < 0 or at + len(part.text) > end:
            return False
        place = at + len(part.text)
    return True


def _is_at(part: _Part, text: str, place: int) -> bool:
    return _found(part, text[place : place + len(part.text)], 0) == 0


def _found(part: _Part, text: str, place: int) -> int:
    if part.pattern is None:
        return text.find(part.text, place)
    refuse_above(MAX_COMPARED, (len(text) - place) * len(part.text))
    match = part.pattern.search(text, place)
    return -1 if match is None else match.start()


@lru_cache(maxsize=64)
def _parts(pattern: str, escape: str) -> tuple[_Part, ...]:
    """At least one; there is a % between each two."""
    units = _units(pattern, escape)
    bounds = [-1, *(place for place, unit in enumerate(units) if unit == "%"), len(units)]
    return tuple(_part(units[start + 1 : end]) for start, end in pairwise(bounds))


def _part(units: Sequence[str]) -> _Part:
    """Every _ is one character, whichever."""
    text = "".join(unit[-1] for unit in units)
    if "_" not in units:
        return _Part(text, None)
    return _Part(text, re.compile("".join("." if unit == "_" else re.escape(unit[-1]) for unit in units), re.DOTALL))


def _units(pattern: str, escape: str) -> list[str]:
    """Each character; an escaped one has the escape before it."""
    found: list[str] = []
    place = 0
    while place < len(pattern):
        size = 2 if pattern[place] == escape and place + 1 < len(pattern) else 1
        found.append(pattern[place : place + size])
        place += size
    return found


def _json_unquote(text: float | str | None) -> float | str | None:
    """For a value that is not JSON text: that value."""
    found = _json(text) if isinstance(text, str) and text.startswith('"') else text
    return found if isinstance(found, str) else text


def _json_length(document: object) -> int | None:
    found = _json(document)
    if document is None or found is None:
        return None
    return len(found) if isinstance(found, dict | list) else 1


def _json_keys(document: object) -> str | None:
    found = _json(document)
    return json.dumps(list(found)) if isinstance(found, dict) else None


def _json(document: object) -> object:
    """A result of SQLite's own functions is not JSON if it is a text."""
    text = str(document)
    refuse_above(MAX_JSON, len(text))
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return document


# no REGEXP: Python's re cannot be interrupted
FUNCTIONS: Final = (
    ("CONCAT", -1, _concat),
    ("IF", 3, lambda condition, yes, no: yes if condition else no),
    ("CONCAT_WS", -1, _concat_ws),
    ("FIELD", -1, _field),
    ("SUBSTRING_INDEX", 3, _substring_index),
    (FORMAT, 2, _format),
    (LEFT_OF, 2, _left),
    (RIGHT_OF, 2, _right),
    ("LIKE", 2, _like),
    ("LIKE", 3, _like),
    ("INSTR", 2, _instr),
    ("REPLACE", 3, _replace),
    ("TRIM", 2, _trimmed(left=True, right=True)),
    ("LTRIM", 2, _trimmed(left=True, right=False)),
    ("RTRIM", 2, _trimmed(left=False, right=True)),
    ("UCASE", 1, _upper),
    ("UPPER", 1, _upper),
    ("JSON_UNQUOTE", 1, _json_unquote),
    ("JSON_LENGTH", 1, _json_length),
    ("JSON_KEYS", 1, _json_keys),
    ("LCASE", 1, _lower),
    ("LOWER", 1, _lower),
    (NUMBER_OF, 1, number_of),
    (BYTES_OF, 1, lambda text: text if text is None else len(str(text).encode())),
)
AGGREGATES: Final = ((CONCAT_BY, 4, _ConcatBy),)
