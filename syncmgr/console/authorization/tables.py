"""Databases, tables, what jobs have done, and queries, as far as one account may use and see them.

Owns: which privilege each call of these ports needs, and what is left out of an answer.
Must not know: statements, sessions, how rights are granted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from syncmgr.accounts.user import Privilege, database, job, table
from syncmgr.console.authorization.access import Access
from syncmgr.console.authorization.checks import has_values, readable
from syncmgr.console.authorization.jobs import AuthorizedJobs
from syncmgr.console.forbidden import named_table
from syncmgr.console.ports import Catalog, History, Queries, Query
from syncmgr.errors import Code, Diagnostic, SyncError
from syncmgr.job.show_sync import WantedRows
from syncmgr.job.types.schema import TargetTable
from syncsql import AlterTable, CreateTable, DropTable, EnableFeature, Name


class AuthorizedCatalog:
    """Databases and tables."""

    def __init__(self, catalog: Catalog, jobs: AuthorizedJobs, access: Access) -> None:
        self._catalog = catalog
        self._jobs = jobs
        self._access = access

    def databases(self) -> list[str]:
        rights = self._access.rights
        return [name for name in self._catalog.databases() if rights.sees(database(name))]

    def create_database(self, name: str, *, if_not_exists: bool) -> tuple[Diagnostic, ...]:
        self._access.need(Privilege.CREATE, database(name))
        return self._catalog.create_database(name, if_not_exists=if_not_exists)

    def drop_database(self, name: str, *, if_exists: bool, force: bool) -> tuple[Diagnostic, ...]:
        self._access.need(Privilege.DROP, database(name))
        with self._jobs.naming_seen():
            return self._catalog.drop_database(name, if_exists=if_exists, force=force)

    def tables(self, db: str) -> list[str]:
        rights = self._access.rights
        return [name for name in self._catalog.tables(db) if rights.sees(table(db, name))]

    def table(self, db: str, name: str) -> TargetTable:
        self._access.need_sight(table(db, name))
        return self._catalog.table(db, name)

    def create_table(self, node: CreateTable, db: str | None) -> tuple[Diagnostic, ...]:
        self._need(Privilege.CREATE, node.table, db)
        return self._catalog.create_table(node, db)

    def alter_table(self, node: AlterTable, db: str | None) -> tuple[Diagnostic, ...]:
        self._need(Privilege.ALTER, node.table, db)
        with self._jobs.naming_seen():
            return self._catalog.alter_table(node, db)

    def enable_feature(self, node: EnableFeature, db: str | None) -> tuple[Diagnostic, ...]:
        self._need(Privilege.ALTER, node.table, db)
        return self._catalog.enable_feature(node, db)

    def drop_table(self, node: DropTable, db: str | None) -> tuple[Diagnostic, ...]:
        self._need(Privilege.DROP, node.table, db)
        with self._jobs.naming_seen():
            return self._catalog.drop_table(node, db)

    def create_table_text(self, db: str, name: str) -> str:
        self._access.need_sight(table(db, name))
        return self._catalog.create_table_text(db, name)

    def _need(self, privilege: Privilege, name: Name, db: str | None) -> None:
        home = name.db or db
        if home is not None:
            self._access.need(privilege, table(home, name.name))


class GuardedHistory:
    """Of the jobs that are seen."""

    def __init__(self, history: History, jobs: AuthorizedJobs, access: Access) -> None:
        self._history = history
        self._jobs = jobs
        self._access = access

    def rows(self, table: str, wanted: WantedRows) -> Sequence[tuple[object, ...]]:
        """The rows of other jobs are not even looked up: their number would show in the time."""
        rights = self._access.rights

        def sees(job_id: int, db: str, name: str) -> bool:
            return rights.sees(job(db, name)) and wanted.job(job_id, db, name)

        rows = self._history.rows(table, replace(wanted, job=sees))
        seen = [row for row in rows if rights.sees(job(str(row[1]), str(row[2])))]
        return [readable(table, row, rights) for row in seen] if has_values(table) else self._jobs.readable(seen)

    def snapshots(self, db: str, name: str, epoch: int | None) -> Mapping[tuple[str, str], int]:
        if not self._access.rights.sees(job(db, name)):
            raise SyncError(Code.UNKNOWN_JOB, job=name, db=db)
        return self._history.snapshots(db, name, epoch)


class GuardedQueries:
    """SELECT_PRIV on every table that a query reads, anywhere in it; a user who has it on none does not reach the
    engine.
    """

    def __init__(self, queries: Queries, access: Access) -> None:
        self._queries = queries
        self._access = access

    def query(self, sql: str, db: str | None, tag: str, *, time_zone: str) -> Query:
        if not self._access.rights.may_somewhere(Privilege.SELECT):
            self._refuse_all(sql)
        refuse = None if self._access.rights.is_admin else self._refuse
        return self._queries.query(sql, db, tag, refuse, time_zone=time_zone)

    def cancel(self, tag: str) -> None:
        self._queries.cancel(tag)

    def _refuse_all(self, sql: str) -> None:
        """With the error of a table that it names, as if only that one were forbidden."""
        name = named_table(sql)
        if name is not None:
            self._access.need(Privilege.SELECT, table("", name))
        raise SyncError(Code.PRIVILEGE_NEEDED, privilege=Privilege.SELECT)

    def _refuse(self, name: tuple[str, str] | None) -> None:
        if name is not None:
            self._access.need(Privilege.SELECT, table(*name))
        elif not self._access.rights.is_admin:
            raise SyncError(Code.PRIVILEGE_NEEDED, privilege=Privilege.ADMIN).saying(NO_GRANT)


NO_GRANT: Final = (
    "; the query reads what no grant can be about: a file, a path, another catalog, a name that is computed, or itself "
    "(WITH RECURSIVE)"
)
