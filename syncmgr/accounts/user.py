"""Who may do what.

Owns: accounts, privileges in Doris' terms, what a set of grants allows and what it makes visible.
Must not know: passwords, statements, where any of it is stored.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

EVERYWHERE: Final = "%"
LOOPBACK: Final = ("127.", "::1", "::ffff:127.")
_IN_QUOTES: Final = str.maketrans(
    {"'": "''", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0", "\b": "\\b", "\x1a": "\\Z"}
)


class Privilege(StrEnum):
    """Doris' privileges, as far as they apply here."""

    ADMIN = "ADMIN_PRIV"  # everything, users included
    NODE = "NODE_PRIV"  # the frontend: its settings, its connections
    SELECT = "SELECT_PRIV"  # rows
    LOAD = "LOAD_PRIV"  # sync jobs
    CREATE = "CREATE_PRIV"
    ALTER = "ALTER_PRIV"
    DROP = "DROP_PRIV"


ANYWHERE_ONLY: Final = frozenset({Privilege.ADMIN, Privilege.NODE})
OF_A_JOB: Final = frozenset({Privilege.LOAD})
OF_DATA: Final = frozenset(Privilege) - ANYWHERE_ONLY


class Level(StrEnum):
    """The scope of a grant."""

    GLOBAL = "GLOBAL"
    DATABASE = "DATABASE"
    TABLE = "TABLE"
    JOB = "JOB"


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Scope:
    """`db` and `name` are empty where the level has none. Its text is what follows ON, whatever the names are."""

    level: Level
    db: str = ""
    name: str = ""

    def __str__(self) -> str:
        match self.level:
            case Level.GLOBAL:
                return "*.*"
            case Level.DATABASE:
                return f"{_backquoted(self.db)}.*"
            case Level.TABLE:
                return f"{_backquoted(self.db)}.{_backquoted(self.name)}"
            case Level.JOB:
                return f"JOB {_backquoted(self.db)}.{_backquoted(self.name)}"


def _backquoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


GLOBAL: Final = Scope(level=Level.GLOBAL)


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Account:
    """`host`: a pattern of addresses as in MySQL, or localhost for every address of this machine's loopback. Its
    text is what a statement has, and that of no other account.
    """

    name: str
    host: str = EVERYWHERE

    def __str__(self) -> str:
        return f"'{self.name.translate(_IN_QUOTES)}'@'{self.host.translate(_IN_QUOTES)}'"

    def admits(self, address: str) -> bool:
        if self.host.lower() == "localhost":
            return address.startswith(LOOPBACK)
        parts = {"%": ".*", "_": "."}
        pattern = "".join(parts.get(each, re.escape(each)) for each in self.host)
        return re.fullmatch(pattern, address, re.IGNORECASE) is not None

    @property
    def precision(self) -> tuple[bool, int]:
        """Of two accounts that match an address, the more specific one wins, as in MySQL."""
        return "%" not in self.host and "_" not in self.host, len(self.host.split("%")[0].split("_")[0])


@dataclass(frozen=True, kw_only=True, slots=True)
class Rights:
    """The grants of one account."""

    grants: Mapping[Scope, frozenset[Privilege]]

    def _at(self, scope: Scope, privilege: Privilege) -> bool:
        return privilege in self.grants.get(scope, frozenset())

    @property
    def is_admin(self) -> bool:
        return self._at(GLOBAL, Privilege.ADMIN)

    @property
    def is_operator(self) -> bool:
        """May see and change the frontend itself."""
        return self.is_admin or self._at(GLOBAL, Privilege.NODE)

    def may(self, privilege: Privilege, scope: Scope) -> bool:
        """What is granted on all databases, or on a whole database, applies to everything in it."""
        if self.is_admin or self._at(GLOBAL, privilege) or self._at(scope, privilege):
            return True
        return scope.level is not Level.GLOBAL and self._at(Scope(level=Level.DATABASE, db=scope.db), privilege)

    def may_somewhere(self, privilege: Privilege) -> bool:
        return self.is_admin or any(privilege in granted for granted in self.grants.values())

    def sees(self, scope: Scope) -> bool:
        """A table or job is visible to users with any privilege on it or around it, a database also to users with one
        in it.
        """
        if any(self.may(privilege, scope) for privilege in OF_DATA):
            return True
        return scope.level is Level.DATABASE and any(held.db == scope.db for held in self.grants)


NO_RIGHTS: Final = Rights(grants={})
ALL_RIGHTS: Final = Rights(grants={GLOBAL: frozenset({Privilege.ADMIN})})


def table(db: str, name: str) -> Scope:
    return Scope(level=Level.TABLE, db=db, name=name)


def job(db: str, name: str) -> Scope:
    return Scope(level=Level.JOB, db=db, name=name)


def database(db: str) -> Scope:
    return Scope(level=Level.DATABASE, db=db)


def refusal(privilege: Privilege, scope: Scope) -> str | None:
    """Why a privilege cannot be granted on a scope; None: it can."""
    if privilege in ANYWHERE_ONLY and scope.level is not Level.GLOBAL:
        return f"{privilege} is granted ON *.* alone"
    if scope.level is Level.JOB and privilege not in OF_A_JOB:
        return f"{privilege} cannot be granted on a job; LOAD_PRIV can"
    return None
