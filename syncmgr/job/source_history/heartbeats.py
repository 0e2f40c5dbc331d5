"""What the heartbeats of a server prove: up to which time of its clock everything that it has is read.

Owns: the rule.
Must not know: connections, how events look. Times are unix seconds of the server's clock.

A heartbeat says that nothing was added for a period before it was sent. It does not say when that was, and its arrival
proves nothing: the network may have delayed it, with changes after it. But the server's clock advances by a period
between whatever it sent last and its heartbeat. So heartbeats are counted from a moment before which the last event
cannot have been sent, and the result holds however long each of them was in transit. It can only be too early, never
too late.
"""

from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, kw_only=True, slots=True)
class Packet:
    """What arrived. `place`: where it ends in its file, 0: it is in none. `time`: of an event, 0.0: it has none."""

    place: int
    time: float = 0.0
    heartbeat: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Heartbeats:
    """Of one connection. `period`: the server's, in seconds. `sent_at`: the last arrival was sent then, or later.

    `place`: where that ends, None: not known. `caught_up_at`: by then the server had nothing beyond what was read, 0.0:
    not known.
    """

    period: float
    sent_at: float
    place: int | None = None
    caught_up_at: float = 0.0

    def heard(self, packet: Packet, now: float) -> Self:
        """`now`: what the server's clock shows, or a little less; the time of an event is what its session says.

        A heartbeat at another place means that events were left out and more will come: it proves nothing.
        """
        quiet = packet.heartbeat and packet.place == self.place
        claimed = self.sent_at + self.period if quiet else max(self.sent_at, packet.time)
        sent_at = max(self.sent_at, min(claimed, now))
        caught_up_at = sent_at if quiet else self.caught_up_at
        return replace(self, sent_at=sent_at, place=packet.place or self.place, caught_up_at=caught_up_at)
