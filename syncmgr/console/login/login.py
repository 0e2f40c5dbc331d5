"""The first minute of a connection: greeting, TLS, password.

Owns: the steps of the login; an unknown user takes the same ones as a known one.
Must not know: commands, SQL.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from syncmgr.accounts.user import LOOPBACK, Account
from syncmgr.console.audit import audit
from syncmgr.console.limits import Limits
from syncmgr.console.login.auth import is_empty, new_nonce, xor
from syncmgr.console.login.brake import Brake
from syncmgr.console.login.keys import Key, Keys
from syncmgr.console.login.login_places import LoginPlaces
from syncmgr.console.login.open_verdicts import OpenVerdicts
from syncmgr.console.login.throttle import Throttle
from syncmgr.console.login.tls import Identity
from syncmgr.console.memory import Memory
from syncmgr.console.wire.messages import (
    FAST_AUTH_OK,
    FULL_AUTH,
    PUBLIC_KEY_REQUEST,
    Hello,
    auth_more,
    auth_switch,
    greeting,
    parse_hello,
)
from syncmgr.console.wire.packet import ProtocolError
from syncmgr.console.wire.protocol import OFFERED, SHA2, Capability
from syncmgr.console.wire.stream import PacketStream
from syncmgr.errors import Code, SyncError

LONGEST_NAME: Final = 64  # characters; no name has as many, and the throttle keeps names for a while


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    """What every login needs."""

    keys: Keys
    requires_tls: Callable[[], bool]
    identity: Identity
    limits: Limits
    throttle: Throttle
    open_verdicts: OpenVerdicts
    places: LoginPlaces
    memory: Memory
    admit: Callable[[Account, bool], None]
    """Raises TOO_MANY_CONNECTIONS, TOO_MANY_OF_USER for a connection of an account, which may be a further one."""


class Login:
    """One client on its way in; `host` is its address."""

    def __init__(self, gate: Gate, stream: PacketStream, *, host: str) -> None:
        self._gate = gate
        self._stream = stream
        self._host = host
        self._brake = Brake(throttle=gate.throttle, most_failures=gate.limits.max_login_failures, host=host)
        self._nonce = new_nonce()
        self._awaits_client = False  # which has identified itself, and is to go on
        self._undecided = False  # it knows that its scramble did not match, and its password is being checked
        self._using = "NO"  # whether it had a password

    async def run(self, connection_id: int) -> tuple[Hello, Account]:
        """The handshake response of a client whose password was right, and its account.

        Raises SyncError for what is reported to the client, ProtocolError, ConnectionLost, TimeoutError.
        """
        stream = self._stream
        stream.put(greeting(connection_id=connection_id, nonce=self._nonce, capabilities=OFFERED))
        await stream.flush()
        hello = parse_hello(await self._read())
        if hello.user is None:
            await stream.open(self._gate.identity.context)
            hello = parse_hello(await self._read())
            if hello.user is None:
                raise ProtocolError("TLS was asked for twice")
        else:
            if self._gate.requires_tls():
                raise SyncError(Code.SECURE_TRANSPORT)
            await stream.open(None)
        self._gate.places.spoke(connection_id)
        account = await self.authenticate(hello)
        self.admit(account, further=True)
        return hello, account

    def admit(self, account: Account, *, further: bool) -> None:
        """Raises TOO_MANY_CONNECTIONS, TOO_MANY_OF_USER; the audit has that, since the password was right."""
        try:
            self._gate.admit(account, further)
        except SyncError as error:
            audit.login(user=str(account), host=self._host, error=error.code.number)
            raise

    async def authenticate(self, hello: Hello, *, again: bool = False) -> Account:
        """Returns if the password is right. `again`: a change of user, which has no greeting.

        Raises ACCESS_DENIED, LOGIN_REFUSED. A client that leaves in the middle, where it may have learned that its
        scramble was wrong, has failed, too.
        """
        user = (hello.user or "")[:LONGEST_NAME]
        self._brake.refuse_for_a_time(user)
        try:
            account = await self._verdict(hello, user, again=again)
        except BaseException:
            if self._awaits_client or self._undecided:
                self._brake.gave_up(user)
            raise
        if account is None:
            self._brake.deny(user, self._using)
        self._brake.succeeded(user)
        return account

    async def _verdict(self, hello: Hello, user: str, *, again: bool) -> Account | None:
        """The account, after the throttle's delay, which is the same for a right and a wrong password.

        Raises LOGIN_REFUSED.
        """
        response, plugin = hello.response, hello.plugin
        key = self._gate.keys.find(user, self._host)
        if hello.capabilities & Capability.PLUGIN_AUTH and (plugin != SHA2 or again or plugin not in key.plugins):
            # a client that starts with another plugin than ours waits to be asked for ours
            plugin = plugin if plugin in key.plugins else key.plugins[0]
            response = await self._switch(plugin)
        self._using = "NO" if is_empty(response) else "YES"
        await asyncio.sleep(self._brake.delay(user))
        if plugin == SHA2:
            await self._gate.open_verdicts.has_room(user, self._host)
        self._brake.refuse_for_a_time(user)  # others may have failed meanwhile
        return key.account if await self._is_right(key, user, plugin, response) else None

    async def _is_right(self, key: Key, user: str, plugin: str, response: bytes) -> bool:
        if not key.needs_password or is_empty(response):
            return not key.needs_password and is_empty(response) and self._host.startswith(LOOPBACK)
        right = key.matches(plugin, response, self._nonce)
        if plugin != SHA2:
            return right
        if right:
            self._stream.put(FAST_AUTH_OK)
            return True
        with self._gate.open_verdicts.one(user, self._host):
            return await self._confirm(key)

    async def _switch(self, plugin: str) -> bytes:
        self._nonce = new_nonce()
        self._stream.put(auth_switch(plugin, self._nonce))
        return await self._answer()

    async def _confirm(self, key: Key) -> bool:
        """caching_sha2_password: a scramble that does not match is followed by full authentication, as in MySQL."""
        self._undecided = True
        self._stream.put(FULL_AUTH)
        data = await self._answer()
        if self._stream.cipher() is None:
            data = await self._decrypt(data)
        right = await key.confirm(data.rstrip(b"\0").decode("utf-8", "replace"), self._host)
        self._undecided = False
        return right

    async def _decrypt(self, data: bytes) -> bytes:
        """The password that was sent with RSA; empty if it was not encrypted with our key."""
        if data == PUBLIC_KEY_REQUEST:
            self._stream.put(auth_more(self._gate.identity.public_key))
            data = await self._answer()
        try:
            return xor(await asyncio.to_thread(self._gate.identity.decrypt, data), self._nonce)
        except ValueError:
            return b""

    async def _answer(self) -> bytes:
        self._awaits_client = True
        await self._stream.flush()
        data = await self._read()
        self._awaits_client = False
        return data

    async def _read(self) -> bytes:
        limits = self._gate.limits
        return await self._stream.read(limit=limits.login_packet, idle=limits.connect_timeout)
