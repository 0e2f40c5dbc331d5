"""What every login does about its failures, whatever the protocol.

Owns: when a login is refused without a check, what is counted, logged and audited of one that failed.
Must not know: packets, passwords.
"""

import logging
import math
import time
from dataclasses import dataclass
from typing import NoReturn

from syncmgr.console.audit import audit
from syncmgr.console.login.throttle import Throttle
from syncmgr.errors import Code, SyncError

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Brake:
    """Of one client on its way in; `host` is its address, `proto` as the audit names its protocol."""

    throttle: Throttle
    most_failures: int
    host: str
    proto: str = "mysql"

    def refuse_for_a_time(self, user: str) -> None:
        """Raises LOGIN_REFUSED."""
        now = time.monotonic()
        left = self.throttle.refused(user, self.host, now=now)
        if not left:
            return
        if self.throttle.is_news(user, self.host, now=now):
            self._audit(user, Code.LOGIN_REFUSED)
        count = self.most_failures
        raise SyncError(Code.LOGIN_REFUSED, user=user, host=self.host, second=math.ceil(left), count=count)

    def delay(self, user: str) -> float:
        """How long the verdict waits."""
        return self.throttle.delay(user, self.host, now=time.monotonic())

    def deny(self, user: str, using: str) -> NoReturn:
        """Raises ACCESS_DENIED. `using`: whether there was a password, YES or NO."""
        count = self.throttle.failed(user, self.host, now=time.monotonic())
        if count & (count - 1) == 0:  # the audit has every one
            log.warning("login of %r from %s failed, %d in a row", user, self.host, count)
        self._audit(user, Code.ACCESS_DENIED)
        raise SyncError(Code.ACCESS_DENIED, user=user, host=self.host, using=using)

    def gave_up(self, user: str) -> None:
        """It left in the middle, where it may have learned that its password was wrong."""
        self.throttle.failed(user, self.host, now=time.monotonic())
        self._audit(user, Code.ACCESS_DENIED, gave_up=True)

    def succeeded(self, user: str) -> None:
        self.throttle.succeeded(user, self.host)

    def _audit(self, user: str, code: Code, *, gave_up: bool = False) -> None:
        audit.login(user=user, host=self.host, error=code.number, gave_up=gave_up, proto=self.proto)
