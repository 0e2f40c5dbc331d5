import pytest

from syncmgr.accounts.user import ALL_RIGHTS, NO_RIGHTS, Account, Rights
from syncmgr.console.authorization import Access, Authorized
from syncmgr.console.statements.nearest import with_nearest
from syncmgr.errors import Code, SyncError
from tests.unit.console.frontend import FakeFrontend, FakeJobs, check_ports


def house(rights: Rights) -> Authorized:
    """With shop.job1, mall.job1 and mall.hourly."""
    names = [("shop", "job1"), ("mall", "job1"), ("mall", "hourly")]
    jobs = FakeJobs(rows={key: [str(place)] for place, key in enumerate(names)})
    access = Access(who=lambda: Account(name="me"), host="h", rights_of=lambda _: rights)
    return Authorized(check_ports(FakeFrontend(jobs=jobs)), access)


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (SyncError(Code.NO_DATABASE, job="hourly"), "; did you mean 'mall.hourly'?"),
        (SyncError(Code.NO_DATABASE, job="JOB1"), "; did you mean 'mall.job1', 'shop.job1'?"),
        (SyncError(Code.NO_DATABASE, job="shop.jbo1"), "; did you mean 'shop.job1'?"),
        (SyncError(Code.NO_DATABASE, job="nothing at all"), ""),
        (SyncError(Code.NO_DATABASE), ""),
        (SyncError(Code.UNKNOWN_JOB, job="hourly", db="shop"), "; did you mean 'mall.hourly'?"),
        (SyncError(Code.UNKNOWN_JOB, job="hourli", db="mall"), "; did you mean 'hourly'?"),
    ],
)
def test_a_job_that_is_named_without_its_database_is_found(error: SyncError, hint: str) -> None:
    """In whichever it is; and a slip in the one that was named."""
    assert str(with_nearest(error, house(ALL_RIGHTS))) == f"{error}{hint}"
    assert str(with_nearest(error, house(NO_RIGHTS))) == str(error)
