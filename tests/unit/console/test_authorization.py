import pytest

from syncmgr.accounts.user import Account, Level, Privilege, Rights, Scope
from syncmgr.console.authorization import Access, GuardedQueries
from syncmgr.errors import Code, SyncError
from tests.unit.console.frontend import FakeQueries


def test_what_no_grant_can_be_about_is_told() -> None:
    """That an administrator may ask it says nothing of why it is refused."""
    somewhere = Scope(level=Level.TABLE, db="demo", name="orders")
    rights = Rights(grants={somewhere: frozenset({Privilege.SELECT})})
    access = Access(who=lambda: Account(name="ann"), host="127.0.0.1", rights_of=lambda _: rights)
    guarded = GuardedQueries(FakeQueries(), access)
    with pytest.raises(SyncError, match=r"ADMIN_PRIV.*; the query reads what no grant .* \(WITH RECURSIVE\)") as raised:
        guarded._refuse(None)
    assert raised.value.code is Code.PRIVILEGE_NEEDED
