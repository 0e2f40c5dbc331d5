"""What alerts need from the rest of the program.

Owns: the port.
Must not know: who implements it.
"""

from collections.abc import Collection, Iterable
from typing import Protocol

from syncmgr.job.alerts.condition import Condition
from syncmgr.job.alerts.incident import Incident, Status


class Outbox(Protocol):
    """Incidents as they are stored. Every call blocks, and raises META_DOWN."""

    def unresolved(self) -> list[Incident]: ...
    def unsent(self) -> list[Incident]: ...
    def change(self, fired: Iterable[Condition], resolved: Collection[int], at: float) -> None: ...
    def sent(self, incident: int, status: Status, at: float) -> None: ...
    def failed(self, incident: int, reason: str, at: float) -> None: ...
