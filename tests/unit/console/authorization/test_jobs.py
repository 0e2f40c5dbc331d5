from collections.abc import Collection

from syncmgr.accounts.user import Account, Level, Privilege, Rights, Scope
from syncmgr.console.authorization.access import Access
from syncmgr.console.authorization.jobs import AuthorizedJobs
from syncmgr.job.metrics.sample import JobSample
from tests.unit.console.frontend import FakeJobs


class LookedAt(FakeJobs):
    """Three jobs of two databases."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Collection[str] | None] = []

    def names(self, db: str | None) -> dict[str, tuple[str, str]]:
        named = {"1": ("demo", "one"), "2": ("demo", "two"), "3": ("other", "one")}
        return {job_id: name for job_id, name in named.items() if db in {None, name[0]}}

    def show(self, db: str | None, ids: Collection[str] | None = None) -> list[tuple[str | None, ...]]:
        self.asked.append(ids)
        return []

    def samples(self, db: str | None, ids: Collection[str] | None = None) -> list[JobSample]:
        self.asked.append(ids)
        return []


def authorized(jobs: LookedAt, rights: Rights) -> AuthorizedJobs:
    return AuthorizedJobs(jobs, Access(who=lambda: Account(name="ann"), host="127.0.0.1", rights_of=lambda _: rights))


def test_jobs_that_are_not_seen_are_not_looked_at() -> None:
    """Neither by SHOW SYNC JOB nor by its STATUS: the time of an answer would show how many there are."""
    granted = {
        Scope(level=Level.DATABASE, db="demo"): frozenset({Privilege.LOAD}),
        Scope(level=Level.JOB, db="other", name="two"): frozenset({Privilege.LOAD}),
    }
    jobs = LookedAt()
    of_ann = authorized(jobs, Rights(grants=granted))
    of_ann.show(None)
    of_ann.samples(None)
    of_ann.show("other")
    of_ann.samples("demo", {"2", "3"})
    assert jobs.asked == [{"1", "2"}, {"1", "2"}, set(), {"2"}]


def test_whoever_may_see_everything_asks_for_all() -> None:
    """Without a question for the names."""
    jobs = LookedAt()
    of_root = authorized(jobs, Rights(grants={Scope(level=Level.GLOBAL): frozenset({Privilege.ADMIN})}))
    of_root.show(None)
    of_root.samples("demo")
    assert jobs.asked == [None, None]
