"""Who did what: one line of JSON per statement or login, for the logger syncmgr.audit.

Owns: what a line contains. Passwords are masked before they get here.
Must not know: sockets, files; the logger's handler decides where lines go.
"""

import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from syncmgr.host.log_lines import json_line

log = logging.getLogger("syncmgr.audit")
LONGEST_NAME: Final = 64  # characters of a user name that does not exist


@dataclass(frozen=True, kw_only=True, slots=True)
class Audited:
    """A statement that has ended. `proto`: the protocol of its client. `rows`: those sent. `error`: its number, None if
    there was none.
    """

    proto: str
    connection: int
    user: str
    host: str
    db: str | None
    command: str
    statement: str
    second: float
    rows: int
    error: int | None


def statement(ended: Audited) -> None:
    if log.isEnabledFor(logging.INFO):
        facts = {name: getattr(ended, name) for name in Audited.__slots__}
        _log(facts | {"second": round(ended.second, 6)})


def begins(*, connection: int, user: str, host: str, db: str | None, statement: str) -> None:
    """A statement that is about to change something."""
    facts = {"event": "begins", "connection": connection, "user": user, "host": host, "db": db, "statement": statement}
    _log(facts)


def login(*, user: str, host: str, error: int | None, gave_up: bool = False, proto: str = "mysql") -> None:
    """`gave_up`: the client left, or was silent, before it had sent its password."""
    facts: dict[str, object] = {"event": "login", "proto": proto, "user": user[:LONGEST_NAME], "host": host}
    facts["error"] = error
    _log(facts | ({"gave_up": True} if gave_up else {}))


def _log(facts: dict[str, object]) -> None:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    log.info(json_line({"time": now, **facts}))
