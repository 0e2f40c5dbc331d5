"""Reads the statements about users and what they may do.

Owns: their syntax, and which words are privileges.
Must not know: what a privilege allows.
"""

from collections.abc import Callable, Mapping
from typing import Final

from syncsql.reading.cursor import Cursor
from syncsql.reading.lists import take_if_exists, take_if_not_exists
from syncsql.statements.user import (
    AlterUser,
    CreateUser,
    DropUser,
    Grant,
    GrantLevel,
    GrantScope,
    Identified,
    Revoke,
    SetPassword,
    ShowGrants,
    UserName,
)
from syncsql.tokens import Kind

# Doris' names, and MySQL's for the same.
PRIVILEGES: Final[Mapping[str, str]] = {
    "ADMIN_PRIV": "ADMIN_PRIV",
    "NODE_PRIV": "NODE_PRIV",
    "SELECT_PRIV": "SELECT_PRIV",
    "LOAD_PRIV": "LOAD_PRIV",
    "CREATE_PRIV": "CREATE_PRIV",
    "ALTER_PRIV": "ALTER_PRIV",
    "DROP_PRIV": "DROP_PRIV",
    "SELECT": "SELECT_PRIV",
    "CREATE": "CREATE_PRIV",
    "ALTER": "ALTER_PRIV",
    "DROP": "DROP_PRIV",
}


def create_user(at: Cursor) -> CreateUser:
    """After CREATE USER."""
    if_not_exists, user = take_if_not_exists(at), user_name(at)
    identified = _identified(at) if at.sees("IDENTIFIED") else None
    return at.end(CreateUser(user=user, identified=identified, if_not_exists=if_not_exists))


def alter_user(at: Cursor) -> AlterUser:
    """After ALTER USER."""
    if_exists, user = take_if_exists(at), user_name(at)
    return at.end(AlterUser(user=user, identified=_identified(at), if_exists=if_exists))


def drop_user(at: Cursor) -> DropUser:
    """After DROP USER."""
    if_exists = take_if_exists(at)
    return at.end(DropUser(user=user_name(at), if_exists=if_exists))


def set_password(at: Cursor) -> SetPassword:
    """After SET PASSWORD."""
    user = user_name(at) if at.take("FOR") else None
    at.expect_sign("=", "before the password")
    return at.end(SetPassword(user=user, password=at.string("a password")))


def grant(at: Cursor) -> Grant:
    """After GRANT."""
    privileges = _privileges(at)
    at.expect("ON")
    on = _scope(at)
    at.expect("TO")
    return at.end(Grant(privileges=privileges, on=on, user=user_name(at)))


def revoke(at: Cursor) -> Revoke:
    """After REVOKE."""
    privileges = _privileges(at)
    at.expect("ON")
    on = _scope(at)
    at.expect("FROM")
    return at.end(Revoke(privileges=privileges, on=on, user=user_name(at)))


def show_grants(at: Cursor, *, everybody: bool = False) -> ShowGrants:
    """After SHOW [ALL] GRANTS; FOR CURRENT_USER is one's own."""
    if not at.take("FOR"):
        return ShowGrants(all=everybody)
    if not at.take("CURRENT_USER"):
        return ShowGrants(user=user_name(at), all=everybody)
    if at.take_sign("("):
        at.expect_sign(")", "after CURRENT_USER(")
    return ShowGrants(all=everybody)


def user_name(at: Cursor) -> UserName:
    """Name or name@host, each a name or a string."""
    name = _word(at, "a user name")
    return UserName(name=name, host=_word(at, "a host")) if at.take_sign("@") else UserName(name=name)


def _word(at: Cursor, what: str) -> str:
    token = at.peek()
    return at.string(what) if token is not None and token.kind is Kind.STRING else at.identifier(what)


def _identified(at: Cursor) -> Identified:
    at.expect("IDENTIFIED")
    plugin = _word(at, "a plugin") if at.take("WITH") else None
    at.expect("BY")
    return Identified(password=at.string("a password"), plugin=plugin)


def _privileges(at: Cursor) -> tuple[str, ...]:
    if at.take("ALL"):
        at.take("PRIVILEGES")
        return ("ALL",)
    found = [_privilege(at)]
    while at.take_sign(","):
        found.append(_privilege(at))
    return tuple(dict.fromkeys(found))


def _privilege(at: Cursor) -> str:
    word = at.take_any(*PRIVILEGES)
    if word is None:
        raise at.error(f"expected a privilege: ALL, {', '.join(dict.fromkeys(PRIVILEGES.values()))}")
    return PRIVILEGES[word]


def _scope(at: Cursor) -> GrantScope:
    if at.take("JOB"):
        db = at.identifier("a database name")
        at.expect_sign(".", "between database and job")
        return GrantScope(level=GrantLevel.JOB, db=db, name=at.identifier("a job name"))
    if at.take_sign("*"):
        at.expect_sign(".", "in *.*")
        at.expect_sign("*", "in *.*")
        return GrantScope(level=GrantLevel.GLOBAL)
    db = at.identifier("a database name")
    at.expect_sign(".", "after the database")
    if at.take_sign("*"):
        return GrantScope(level=GrantLevel.DATABASE, db=db)
    return GrantScope(level=GrantLevel.TABLE, db=db, name=at.identifier("a table name"))


CREATE: Final[Mapping[str, Callable[[Cursor], CreateUser]]] = {"USER": create_user}
ALTER: Final[Mapping[str, Callable[[Cursor], AlterUser]]] = {"USER": alter_user}
DROP: Final[Mapping[str, Callable[[Cursor], DropUser]]] = {"USER": drop_user}
