"""What the heartbeats of a server prove: up to which time of its clock all that it has is read.

Owns: the rule. Must not know: connections, how events look. Times are unix seconds of the server's clock.

A heartbeat says that nothing was added for a period before it was sent. When that was nobody says, and when it comes
proves nothing: the network may have held it back, with changes after it. But the server's clock goes on by a period
between whatever it sent last and its heartbeat. So they are counted, from a moment before which the last event cannot
have been sent, and what follows holds however long each of them was under way. It errs to too little only.
"""

from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, kw_only=True, slots=True)
class Packet:
    """What came. `place`: where it ends in its file, 0: it stands in none. `time`: of an event, 0.0: it has none."""

    place: int
    time: float = 0.0
    heartbeat: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Heartbeats:
    """Of one connection. `period`: the server's, in seconds. `sent_at`: what came last was sent then, or later.

    `place`: where that ends, None: not known. `caught_up_at`: the server had nothing more than was read by then,
    0.0: not known.
    """

    period: float
    sent_at: float
    place: int | None = None
    caught_up_at: float = 0.0

    def heard(self, packet: Packet, now: float) -> Self:
        """`now`: what the server's clock shows, or a little less; the time of an event is what its session says.

        A heartbeat at another place stands for events that were left out, with more to come: it proves nothing.
        """
        quiet = packet.heartbeat and packet.place == self.place
        claimed = self.sent_at + self.period if quiet else max(self.sent_at, packet.time)
        sent_at = max(self.sent_at, min(claimed, now))
        caught_up_at = sent_at if quiet else self.caught_up_at
        return replace(self, sent_at=sent_at, place=packet.place or self.place, caught_up_at=caught_up_at)
