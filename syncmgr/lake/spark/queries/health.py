"""When the engine of the queries is to end.

Owns: what proves that it is wedged, how much disk is too much, and when it is not needed.
Must not know: JVMs, Spark, threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

PULSE_SECOND: Final = 5.0  # between two heartbeats
MOST_PULSE_SECOND: Final = 30.0  # of one of them: full collections of a full heap, on a busy machine
MOST_LINGER_SECOND: Final = 10.0  # a query that reacts to its cancel has ended long before
IDLE_SECOND: Final = 3600.0
MOST_EXCUSED: Final = 0.8  # of a time: a query that never ends takes all cores, so its own threads wait for some


@dataclass(frozen=True, kw_only=True, slots=True)
class PulseTimes:
    """Moments of one clock. `pulse_since`: when the current heartbeat began; `given_up`: when each of the queries was
    cancelled that nevertheless go on; `used`: when the last query began or ended. `spilled`: bytes that it has on the
    disk.
    """

    pulse_since: float | None
    given_up: Sequence[float]
    in_use: bool
    used: float
    spilled: int = 0


def wedged(vitals: PulseTimes, now: float) -> str | None:
    """Why it must be replaced, for the log and for those whose queries end because of it; None: no need."""
    if vitals.pulse_since is not None and now - vitals.pulse_since > MOST_PULSE_SECOND:
        return f"it has not answered for {now - vitals.pulse_since:.0f} seconds: it hangs, or its memory is full"
    if vitals.given_up and now - min(vitals.given_up) > MOST_LINGER_SECOND:
        return f"a query went on for {now - min(vitals.given_up):.0f} seconds after it was cancelled"
    return None


def overflowing(vitals: PulseTimes, most: int) -> str | None:
    """The same for one that takes more disk space than allowed."""
    if vitals.spilled <= most:
        return None
    return f"queries have spilled {vitals.spilled >> 20} MiB to the disk, more than query_spill_bytes allows"


def hoards(spilled: int, most: int) -> bool:
    """Whether it is so much that looking for files no longer needed by a query is worthwhile."""
    return spilled > most // 2


def excused(waited: float, starved: float) -> float:
    """Seconds of a wait that do not count, if the engine waited for a core for `starved` of them."""
    return min(starved, MOST_EXCUSED * waited)


def is_idle(vitals: PulseTimes, now: float) -> bool:
    """There was no query for so long that its memory is worth more than a quick first answer."""
    return not vitals.in_use and not vitals.given_up and now - vitals.used > IDLE_SECOND
