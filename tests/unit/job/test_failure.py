import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.failure import (
    TREATMENTS,
    FailMsg,
    FailType,
    Remedy,
    Retry,
    Series,
    advice,
    fail_type,
    is_due,
    mildest,
    remedy,
    resume_after,
)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (Code.SOURCE_UNREACHABLE, Remedy.RETRY),
        (Code.WORKER_DIED, Remedy.RETRY),
        (Code.INTERNAL, Remedy.RESUME),
        (Code.SOURCE_ACCESS_DENIED, Remedy.OPERATOR),
        (Code.SOURCE_POSITION_LOST, Remedy.OPERATOR),
        (Code.SOURCE_VALUE, Remedy.OPERATOR),
        (Code.SOURCE_DDL, Remedy.OPERATOR),
        (Code.SOURCE_SCHEMA, Remedy.OPERATOR),
        (Code.NO_SUCH_TABLE, Remedy.OPERATOR),
        (Code.QUERY_FAILED, Remedy.RESUME),
    ],
)
def test_who_mends_an_error(code: Code, expected: Remedy) -> None:
    """Bad data, schema, a lost position and refused access wait for a person; time mends the rest."""
    assert remedy(code) is expected


def test_auto_resume_backs_off() -> None:
    """A job resumes by itself after 10 s, doubling to 300 s, however often it fails."""
    assert [resume_after(n) for n in (1, 2, 3, 5, 6, 7, 5000)] == [10, 20, 40, 160, 300, 300, 300]


@pytest.mark.parametrize(
    ("resume_at", "due"), [(None, False), (99.0, True), (100.0, True), (101.0, False), (400.0, False), (400.5, True)]
)
def test_a_clock_that_was_set_back_keeps_no_job_paused(resume_at: float | None, *, due: bool) -> None:
    """A time further ahead than any job waits is of no clock of now."""
    assert is_due(resume_at, 100.0) is due


def test_every_error_of_a_source_and_of_the_lake_has_its_row() -> None:
    """No error that a running job can meet is left to the default, and each says what to do."""
    of_statements = {Code.SOURCE_XA_OPEN, Code.QUERY_FAILED, Code.TABLE_BUSY, Code.BAD_TABLE, Code.BAD_NAME}
    of_statements |= {Code.DATABASE_NOT_EMPTY, Code.RESYNC_COLUMNS, Code.SOURCE_UNNAMED, Code.TARGET_OF_OTHERS}
    met = {code for code in Code if 20100 <= code.number < 20300} - of_statements | {Code.WORKER_DIED, Code.META_DOWN}
    assert met <= TREATMENTS.keys()
    assert all(treatment.advice.endswith(".") for treatment in TREATMENTS.values())
    assert advice(Code.SOURCE_DDL.number) == TREATMENTS[Code.SOURCE_DDL].advice
    assert advice(0) is None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (Code.SOURCE_UNREACHABLE, FailType.SUBMIT_FAIL),
        (Code.CANAL_REFUSED, FailType.SUBMIT_FAIL),
        (Code.DISK_FULL, FailType.SUBMIT_FAIL),
        (Code.LAKE_STARTING, FailType.RUN_FAIL),
        (Code.CHANNEL_BEHIND, FailType.RUN_FAIL),
    ],
)
def test_what_failed(code: Code, expected: FailType) -> None:
    """Doris tells reading and staging from committing."""
    assert fail_type(code) is expected


def series(failures: int, since: float = 100.0) -> Series:
    return Series(failures=failures, since=since)


def test_retries_back_off() -> None:
    """Inside RUNNING a step is tried again after half a second, doubling to 30 s."""
    assert [series(n).wait(Retry()) for n in (1, 2, 3, 8, 5000)] == [0.5, 1, 2, 30, 30]


def test_a_series_begins_with_its_first_failure() -> None:
    """Later ones do not prolong it."""
    assert Series().failed(7.0).failed(9.0) == series(2, since=7.0)


@pytest.mark.parametrize(
    ("retry", "failures", "over"),
    [
        (Retry(times=3, patience=0.0), 3, False),
        (Retry(times=3, patience=0.0), 4, True),
        (Retry(times=3, patience=60.0), 400, True),
        (Retry(times=3, patience=60.1), 400, False),
        (Retry(times=None), 10**6, False),
    ],
)
def test_a_retry_ends_by_number_and_by_time(retry: Retry, failures: int, *, over: bool) -> None:
    """An outage that is shorter than the patience pauses no job, however often it was tried meanwhile."""
    assert series(failures).is_over(retry, 160.0) is over


def test_the_mildest_of_several_errors_decides() -> None:
    """A job waits for nobody on account of one table that is gone while another only waits."""
    gone = SyncError(Code.NO_SUCH_TABLE, db="demo", table="a")
    full = SyncError(Code.LAKE_FULL, reason="disk")
    assert mildest([gone, full]) is full


def test_a_fail_msg_reads_as_in_doris() -> None:
    """Msg has Doris' form, and number and time of the error where there is one."""
    cancel = FailMsg(type=FailType.USER_CANCEL, code=0, message="user cancel", at=0.0)
    lost = FailMsg(type=FailType.RUN_FAIL, code=20306, message="gone", at=0.0)
    assert cancel.text == "SyncFailMsg [type=USER_CANCEL, msg=user cancel]"
    assert lost.text == "SyncFailMsg [type=RUN_FAIL, msg=gone (error 20306) at 1970-01-01 00:00:00]"
