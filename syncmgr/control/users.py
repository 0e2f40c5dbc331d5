"""Users of the console: what CREATE USER, GRANT and their kin do.

Owns: the accounts in force, in memory and in the metadata, and which changes of them are refused.
Must not know: the wire, statements, the caller.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from syncmgr.accounts import secret
from syncmgr.accounts.user import ALL_RIGHTS, NO_RIGHTS, Account, Privilege, Rights, Scope, refusal
from syncmgr.errors import Code, Diagnostic, SyncError, as_note
from syncmgr.meta.accounts import AccountStore, StoredUser

ROOT: Final = Account(name="root")
MAX_USERS: Final = 1000
LONGEST_NAME: Final = 32  # MySQL's
LONGEST_HOST: Final = 60


class Users:
    """Reads never block; changes do, and are in force when they return. Root has every right and is not stored."""

    def __init__(self, store: AccountStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: Mapping[Account, StoredUser] = {}

    def load(self) -> None:
        """Once, as soon as the metadata is ours."""
        self._known = {user.account: user for user in self._store.all()}

    def find(self, name: str, address: str) -> StoredUser | None:
        """The account that a client of that name and address is."""
        known = self._known  # it may be replaced meanwhile
        fitting = [a for a in known if a.name == name and a.admits(address)]
        return known[max(fitting, key=lambda account: account.precision)] if fitting else None

    def rights(self, account: Account) -> Rights:
        if account == ROOT:
            return ALL_RIGHTS
        user = self._known.get(account)
        return NO_RIGHTS if user is None else Rights(grants=user.grants)

    def kept(self, account: Account) -> str | None:
        """What the password of a stored account is checked against; None: there is no such account."""
        user = self._known.get(account)
        return None if user is None else f"{user.plugin} {user.secret}"

    def accounts(self) -> list[Account]:
        """All, root first."""
        return [ROOT, *sorted(self._known)]

    def plugins(self) -> list[str]:
        return [user.plugin for user in self._known.values()]

    def create(
        self, account: Account, *, password: str | None, plugin: str | None, if_not_exists: bool
    ) -> tuple[Diagnostic, ...]:
        _refuse_root(account)
        with self._lock:
            if account in self._known:
                return as_note(if_not_exists, _failed("CREATE USER", account))
            if len(self._known) >= MAX_USERS:
                raise SyncError(Code.NOT_SUPPORTED, what=f"more than {MAX_USERS} users")
            if not account.name or len(account.name) > LONGEST_NAME or len(account.host) > LONGEST_HOST:
                raise _failed("CREATE USER", account)
            self._put(_with_password(StoredUser(account=account, plugin="", secret="", grants={}), password, plugin))
        return ()

    def alter(
        self, account: Account, *, password: str | None, plugin: str | None, if_exists: bool
    ) -> tuple[Diagnostic, ...]:
        _refuse_root(account)
        with self._lock:
            user = self._known.get(account)
            if user is None:
                return as_note(if_exists, _failed("ALTER USER", account))
            self._put(_with_password(user, password, plugin))
        return ()

    def drop(self, account: Account, *, if_exists: bool) -> tuple[Diagnostic, ...]:
        _refuse_root(account)
        with self._lock:
            if account not in self._known:
                return as_note(if_exists, _failed("DROP USER", account))
            self._store.drop(account)
            self._known = {each: user for each, user in self._known.items() if each != account}
        return ()

    def grant(self, account: Account, privileges: Sequence[Privilege], scope: Scope) -> None:
        for each in privileges:
            if reason := refusal(each, scope):
                raise SyncError(Code.BAD_GRANT, reason=reason)
        with self._lock:
            user = self._existing("GRANT", account)
            self._regrant(user, scope, user.grants.get(scope, frozenset()) | set(privileges))

    def revoke(self, account: Account, privileges: Sequence[Privilege], scope: Scope) -> None:
        with self._lock:
            user = self._existing("REVOKE", account)
            held = user.grants.get(scope, frozenset())
            if not held:
                raise SyncError(Code.NO_SUCH_GRANT, user=account.name, host=account.host)
            self._regrant(user, scope, held - set(privileges))

    def _existing(self, what: str, account: Account) -> StoredUser:
        _refuse_root(account)
        user = self._known.get(account)
        if user is None:
            raise _failed(what, account)
        return user

    def _regrant(self, user: StoredUser, scope: Scope, held: Iterable[Privilege]) -> None:
        grants = {**user.grants, scope: frozenset(held)}
        self._put(replace(user, grants={each: privileges for each, privileges in grants.items() if privileges}))

    def _put(self, user: StoredUser) -> None:
        self._store.put(user)
        self._known = {**self._known, user.account: user}


def _with_password(user: StoredUser, password: str | None, plugin: str | None) -> StoredUser:
    if not password:
        raise SyncError(Code.PASSWORD_NEEDED, user=user.account.name)
    plugin = plugin or user.plugin or secret.SHA2
    if plugin not in secret.PLUGINS:
        raise SyncError(Code.NO_SUCH_PLUGIN, plugin=plugin)
    return replace(user, plugin=plugin, secret=secret.sealed(password, plugin))


def _refuse_root(account: Account) -> None:
    if account.name == ROOT.name:
        raise SyncError(Code.ROOT_IN_CONF)


def _failed(what: str, account: Account) -> SyncError:
    return SyncError(Code.USER_FAILED, what=what, user=str(account))
