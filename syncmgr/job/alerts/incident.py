"""Alerts that were raised: what begins, what ends, what is to be sent when.

Owns: these rules, and the message that is sent.
Must not know: where incidents are stored, who receives messages. Times are unix seconds.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from syncmgr.job.alerts.condition import AlertKey, Condition
from syncmgr.job.backoff import ALERT
from syncmgr.job.failure import time_text

GIVE_UP_SECOND: Final = 86400.0  # after that nobody wants to know


class Status(StrEnum):
    """What a message says of an incident."""

    FIRING = "firing"
    RESOLVED = "resolved"


@dataclass(frozen=True, kw_only=True, slots=True)
class Incident:
    """A condition from its beginning to its end. `resolved_at`: None: it is still the case. `sent_at`: when it was last
    sent as firing, `resolved_sent_at` as resolved. `failures`: in a row, of the message that is due; `tried_at`: the
    last one.
    """

    id: int
    key: AlertKey
    text: str
    error: int | None
    advice: str | None
    fired_at: float
    resolved_at: float | None = None
    sent_at: float | None = None
    resolved_sent_at: float | None = None
    failures: int = 0
    tried_at: float | None = None
    reason: str | None = None

    def waits(self, now: float) -> bool:
        """Whether its message has failed and is tried again later: no other one overtakes it."""
        if self.tried_at is None or not self.failures:
            return False
        return self.tried_at <= now < self.tried_at + ALERT.wait(self.failures)  # a clock may be set back

    def due(self, now: float, repeat_second: float) -> Status | None:
        """The message that is to be sent; one that nobody has received within a day after the end is not any more."""
        if self._is_too_old(now):
            return None
        if self.sent_at is None:
            return Status.FIRING  # also of one that has ended: it was at least once the case
        if self.resolved_at is None:
            return Status.FIRING if repeat_second and now >= self.sent_at + repeat_second else None
        return Status.RESOLVED if self.resolved_sent_at is None and self.key.event.ends else None

    def _is_too_old(self, now: float) -> bool:
        return self.resolved_at is not None and now > self.resolved_at + GIVE_UP_SECOND

    @property
    def row(self) -> tuple[str | None, ...]:
        """Of SHOW ALERTS: id, event, job, subject, state, text, advice, three times and the last failure to send."""
        state = Status.FIRING if self.resolved_at is None else Status.RESOLVED
        times = (self.fired_at, self.resolved_at, self.sent_at)
        return (
            *(str(self.id), str(self.key.event), self.key.job, self.key.subject, str(state), self.text, self.advice),
            *(None if at is None else time_text(at) for at in times),
            self.reason,
        )

    def message(self, status: Status, at: float) -> bytes:
        """The body of a message, JSON. Its `text` alone is what chat programs show."""
        advice = f" What to do: {self.advice}" if self.advice and status is Status.FIRING else ""
        facts = {
            "id": f"{self.id}-{status}",
            "event": self.key.event,
            "status": status,
            "at": at,
            "fired_at": self.fired_at,
            "resolved_at": self.resolved_at,
            "job": self.key.job or None,
            "subject": self.key.subject or None,
            "error": self.error,
            "advice": self.advice,
            "text": f"{'Resolved: ' if status is Status.RESOLVED else ''}{self.text}.{advice}",
        }
        return json.dumps(facts, ensure_ascii=False).encode()


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """`fired`: new incidents. `resolved`: ids of those that have ended. `pending`: conditions that have not lasted long
    enough, and since when they are the case.
    """

    fired: tuple[Condition, ...]
    resolved: tuple[int, ...]
    pending: Mapping[AlertKey, float]


def changes(
    incidents: Iterable[Incident], pending: Mapping[AlertKey, float], found: Mapping[AlertKey, Condition], now: float
) -> Changes:
    """`incidents`: those that have not ended. `pending`: as the last call returned it."""
    known = {each.key: each for each in incidents}
    new = {key: condition for key, condition in found.items() if key not in known}
    since = {key: pending.get(key, now) for key in new}
    fired = tuple(each for key, each in new.items() if now - since[key] >= each.for_second)
    fired_keys = {each.key for each in fired}
    return Changes(
        fired=fired,
        resolved=tuple(each.id for key, each in known.items() if key not in found),
        pending={key: at for key, at in since.items() if key not in fired_keys},
    )
