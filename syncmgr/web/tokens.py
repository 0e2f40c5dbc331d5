"""What a browser holds after a login.

Owns: how a token is made and read, when it ends, and the token against requests of other sites.
Must not know: HTTP, passwords, where accounts are kept. Times are unix seconds.
"""

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from syncmgr.accounts.user import Account

RENEW_SHARE: Final = 0.1  # of its life after which a token that is used is replaced
LONGEST_SECOND: Final = 7 * 86400.0  # after which even one that is used ends
MOST_ENDED: Final = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """`begun`: by the login. `made`: the token itself. `key`: of the session, the same in all its tokens."""

    account: Account
    user: str
    begun: float
    made: float
    key: str


class Tokens:
    """Signed, so that they outlive a restart; used in one event loop alone.

    The signature covers what the account's password is checked against: a new password, DROP USER and a later account
    of the same name end all tokens.
    """

    def __init__(self, secret: bytes, keeps: Callable[[Account], str | None], life_second: float) -> None:
        """`keeps`: what the password of an account is checked against, None: there is no such account."""
        self._secret = hmac.digest(secret, b"tokens of the page", hashlib.sha256)
        self._keeps = keeps
        self._life = life_second
        self._ended: dict[str, float] = {}

    def begin(self, account: Account, user: str, now: float) -> Session:
        return Session(account=account, user=user, begun=now, made=now, key=secrets.token_urlsafe(18))

    def text(self, session: Session) -> str | None:
        """None: there is no such account any more."""
        account = session.account
        facts = [account.name, account.host, session.user, session.begun, session.made, session.key]
        body = base64.urlsafe_b64encode(json.dumps(facts).encode()).decode().rstrip("=")
        signed = self._signed(body, account)
        return None if signed is None else f"{body}.{signed}"

    def read(self, text: str, now: float) -> Session | None:
        """None: it is not ours, or not valid any more."""
        body, _, given = text.partition(".")
        try:
            name, host, user, begun, made, key = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
            account = Account(name=name, host=host)
            signed = self._signed(body, account)
        except (ValueError, TypeError, AttributeError, binascii.Error):
            return None
        if signed is None or not hmac.compare_digest(signed.encode(), given.encode()):
            return None
        if not made <= now + 1 or now > made + self._life or now > begun + LONGEST_SECOND or key in self._ended:
            return None
        return Session(account=account, user=user, begun=begun, made=made, key=key)

    def is_old(self, session: Session, now: float) -> bool:
        """Whether the browser should get another token."""
        return now > session.made + self._life * RENEW_SHARE

    def end(self, session: Session, now: float) -> None:
        """None of its tokens is valid any more, as long as this process runs."""
        self._ended = {key: until for key, until in self._ended.items() if until > now}
        while len(self._ended) >= MOST_ENDED:
            self._ended.pop(next(iter(self._ended)))
        self._ended[session.key] = now + self._life

    def has_ended(self, session: Session) -> bool:
        """By a logout."""
        return session.key in self._ended

    def of_requests(self, session: Session) -> str:
        """What each request that changes something has to have: other sites cannot read it."""
        return hmac.digest(self._secret, f"requests {session.key}".encode(), hashlib.sha256).hex()

    def _signed(self, body: str, account: Account) -> str | None:
        kept = self._keeps(account)
        if kept is None:
            return None
        return hmac.digest(self._secret, f"{body} {kept}".encode(), hashlib.sha256).hex()
