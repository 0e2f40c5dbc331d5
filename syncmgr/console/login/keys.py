"""What a login is checked against.

Owns: the account for a name and an address, and whether a password or its scramble is that account's.
Must not know: packets, how accounts are kept.
"""

import hashlib
import hmac
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, Protocol

from syncmgr.accounts.secret import NATIVE, NOBODY, PLUGINS, SHA2, native_digest, opens, sha2_digest
from syncmgr.accounts.user import Account
from syncmgr.console.login.auth import native_matches, sha2_matches
from syncmgr.console.ports import Users
from syncmgr.console.turns import Turns

ROOT: Final = Account(name="root")
CHECKS_AT_ONCE: Final = 2  # checks of full passwords: each takes 32 MiB and a core for about 80 ms
MAX_DIGESTS: Final = 1000
NO_DIGEST: Final = bytes(32)  # compared if there is nothing, so that this takes as long
NO_NATIVE_DIGEST: Final = bytes(20)


class Key(Protocol):
    """What one login must match. `account` None: nothing matches. `needs_password` False: root, as long as it has
    none.
    """

    @property
    def account(self) -> Account | None: ...

    @property
    def plugins(self) -> tuple[str, ...]: ...

    @property
    def needs_password(self) -> bool: ...

    def matches(self, plugin: str, response: bytes, nonce: bytes) -> bool: ...

    async def confirm(self, password: str, address: str) -> bool:
        """In clear, whatever the plugin. `address`: whose turn it takes."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class RootKey:
    """Root's password is in the settings, in clear text: either plugin fits."""

    password: str
    account: Account | None = ROOT
    plugins: tuple[str, ...] = PLUGINS

    @property
    def needs_password(self) -> bool:
        return bool(self.password)

    def matches(self, plugin: str, response: bytes, nonce: bytes) -> bool:
        if plugin == NATIVE:
            return native_matches(response, nonce, native_digest(self.password))
        return sha2_matches(response, nonce, sha2_digest(self.password))

    async def confirm(self, password: str, address: str) -> bool:  # noqa: ARG002 - it takes no time
        return hmac.compare_digest(password.encode(), self.password.encode())


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredKey:
    """An account of CREATE USER, or none at all: then every step takes as long, and nothing matches."""

    account: Account | None
    plugins: tuple[str, ...]
    secret: str
    ring: "Keys"
    needs_password: bool = True

    def matches(self, plugin: str, response: bytes, nonce: bytes) -> bool:
        if plugin not in self.plugins:
            return False
        is_known = self.account is not None
        if plugin == NATIVE:
            digest = bytes.fromhex(self.secret) if is_known else NO_NATIVE_DIGEST
            return native_matches(response, nonce, digest) and is_known
        kept = self.ring.digest(self.secret)
        return sha2_matches(response, nonce, kept or NO_DIGEST) and kept is not None and is_known

    async def confirm(self, password: str, address: str) -> bool:
        if NATIVE in self.plugins:
            kept = NO_NATIVE_DIGEST if self.account is None else bytes.fromhex(self.secret)
            return hmac.compare_digest(native_digest(password), kept) and self.account is not None
        is_right = await self.ring.checks.run(address, lambda: self._check(password))
        if is_right and self.account is not None:
            self.ring.remember(self.secret, sha2_digest(password))
            return True
        return False

    def _check(self, password: str) -> Future[bool]:
        """A client that logs in at the same time as the first one of its account needs no check of its own."""
        if hmac.compare_digest(self.ring.digest(self.secret) or NO_DIGEST, sha2_digest(password)):
            known = Future[bool]()
            known.set_result(True)
            return known
        return self.ring.threads.submit(opens, password, self.secret)


class Keys:
    """The keys of all accounts. Used only on the event loop.

    After an account's first full login the digest that the fast path needs is kept in memory, by its secret: a changed
    password has another one.
    """

    def __init__(self, root_password: Callable[[], str], users: Users, secret: bytes) -> None:
        """`secret`: assigns a plugin to names that do not exist."""
        self._root_password = root_password
        self._users = users
        self._secret = secret
        self._digests: dict[str, bytes] = {}
        self.checks = Turns(CHECKS_AT_ONCE)
        self.threads = ThreadPoolExecutor(CHECKS_AT_ONCE, thread_name_prefix="console-password")

    def find(self, name: str, address: str) -> Key:
        if name == ROOT.name:
            return RootKey(password=self._root_password())
        user = self._users.find(name, address)
        if user is None:
            return StoredKey(account=None, plugins=(self._plugin_of_nobody(name),), secret=NOBODY, ring=self)
        return StoredKey(account=user.account, plugins=(user.plugin,), secret=user.secret, ring=self)

    def _plugin_of_nobody(self, name: str) -> str:
        """Unknown names have each plugin in the same proportion as known ones, and a name keeps its own."""
        plugins = self._users.plugins()
        drawn = int.from_bytes(hmac.digest(self._secret, name.encode(), hashlib.sha256)[:8], "big") / 2**64
        return NATIVE if drawn * len(plugins) < plugins.count(NATIVE) else SHA2

    def digest(self, secret: str) -> bytes | None:
        return self._digests.get(secret)

    def remember(self, secret: str, digest: bytes) -> None:
        while len(self._digests) >= MAX_DIGESTS:
            self._digests.pop(next(iter(self._digests)))
        self._digests[secret] = digest
