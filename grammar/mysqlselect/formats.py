"""DATE_FORMAT's directives in Spark's patterns.

Owns: which directive is which pattern, and which has none; weeks as MySQL counts them.
Must not know: which function uses a format.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from mysqlselect.types import NotSupportedRefusal, quoted

_PATTERNS: Final[Mapping[str, str]] = {
    "Y": "yyyy",
    "y": "yy",
    "m": "MM",
    "c": "M",
    "d": "dd",
    "e": "d",
    "H": "HH",
    "k": "H",
    "h": "hh",
    "I": "hh",
    "l": "h",
    "i": "mm",
    "s": "ss",
    "S": "ss",
    "f": "SSSSSS",
    "p": "a",
    "M": "MMMM",
    "b": "MMM",
    "W": "EEEE",
    "a": "EEE",
    "j": "DDD",
    "T": "HH:mm:ss",
    "r": "hh:mm:ss a",
}
_NUMBER: Final = r"([0-9]{1,2})"
_PARSED: Final[Mapping[str, str]] = {
    "Y": r"([0-9]{1,4})",
    "y": _NUMBER,
    "m": _NUMBER,
    "c": _NUMBER,
    "d": _NUMBER,
    "e": _NUMBER,
    "H": _NUMBER,
    "k": _NUMBER,
    "h": _NUMBER,
    "I": _NUMBER,
    "l": _NUMBER,
    "i": _NUMBER,
    "s": _NUMBER,
    "S": _NUMBER,
    "f": r"([0-9]{1,6})",
    "p": r"(AM|PM)",
    "b": r"(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)",
    "M": r"(January|February|March|April|May|June|July|August|September|October|November|December)",
}
_OF_A_TIME: Final = frozenset("HkisSphIlf")
_WHOLE: Final = {"%T": "%H:%i:%S", "%r": "%I:%i:%S %p"}
_MONTHS: Final = "janfebmaraprmayjunjulaugsepoctnovdec"
_PIECE: Final = re.compile(r"%(.)|([^%]+)|%\Z", re.DOTALL)
_LETTERS: Final = re.compile(r"[A-Za-z]+|'")
# The rest is computed. `at`: the moment, in Spark's words.
_COMPUTED: Final[Mapping[str, Callable[[str], str]]] = {
    "D": lambda at: (
        f"concat(day({at}), CASE WHEN day({at}) IN (1, 21, 31) THEN 'st' WHEN day({at}) IN (2, 22) THEN 'nd'"
        f" WHEN day({at}) IN (3, 23) THEN 'rd' ELSE 'th' END)"
    ),
    "w": lambda at: f"CAST(dayofweek({at}) - 1 AS STRING)",
    "U": lambda at: _two(week(at, 0)),
    "u": lambda at: _two(week(at, 1)),
    "V": lambda at: _two(week(at, 2)),
    "v": lambda at: _two(week(at, 3)),
    "X": lambda at: f"lpad(year({_sunday(at)}), 4, '0')",
    "x": lambda at: f"lpad(extract(YEAROFWEEK FROM {at}), 4, '0')",
}


def formatted(at: str, directives: str) -> str:
    """The text that DATE_FORMAT makes of a moment."""
    parts: list[str] = []
    pattern = ""
    for found in _PIECE.finditer(directives):
        directive, plain = found[1], found[2] or ""
        if directive in _COMPUTED:
            parts += [_by_pattern(at, pattern), _COMPUTED[directive](at)]
            pattern = ""
        else:
            pattern += _PATTERNS.get(directive) or _quoted(plain or directive or "%")
    parts = [part for part in [*parts, _by_pattern(at, pattern)] if part]
    if not parts:
        return f"IF({at} IS NULL, NULL, '')"
    return parts[0] if len(parts) == 1 else f"concat({', '.join(parts)})"


def _by_pattern(at: str, pattern: str) -> str:
    return f"date_format({at}, {quoted(pattern)})" if pattern else ""


def _quoted(plain: str) -> str:
    """Letters are patterns, unless they are in quotes."""
    if not re.search(r"[A-Za-z'\[\]{}#]", plain):
        return plain
    return "'" + plain.replace("'", "''") + "'"


def parsed(text: str, directives: str) -> tuple[str, bool, int]:
    """The moment that STR_TO_DATE reads, in Spark's words; whether it has a time, and the digits of its fraction.

    What follows is ignored, and so are blanks before each part. Raises NotSupportedRefusal.
    """
    for short, long in _WHOLE.items():
        directives = directives.replace(short, long)
    pattern, found = _as_groups(directives)
    groups = {name: f"regexp_extract({text}, {quoted(pattern)}, {place})" for place, name in enumerate(found, 1)}
    parts = (_year(groups), _month(groups), _number(groups, "d", "e"), *_clock(groups))
    moment = f"try_make_timestamp_ntz({', '.join(parts)})"
    read = f"IF({text} RLIKE {quoted(pattern)}, {moment}, NULL)"
    return read, not _OF_A_TIME.isdisjoint(found), 6 if "f" in found else 0


def _as_groups(directives: str) -> tuple[str, list[str]]:
    pattern, found = "(?i)^", list[str]()
    for piece in _PIECE.finditer(directives):
        directive, plain = piece[1], piece[2] or ""
        if plain or directive is None:
            pattern += "".join(r"\s*" if each.isspace() else re.escape(each) for each in plain or "%")
            continue
        if directive not in _PARSED or directive in found:
            raise NotSupportedRefusal(f"STR_TO_DATE with %{directive}")
        found.append(directive)
        pattern += r"\s*" + _PARSED[directive]
    return pattern, found


def _first(groups: Mapping[str, str], *names: str) -> str | None:
    return next((groups[name] for name in names if name in groups), None)


def _number(groups: Mapping[str, str], *names: str) -> str:
    found = _first(groups, *names)
    if found is None:
        raise NotSupportedRefusal("STR_TO_DATE without year, month and day")
    return f"CAST({found} AS INT)"


def _year(groups: Mapping[str, str]) -> str:
    """One or two digits: from 1970 to 2069."""
    found = _number(groups, "Y", "y")
    short = f"char_length({_first(groups, 'Y', 'y')}) <= 2"
    return f"IF({short}, {found} + IF({found} < 70, 2000, 1900), {found})"


def _month(groups: Mapping[str, str]) -> str:
    name = _first(groups, "b", "M")
    return _number(groups, "m", "c") if name is None else f"((locate(lower(left({name}, 3)), '{_MONTHS}') + 2) DIV 3)"


def _clock(groups: Mapping[str, str]) -> tuple[str, str, str]:
    """Hour, minute, second."""
    hour = _first(groups, "H", "k")
    half = _first(groups, "h", "I", "l")
    if half is not None and "p" in groups:
        of_day = f"CAST({half} AS INT) % 12 + IF(lower({groups['p']}) = 'pm', 12, 0)"
        hours = f"IF(CAST({half} AS INT) BETWEEN 1 AND 12, {of_day}, 24)"
    else:
        hours = f"CAST({hour or half} AS INT)" if hour or half else "0"
    minute, second = (_first(groups, "i"), _first(groups, "s", "S"))
    seconds = f"CAST({second} AS DECIMAL(8,6))" if second else "CAST(0 AS DECIMAL(8,6))"
    if "f" in groups:
        seconds = f"CAST({seconds} + CAST(concat('0.', {groups['f']}) AS DECIMAL(8,6)) AS DECIMAL(8,6))"
    return hours, f"CAST({minute} AS INT)" if minute else "0", seconds


def week(at: str, mode: int) -> str:
    """WEEK(at, mode). Raises NotSupportedRefusal."""
    sunday, monday = _sunday(at), f"date_sub({at}, weekday({at}))"
    match mode:
        case 0:
            return _of_its_year(at, sunday)
        case 1:
            first = f"weekday(trunc({at}, 'YEAR'))"
            return f"((dayofyear({at}) - 1 + {first}) DIV 7 + IF({first} <= 3, 1, 0))"
        case 2:
            return _seventh(sunday)
        case 3:
            return f"weekofyear({at})"
        case 5:
            return _of_its_year(at, monday)
        case 7:
            return _seventh(monday)
        case _:
            raise NotSupportedRefusal(f"WEEK with mode {mode}")


def _of_its_year(at: str, first: str) -> str:
    """A week that has begun in the year before is week 0."""
    return f"CASE WHEN {at} IS NULL THEN NULL WHEN year({first}) = year({at}) THEN {_seventh(first)} ELSE 0 END"


def year_of_week(at: str, mode: int) -> str:
    """YEARWEEK(at, mode). Raises NotSupportedRefusal."""
    match mode:
        case 0 | 2:
            return f"(year({_sunday(at)}) * 100 + {week(at, 2)})"
        case 1 | 3:
            return f"(extract(YEAROFWEEK FROM {at}) * 100 + weekofyear({at}))"
        case _:
            raise NotSupportedRefusal(f"YEARWEEK with mode {mode}")


def _sunday(at: str) -> str:
    return f"date_sub({at}, dayofweek({at}) - 1)"


def _seventh(at: str) -> str:
    return f"((dayofyear({at}) - 1) DIV 7 + 1)"


def _two(number: str) -> str:
    return f"lpad({number}, 2, '0')"
