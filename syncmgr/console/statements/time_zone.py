"""The time zone of a session.

Owns: which zones a client may name, and the time of day there.
Must not know: sessions, what a query makes of a zone.
"""

import datetime as dt
import re
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from syncmgr.errors import Code, SyncError

UTC: Final = "UTC"
SYSTEM: Final = "SYSTEM"  # that of the frontend, which is UTC wherever it runs

_OFFSET: Final = re.compile(r"([+-])(\d{1,2}):([0-5]\d)")
_HOURS: Final = {"+": range(15), "-": range(14)}  # as in MySQL: -13:59 to +14:00


def zone(text: str) -> str:
    """A zone as it is shown: SYSTEM, an offset or a name. Raises UNKNOWN_TIME_ZONE."""
    offset = _OFFSET.fullmatch(text)
    if offset is not None:
        sign, hours, minutes = offset[1], int(offset[2]), int(offset[3])
        known = hours in _HOURS[sign] and (hours, minutes) <= (14, 0)
        name = f"{sign if hours or minutes else '+'}{hours:02}:{minutes:02}" if known else None
    else:
        name = _names().get(text.casefold())
    if name is None:
        raise SyncError(Code.UNKNOWN_TIME_ZONE, zone=text)
    return name


@cache
def _names() -> dict[str, str]:
    return {name.casefold(): name for name in (*available_timezones(), SYSTEM)}


def meant(shown: str) -> str:
    """The zone that is shown as `zone`, in a form that Spark knows, too."""
    return UTC if shown == SYSTEM else shown


def clock(at: dt.datetime, shown: str) -> dt.datetime:
    """The same moment as local time there."""
    offset = _OFFSET.fullmatch(shown)
    if offset is None:
        return at.astimezone(ZoneInfo(meant(shown)))
    apart = dt.timedelta(hours=int(offset[2]), minutes=int(offset[3]))
    return at.astimezone(dt.timezone(-apart if offset[1] == "-" else apart))
