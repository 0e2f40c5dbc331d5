"""The rest of the program, as far as one account may use and see it.

Owns: which privilege each call of the ports needs, and what is left out of an answer. Rights are checked at each call,
so GRANT and REVOKE apply at once.
Must not know: statements, sessions, how rights are granted.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from syncmgr.accounts.user import Account, Level, Privilege, Rights, Scope, database, job, table
from syncmgr.console.forbidden import named_table
from syncmgr.console.ports import Catalog, Config, Frontend, History, Jobs, Queries, Query, Users
from syncmgr.console.table_columns import TABLES
from syncmgr.console.told_texts import NAMING, naming_no_job, quotes_value, text_naming_no_job, without_value
from syncmgr.errors import Code, Diagnostic, SyncError
from syncmgr.job.show_sync import WantedRows
from syncmgr.job.types.schema import TargetTable
from syncsql import (
    AddTables,
    Channel,
    CreateSync,
    CreateTable,
    DropTable,
    ExplainSync,
    JobAlteration,
    Name,
    Shards,
    Tables,
)

DEAD_LETTERS: Final = "sync_dead_letters"


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """The caller, its address, and what its account may do now."""

    who: Callable[[], Account]
    host: str
    rights_of: Callable[[Account], Rights]

    @property
    def account(self) -> Account:
        return self.who()

    @property
    def rights(self) -> Rights:
        return self.rights_of(self.account)

    def need(self, privilege: Privilege, scope: Scope) -> None:
        """Raises DATABASE_DENIED or TABLE_DENIED."""
        if self.rights.may(privilege, scope):
            return
        who = {"user": self.account.name, "host": self.host}
        if scope.name:
            word = privilege.value.removesuffix("_PRIV")
            what = "sync job" if scope.level is Level.JOB else "table"
            raise SyncError(Code.TABLE_DENIED, privilege=word, what=what, name=scope.name, **who)
        raise SyncError(Code.DATABASE_DENIED, db=scope.db, **who)

    def need_admin(self) -> None:
        if not self.rights.is_admin:
            raise SyncError(Code.PRIVILEGE_NEEDED, privilege=Privilege.ADMIN)

    def need_operator(self) -> None:
        if not self.rights.is_operator:
            raise SyncError(Code.PRIVILEGE_NEEDED, privilege=f"{Privilege.ADMIN}, {Privilege.NODE}")

    def need_sight(self, scope: Scope) -> None:
        """What one may not see is refused in the same way, whether it exists or not."""
        if not self.rights.sees(scope):
            self.need(Privilege.SELECT, scope)


class AuthorizedJobs:
    """Sync jobs: LOAD_PRIV on the job allows changing one, on the database and its targets creating one. What waits for
    a source is checked again when it has its answers: whoever makes the source knows how long that takes.
    """

    def __init__(self, jobs: Jobs, access: Access) -> None:
        self._jobs = jobs
        self._access = access

    def create(self, node: CreateSync, db: str | None) -> tuple[Diagnostic, ...]:
        allowed = partial(self._need_all, node, db)
        allowed()
        creator, bounded = str(self._access.account), not self._access.rights.is_admin
        with self.naming_seen():
            remarks = self._jobs.create(node, db, creator, bounded=bounded, allowed=allowed)
        hidden = self._hidden() if remarks else ()
        return tuple(replace(each, text=text_naming_no_job(each.text, hidden)) for each in remarks)

    def explain(self, node: ExplainSync, db: str | None) -> list[tuple[str, ...]]:
        """It reports tables and sources, so it needs what CREATE SYNC needs."""
        self._need_all(node.sync, db)
        rows = self._jobs.explain(node, db)
        self._need_all(node.sync, db)
        hidden = self._hidden()
        return [tuple(text_naming_no_job(cell, hidden) for cell in row) for row in rows]

    def _need_all(self, node: CreateSync, db: str | None) -> None:
        home = node.job.db or db
        if home is None:
            return  # the call says that there is none
        self._access.need(Privilege.LOAD, database(home))
        self._need_targets(node.channels, home)

    def _need_targets(self, channels: Iterable[Channel | Tables | Shards], home: str) -> None:
        for channel in channels:
            if isinstance(channel, Tables):
                self._access.need(Privilege.LOAD, database(channel.target_db))
                self._access.need(Privilege.CREATE, database(channel.target_db))
                continue
            self._access.need(Privilege.LOAD, table(channel.target.db or home, channel.target.name))
            if isinstance(channel, Shards):
                self._access.need(Privilege.CREATE, table(channel.target.db or home, channel.target.name))

    def pause(self, name: Name, db: str | None) -> None:
        self._need(name, db)
        self._jobs.pause(name, db)

    def alter(self, node: JobAlteration, db: str | None) -> None:
        allowed = partial(self._need, node.job, db)
        allowed()
        self._jobs.alter(node, db, allowed)

    def add_tables(self, node: AddTables, db: str | None) -> tuple[Diagnostic, ...]:
        allowed = partial(self._need_added, node, db)
        allowed()
        with self.naming_seen():
            return self._jobs.add_tables(node, db, allowed)

    @contextmanager
    def naming_seen(self) -> Iterator[None]:
        """Errors inside name no job that is not seen."""
        try:
            yield
        except SyncError as error:
            if error.code not in NAMING:
                raise
            raise naming_no_job(error, self._hidden()) from error

    def _hidden(self) -> frozenset[str]:
        rights = self._access.rights
        names = () if rights.is_admin else self._jobs.names(None).values()
        return frozenset(f"{db}.{name}" for db, name in names if not rights.sees(job(db, name)))

    def _need_added(self, node: AddTables, db: str | None) -> None:
        self._need(node.job, db)
        home = node.job.db or db
        if home is not None:
            self._need_targets(node.channels, home)

    def resume(self, name: Name, db: str | None) -> None:
        self._need(name, db)
        self._jobs.resume(name, db)

    def stop(self, name: Name, db: str | None) -> tuple[Diagnostic, ...]:
        self._need(name, db)
        return self._jobs.stop(name, db)

    def show(self, db: str | None, ids: Collection[str] | None = None) -> list[tuple[str | None, ...]]:
        rights = self._access.rights
        if rights.is_admin:
            return self._jobs.show(db, ids)
        seen = {job_id for job_id, name in self._jobs.names(db).items() if rights.sees(job(*name))}
        return self.readable([row for row in self._jobs.show(db, seen) if row[0] in seen])

    def readable(self, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Rows that begin with the id of a job, without values of its rows for users who could not read those in its
        targets.
        """
        quoting = {str(row[0]) for row in rows if any(map(quotes_value, row))}
        targets = self._jobs.targets(quoting) if quoting else {}
        may, select = self._access.rights.may, Privilege.SELECT
        hidden = {each for each in quoting if not all(may(select, table(*target)) for target in targets.get(each, ()))}
        return [_without_values(row) if str(row[0]) in hidden else row for row in rows]

    def names(self, db: str | None) -> dict[str, tuple[str, str]]:
        rights = self._access.rights
        return {job_id: name for job_id, name in self._jobs.names(db).items() if rights.sees(job(*name))}

    def create_text(self, name: Name, db: str | None) -> str:
        self._need_sight(name, db)
        return self._jobs.create_text(name, db)

    def _need(self, name: Name, db: str | None) -> None:
        self._need_sight(name, db)
        home = name.db or db
        if home is not None:
            self._access.need(Privilege.LOAD, job(home, name.name))

    def _need_sight(self, name: Name, db: str | None) -> None:
        home = name.db or db
        if home is not None and not self._access.rights.sees(job(home, name.name)):
            raise SyncError(Code.UNKNOWN_JOB, job=name.name, db=home)


def _without_values(row: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(without_value(cell) for cell in row)


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
        return [_readable(row, rights) for row in seen] if table == DEAD_LETTERS else self._jobs.readable(seen)

    def snapshots(self, db: str, name: str, epoch: int | None) -> Mapping[tuple[str, str], int]:
        if not self._access.rights.sees(job(db, name)):
            raise SyncError(Code.UNKNOWN_JOB, job=name, db=db)
        return self._history.snapshots(db, name, epoch)


def _readable(letter: tuple[object, ...], rights: Rights) -> tuple[object, ...]:
    """The values of its row are NULL for users who could not read them in the target."""
    told = dict(zip(TABLES[DEAD_LETTERS], letter, strict=True))
    target = table(str(told["TARGET_SCHEMA"]), str(told["TARGET_TABLE"]))
    hidden = {} if rights.may(Privilege.SELECT, target) else {"COLUMN_VALUE": None, "SOURCE_ROW": None}
    return tuple((told | hidden).values())


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
OF_ADMINISTRATORS: Final = frozenset({"audit_log"})  # audited users do not decide on it


class GuardedConfig:
    """The settings: for NODE_PRIV and ADMIN_PRIV."""

    def __init__(self, config: Config, access: Access) -> None:
        self._config = config
        self._access = access

    def show(self) -> Sequence[tuple[str, ...]]:
        self._access.need_operator()
        return self._config.show()

    def set(self, values: Mapping[str, str]) -> None:
        if OF_ADMINISTRATORS & set(values):
            self._access.need_admin()
        self._access.need_operator()
        self._config.set(values)


class AuthorizedUsers:
    """Accounts: for ADMIN_PRIV; one's own password and grants for every user."""

    def __init__(self, users: Users, access: Access) -> None:
        self._users = users
        self._access = access

    def create(
        self, account: Account, *, password: str | None, plugin: str | None, if_not_exists: bool
    ) -> tuple[Diagnostic, ...]:
        self._access.need_admin()
        return self._users.create(account, password=password, plugin=plugin, if_not_exists=if_not_exists)

    def alter(
        self, account: Account, *, password: str | None, plugin: str | None, if_exists: bool
    ) -> tuple[Diagnostic, ...]:
        if account != self._access.account:
            self._access.need_admin()
        return self._users.alter(account, password=password, plugin=plugin, if_exists=if_exists)

    def drop(self, account: Account, *, if_exists: bool) -> tuple[Diagnostic, ...]:
        self._access.need_admin()
        return self._users.drop(account, if_exists=if_exists)

    def grant(self, account: Account, privileges: Sequence[Privilege], scope: Scope) -> None:
        self._access.need_admin()
        self._users.grant(account, privileges, scope)

    def revoke(self, account: Account, privileges: Sequence[Privilege], scope: Scope) -> None:
        self._access.need_admin()
        self._users.revoke(account, privileges, scope)

    def accounts(self) -> Sequence[Account]:
        """All visible ones: one's own, or every one."""
        return self._users.accounts() if self._access.rights.is_admin else [self._access.account]

    def rights(self, account: Account) -> Rights:
        """Raises NO_SUCH_GRANT for an account that does not exist."""
        if account != self._access.account:
            self._access.need_admin()
        if account not in self._users.accounts():
            raise SyncError(Code.NO_SUCH_GRANT, user=account.name, host=account.host)
        return self._users.rights(account)


class Authorized:
    """A frontend as one account sees it."""

    def __init__(self, frontend: Frontend, access: Access) -> None:
        self.access = access
        self.jobs = AuthorizedJobs(frontend.jobs, access)
        self.catalog = AuthorizedCatalog(frontend.catalog, self.jobs, access)
        self.history = GuardedHistory(frontend.history, self.jobs, access)
        self.queries = GuardedQueries(frontend.queries, access)
        self.config = GuardedConfig(frontend.config, access)
        self.users = AuthorizedUsers(frontend.users, access)
