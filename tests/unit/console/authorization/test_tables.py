import pytest

from syncmgr.accounts.user import Account, Level, Privilege, Rights, Scope
from syncmgr.console.authorization.access import Access
from syncmgr.console.authorization.jobs import AuthorizedJobs
from syncmgr.console.authorization.tables import GuardedHistory, GuardedQueries
from syncmgr.errors import Code, SyncError
from syncmgr.job.show_sync import WantedRows
from tests.unit.console.frontend import FakeJobs, FakeQueries


def test_what_no_grant_can_be_about_is_told() -> None:
    """That an administrator may ask it says nothing of why it is refused."""
    somewhere = Scope(level=Level.TABLE, db="demo", name="orders")
    rights = Rights(grants={somewhere: frozenset({Privilege.SELECT})})
    access = Access(who=lambda: Account(name="ann"), host="127.0.0.1", rights_of=lambda _: rights)
    guarded = GuardedQueries(FakeQueries(), access)
    with pytest.raises(SyncError, match=r"ADMIN_PRIV.*; the query reads what no grant .* \(WITH RECURSIVE\)") as raised:
        guarded._refuse(None)
    assert raised.value.code is Code.PRIVILEGE_NEEDED


class LookedUp:
    """What jobs have done, in three jobs."""

    def __init__(self) -> None:
        self.jobs: list[tuple[int, str, str]] = []

    def rows(self, table: str, wanted: WantedRows) -> list[tuple[object, ...]]:
        self.jobs = [job for job in ((1, "demo", "one"), (2, "demo", "two"), (3, "other", "one")) if wanted.job(*job)]
        return [*self.jobs]

    def snapshots(self, db: str, name: str, epoch: int | None) -> dict[tuple[str, str], int]:
        return {}


def test_what_is_not_seen_is_not_looked_up() -> None:
    """The time of a query of a sync_* table does not show what other jobs have done; what it asks for still counts."""
    scopes = [Scope(level=Level.DATABASE, db="demo"), Scope(level=Level.JOB, db="other", name="two")]
    rights = Rights(grants=dict.fromkeys(scopes, frozenset({Privilege.LOAD})))
    access = Access(who=lambda: Account(name="ann"), host="127.0.0.1", rights_of=lambda _: rights)
    history = LookedUp()
    guarded = GuardedHistory(history, AuthorizedJobs(FakeJobs(), access), access)
    assert guarded.rows("sync_epochs", WantedRows()) == [(1, "demo", "one"), (2, "demo", "two")] == history.jobs
    assert guarded.rows("sync_epochs", WantedRows(job=lambda number, *_: number > 1)) == [(2, "demo", "two")]
