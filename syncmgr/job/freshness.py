"""The source time up to which a job's lake is complete, and how late that is.

Owns: both for what is read now, for each table, and for the whole job. Times are unix seconds.
Must not know: where the figures were measured, how they are shown.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from syncmgr.job.channel.description import ChannelDescription


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """How far a running job is behind its source.

    `caught_up_at`: at this time of its own clock the source had nothing beyond what was read, 0.0: not known.
    `waiting_since`: source time of the oldest row that was read and is not in the lake yet, None if there is none, or
    it is not known. `drained`: nothing that was read waits. `read_time`: source time of the newest event read, of any
    table. `known_until`: what was known before, 0.0: nothing. `server`: the one that is read now.
    """

    caught_up_at: float
    read_time: float
    waiting_since: float | None
    drained: bool
    known_until: float
    server: str = ""


def of_reading(reading: Reading, now: float) -> float:
    """The lake never loses data: never less than was known before. 0.0: nothing is known yet.

    A read without a result proves nothing: later commits may be on their way.
    """
    if reading.waiting_since is not None:
        return lifted(reading.known_until, reading.waiting_since, now)
    if not reading.drained:
        return reading.known_until
    return lifted(reading.known_until, max(reading.caught_up_at, reading.read_time), now)


def of_commit(known_until: float, source_time: float, staged_since: float | None, now: float) -> float:
    """After a commit whose newest change is of `source_time`; `staged_since`: of the oldest row that is staged after
    it, None: none is, or it is not known. Times of a source are those of its sessions, which need not rise.
    """
    return lifted(known_until, source_time if staged_since is None else min(source_time, staged_since), now)


def lifted(known_until: float, at: float, now: float) -> float:
    """A source's clock may be ahead of ours, and the future cannot be complete."""
    return max(known_until, min(at, now))


def of_table(
    channel: ChannelDescription, *, stale: float | None, waits: float | None, job: float | None
) -> float | None:
    """Of a table whose oldest waiting change has the source time `waits`; `job`: of what its job has read and
    committed. `stale`: if it is being read, as that Load says. None: its rows were never complete, or it is not known.
    """
    if channel.history.stopped is not None:
        return channel.history.stopped.synced_until
    return oldest([job, *(at for at in (stale, waits) if at is not None)])


def oldest(times: Iterable[float | None]) -> float | None:
    """Of many tables; None if one of them is not known."""
    found = list(times)
    return min((at for at in found if at), default=None) if all(found) else None
