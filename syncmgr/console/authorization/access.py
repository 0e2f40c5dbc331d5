"""What one account may do now.

Owns: the refusal of what it may not, in MySQL's errors. Rights are looked up at each check, so GRANT and REVOKE apply
at once.
Must not know: which call needs which privilege, how rights are granted.
"""

from collections.abc import Callable
from dataclasses import dataclass

from syncmgr.accounts.user import Account, Level, Privilege, Rights, Scope
from syncmgr.errors import Code, SyncError


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
