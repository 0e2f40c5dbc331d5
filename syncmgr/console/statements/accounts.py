"""The statements about users.

Owns: what each of them calls on the users' port, and how grants are shown. Everything here blocks.
Must not know: sessions, how accounts are kept.
"""

from collections.abc import Iterable
from typing import Final, TypeAlias, assert_never

from syncmgr.accounts.user import ANYWHERE_ONLY, OF_A_JOB, OF_DATA, Account, Level, Privilege, Rights, Scope
from syncmgr.console.authorization.authorized import AuthorizedUsers
from syncmgr.console.statements.show.show import Listing, listing
from syncmgr.errors import Diagnostic
from syncsql import (
    AlterUser,
    CreateUser,
    DropUser,
    Grant,
    GrantScope,
    Identified,
    Revoke,
    SetPassword,
    ShowGrants,
    UserName,
)

UserStatement: TypeAlias = CreateUser | AlterUser | DropUser | SetPassword | Grant | Revoke
ALL: Final = ("ALL",)


def change(statement: UserStatement, users: AuthorizedUsers, own: Account) -> tuple[Diagnostic, ...]:
    """Further remarks for the client."""
    match statement:
        case CreateUser():
            return users.create(
                account_of(statement.user), **_identified(statement.identified), if_not_exists=statement.if_not_exists
            )
        case AlterUser():
            return users.alter(
                account_of(statement.user), **_identified(statement.identified), if_exists=statement.if_exists
            )
        case SetPassword():
            account = own if statement.user is None else account_of(statement.user)
            return users.alter(account, password=statement.password, plugin=None, if_exists=False)
        case DropUser():
            return users.drop(account_of(statement.user), if_exists=statement.if_exists)
        case Grant():
            scope = _scope(statement.on)
            users.grant(account_of(statement.user), _privileges(statement.privileges, scope), scope)
        case Revoke():
            scope = _scope(statement.on)
            users.revoke(account_of(statement.user), _privileges(statement.privileges, scope), scope)
        case _:
            assert_never(statement)
    return ()


def account_of(name: UserName) -> Account:
    return Account(name=name.name, host=name.host)


def _identified(given: Identified | None) -> dict[str, str | None]:
    if given is None:
        return {"password": None, "plugin": None}
    return {"password": given.password, "plugin": given.plugin}


def _scope(on: GrantScope) -> Scope:
    return Scope(level=Level(on.level.value), db=on.db or "", name=on.name or "")


def _privileges(words: tuple[str, ...], scope: Scope) -> list[Privilege]:
    if words != ALL:
        return [Privilege(word) for word in words]
    match scope.level:
        case Level.JOB:
            return sorted(OF_A_JOB)
        case Level.GLOBAL:
            return sorted(OF_DATA | ANYWHERE_ONLY)
        case Level.DATABASE | Level.TABLE:
            return sorted(OF_DATA)


def show_grants(statement: ShowGrants, users: AuthorizedUsers, own: Account) -> Listing:
    """One account's grants as the statements that would create them, or with ALL those of all visible accounts."""
    account = own if statement.user is None else account_of(statement.user)
    if not statement.all:
        return listing((f"Grants for {account.name}@{account.host}",), _texts(account, users.rights(account)))
    rows = [(str(each), text) for each in users.accounts() for (text,) in _texts(each, users.rights(each))]
    return listing(("User", "Grant"), rows)


def _texts(account: Account, rights: Rights) -> Iterable[tuple[str]]:
    for scope, privileges in sorted(rights.grants.items()):
        yield (f"GRANT {', '.join(sorted(privileges))} ON {scope} TO {account}",)
