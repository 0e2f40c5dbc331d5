"""The metrics, in one table.

Owns: names, types, labels, words, and the value of each in a sample; docs/metrics.md comes from it.
Must not know: Prometheus' text format, who asks. Times are seconds, sizes bytes. Labels are names that operators gave,
states and error numbers, never data.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from syncmgr.job.metrics.histogram import NO_COMMITS, CommitTimes, Histogram
from syncmgr.job.metrics.sample import JobSample, Sample
from syncmgr.job.state import JobState

Series = tuple[tuple[str, ...], float | Histogram]  # the values of the labels, and the value
OF_JOB: Final = ("db", "sync_job")  # not `job`, which Prometheus has for itself
OF_TABLE: Final = (*OF_JOB, "table")
SHOWN_STATES: Final = tuple(dict.fromkeys(state.shown for state in JobState))


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """One row. `kind`: how it may change. `doc`: a sentence without markup."""

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    doc: str
    series: Callable[[Sample], Iterable[Series]]
    labels: tuple[str, ...] = ()


def _one(value: Callable[[Sample], float]) -> Callable[[Sample], Iterator[Series]]:
    def series(sample: Sample) -> Iterator[Series]:
        yield (), value(sample)

    return series


def _each_job(value: Callable[[JobSample], float | None]) -> Callable[[Sample], Iterator[Series]]:
    """A job whose value is not known has no series."""

    def series(sample: Sample) -> Iterator[Series]:
        for job in sample.jobs:
            found = value(job)
            if found is not None:
                yield (job.db, job.name), found

    return series


def _times(value: Callable[[CommitTimes], Histogram]) -> Callable[[Sample], Iterator[Series]]:
    """Each job has it, from the start on: a rate of a series that appears with its first commit would miss that."""

    def series(sample: Sample) -> Iterator[Series]:
        for job in sample.jobs:
            yield (job.db, job.name), value(sample.commit_times.get(job.id, NO_COMMITS))

    return series


def _each_of_job(values: Callable[[JobSample], Iterable[tuple[str, float]]]) -> Callable[[Sample], Iterator[Series]]:
    def series(sample: Sample) -> Iterator[Series]:
        for job in sample.jobs:
            for label, value in values(job):
                yield (job.db, job.name, label), value

    return series


def _states(job: JobSample) -> Iterator[tuple[str, float]]:
    return ((state, float(job.state.shown == state)) for state in SHOWN_STATES)


def _tables(job: JobSample) -> Iterator[tuple[str, float]]:
    return ((state.value, count) for state, count in job.tables.items())


def _estimated(job: JobSample) -> Iterator[tuple[str, float]]:
    return ((each.table, each.estimated_rows) for each in job.snapshots if each.estimated_rows is not None)


METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        name="syncmgr_build_info",
        kind="gauge",
        doc="Always 1; the label names the version.",
        series=lambda sample: [((sample.version,), 1.0)],
        labels=("version",),
    ),
    Metric(
        name="syncmgr_start_time_seconds",
        kind="gauge",
        doc="When the frontend started, in unix seconds.",
        series=_one(lambda sample: sample.started_at),
    ),
    Metric(
        name="syncmgr_sample_timestamp_seconds",
        kind="gauge",
        doc="When the values of all other metrics were measured, in unix seconds.",
        series=_one(lambda sample: sample.at),
    ),
    Metric(
        name="syncmgr_meta_up",
        kind="gauge",
        doc="1 if the metadata answer; otherwise the values of jobs are those of the last answer.",
        series=_one(lambda sample: float(sample.meta_up)),
    ),
    Metric(
        name="syncmgr_spark_up",
        kind="gauge",
        doc="1 if the JVM runs: lake commits, queries answers SELECT and starts at the first one.",
        series=lambda sample: [((engine,), float(up)) for engine, up in sample.spark_up.items()],
        labels=("engine",),
    ),
    Metric(
        name="syncmgr_disk_free_bytes",
        kind="gauge",
        doc="Free space on the disk of a folder; the label is the setting that names it.",
        series=lambda sample: [((name,), float(free)) for name, free in sample.disk_free.items()],
        labels=("dir",),
    ),
    Metric(
        name="syncmgr_job_state",
        kind="gauge",
        doc="1 for the state that the job has, 0 for the others; each job has all series in every state.",
        series=_each_of_job(_states),
        labels=(*OF_JOB, "state"),
    ),
    Metric(
        name="syncmgr_job_needs_operator",
        kind="gauge",
        doc="1 while something does not pass by itself, of the job or of one of its tables.",
        series=_each_job(lambda job: float(job.needs_operator)),
        labels=OF_JOB,
    ),
    Metric(
        name="syncmgr_job_error",
        kind="gauge",
        doc="1 while SHOW SYNC JOB has a Msg; the label is the number of the error.",
        series=_each_of_job(lambda job: () if job.trouble is None else ((str(job.trouble.error), 1.0),)),
        labels=(*OF_JOB, "code"),
    ),
    Metric(
        name="syncmgr_job_tables",
        kind="gauge",
        doc="How many tables of the job are in a state; each job has the series of all states.",
        series=_each_of_job(_tables),
        labels=(*OF_JOB, "state"),
    ),
    Metric(
        name="syncmgr_job_lag_seconds",
        kind="gauge",
        doc="lag_second of SHOW SYNC JOB: the time since the targets were last complete; absent until they are.",
        series=_each_job(lambda job: job.lag_second),
        labels=OF_JOB,
    ),
    Metric(
        name="syncmgr_job_synced_until_timestamp_seconds",
        kind="gauge",
        doc="The source's time up to which the targets are complete, in unix seconds; kept while the job is paused.",
        series=_each_job(lambda job: job.synced_until),
        labels=OF_JOB,
    ),
    Metric(
        name="syncmgr_job_committed_rows_total",
        kind="counter",
        doc="consumed_rows of SHOW SYNC JOB; it goes on after a restart.",
        series=_each_job(lambda job: job.figures.rows),
        labels=OF_JOB,
    ),
    Metric(
        name="syncmgr_job_committed_bytes_total",
        kind="counter",
        doc="consumed_bytes of SHOW SYNC JOB; it goes on after a restart.",
        series=_each_job(lambda job: job.figures.bytes),
        labels=OF_JOB,
    ),
    Metric(
        name="syncmgr_job_commits_total",
        kind="counter",
        doc="Commits of the job; it goes on after a restart.",
        series=_each_job(lambda job: job.figures.commits),
        labels=OF_JOB,
    ),
    Metric(
        name="syncmgr_job_commit_duration_seconds",
        kind="histogram",
        doc="How long commits took, from the stored intent to the stored commit; since the start of the frontend.",
        series=_times(lambda times: times.duration),
        labels=OF_JOB,
    ),
    Metric(
        name="syncmgr_job_visible_delay_seconds",
        kind="histogram",
        doc="From the commit at the source until readers of the targets saw it, for the newest change of each commit.",
        series=_times(lambda times: times.delay),
        labels=OF_JOB,
    ),
    Metric(
        name="syncmgr_job_dead_letters",
        kind="gauge",
        doc="Changes that were kept out of the targets because of their values.",
        series=_each_job(lambda job: job.figures.dead_letters),
        labels=OF_JOB,
    ),
    Metric(
        name="syncmgr_job_prepared_xa",
        kind="gauge",
        doc="Prepared XA transactions of the source whose rows wait for XA COMMIT.",
        series=_each_job(lambda job: job.figures.prepared),
        labels=OF_JOB,
    ),
    Metric(
        name="syncmgr_table_behind_bytes",
        kind="gauge",
        doc="What was read of a table and waits, while other tables go on; only tables that are behind have it.",
        series=_each_of_job(lambda job: job.behind_bytes.items()),
        labels=OF_TABLE,
    ),
    Metric(
        name="syncmgr_snapshot_rows",
        kind="gauge",
        doc="Rows of a table that its snapshot has committed; only tables whose rows are being read have it.",
        series=_each_of_job(lambda job: ((each.table, each.rows) for each in job.snapshots)),
        labels=OF_TABLE,
    ),
    Metric(
        name="syncmgr_snapshot_estimated_rows",
        kind="gauge",
        doc="Rows of a table as its server estimates them, while they are being read.",
        series=_each_of_job(_estimated),
        labels=OF_TABLE,
    ),
    Metric(
        name="syncmgr_snapshot_left_seconds",
        kind="gauge",
        doc="How long the snapshot of the job will probably take; absent while that is not known.",
        series=_each_job(lambda job: job.left_second),
        labels=OF_JOB,
    ),
)
