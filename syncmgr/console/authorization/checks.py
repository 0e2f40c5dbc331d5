"""Checks, and values of rows in the history, as far as one account may use and see them.

Owns: which privilege each call needs, and which values are NULL for whom.
Must not know: how rights are granted, how a check runs.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from syncmgr.accounts.user import Privilege, Rights, job, table
from syncmgr.console.authorization.access import Access
from syncmgr.console.ports import Checks
from syncmgr.console.table_columns import TABLES
from syncmgr.errors import Code, SyncError
from syncsql import CheckSync, Name, RepairSync

_VALUES: Final = {
    "sync_dead_letters": ("COLUMN_VALUE", "SOURCE_ROW"),
    "sync_check_rows": ("ROW_KEY", "SOURCE_ROW", "TARGET_ROW"),
}


class AuthorizedChecks:
    """LOAD_PRIV on the job allows checking and repairing it."""

    def __init__(self, checks: Checks, access: Access) -> None:
        self._checks, self._access = checks, access

    def start(self, node: CheckSync, db: str | None) -> int:
        home = node.job.db or db
        if home is not None:
            self._need_jobs([(home, node.job.name)])
        return self._checks.start(node, db)

    def start_targets(self, names: Sequence[Name], db: str | None) -> int:
        for name in names:
            home = name.db or db
            if home is not None:
                self._access.need(Privilege.SELECT, table(home, name.name))
        self._need_jobs(self._checks.jobs_of_targets(names, db))
        return self._checks.start_targets(names, db)

    def stop(self, check_id: int) -> None:
        jobs = self._checks.jobs_of(check_id)
        if not all(self._access.rights.sees(job(*name)) for name in jobs):
            raise SyncError(Code.NO_SUCH_CHECK, id=check_id)
        self._need_jobs(jobs)
        self._checks.stop(check_id)

    def repair(self, node: RepairSync, db: str | None) -> int:
        home = node.job.db or db
        if home is not None:
            self._need_jobs([(home, node.job.name)])
        return self._checks.repair(node, db)

    def outcome(self, check_id: int) -> list[tuple[str, str, str, str]] | None:
        return self._checks.outcome(check_id)

    def _need_jobs(self, names: Iterable[tuple[str, str]]) -> None:
        for db, name in sorted(names):
            if not self._access.rights.sees(job(db, name)):
                raise SyncError(Code.UNKNOWN_JOB, job=name, db=db)
            self._access.need(Privilege.LOAD, job(db, name))


def has_values(name: str) -> bool:
    """Whether a sync_* table has values of rows in columns of their own."""
    return name in _VALUES


def readable(name: str, row: tuple[object, ...], rights: Rights) -> tuple[object, ...]:
    """The values of its row are NULL for users who could not read them in the target."""
    record = dict(zip(TABLES[name], row, strict=True))
    target = table(str(record["TARGET_SCHEMA"]), str(record["TARGET_TABLE"]))
    hidden = {} if rights.may(Privilege.SELECT, target) else dict.fromkeys(_VALUES[name])
    return tuple((record | hidden).values())
