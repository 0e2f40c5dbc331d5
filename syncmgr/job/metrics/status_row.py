"""A job in one line of a terminal.

Owns: the columns of SHOW SYNC JOB STATUS and of SHOW SYNC JOB TABLES.
Must not know: where the figures were measured.
"""

from typing import Final

from syncmgr.job.channel.channel_state import ChannelState
from syncmgr.job.metrics.sample import JobSample

STATUS_COLUMNS: Final = (
    "Job",
    "State",
    "LagSecond",
    "Rows",
    "Tables",
    "Snapshot",
    "Behind",
    "Stopped",
    "NeedsOperator",
    "Error",
)
TABLES_COLUMNS: Final = ("Source", "Target", "State", "Since", "Error", "Reason", "Advice")


def status_row(job: JobSample) -> tuple[str | None, ...]:
    """NULL: not known, or no error. Snapshot, Behind and Stopped count tables."""
    counted = (ChannelState.SNAPSHOT, ChannelState.BEHIND, ChannelState.STOPPED)
    return (
        f"{job.db}.{job.name}",
        job.state.shown,
        None if job.lag_second is None else f"{job.lag_second:.1f}",
        str(job.figures.rows),
        str(sum(job.tables.values())),
        *(str(job.tables[state]) for state in counted),
        "yes" if job.needs_operator else "no",
        None if job.trouble is None else str(job.trouble.error),
    )
