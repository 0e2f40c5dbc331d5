import pytest

from syncmgr.accounts.user import ALL_RIGHTS, NO_RIGHTS, Account, Rights
from syncmgr.console.authorization.access import Access
from syncmgr.console.authorization.authorized import Authorized
from syncmgr.console.statements.nearest import FIXED, OTHER_LAKE, with_nearest
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
        (SyncError(Code.UNKNOWN_DATABASE, db="mall"), OTHER_LAKE),
        (SyncError(Code.NO_SUCH_TABLE, db="mall", table="t"), OTHER_LAKE),
    ],
)
def test_a_job_that_is_named_without_its_database_is_found(error: SyncError, hint: str) -> None:
    """In whichever it is; and a slip in the one that was named."""
    assert str(with_nearest(error, house(ALL_RIGHTS))) == f"{error}{hint}"
    assert str(with_nearest(error, house(NO_RIGHTS))) == str(error)


@pytest.mark.parametrize(
    ("name", "where", "hint"),
    [
        ("on_ddl", "FROM BINLOG", "; it belongs in PROPERTIES of the job"),
        ("mysql.host", "CREATE TABLE", '; it belongs in FROM BINLOG with "type" = "mysql"'),
        (
            "mysql.password",
            "PROPERTIES",
            f'; it belongs in FROM BINLOG with "type" = "mysql"{FIXED}',
        ),
        (
            "snapshot_host",
            "PROPERTIES",
            '; did you mean \'snapshot.host\', which belongs in FROM BINLOG with "type" = "mysql"?',
        ),
        (
            "snapshot.port",
            "FROM BINLOG",
            "; snapshot.host takes host:port, and is read with the user and the password of the source",
        ),
        ("max_jobs", "PROPERTIES", "; it belongs in conf/fe.conf, for all jobs"),
        ("on_dll", "PROPERTIES", "; did you mean 'on_ddl'?"),
        ("nothing at all", "PROPERTIES", ""),
    ],
)
def test_a_property_is_told_where_it_belongs(name: str, where: str, hint: str) -> None:
    """Known elsewhere, or like one that is; what resembles one of the same place keeps its hint."""
    own = "; did you mean 'on_ddl'?" if name == "on_dll" else ""
    error = SyncError(Code.PROPERTY_UNKNOWN, name=name, where=where, hint=own)
    assert str(with_nearest(error, house(NO_RIGHTS))) == f"Unknown property '{name}' in {where}{hint}"
