"""Up to where of its source's time a job's lake has all: what lag means.

Owns: that of what is read now, of each table, and of the whole job. Times are unix seconds.
Must not know: where the figures were measured, how they are shown.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from syncmgr.job.description import ChannelDescription


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """How far a running job is behind its source.

    `heard_at`: last sign of life of the source. `waiting_since`: source time of the oldest row that was read and is
    not in the lake yet, None if there is none. `drained`: nothing that was read waits. `idle`: the source had nothing
    more to give. `read_time`: source time of the newest event read, of whatever table. `committed_time`: of the last
    commit. `silence_second`: how long the source may be silent, heartbeats included, before that counts as lag.
    `server`: who is read now.
    """

    heard_at: float
    read_time: float
    idle: bool
    waiting_since: float | None
    drained: bool
    committed_time: float
    silence_second: float
    server: str = ""


def of_reading(reading: Reading, now: float) -> float | None:
    """Now only when caught up and in touch with the source; None: nothing is known yet."""
    if reading.waiting_since is not None:
        return min(now, reading.waiting_since)
    if reading.drained and reading.heard_at and (reading.idle or reading.read_time):
        at = reading.heard_at if reading.idle else reading.read_time
        return now if now - at <= reading.silence_second else at
    return min(now, reading.committed_time) if reading.committed_time else None


def when_paused(reading: Reading | None, before: float | None, now: float) -> float | None:
    """What is remembered of a job whose run is told to end; `before`: what was remembered of an earlier pause."""
    if reading is None:
        return before
    return of_reading(replace(reading, committed_time=max(before or 0.0, reading.committed_time)), now)


def of_table(
    channel: ChannelDescription, *, stale: float | None, waits: float | None, job: float | None
) -> float | None:
    """Of a table whose oldest change that waits is of the source's time `waits`; `job`: of what its job has read and
    committed. `stale`: where it is being read, as that Load says. None: its rows were never all there, or nobody knows.
    """
    if channel.stopped is not None:
        return channel.stopped.synced_until
    return oldest([job, *(at for at in (stale, waits) if at is not None)])


def oldest(times: Iterable[float | None]) -> float | None:
    """Of many tables; None where one of them is not known."""
    found = list(times)
    return min((at for at in found if at), default=None) if all(found) else None
