import pytest

from syncmgr.accounts.user import Account, Level, Privilege, Rights, Scope
from syncmgr.console.authorization.access import Access
from syncmgr.console.authorization.checks import AuthorizedChecks, readable
from syncmgr.console.table_columns import TABLES
from syncmgr.errors import Code, SyncError
from syncsql import CheckSync, Name, RepairSync
from tests.unit.console.frontend import FakeChecks

JOB = Scope(level=Level.JOB, db="demo", name="job1")
ORDERS = Scope(level=Level.TABLE, db="demo", name="orders")


def checks_of(rights: Rights) -> AuthorizedChecks:
    access = Access(who=lambda: Account(name="ann"), host="127.0.0.1", rights_of=lambda _: rights)
    return AuthorizedChecks(FakeChecks(), access)


def test_whoever_may_change_a_job_may_check_and_repair_it() -> None:
    checks = checks_of(Rights(grants={JOB: frozenset({Privilege.LOAD}), ORDERS: frozenset({Privilege.SELECT})}))
    assert checks.start(CheckSync(job=Name(name="job1")), "demo") == 7
    assert checks.start_targets([Name(name="orders")], "demo") == 8
    checks.stop(7)
    assert checks.repair(RepairSync(job=Name(name="job1"), check=7), "demo") == 9


@pytest.mark.parametrize("grants", [{}, {ORDERS: frozenset({Privilege.SELECT})}])
def test_a_job_that_is_not_seen_is_unknown(grants: dict[Scope, frozenset[Privilege]]) -> None:
    """And so are its checks: the error is that of a check that does not exist."""
    checks = checks_of(Rights(grants=grants))
    with pytest.raises(SyncError) as raised:
        checks.start(CheckSync(job=Name(name="job1")), "demo")
    assert raised.value.code is Code.UNKNOWN_JOB
    for check in (7, 1):
        with pytest.raises(SyncError) as raised:
            checks.stop(check)
        assert raised.value.code is Code.NO_SUCH_CHECK


def test_whoever_sees_a_job_alone_may_not_check_it() -> None:
    checks = checks_of(Rights(grants={JOB: frozenset({Privilege.SELECT})}))
    with pytest.raises(SyncError) as raised:
        checks.start(CheckSync(job=Name(name="job1")), "demo")
    assert raised.value.code is Code.TABLE_DENIED
    with pytest.raises(SyncError) as raised:
        checks.repair(RepairSync(job=Name(name="job1"), check=7), "demo")
    assert raised.value.code is Code.TABLE_DENIED


def test_values_of_rows_are_shown_to_those_who_may_read_the_target() -> None:
    columns = TABLES["sync_check_rows"]
    row = tuple({"TARGET_SCHEMA": "demo", "TARGET_TABLE": "orders"}.get(name, name.lower()) for name in columns)
    assert readable("sync_check_rows", row, Rights(grants={ORDERS: frozenset({Privilege.SELECT})})) == row
    hidden = dict(zip(columns, readable("sync_check_rows", row, Rights(grants={})), strict=True))
    assert {name for name, value in hidden.items() if value is None} == {"ROW_KEY", "SOURCE_ROW", "TARGET_ROW"}
