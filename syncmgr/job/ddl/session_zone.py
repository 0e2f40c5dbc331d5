"""The time zone of a session of MySQL: what a moment is called there, and which moment a local time means.

Owns: which zones can be told for certain from what a binlog and a server say of them.
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
    """Why a time cannot be told, for the operator."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionZone:
    """`name`: as the session has it, "" where not told. `system`: what SYSTEM is on its server, "" where not known."""

    name: str = ""
    system: str = ""

    def local(self, at: datetime) -> datetime:
        """A moment as it is called there, without zone. Raises ZoneError."""
        return at.astimezone(self._info()).replace(tzinfo=None)

    def moment(self, local: datetime) -> datetime:
        """In UTC. Raises ZoneError also for a local time that came twice, or never."""
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
        """The name of one zone alone: "CET" of a server may be that of a dozen, some of which change their clocks."""
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
