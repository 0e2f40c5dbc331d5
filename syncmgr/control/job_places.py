"""How many jobs there may be.

Owns: whether one more is refused.
Must not know: who may create a job, and what it does.
"""

from collections.abc import Callable

from syncmgr.errors import Code, SyncError
from syncmgr.meta.jobs import JobStore


class JobPlaces:
    """Of jobs that are not cancelled: so many in all, and so many of one account."""

    def __init__(self, jobs: JobStore, most: Callable[[], int], most_of_account: Callable[[], int]) -> None:
        self._jobs = jobs
        self._most = most
        self._most_of_account = most_of_account

    def need_one(self, account: str | None) -> None:
        """`account`: None if it may have any number. Raises TOO_MANY_JOBS, TOO_MANY_OF_ACCOUNT."""
        limit = self._most()
        if self._jobs.count_live() >= limit:
            raise SyncError(Code.TOO_MANY_JOBS, limit=limit)
        limit = self._most_of_account()
        if account is not None and self._jobs.count_live(account) >= limit:
            raise SyncError(Code.TOO_MANY_OF_ACCOUNT, account=account, limit=limit)
