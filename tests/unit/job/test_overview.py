import json
from dataclasses import replace
from typing import Any

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_state import READING, UNREAD, ChannelState, Standing, Stop, failed, waited
from syncmgr.job.epoch import Backlog, Epoch, StagedFile, backlogs
from syncmgr.job.failure import FailMsg, FailType
from syncmgr.job.freshness import Reading
from syncmgr.job.overview import (
    LOST,
    Facts,
    as_reported,
    lag_second,
    lost_by_stop,
    needs_operator,
    overview,
    synced_until,
    with_trouble,
)
from syncmgr.job.position import Position
from syncmgr.job.snapshot.chunk import Load
from syncmgr.job.state import JobEvent, JobState
from syncmgr.job.sync_job import SyncJob, fail_msg
from syncmgr.meta import codec
from tests.unit.job.factories import make_channel, make_job, make_source_table

SNAPSHOT, STREAMING, BEHIND, STOPPED = ChannelState
NOW, LAST = 100.0, 90.0
STOP = Stop(reason="why", error=Code.SOURCE_DDL.number, since=50.0, synced_until=40.0)
JOB = make_job(state=JobState.PAUSED)
READS = Load(token="token-1", stale_since=0.0, begun_at=60.0)
WHOLE = replace(READS, caught_up=True, upper=Position())
WAITS = Backlog(epochs=1, bytes=1, since=70.0)
FULL = SyncError(Code.LAKE_FULL, reason="no room")
PASSING = SyncError(Code.LAKE_FAILED, reason="timeout")


@pytest.mark.parametrize(
    ("why", "stop", "facts", "state", "since", "synced"),
    [
        ("all is in", None, {}, STREAMING, None, LAST),
        ("its first rows are missing", None, {"loads": {"token-1": READS}}, SNAPSHOT, 60.0, None),
        ("nothing but changes is missing", None, {"backlogs": {"token-1": WAITS}}, BEHIND, 70.0, 70.0),
        ("it was stopped", STOP, {}, STOPPED, 50.0, 40.0),
        ("it is to be read anew", None, {"resyncing": {"token-1": None}}, SNAPSHOT, None, LAST),
        ("it was stopped and is to be read anew", None, {"resyncing": {"token-1": 40.0}}, SNAPSHOT, None, 40.0),
        (
            "its rows are there, of more than one moment",
            None,
            {"loads": {"token-1": replace(READS, upper=Position())}},
            BEHIND,
            None,
            LAST,
        ),
        (
            "they are of one",
            None,
            {"loads": {"token-1": WHOLE}},
            STREAMING,
            None,
            LAST,
        ),
    ],
)
def test_a_job_that_does_not_run_is_told_from_what_is_stored(
    why: str, stop: Stop | None, facts: dict[str, Any], state: ChannelState, since: float | None, synced: float | None
) -> None:
    """As after a restart of the frontend."""
    job = replace(JOB, channels=(make_channel(stopped=stop),))
    [table] = overview(job, Facts(committed=LAST, **facts), NOW)
    assert (table.shown.state, table.shown.since, table.synced_until) == (state, since, synced), why


def test_a_run_knows_more_than_what_is_stored() -> None:
    """Why a table is behind; but not of one that is to be read anew when it has ended."""
    run = {"token-1": failed(waited(Standing(), 70.0), FULL, at=80.0)}
    [table] = overview(JOB, Facts(standings=run, backlogs={"token-1": WAITS}, committed=LAST), NOW)
    assert (table.shown.state, table.shown.error, table.backlog) == (BEHIND, FULL.code.number, WAITS)
    [table] = overview(JOB, Facts(standings=run, resyncing={"token-1": None}, committed=LAST), NOW)
    assert (table.shown.state, table.shown.error) == (SNAPSHOT, None)


@pytest.mark.parametrize(("state", "resumes"), [(JobState.RUNNING, False), (JobState.PAUSED_BY_ERROR, True)])
def test_a_table_is_advised_by_the_kind_of_its_job(state: JobState, *, resumes: bool) -> None:
    """As its job is: by whether that has other tables, and whether it runs."""
    gone = failed(waited(Standing(), 70.0), SyncError(Code.NO_SUCH_TABLE, db="demo", table="orders"), at=80.0)
    job = make_job(channels=(make_channel(), make_channel(token="two", target="lines")), state=state)
    told = str(overview(job, Facts(standings={"token-1": gone}), NOW)[0].shown.advice)
    assert "DROP TABLE leaves the table out" in told
    assert ("RESUME" in told) is resumes


PURGED = SyncError(Code.SOURCE_POSITION_LOST, position="b.1:4", address="db1:3306", reason="it was purged")
AWAY_FOR_NOW = SyncError(Code.SOURCE_UNREACHABLE, address="db1:3306", reason="refused")


def test_a_stopped_table_is_advised_what_its_job_accepts() -> None:
    """The last one cannot leave its job, a lost position is lost for all of them, and what has ended cannot be
    altered.
    """

    def told(job: SyncJob) -> str | None:
        return overview(job, Facts(), NOW)[0].shown.advice

    stopped, kind = make_channel(stopped=STOP), FailType.SUBMIT_FAIL
    two = make_job(channels=(stopped, make_channel(token="two", target="lines")), state=JobState.RUNNING)
    assert "RESYNC TABLE brings it back, DROP TABLE leaves it out of the job." in str(told(two))
    assert str(told(replace(two, channels=(stopped,)))).endswith("ALTER SYNC JOB ... RESYNC TABLE brings it back.")
    assert "DROP TABLE leaves it out" in str(told(two.failed(AWAY_FOR_NOW, kind, at=NOW)))
    assert told(two.failed(PURGED, kind, at=NOW)) == LOST
    assert told(two.on(JobEvent.STOPPED, at=NOW)) is None
    alone = make_job(channels=(stopped,), state=JobState.RUNNING)
    assert "DROP TABLE" not in str(as_reported(alone, overview(alone, Facts(), NOW)).advised)


STUCK = SyncError(Code.BACKLOG_STUCK, table="demo.lines", bytes=9, limit=1, reason="a zero date")
NO_ROWS = SyncError(Code.SNAPSHOT_REFUSED, table="shop.orders", reason="it has no key")
AWAY = SyncError(Code.NO_SUCH_TABLE, db="demo", table="lines")


@pytest.mark.parametrize(
    ("error", "facts", "told"),
    [
        (STUCK, {"backlogs": {"two": WAITS}}, "two"),
        (AWAY, {"backlogs": {"two": WAITS}}, "two"),
        (NO_ROWS, {"loads": {"token-1": READS}}, "token-1"),
        (NO_ROWS, {"backlogs": {"two": WAITS}}, None),
        (FULL, {"backlogs": {"two": WAITS}}, None),
        (STUCK, {}, None),
        (STUCK, {"backlogs": {"two": WAITS}, "resyncing": {"two": None}}, None),
    ],
)
def test_what_has_paused_a_job_on_account_of_one_table_is_told_of_that(
    error: SyncError, facts: dict[str, Any], told: str | None
) -> None:
    """Nobody tries it any more, so that nothing else says why it waits; whether the error names its source or its
    target. It is not told of a table for which nothing waits, or that is to be read anew, nor once the job is resumed.
    """
    lines = make_channel(token="two", target="lines", source=make_source_table(name="items"))
    running = make_job(state=JobState.RUNNING, channels=(make_channel(), lines))
    paused = running.failed(error, FailType.RUN_FAIL, at=90.0)
    assert paused.fail == codec.fail_of(codec.fail_json(paused.fail)), "as it is stored"
    found = {t.channel.token: t.shown for t in overview(paused, Facts(**facts), NOW) if t.shown.error is not None}
    assert list(found) == ([told] if told else [])
    for shown in found.values():
        assert (shown.error, shown.reason, shown.advice) == (error.code.number, str(error), paused.advised)
    resumed = paused.on(JobEvent.RESUMED, at=95.0)
    assert [t.shown.error for t in overview(resumed, Facts(**facts), NOW)] == [None, None]


@pytest.mark.parametrize("state", JobState)
def test_rows_are_said_to_be_read_where_somebody_reads_them(state: JobState) -> None:
    """By a job that runs, or is about to; not by one that is paused, or has ended."""
    [table] = overview(replace(JOB, state=state), Facts(loads={"token-1": READS}), NOW)
    reads = state in {JobState.PENDING, JobState.RUNNING}
    assert (table.shown.state, table.shown.reason) == (SNAPSHOT, READING if reads else UNREAD)


CAUGHT_UP = Reading(caught_up_at=NOW - 2, read_time=0.0, waiting_since=None, drained=True, known_until=LAST)


@pytest.mark.parametrize(
    ("why", "job", "facts"),
    [
        ("caught up with a quiet source", JOB, {"reading": CAUGHT_UP}),
        ("a row is on its way", JOB, {"reading": replace(CAUGHT_UP, waiting_since=NOW - 1)}),
        ("a table waits", JOB, {"reading": CAUGHT_UP, "backlogs": {"token-1": WAITS}}),
        ("a table is read again", JOB, {"reading": CAUGHT_UP, "loads": {"token-1": replace(READS, stale_since=40.0)}}),
        ("its first rows are missing", JOB, {"loads": {"token-1": READS}}),
        ("it does not run", replace(JOB, synced_until=95.0), {}),
    ],
)
def test_the_lag_is_the_time_since_what_is_in(why: str, job: SyncJob, facts: dict[str, Any]) -> None:
    """In every state: whoever adds `lag_second` to `synced_until` has the time of the answer."""
    for state in JobState:
        tables = overview(replace(job, state=state), Facts(committed=LAST, **facts), NOW)
        until, lag = synced_until(tables), lag_second(tables)
        assert (until is None) == (lag is None) == (why == "its first rows are missing"), (why, state)
        assert until is None or lag is None or until + lag == NOW, (why, state)


def test_a_job_is_as_old_as_its_oldest_table() -> None:
    """Also one that is caught up but for it, and one that has ended with it."""
    job = make_job(channels=(make_channel(), make_channel(token="two", target="lines", stopped=STOP)))
    tables = overview(job, Facts(reading=CAUGHT_UP, committed=LAST), NOW)
    assert [(table.synced_until, table.lag_second) for table in tables] == [(NOW - 2, 2.0), (40.0, 60.0)]
    assert lag_second(tables) == 60.0
    assert synced_until(tables) == 40.0
    ended = overview(replace(job, state=JobState.CANCELLED, synced_until=LAST), Facts(), NOW + 9)
    assert (synced_until(ended), lag_second(ended)) == (40.0, 69.0)


def test_a_quiet_source_is_not_forgotten_in_a_pause() -> None:
    """What was known when the job was paused is newer than its last commit."""
    [table] = overview(replace(JOB, synced_until=95.0), Facts(committed=LAST), NOW)
    assert (table.synced_until, table.lag_second) == (95.0, 5.0)


def test_a_clock_of_the_source_that_is_ahead_makes_nothing_newer_than_now() -> None:
    """Nobody has what is not yet there."""
    [table] = overview(replace(JOB, synced_until=105.0), Facts(committed=104.0), NOW)
    assert (table.synced_until, table.lag_second) == (NOW, 0.0)


@pytest.mark.parametrize(
    ("why", "stop", "number", "state", "needed"),
    [
        ("nothing is wrong", None, 0, JobState.RUNNING, False),
        ("the network is away", None, Code.SOURCE_UNREACHABLE.number, JobState.PAUSED_BY_ERROR, False),
        ("a DDL statement waits", None, Code.SOURCE_DDL.number, JobState.PAUSED_BY_ERROR, True),
        ("Java is missing, and tried again", None, Code.JAVA_MISSING.number, JobState.PAUSED_BY_ERROR, True),
        ("too much waits for a full disk", None, Code.BACKLOG_WAITS.number, JobState.PAUSED_BY_ERROR, True),
        ("a disk is full, and tried again", None, Code.DISK_FULL.number, JobState.RUNNING, True),
        ("a table is stopped", STOP, 0, JobState.PAUSED, True),
        ("the job has ended", STOP, 0, JobState.CANCELLED, False),
    ],
)
def test_a_person_is_called(why: str, stop: Stop | None, number: int, state: JobState, *, needed: bool) -> None:
    """For whatever time alone does not mend."""
    fail = FailMsg(type=FailType.RUN_FAIL, code=number, message="x", at=0.0) if number else None
    job = make_job(channels=(make_channel(stopped=stop),), state=state, fail=fail)
    assert needs_operator(job, overview(job, Facts(committed=LAST), NOW)) is needed, why


@pytest.mark.parametrize(
    ("error", "needed"),
    [
        (SyncError(Code.BACKLOG_WAITS, table="a.b", bytes=2, limit=1, reason=FULL), True),
        (SyncError(Code.BACKLOG_WAITS, table="a.b", bytes=2, limit=1, reason=PASSING), False),
        (SyncError(Code.SPEC_CHANGED, table="a.b", index="it is being built", reason="why", heals=True), False),
        (SyncError(Code.SPEC_CHANGED, table="a.b", index="no identifier", reason="why", heals=False), True),
    ],
)
def test_an_operator_is_needed_if_the_cause_needs_one(error: SyncError, *, needed: bool) -> None:
    """While it is retried, and while the job is paused by it, also as it is stored."""
    fail = codec.fail_of(json.loads(json.dumps(codec.fail_json(fail_msg(error, FailType.RUN_FAIL, at=0.0)))))
    for state in (JobState.RUNNING, JobState.PAUSED_BY_ERROR):
        job = make_job(state=state, fail=fail)
        assert needs_operator(job, overview(job, Facts(committed=LAST), NOW)) is needed
    standing = Standing(state=BEHIND, waits=70.0, error=error)
    facts = Facts(committed=LAST, standings={make_channel().token: standing})
    job = make_job(state=JobState.RUNNING)
    assert needs_operator(job, overview(job, facts, NOW)) is needed


LINES = make_channel(token="two", target="lines", source=make_source_table(name="lines"), stopped=STOP)
OTHER = SyncError(Code.TABLE_STOPPED, table="shop.other", reason="why")
BACK = SyncError(Code.CHANNEL_BEHIND, table="demo.orders", epochs=1, bytes=1, reason=FULL)


@pytest.mark.parametrize(
    ("why", "state", "error", "code"),
    [
        ("its run has yet to tell it", JobState.RUNNING, None, Code.TABLE_STOPPED),
        ("it has told of another one", JobState.RUNNING, OTHER, Code.TABLE_STOPPED),
        ("another trouble is told", JobState.RUNNING, BACK, Code.CHANNEL_BEHIND),
        ("somebody has paused it", JobState.PAUSED, None, None),
        ("it has yet to run", JobState.PENDING, None, None),
    ],
)
def test_msg_knows_of_a_stopped_table_as_soon_as_status_does(
    why: str, state: JobState, error: SyncError | None, code: Code | None
) -> None:
    """Whoever reads both at once reads the same: the table is stored before its job."""
    fail = None if error is None else fail_msg(error, FailType.RUN_FAIL, at=60.0)
    job = make_job(state=state, fail=fail, channels=(make_channel(), LINES))
    told = as_reported(job, overview(job, Facts(), NOW))
    assert (told.fail.code if told.fail else None) == (code.number if code else None), why
    if told.fail is not None and told.fail != fail:
        assert (told.fail.at, "'shop.lines' is no longer read" in told.fail.message) == (STOP.since, True)
    assert as_reported(told, overview(told, Facts(), NOW)) is told
    well = make_job(state=state, fail=fail)
    assert as_reported(well, overview(well, Facts(), NOW)) is well


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.PAUSED])
def test_what_could_not_be_stored_is_told_of_a_job_that_runs(state: JobState) -> None:
    """It is what its run is retrying, and a job that was paused has none."""
    job = replace(make_job(), state=state)
    unstored = fail_msg(SyncError(Code.META_DOWN, reason="full"), FailType.SUBMIT_FAIL, at=7.0)
    assert with_trouble(job, None) == job
    assert (with_trouble(job, unstored).fail == unstored) is (state is JobState.RUNNING)
    assert needs_operator(with_trouble(job, unstored), ()) is (state is JobState.RUNNING)


def test_what_waits_is_counted_by_channel() -> None:
    """Epochs and bytes of each, from its oldest on."""
    file = StagedFile(path="/s", rows=1, bytes=10)
    epochs = [
        Epoch(number=1, end=Position(), last_seq=1, files={"a": (file,), "b": (file, file)}, source_time=7.0),
        Epoch(number=2, end=Position(), last_seq=2, files={"b": (file,)}, source_time=8.0),
    ]
    assert backlogs([replace(epochs[0], oldest_time=5.0)])["a"].since == 5.0
    assert backlogs(epochs) == {
        "a": Backlog(epochs=1, bytes=10, since=7.0),
        "b": Backlog(epochs=2, bytes=30, since=7.0),
    }


@pytest.mark.parametrize(
    ("stop", "facts", "reason"),
    [
        (None, {"loads": {"token-1": READS}}, "they were still being read"),
        (None, {"backlogs": {"token-1": WAITS}}, "1 epochs (1 bytes) were read, and not committed"),
        (STOP, {}, "it was not read any more"),
        (None, {"loads": {"token-1": replace(READS, upper=Position())}}, "they are there, but from different moments"),
    ],
)
def test_a_stop_says_what_no_other_job_brings(stop: Stop | None, facts: dict[str, Any], reason: str) -> None:
    """Of each table that is not streaming, with what does bring it."""
    job = replace(JOB, channels=(make_channel(stopped=stop),))
    [remark] = lost_by_stop(job, overview(job, Facts(committed=LAST, **facts), NOW))
    assert (remark.level, remark.code) == ("Warning", Code.LOST_BY_STOP)
    assert f"Target 'demo.orders' lacks rows of 'shop.orders'; they are lost with the job: {reason}; " in remark.text
    assert 'the default "start" copies them into an empty target' in remark.text


def test_a_stop_of_a_job_that_streams_says_nothing() -> None:
    """The next one goes on at its position."""
    assert lost_by_stop(JOB, overview(JOB, Facts(committed=LAST), NOW)) == ()


def test_a_stop_of_many_tables_names_the_first() -> None:
    """And how many others there are."""
    job = replace(JOB, channels=tuple(make_channel(token=f"token-{n}") for n in range(13)))
    loads = {f"token-{n}": replace(READS, token=f"token-{n}") for n in range(13)}
    told = lost_by_stop(job, overview(job, Facts(loads=loads), NOW))
    assert len(told) == 11
    assert told[-1].text.startswith("3 other tables lack rows, too; ")
