"""A part of a table's rows that is to be read again: when that is enough.

Owns: the reasons for which all rows are needed.
Must not know: how the part is described, the runs of jobs, how rows are read.
"""

from typing import Final, Protocol

from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.stopped_table import needs_all_rows
from syncmgr.job.job_properties import parsed
from syncmgr.job.snapshot.renewal import unfit
from syncmgr.job.snapshot.resync_where import LEAVE_OUT
from syncmgr.job.sync_job import SyncJob
from syncmgr.job.types.schema import TargetTable
from syncmgr.meta.store import Store

GAP: Final = f"it is not read any more, and any of its rows may have changed since; {LEAVE_OUT}"
PLACE: Final = (
    "error {number} has paused the job, which RESUME meets again unless the table is read whole, as it is now;"
    f" {LEAVE_OUT}"
)
CHANGED: Final = f"another engine has replaced its target, or columns of it; {LEAVE_OUT}"
OPEN: Final = "its rows are being read; wait until its phase in information_schema.sync_snapshots is streaming"


class ResyncTargets(Protocol):
    """The tables of the lake."""

    def table(self, db: str, name: str) -> TargetTable: ...
    def is_other(self, db: str, name: str, token: str, last_snapshot: int) -> bool: ...


def is_other(
    store: Store, catalog: ResyncTargets, job: SyncJob, channel: ChannelDescription, target: TargetTable
) -> bool:
    """Whether the target is another table, which lacks what the channel has committed, or has another column for one;
    noticed by the job or not. A catalog that is not embedded may take its time.
    """
    at = store.epochs.progress(job.id).get(channel.token)
    if at is None or channel.part is not None:
        return False
    if at.last.epoch > 0 and channel.token not in target.writers:
        return True
    last = at.last.snapshot
    return last is not None and (target.is_unused or catalog.is_other(target.db, target.name, channel.token, last))


def is_changed(job: SyncJob, channel: ChannelDescription, target: TargetTable, *, other: bool) -> bool:
    """Whether the target is no longer as the job left it."""
    return other or unfit(channel, target, checked=parsed(job.properties).checked)


def refusal(store: Store, job: SyncJob, channel: ChannelDescription, target: TargetTable, *, other: bool) -> str:
    """Why a part of the rows is not enough; "": it is."""
    load = store.loads.of(job.id).get(channel.token)
    if channel.history.stopped is not None:
        return GAP
    if load is not None and not load.caught_up and load.excerpt is None:
        return OPEN
    if is_changed(job, channel, target, other=other):
        return CHANGED
    return PLACE.format(number=job.paused_by) if needs_all_rows(job.paused_by) else ""
