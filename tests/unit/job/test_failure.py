from dataclasses import replace

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.errors.concern import Phase, Whom, is_of_one_table, whom
from syncmgr.job.advice.treatment import QUIET, TWICE, JobKind, Remedy
from syncmgr.job.backoff import Retry, Series, is_due, resume_after
from syncmgr.job.failure import (
    TREATMENTS,
    FailMsg,
    FailType,
    advice,
    fail_type,
    may_pass,
    mildest,
    needs_person,
    remedy,
)

ONE = JobKind(has_rows=True, has_others=False)
MANY = JobKind(has_rows=True, has_others=True)
CANAL = JobKind(has_rows=False, has_others=False)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (Code.SOURCE_UNREACHABLE, Remedy.RETRY),
        (Code.WORKER_DIED, Remedy.RETRY),
        (Code.INTERNAL, Remedy.RESUME),
        (Code.SOURCE_ACCESS_DENIED, Remedy.OPERATOR),
        (Code.SOURCE_GRANT_MISSING, Remedy.RESUME),
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


def test_who_is_called_for_an_error() -> None:
    """A person for all that no time mends, also where it is tried again by itself; for nothing that may pass."""
    assert all(needs_person(code.number) for code, each in TREATMENTS.items() if each.remedy is Remedy.OPERATOR)
    assert not any(needs_person(code.number) for code, each in TREATMENTS.items() if each.advice.startswith("Nothing"))
    assert needs_person(Code.LAKE_FULL.number)
    assert needs_person(Code.SOURCE_GRANT_MISSING.number)
    assert not needs_person(Code.SOURCE_UNREACHABLE.number)


def test_a_table_that_lacks_a_grant_joins_no_job() -> None:
    """The others of its pattern do, though the job itself would be tried again."""
    assert not may_pass(Code.SOURCE_GRANT_MISSING)
    assert may_pass(Code.SOURCE_TLS)


OF_A_BINLOG = {code for code in TREATMENTS if 20100 <= code.number < 20200 and "CANAL" not in code.name} - {
    *(Code.SOURCE_SCHEMA, Code.SOURCE_DDL, Code.SOURCE_VALUE, Code.SOURCE_NOT_ROW)
}  # which a job on canal never meets


@pytest.mark.parametrize("code", sorted(TREATMENTS.keys() - OF_A_BINLOG, key=lambda code: code.number))
def test_a_canal_job_is_advised_nothing_that_canal_has_not(code: Code) -> None:
    """It has no rows to read again, settles no DDL and takes no on_value_error: ALTER SYNC refuses each of them."""
    told = str(advice(code.number, CANAL))
    refused = ("RESYNC", "SKIP DDL", "APPLY DDL", "on_value_error", "brings all rows")
    assert not [word for word in refused if word in told], told


@pytest.mark.parametrize("code", list(TREATMENTS))
def test_a_job_of_one_table_is_not_advised_to_leave_it_out(code: Code) -> None:
    """The last table of a job stays (20020). A table that stops alone has others beside it."""
    alone = {Code.TABLE_STOPPED, Code.TABLES_STOPPED, Code.CHANNEL_BEHIND}
    assert code in alone or "ALTER SYNC JOB ... DROP TABLE" not in str(advice(code.number, ONE))


@pytest.mark.parametrize("code", list(TREATMENTS))
def test_advice_ends_where_the_job_goes_on(code: Code) -> None:
    """A job that waits for a person is resumed, or made anew; one that goes on by itself is never to be resumed."""
    for kind in (ONE, MANY, CANAL):
        told = str(advice(code.number, kind))
        waits = remedy(code) is Remedy.OPERATOR
        assert waits == ("RESUME" in told or "create the job again" in told or "create it" in told) or (
            not waits and "RESUME" not in told
        ), told


COPIED = {code for code in Code if is_of_one_table(code, Phase.COPY)}


@pytest.mark.parametrize("code", sorted({*COPIED, Code.LAKE_DENIED, Code.APPEND_CHANGE}, key=lambda code: code.number))
def test_a_table_that_is_behind_needs_no_resume(code: Code) -> None:
    """Its job runs, and refuses RESUME; the table is tried again by itself."""
    assert "RESUME" not in str(advice(code.number, replace(MANY, runs=True)))


@pytest.mark.parametrize(
    "code",
    [code for code in TREATMENTS if 20200 <= code.number < 20300 and is_of_one_table(code, Phase.COMMIT)],
)
def test_what_is_wrong_with_a_table_does_not_say_to_resume(code: Code) -> None:
    """The reason of a table that is behind is the message itself, which no job's state changes; its advice says it."""
    assert "resume" not in code.template.lower()


def test_a_result_of_an_expression_is_not_advised_to_be_kept_out() -> None:
    """No "on_value_error" applies to it: whoever set that would see the job pause again with the same advice."""
    first, fix = str(advice(20113, ONE)).split("; or ")
    assert first.endswith("unless an expression computes the column, whose result has to fit")
    assert fix == "fix the row at the source and ALTER SYNC JOB ... RESYNC TABLE. Then RESUME."


def test_advice_depends_on_the_kind_of_job() -> None:
    """What is generated into the docs says which is which."""
    gone = TREATMENTS[Code.NO_SUCH_TABLE]
    leave = "ALTER SYNC JOB ... DROP TABLE leaves the table out; then RESUME."
    assert str(advice(1146, MANY)) == f"{advice(1146, ONE)} {leave}"
    assert gone.whole == f"{gone.advice} Of a job of several tables: {leave}"
    value = TREATMENTS[Code.SOURCE_VALUE]
    assert advice(20113, CANAL) == value.on_canal
    assert value.whole.endswith(f"Of a canal job: {value.on_canal}")


@pytest.mark.parametrize("code", list(TREATMENTS))
def test_a_new_job_on_canal_appends_nothing_twice(code: Code) -> None:
    """Canal delivers its last batch again: if a target has no key, whatever creates the job again says what comes
    before that; with a key, or of a server that is read itself, nothing is said.
    """
    told = str(advice(code.number, CANAL))
    more = str(advice(code.number, replace(CANAL, appends=True))).removeprefix(told)
    anew = "create it" in told or "create the job" in told
    assert more == ("" if not anew else f" {QUIET if 'delete the destination' in told else TWICE}")
    assert advice(code.number, replace(MANY, appends=True)) == advice(code.number, MANY)


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
    assert {code for code in Code if whom(code) is not Whom.STATEMENT} == TREATMENTS.keys()
    assert all(treatment.advice.endswith(".") for treatment in TREATMENTS.values())
    assert advice(Code.SOURCE_DDL.number, ONE) == TREATMENTS[Code.SOURCE_DDL].advice
    assert advice(0, ONE) is None


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
