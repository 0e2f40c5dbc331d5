"""Incidents, in SQL.

Owns: reading and writing them, how many are kept.
Must not know: what raises one, who receives messages.
"""

from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, func, insert, or_, select, update

from syncmgr.job.alerts.condition import AlertEvent, AlertKey, Condition
from syncmgr.job.alerts.incident import Incident, Status
from syncmgr.meta.tables import ALERTS

Connecting = Callable[[], AbstractContextManager[Connection]]
MOST_KEPT: Final = 1000
LONGEST_REASON: Final = 1000  # characters


class Outbox:
    """Of a frontend. Safe to use from any thread; every call is one transaction."""

    def __init__(self, reading: Connecting, writing: Connecting) -> None:
        self._reading = reading
        self._writing = writing

    def unresolved(self) -> list[Incident]:
        """What is the case, in order."""
        return self._of(ALERTS.c.resolved_at.is_(None))

    def unsent(self) -> list[Incident]:
        """Those of which a message may be due, in order."""
        ended_untold = ALERTS.c.resolved_sent_at.is_(None)
        return self._of(or_(ALERTS.c.resolved_at.is_(None), ALERTS.c.sent_at.is_(None), ended_untold))

    def all(self) -> list[Incident]:
        return self._of()

    def _of(self, *conditions: Any) -> list[Incident]:  # noqa: ANN401 - clauses have no other type in common
        query = select(ALERTS).where(*conditions).order_by(ALERTS.c.id)
        with self._reading() as connection:
            return [_incident(row) for row in connection.execute(query).all()]

    def change(self, fired: Iterable[Condition], resolved: Collection[int], at: float) -> None:
        """Begin and end incidents; of those that have ended the last MOST_KEPT are kept."""
        values = [
            {
                "event": each.key.event,
                "job": each.key.job,
                "subject": each.key.subject,
                "text": each.text,
                "error": each.error,
                "advice": each.advice,
                "fired_at": at,
                "failures": 0,
            }
            for each in fired
        ]
        with self._writing() as connection:
            if values:
                connection.execute(insert(ALERTS), values)
            if resolved:
                connection.execute(update(ALERTS).where(ALERTS.c.id.in_(resolved)).values(resolved_at=at, failures=0))
            newest = connection.execute(select(func.max(ALERTS.c.id))).scalar() or 0
            old = ALERTS.c.id <= newest - MOST_KEPT
            connection.execute(delete(ALERTS).where(old, ALERTS.c.resolved_at.is_not(None)))

    def sent(self, incident: int, status: Status, at: float) -> None:
        column = {Status.FIRING: "sent_at", Status.RESOLVED: "resolved_sent_at"}[status]
        values = {column: at, "failures": 0, "tried_at": at, "reason": None}
        with self._writing() as connection:
            connection.execute(update(ALERTS).where(ALERTS.c.id == incident).values(values))

    def failed(self, incident: int, reason: str, at: float) -> None:
        values = {"failures": ALERTS.c.failures + 1, "tried_at": at, "reason": reason[:LONGEST_REASON]}
        with self._writing() as connection:
            connection.execute(update(ALERTS).where(ALERTS.c.id == incident).values(values))


def _incident(row: Row[Any]) -> Incident:
    key = AlertKey(event=AlertEvent(row.event), job=row.job, subject=row.subject)
    return Incident(
        id=row.id,
        key=key,
        text=row.text,
        error=row.error,
        advice=row.advice,
        fired_at=row.fired_at,
        resolved_at=row.resolved_at,
        sent_at=row.sent_at,
        resolved_sent_at=row.resolved_sent_at,
        failures=row.failures,
        tried_at=row.tried_at,
        reason=row.reason,
    )
