"""A frontend as one account sees it.

Owns: which privilege the settings and the accounts need, and all guarded ports together.
Must not know: statements, sessions, how rights are granted.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from syncmgr.accounts.user import Account, Privilege, Rights, Scope
from syncmgr.console.authorization.access import Access
from syncmgr.console.authorization.checks import AuthorizedChecks
from syncmgr.console.authorization.jobs import AuthorizedJobs
from syncmgr.console.authorization.tables import AuthorizedCatalog, GuardedHistory, GuardedQueries
from syncmgr.console.ports import Config, Frontend, Users
from syncmgr.errors import Code, Diagnostic, SyncError

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
        self.checks = AuthorizedChecks(frontend.checks, access)
        self.catalog = AuthorizedCatalog(frontend.catalog, self.jobs, access)
        self.history = GuardedHistory(frontend.history, self.jobs, access)
        self.queries = GuardedQueries(frontend.queries, access)
        self.config = GuardedConfig(frontend.config, access)
        self.users = AuthorizedUsers(frontend.users, access)
