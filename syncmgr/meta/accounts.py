"""Accounts and their grants, in SQL.

Owns: reading and writing them, each change in one transaction.
Must not know: what a privilege allows, what a secret is made of.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, delete, insert, select, update

from syncmgr.accounts.user import Account, Level, Privilege, Scope
from syncmgr.errors import Code, SyncError
from syncmgr.meta.tables import GRANTS, USERS

Grants = Mapping[Scope, frozenset[Privilege]]


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredUser:
    """`secret`: the password as accounts/secret.py keeps it, for `plugin`."""

    account: Account
    plugin: str
    secret: str
    grants: Grants


class AccountStore:
    """Safe to use from any thread; every call is one transaction."""

    def __init__(self, engine: Engine, writing: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._engine = engine
        self._writing = writing

    def all(self) -> list[StoredUser]:
        with self._engine.connect() as connection:
            users = connection.execute(select(USERS)).all()
            rows = connection.execute(select(GRANTS)).all()
        granted: dict[Account, dict[Scope, frozenset[Privilege]]] = {}
        for row in rows:
            scope = Scope(level=Level(row.level), db=row.db, name=row.object)
            held = granted.setdefault(Account(name=row.name, host=row.host), {})
            held[scope] = held.get(scope, frozenset()) | {Privilege(row.privilege)}
        accounts = [(row, Account(name=row.name, host=row.host)) for row in users]
        return [
            StoredUser(account=account, plugin=row.plugin, secret=row.secret, grants=granted.get(account, {}))
            for row, account in accounts
        ]

    def put(self, user: StoredUser) -> None:
        """Store a new account, or replace the stored one. Raises META_UNFIT if the database, which may not tell capital
        letters from small ones, takes it for another.
        """
        values = {"plugin": user.plugin, "secret": user.secret}
        name = {"name": user.account.name, "host": user.account.host}
        with self._writing() as connection:
            this = (USERS.c.name == user.account.name) & (USERS.c.host == user.account.host)
            found = connection.execute(select(USERS.c.name, USERS.c.host).where(this)).first()
            if found is None:
                connection.execute(insert(USERS).values(**name, **values))
            elif (found.name, found.host) == (user.account.name, user.account.host):
                connection.execute(update(USERS).where(this).values(**values))
            else:
                other = Account(name=found.name, host=found.host)
                raise SyncError(
                    Code.META_UNFIT, reason=f"it takes account {user.account} for {other}; choose another name"
                )
            connection.execute(
                delete(GRANTS).where(GRANTS.c.name == user.account.name, GRANTS.c.host == user.account.host)
            )
            rows = [
                {**name, "level": scope.level.value, "db": scope.db, "object": scope.name, "privilege": each.value}
                for scope, privileges in user.grants.items()
                for each in sorted(privileges)
            ]
            if rows:
                connection.execute(insert(GRANTS), rows)

    def drop(self, account: Account) -> None:
        with self._writing() as connection:
            for table in (GRANTS, USERS):
                connection.execute(delete(table).where(table.c.name == account.name, table.c.host == account.host))
