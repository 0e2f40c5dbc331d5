"""A login whose password arrives in clear, as over HTTP.

Owns: its steps, which are those of the console: the same accounts, delays and refusals.
Must not know: packets, cookies.
"""

import asyncio
from typing import Final

from syncmgr.accounts.user import LOOPBACK, Account
from syncmgr.console.audit import audit
from syncmgr.console.login.brake import Brake
from syncmgr.console.login.keys import Key
from syncmgr.console.login.login import LONGEST_NAME, Gate

PROTO: Final = "http"


class PasswordLogin:
    """One client on its way in; `host` is its address."""

    def __init__(self, gate: Gate, *, host: str, is_direct: bool) -> None:
        """`is_direct`: nobody has passed the request on, so that the address is the client's."""
        self._gate, self._host, self._is_direct = gate, host, is_direct
        most = gate.limits.max_login_failures
        self._brake = Brake(throttle=gate.throttle, most_failures=most, host=host, proto=PROTO)

    async def run(self, name: str, password: str) -> Account:
        """Returns if the password is right. Raises ACCESS_DENIED, LOGIN_REFUSED."""
        user = name[:LONGEST_NAME]
        self._brake.refuse_for_a_time(user)
        key = self._gate.keys.find(user, self._host)
        await asyncio.sleep(self._brake.delay(user))
        await self._gate.open_verdicts.has_room(user, self._host)
        self._brake.refuse_for_a_time(user)  # others may have failed meanwhile
        with self._gate.open_verdicts.one(user, self._host):
            account = await self._checked(key, user, password)
        self._brake.succeeded(user)
        audit.login(user=str(account), host=self._host, error=None, proto=PROTO)
        return account

    async def _checked(self, key: Key, user: str, password: str) -> Account:
        try:
            right = await self._is_right(key, password)
        except BaseException:
            self._brake.gave_up(user)
            raise
        if not right or key.account is None:
            self._brake.deny(user, "YES" if password else "NO")
        return key.account

    async def _is_right(self, key: Key, password: str) -> bool:
        if not key.needs_password or not password:
            is_open = not key.needs_password and self._is_direct and self._host.startswith(LOOPBACK)
            return is_open and not password
        return await key.confirm(password, self._host)
