"""Which conditions of a sample are alerts.

Owns: the events, when each begins and ends, the words that are sent of it.
Must not know: who is notified, how, what was sent before. Times are unix seconds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from syncmgr.job.channel.channel_state import ChannelState
from syncmgr.job.metrics.sample import JobSample, Sample, Trouble
from syncmgr.job.rows.quotation import quotation
from syncmgr.job.state import JobState

FREQUENT: Final = 3  # pauses in a row by an error that passes
LONGEST_TEXT: Final = 4000  # characters of what an alert says


class AlertEvent(StrEnum):
    """What happened; the name that receivers see."""

    NEEDS_OPERATOR = "job.needs_operator"
    PAUSED = "job.paused"
    CANCELLED = "job.cancelled"
    LAGGING = "job.lagging"
    TABLE_STOPPED = "table.stopped"
    TABLE_BEHIND = "table.behind"
    DEAD_LETTERS = "job.dead_letters"
    DISK_LOW = "disk.low"
    TEST = "test"

    @property
    def ends(self) -> bool:
        """Whether its end is worth a message."""
        return self not in {AlertEvent.CANCELLED, AlertEvent.TEST}


@dataclass(frozen=True, kw_only=True, slots=True)
class AlertKey:
    """What makes two conditions the same one. `job`: as db.name, "" for the frontend; `subject`: a table or folder."""

    event: AlertEvent
    job: str = ""
    subject: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """Something that is the case. `error`: its number, if it has one. `for_second`: how long it must last before
    anyone is notified.
    """

    key: AlertKey
    text: str
    error: int | None = None
    advice: str | None = None
    for_second: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Thresholds:
    """Lag in seconds and how long it must last; free bytes of a disk."""

    lag_second: float
    for_second: float
    disk_bytes: int


def conditions(sample: Sample, thresholds: Thresholds) -> Mapping[AlertKey, Condition]:
    """Those of a moment."""
    found = [*_of_disks(sample, thresholds)]
    for job in sample.jobs:
        found += _of_job(job, thresholds)
    return {each.key: each for each in found}


def _of_disks(sample: Sample, thresholds: Thresholds) -> Iterator[Condition]:
    for name, free in sample.disk_free.items():
        if free < thresholds.disk_bytes:
            text = f"The disk of {name} has {free / (1 << 30):.1f} GiB left"
            yield Condition(key=AlertKey(event=AlertEvent.DISK_LOW, subject=name), text=text)


def _of_job(job: JobSample, thresholds: Thresholds) -> Iterator[Condition]:
    label = f"{job.db}.{job.name}"
    if job.state is JobState.CANCELLED:
        if job.trouble is not None:
            yield _about_job(AlertEvent.CANCELLED, label, "was cancelled", job.trouble)
        return
    if job.needs_operator and not (job.stopped and job.state is JobState.RUNNING):  # those tell it themselves
        yield _about_job(AlertEvent.NEEDS_OPERATOR, label, "needs an operator", job.trouble)
    elif job.failures >= FREQUENT and job.trouble is not None:
        yield _about_job(AlertEvent.PAUSED, label, f"was paused {job.failures} times in a row", job.trouble)
    for table, trouble in job.stopped.items():
        yield _about_job(AlertEvent.TABLE_STOPPED, label, f"no longer reads table {table}", trouble, subject=table)
    if job.tables[ChannelState.BEHIND]:
        text = f"{label}: {job.tables[ChannelState.BEHIND]} tables are behind the others"
        key = AlertKey(event=AlertEvent.TABLE_BEHIND, job=label)
        yield Condition(key=key, text=text, for_second=thresholds.for_second)
    if job.lag_second is not None and job.lag_second > thresholds.lag_second:
        text = f"The targets of {label} are {job.lag_second:.0f} seconds old"
        key = AlertKey(event=AlertEvent.LAGGING, job=label)
        yield Condition(key=key, text=text, for_second=thresholds.for_second)
    if job.figures.dead_letters:
        text = f"{label} keeps {job.figures.dead_letters} changes out of its targets (sync_dead_letters)"
        yield Condition(key=AlertKey(event=AlertEvent.DEAD_LETTERS, job=label), text=text)


def _about_job(event: AlertEvent, label: str, words: str, trouble: Trouble | None, *, subject: str = "") -> Condition:
    key = AlertKey(event=event, job=label, subject=subject)
    if trouble is None:
        return Condition(key=key, text=f"{label} {words}; SHOW SYNC JOB says why")
    # values of rows are for accounts with SELECT_PRIV, not for a chat
    reason = trouble.message if quotation(trouble.message) is None else "SHOW SYNC JOB says why"
    number = f"error {trouble.error}: " if trouble.error else ""
    text = f"{label} {words}: {number}{reason}"[:LONGEST_TEXT]
    return Condition(key=key, text=text, error=trouble.error or None, advice=trouble.advice)
