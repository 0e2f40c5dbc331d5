"""The statements about users and what they may do.

Owns: their values and their canonical print. The print holds passwords.
Must not know: how they are parsed, what a privilege allows.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from syncsql.names import clause, quote_name, quote_string, words


@dataclass(frozen=True, kw_only=True, slots=True)
class UserName:
    """'name'@'host'; the host is % if none is named."""

    name: str
    host: str = "%"

    def sql(self) -> str:
        return f"{quote_string(self.name)}@{quote_string(self.host)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Identified:
    """IDENTIFIED [WITH plugin] BY 'password'"""

    password: str = field(repr=False)
    plugin: str | None = None

    def sql(self) -> str:
        plugin = None if self.plugin is None else quote_string(self.plugin)
        return f" IDENTIFIED{clause('WITH', plugin)} BY {quote_string(self.password)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateUser:
    """CREATE USER [IF NOT EXISTS] user [IDENTIFIED ...]"""

    user: UserName
    identified: Identified | None = None
    if_not_exists: bool = False

    def sql(self) -> str:
        text = f"CREATE USER{words((self.if_not_exists, 'IF NOT EXISTS'))} {self.user.sql()}"
        return text + ("" if self.identified is None else self.identified.sql())


@dataclass(frozen=True, kw_only=True, slots=True)
class AlterUser:
    """ALTER USER [IF EXISTS] user IDENTIFIED ..."""

    user: UserName
    identified: Identified
    if_exists: bool = False

    def sql(self) -> str:
        return f"ALTER USER{words((self.if_exists, 'IF EXISTS'))} {self.user.sql()}{self.identified.sql()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class DropUser:
    """DROP USER [IF EXISTS] user"""

    user: UserName
    if_exists: bool = False

    def sql(self) -> str:
        return f"DROP USER{words((self.if_exists, 'IF EXISTS'))} {self.user.sql()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class SetPassword:
    """SET PASSWORD [FOR user] = 'password'; user None: one's own."""

    password: str = field(repr=False)
    user: UserName | None = None

    def sql(self) -> str:
        of = clause("FOR", None if self.user is None else self.user.sql())
        return f"SET PASSWORD{of} = {quote_string(self.password)}"


class GrantLevel(StrEnum):
    """What a grant is about."""

    GLOBAL = "GLOBAL"  # *.*
    DATABASE = "DATABASE"  # db.*
    TABLE = "TABLE"  # db.table
    JOB = "JOB"  # JOB db.job


@dataclass(frozen=True, kw_only=True, slots=True)
class GrantScope:
    """db and name are None if the level has none."""

    level: GrantLevel
    db: str | None = None
    name: str | None = None

    def sql(self) -> str:
        db = "*" if self.db is None else quote_name(self.db)
        name = "*" if self.name is None else quote_name(self.name)
        return f"{'JOB ' * (self.level is GrantLevel.JOB)}{db}.{name}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Grant:
    """GRANT privilege, ... ON scope TO user; privileges in Doris' terms, ALL for every one that the scope can have."""

    privileges: tuple[str, ...]
    on: GrantScope
    user: UserName

    def sql(self) -> str:
        return f"GRANT {', '.join(self.privileges)} ON {self.on.sql()} TO {self.user.sql()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Revoke:
    """REVOKE privilege, ... ON scope FROM user"""

    privileges: tuple[str, ...]
    on: GrantScope
    user: UserName

    def sql(self) -> str:
        return f"REVOKE {', '.join(self.privileges)} ON {self.on.sql()} FROM {self.user.sql()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ShowGrants:
    """SHOW [ALL] GRANTS [FOR user]; user None: one's own, or with ALL those of all users."""

    user: UserName | None = None
    all: bool = False

    def sql(self) -> str:
        return f"SHOW{words((self.all, 'ALL'))} GRANTS{clause('FOR', None if self.user is None else self.user.sql())}"
