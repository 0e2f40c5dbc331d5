"""The time zone of a MySQL session: the local time of a moment, and the moment of a local time.

Owns: which zones can be identified for certain from what a binlog and a server say of them.
Must not know: columns, statements, where a zone was read.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

SYSTEM: Final = "SYSTEM"
_OFFSET: Final = re.compile(r"([+-])(\d{1,2}):(\d\d)")
_NAME: Final = re.compile(r"[A-Z][\w+-]*(?:/[\w+-]+)*")  # not "right/...", which count leap seconds, nor "localtime"


class ZoneError(ValueError):
    """Why a time cannot be determined, for the operator."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionZone:
    """`name`: as the session has it, "" if not stated. `system`: what SYSTEM is on its server, "" if not known."""

    name: str = ""
    system: str = ""

    def local(self, at: datetime) -> datetime:
        """A moment as local time, without zone. Raises ZoneError."""
        return at.astimezone(self._info()).replace(tzinfo=None)

    def moment(self, local: datetime) -> datetime:
        """In UTC. Also raises ZoneError for a local time that occurred twice, or never."""
        zone = self._info()
        first, second = (local.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
        if first.utcoffset() != second.utcoffset():
            raise ZoneError(f"{local} came twice or never in the session's time zone {self._certain()}")
        return first.astimezone(UTC)

    def _info(self) -> tzinfo:
        name = self._certain()
        offset = _OFFSET.fullmatch(name)
        if offset is not None:
            apart = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
            return timezone(-apart if offset[1] == "-" else apart)
        try:
            return ZoneInfo(name) if _NAME.fullmatch(name) else _unknown(name)
        except (KeyError, ValueError, OSError):
            return _unknown(name)

    def _certain(self) -> str:
        """A name of only one zone: "CET" of a server may mean any of a dozen, some of which change their clocks."""
        if not self.name:
            raise ZoneError("the session's time zone is not in the binlog")
        if self.name != SYSTEM:
            return self.name
        if self.system == "UTC" or "/" in self.system:
            return self.system
        raise ZoneError(
            f"the session's time zone is SYSTEM, which the server calls '{self.system}', and that is no name of one"
            " zone; set the server's time_zone to an offset or a full name"
        )


def _unknown(name: str) -> tzinfo:
    raise ZoneError(f"the session's time zone '{name}' is not known here")
