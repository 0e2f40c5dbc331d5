"""Jobs as the API shows them, from the last sample.

Owns: the shape of a job in JSON, and what of it a user may read.
Must not know: HTTP, who measures.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from syncmgr.accounts.user import Privilege, Rights, job, table
from syncmgr.console.redaction import without_value
from syncmgr.errors import Code
from syncmgr.job.channel.channel_state import ChannelState
from syncmgr.job.failure import remedy
from syncmgr.job.metrics.sample import JobSample, Sample, Trouble
from syncmgr.web.api.recent import SHORT, Recent

CODES: Final[Mapping[int, Code]] = {code.number: code for code in Code}
Facts = dict[str, Any]


def seen(sample: Sample | None, rights: Rights) -> Iterator[JobSample]:
    """The jobs that its user sees, in the order of SHOW."""
    for each in () if sample is None else sample.jobs:
        if rights.is_admin or rights.sees(job(each.db, each.name)):
            yield each


def jobs_of(sample: Sample | None, rights: Rights, recent: Recent) -> list[Facts]:
    return [job_facts(each, rights, recent) for each in seen(sample, rights)]


def frontend_facts(sample: Sample | None) -> Facts | None:
    if sample is None:
        return None
    return {
        "version": sample.version,
        "started_at": sample.started_at,
        "spark": "ready" if sample.spark_up.get("lake") else "down",
        "meta": "ok" if sample.meta_up else "down",
    }


def job_facts(sample: JobSample, rights: Rights, recent: Recent) -> Facts:
    """Without its recent points."""
    nature, figures, rate = sample.nature, sample.figures, recent.rate(sample)
    counts = sample.tables
    return {
        "id": sample.id,
        "db": sample.db,
        "name": sample.name,
        "type": nature.kind,
        "state": sample.state.shown,
        "phase": "snapshot" if counts[ChannelState.SNAPSHOT] else "streaming",
        "paused_by": nature.paused_by,
        "resume_at": nature.resume_at,
        "needs_operator": sample.needs_operator,
        "server": nature.server,
        "tables": sum(counts.values()),
        "behind": counts[ChannelState.BEHIND],
        "stopped": counts[ChannelState.STOPPED],
        "lag_second": _rounded(sample.lag_second),
        "synced_until": _rounded(sample.synced_until),
        "rows_per_second": _rounded(rate),
        "rows": figures.rows,
        "bytes": figures.bytes,
        "commits": figures.commits,
        "dead_letters": figures.dead_letters,
        "snapshot": _snapshot(sample),
        "error": _error(sample, may_read_rows(sample, rights)),
    }


def spark_lines(sample: JobSample, recent: Recent) -> Facts:
    points = recent.points(sample.id, SHORT)
    return {"lag": [_rounded(lag) for _, lag, _ in points], "rate": [_rounded(rate) for _, _, rate in points]}


def may_read_rows(sample: JobSample, rights: Rights) -> bool:
    """Whether its user may read values of rows that an error quotes, as in SHOW SYNC JOB."""
    return rights.is_admin or all(rights.may(Privilege.SELECT, table(*each)) for each in sample.nature.targets)


def _snapshot(sample: JobSample) -> Facts | None:
    if not sample.tables[ChannelState.SNAPSHOT]:
        return None
    reads = sample.snapshots
    estimates = [each.estimated_rows for each in reads]
    return {
        "rows": sum(each.rows for each in reads),
        "estimated": None if None in estimates else sum(each or 0 for each in estimates),
        "tables": sample.tables[ChannelState.SNAPSHOT],
        "left_second": _rounded(sample.left_second),
    }


def _error(sample: JobSample, reads_rows: bool) -> Facts | None:  # noqa: FBT001 - one of two
    trouble = sample.trouble or next(iter(sample.stopped.values()), None)
    if trouble is None:
        return None
    table_name = None if sample.trouble is not None else next(iter(sample.stopped))
    return {"table": table_name, **_trouble_facts(trouble, reads_rows)}


def _trouble_facts(trouble: Trouble, reads_rows: bool) -> Facts:  # noqa: FBT001 - the same
    message, advice = trouble.message, trouble.advice
    if not reads_rows:
        message, advice = without_value(message), without_value(advice)  # type: ignore[assignment]  # texts stay texts
    code = CODES.get(trouble.error)
    return {
        "number": trouble.error,
        "message": message,
        "advice": advice,
        "at": trouble.at,
        "remedy": None if code is None else remedy(code).name,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
