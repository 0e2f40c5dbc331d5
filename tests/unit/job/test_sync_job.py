from dataclasses import replace

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.failure import FailMsg, FailType
from syncmgr.job.state import JobEvent, JobState
from syncmgr.job.sync_job import SyncJob, fail_msg
from tests.unit.job.factories import make_channel, make_job

UNREACHABLE = SyncError(Code.SOURCE_UNREACHABLE, address="db1:3306", reason="refused")
BAD_VALUE = SyncError(Code.SOURCE_VALUE, column="at", table="shop.orders", value="a zero date", reason="no such day")


def running() -> SyncJob:
    return make_job().on(JobEvent.STARTED, at=1.0)


def test_every_change_is_a_new_version() -> None:
    """A job never changes in place; each event makes the next version, which the store compares."""
    job = make_job()
    started = job.on(JobEvent.STARTED, at=5.0)
    assert (job.state, job.version) == (JobState.PENDING, 1)
    assert (started.state, started.version, started.last_start_at) == (JobState.RUNNING, 2, 5.0)


def test_a_pause_by_an_error_resumes_by_itself_later_each_time() -> None:
    """What time mends resumes after 10 s, then 20 s: failures in a row are remembered over the resume."""
    first = running().failed(UNREACHABLE, FailType.SUBMIT_FAIL, at=100.0)
    assert (first.state, first.resume_at) == (JobState.PAUSED_BY_ERROR, 110.0)
    second = first.on(JobEvent.RESUMED, at=110.0).on(JobEvent.STARTED, at=111.0)
    assert second.failed(UNREACHABLE, FailType.SUBMIT_FAIL, at=200.0).resume_at == 220.0


@pytest.mark.parametrize(
    ("why", "heard", "told", "at", "wait"),
    [
        ("the source answers, and sends the same a moment later", True, None, 112.0, 20.0),
        ("it never answered, however long it was tried", False, None, 900.0, 20.0),
        ("all was well for a minute", True, None, 170.0, 20.0),
        ("all was well for long", True, None, 900.0, 10.0),
        ("the same, and then it was tried for as long as it is retried", True, 900.0, 1200.0, 10.0),
        ("an outage soon after the start, tried for that long", True, 112.0, 412.0, 20.0),
    ],
)
def test_only_a_run_that_goes_well_ends_a_series_of_errors(
    why: str, *, heard: bool, told: float | None, at: float, wait: float
) -> None:
    """A sign of life of the source does not: the job would resume every ten seconds for ever."""
    first = running().failed(UNREACHABLE, FailType.SUBMIT_FAIL, at=100.0)
    job = first.on(JobEvent.RESUMED, at=110.0).on(JobEvent.STARTED, at=111.0)
    job = job.troubled(None) if heard else job
    job = job if told is None else job.troubled(fail_msg(UNREACHABLE, FailType.SUBMIT_FAIL, at=told))
    assert job.failed(UNREACHABLE, FailType.SUBMIT_FAIL, at=at).resume_at == at + wait, why


def test_a_resume_settles_only_what_paused_the_job() -> None:
    """Answers that came too late, of a job that stands by that error alone."""
    late = SyncError(Code.SOURCE_LATE, address="db1:3306", done="written 'd.o'", statement="DROP TRIGGER r")
    paused = running().failed(late, FailType.SUBMIT_FAIL, at=100.0)
    assert paused.settles_answers
    assert paused.resume_at is None
    assert not running().settles_answers
    assert not paused.on(JobEvent.RESUMED, at=101.0).settles_answers
    assert not paused.on(JobEvent.PAUSED_BY_USER, at=101.0).settles_answers
    assert not running().failed(BAD_VALUE, FailType.SUBMIT_FAIL, at=100.0).settles_answers


def test_what_a_person_must_mend_does_not_resume() -> None:
    """Bad data pauses the job until RESUME SYNC JOB; Msg says why at once."""
    job = running().failed(BAD_VALUE, FailType.SUBMIT_FAIL, at=100.0)
    assert job.resume_at is None
    assert job.fail is not None
    assert (job.fail.code, job.fail.at) == (20113, 100.0)
    assert "a zero date" in job.fail.text


def test_a_user_pause_clears_the_error_and_its_resume() -> None:
    """PAUSE of a job that an error paused ends auto-resume."""
    job = running().failed(UNREACHABLE, FailType.RUN_FAIL, at=1.0).on(JobEvent.PAUSED_BY_USER, at=2.0)
    assert (job.state, job.fail, job.resume_at, job.failures) == (JobState.PAUSED, None, None, 0)


def test_success_clears_msg() -> None:
    """A trouble shows in Msg while it is retried and is gone when it has passed."""
    job = running().failed(UNREACHABLE, FailType.RUN_FAIL, at=1.0).troubled(None)
    assert job.fail is None


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (JobEvent.STOPPED, "SyncFailMsg [type=USER_CANCEL, msg=user cancel]"),
        (JobEvent.TARGET_DROPPED, "type=SCHEDULE_FAIL, msg=The table has been deleted. Change job state to cancelled"),
    ],
)
def test_a_cancelled_job_says_why(event: JobEvent, text: str) -> None:
    """FinishTime and Doris' words for why it ended."""
    job = running().on(event, at=9.0)
    assert (job.state, job.finished_at, job.last_stop_at) == (JobState.CANCELLED, 9.0, 9.0)
    assert job.fail is not None
    assert text in job.fail.text


def test_the_password_is_in_no_repr() -> None:
    """Logs print values; none of them may print a password."""
    assert "s3cret" not in repr(make_job())


def test_a_job_is_advised_by_its_kind_and_state() -> None:
    """A job of one table is not told to leave it out, and one that has ended is not told to RESUME."""
    gone = SyncError(Code.NO_SUCH_TABLE, db="demo", table="orders")
    job = make_job().on(JobEvent.STARTED, at=1.0)
    assert job.advised is None
    paused = job.failed(gone, FailType.RUN_FAIL, at=2.0)
    assert "Restore the target" in str(paused.advised)
    assert "DROP TABLE" not in str(paused.advised)
    channels = (make_channel(), make_channel(token="other", target="other"))
    assert "ALTER SYNC JOB ... DROP TABLE" in str(replace(paused, channels=channels).advised)
    ended = job.on(JobEvent.TARGET_DROPPED, at=3.0)
    assert ended.advised == "Create target and job again if they are wanted."
    assert job.on(JobEvent.STOPPED, at=3.0).advised is None


@pytest.mark.parametrize(
    ("code", "stays"), [(Code.TABLE_STOPPED, False), (Code.TABLES_STOPPED, False), (Code.SOURCE_UNREACHABLE, True)]
)
def test_resync_takes_back_what_msg_says_of_stopped_tables(code: Code, *, stays: bool) -> None:
    """The next run tells of those that still are; any other trouble is none of RESYNC's."""
    fail = FailMsg(type=FailType.RUN_FAIL, code=code.number, message="x", at=1.0)
    job = make_job(fail=fail)
    after = job.resynced()
    assert after.fail == (fail if stays else None)
    assert after.version == job.version + 1
