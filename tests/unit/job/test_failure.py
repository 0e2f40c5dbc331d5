import pytest

from syncmgr.errors import Code
from syncmgr.job.failure import FailMsg, FailType, Remedy, remedy, resume_after, retry_after


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
    ],
)
def test_who_mends_an_error(code: Code, expected: Remedy) -> None:
    """Bad data, schema, a lost position and refused access wait for a person; time mends the rest."""
    assert remedy(code) is expected


def test_auto_resume_backs_off() -> None:
    """A job resumes by itself after 10 s, doubling to 300 s, however often it fails."""
    assert [resume_after(n) for n in (1, 2, 3, 5, 6, 7, 5000)] == [10, 20, 40, 160, 300, 300, 300]


def test_retries_back_off() -> None:
    """Inside RUNNING a step is tried again after half a second, doubling to 30 s."""
    assert [retry_after(n) for n in (1, 2, 3, 8, 5000)] == [0.5, 1, 2, 30, 30]


def test_a_fail_msg_reads_as_in_doris() -> None:
    """Msg has Doris' form, and the number of the error where there is one."""
    cancel = FailMsg(type=FailType.USER_CANCEL, code=0, message="user cancel", at=0.0)
    lost = FailMsg(type=FailType.RUN_FAIL, code=20306, message="gone", at=0.0)
    assert cancel.text == "SyncFailMsg [type=USER_CANCEL, msg=user cancel]"
    assert lost.text == "SyncFailMsg [type=RUN_FAIL, msg=gone (error 20306)]"
