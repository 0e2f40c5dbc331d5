"""MySQL's functions of times for SQLite, which has its times as texts.

Owns: what each one returns. A text that is not a time gives NULL, as in MySQL.
Must not know: the caller, what the time is. All times are UTC, like those of information_schema.
"""

import calendar
import datetime as dt
import re
from collections.abc import Callable, Mapping
from typing import Final

from syncmgr.console.statements.local.sqlite_texts import refuse_above
from syncmgr.console.wire.results import text_of

ADD_INTERVAL: Final = "ADD_INTERVAL"
APART: Final = "TIMESTAMPDIFF_IN"
PART_OF: Final = "PART_OF"
DATE_FORMAT: Final = "FORMATTED_TIME"
UTC: Final = {"UTC", "SYSTEM", "+00:00"}
LONGEST_TIME: Final = 32  # characters of a text that is a time
LONGEST_FORMAT: Final = 256
_SECONDS: Final[Mapping[str, float]] = {
    "MICROSECOND": 1e-6,
    "SECOND": 1,
    "MINUTE": 60,
    "HOUR": 3600,
    "DAY": 86400,
    "WEEK": 7 * 86400,
}
_MONTHS: Final[Mapping[str, int]] = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
UNITS: Final = frozenset({*_SECONDS, *_MONTHS})
_DAYS: Final = {"DAY", "WEEK", *_MONTHS}  # they leave a date a date
_PARTS: Final[Mapping[str, Callable[[dt.datetime], int]]] = {
    "YEAR": lambda at: at.year,
    "QUARTER": lambda at: (at.month + 2) // 3,
    "MONTH": lambda at: at.month,
    "DAY": lambda at: at.day,
    "HOUR": lambda at: at.hour,
    "MINUTE": lambda at: at.minute,
    "SECOND": lambda at: at.second,
    "MICROSECOND": lambda at: at.microsecond,
    "DAYOFWEEK": lambda at: at.isoweekday() % 7 + 1,
    "WEEKDAY": lambda at: at.weekday(),
    "DAYOFYEAR": lambda at: at.timetuple().tm_yday,
}
PARTS: Final = frozenset(_PARTS)
MOMENT_OF: Final = "MOMENT_OF"
_CLOCK: Final = r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,}))?)?"
_LOOSE: Final = re.compile(rf"(\d{{4}})-(\d{{1,2}})-(\d{{1,2}})(?:[T ]+{_CLOCK})?", re.ASCII)
_DIGITS: Final = re.compile(r"(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)(?:\.(\d{1,}))?)?", re.ASCII)


def _time(text: object) -> dt.datetime | None:
    """A date, or a date and a time."""
    try:
        return dt.datetime.fromisoformat(str(text)) if len(str(text)) <= LONGEST_TIME else None
    except ValueError:
        return None


def moment_of(value: object) -> str | None:
    """A time in comparable form. None: it is not a time."""
    text = str(value).strip()
    if (found := _DIGITS.fullmatch(text)) or (found := _LOOSE.fullmatch(text)):
        *parts, fraction = (part or "0" for part in found.groups())
        year, month, day, hour, minute, second = (f"{int(part):02}" for part in parts)
        made = _time(f"{int(year):04}-{month}-{day} {hour}:{minute}:{second}.{fraction.ljust(6, '0')[:6]}")
        return None if made is None else made.isoformat(" ", "microseconds")
    return None


def _text(at: dt.datetime) -> str:
    return at.isoformat(" ")


def _add(moment: object, amount: object, unit: str) -> str | None:
    at = _time(moment)
    if at is None or amount is None:
        return None
    try:
        number = float(str(amount))
        if unit in _MONTHS:
            added = _add_months(at, round(number) * _MONTHS[unit])
        else:
            exact = number if unit == "SECOND" else round(number)
            added = at + dt.timedelta(seconds=exact * _SECONDS[unit])
    except (ValueError, OverflowError):
        return None
    is_date = len(str(moment)) == len("2026-01-01") and unit in _DAYS
    return str(added.date()) if is_date else _text(added)


def _add_months(at: dt.datetime, months: int) -> dt.datetime:
    """The last day of a month that is shorter."""
    year, month = divmod(at.year * 12 + at.month - 1 + months, 12)
    if not dt.MINYEAR <= year <= dt.MAXYEAR:
        raise OverflowError
    return at.replace(year=year, month=month + 1, day=min(at.day, calendar.monthrange(year, month + 1)[1]))


def _apart(later: object, earlier: object, unit: str) -> int | None:
    """Whole units, towards 0."""
    one, other = _time(earlier), _time(later)
    if one is None or other is None:
        return None
    if one > other:
        return -abs(_whole(other, one, unit))
    return _whole(one, other, unit)


def _whole(earlier: dt.datetime, later: dt.datetime, unit: str) -> int:
    if unit not in _MONTHS:
        return (later - earlier) // dt.timedelta(seconds=_SECONDS[unit])
    months = (later.year - earlier.year) * 12 + later.month - earlier.month
    is_short = (later.day, later.time()) < (earlier.day, earlier.time())
    return (months - is_short) // _MONTHS[unit]


def _part(moment: object, unit: str) -> int | None:
    at = _time(moment)
    return None if at is None else _PARTS[unit](at)


def _unix_timestamp(moment: object) -> float | int | None:
    at = _time(moment)
    if at is None:
        return None
    second = at.replace(tzinfo=dt.UTC).timestamp()
    return second if at.microsecond else int(second)


def _from_unixtime(second: object) -> str | None:
    try:
        at = dt.datetime.fromtimestamp(float(str(second)), dt.UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return _text(at.replace(tzinfo=None))


def _formatted(moment: object, pattern: object) -> str | None:
    """`pattern`: as Python has it."""
    refuse_above(LONGEST_FORMAT, len(str(pattern)))
    at = _time(moment)
    return None if at is None else at.strftime(str(pattern))


def _time_to_sec(time_of_day: object) -> float | None:
    text = str(time_of_day).rpartition(" ")[2]
    parts = text.removeprefix("-").split(":")
    try:
        hours, minutes, seconds = (float(part) for part in (*parts, "0", "0")[:3])
    except ValueError:
        return None
    return (hours * 3600 + minutes * 60 + seconds) * (-1 if text.startswith("-") else 1)


def _sec_to_time(second: object) -> str | None:
    try:
        return text_of(dt.timedelta(seconds=float(str(second))))
    except (ValueError, OverflowError):
        return None


def _convert_tz(moment: object, source: object, target: object) -> str | None:
    """Names of zones but UTC are not known, which MySQL answers with NULL."""
    at, zones = _time(moment), [_offset(str(each)) for each in (source, target)]
    if at is None or None in zones:
        return None
    there, here = (zone for zone in zones if zone is not None)
    return _text(at - there + here)


def _offset(zone: str) -> dt.timedelta | None:
    if zone.upper() in UTC:
        return dt.timedelta(0)
    found = re.fullmatch(r"([+-])(\d\d?):([0-5]\d)", zone)
    if found is None:
        return None
    sign, hours, minutes = found.groups()
    offset = dt.timedelta(hours=int(hours), minutes=int(minutes))
    return -offset if sign == "-" else offset


def _timediff(left: object, right: object) -> str | None:
    one, other = _time(left), _time(right)
    return None if one is None or other is None else text_of(one - other)


def _time_format(time_of_day: object, pattern: object) -> str | None:
    refuse_above(LONGEST_FORMAT, len(str(pattern)))
    parts = str(time_of_day).split(":", maxsplit=3)
    if len(parts) != 3 or len(str(time_of_day)) > LONGEST_TIME:
        return None
    text = str(pattern)
    for word, part in zip(("%H", "%i", "%s"), parts, strict=True):
        text = text.replace(word, part)
    return text


FUNCTIONS: Final = (
    (MOMENT_OF, 1, lambda value: None if value is None else moment_of(value)),
    (ADD_INTERVAL, 3, _add),
    (APART, 3, _apart),
    (PART_OF, 2, _part),
    (DATE_FORMAT, 2, _formatted),
    ("UNIX_TIMESTAMP", 1, _unix_timestamp),
    ("FROM_UNIXTIME", 1, _from_unixtime),
    ("TIME_TO_SEC", 1, _time_to_sec),
    ("SEC_TO_TIME", 1, _sec_to_time),
    ("CONVERT_TZ", 3, _convert_tz),
    ("TIMEDIFF", 2, _timediff),
    ("TIME_FORMAT", 2, _time_format),
)
