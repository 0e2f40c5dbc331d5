"""Who asks: by the cookie of the page, or by name and password.

Owns: how a request shows its user, what a request that changes something needs besides.
Must not know: routes, how passwords are checked.
"""

import base64
import binascii
import hmac
import json
import time
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from syncmgr.accounts.user import Account, Rights
from syncmgr.console.calls import Answer, Caller
from syncmgr.errors import Code
from syncmgr.web.answers import Refusal
from syncmgr.web.origins import foreign
from syncmgr.web.ports import Statements, WebUsers
from syncmgr.web.tokens import Session, Tokens

COOKIE: Final = "syncmgr"
TOKEN_HEADER: Final = "x-syncmgr-csrf"  # noqa: S105 - the name of a header
PASSED_ON: Final = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
LONGEST_PASSWORD: Final = 1024
MOST_ROWS: Final = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class House:
    """What a request may ask."""

    statements: Statements
    users: WebUsers
    tokens: Tokens
    body_bytes: int


class Asked:
    """One request, and who has sent it."""

    def __init__(self, request: Request, house: House) -> None:
        self.request, self._house = request, house
        self.session: Session | None = None  # of the page, if it is that
        self._caller: Caller | None = None
        self._kept: str | None = None  # of the account, at the time of the request

    @property
    def caller(self) -> Caller:
        assert self._caller is not None, "a route that needs a user has identified it"
        return self._caller

    @property
    def account(self) -> Account:
        return self.caller.account

    @property
    def rights(self) -> Rights:
        """Now: GRANT and REVOKE apply at once."""
        return self._house.users.rights(self.account)

    def is_still_in(self) -> bool:
        """Whether the login is valid as before: a logout, DROP USER and a new password end it."""
        ended = self.session is not None and self._house.tokens.has_ended(self.session)
        return not ended and self._house.users.kept(self.account) == self._kept

    @property
    def is_secure(self) -> bool:
        return self.request.url.scheme == "https"

    async def identify(self) -> None:
        """Raises Refusal, and what a login raises."""
        text = self.request.cookies.get(cookie_name(self.request))
        session = None if text is None else self._house.tokens.read(text, time.time())
        if session is not None and self._house.users.admits(session.account, self._peer[0]):
            self.session = session
            self._enter(session.account, session.user)
            return
        name, password = _basic(self.request)
        self._enter(await self.log_in(name, password), name)

    def check_origin(self) -> None:
        """Of a request that changes something. Raises Refusal."""
        reason = foreign(self.request.headers)
        if reason is not None:
            raise Refusal(403, reason)
        if self.session is None:
            return  # no other site knows a password
        given = self.request.headers.get(TOKEN_HEADER, "")
        if not hmac.compare_digest(given.encode(), self._house.tokens.of_requests(self.session).encode()):
            raise Refusal(403, f"The header {TOKEN_HEADER} is missing or wrong; GET /api/v1/me says it")

    async def log_in(self, name: str, password: str) -> Account:
        """Raises ACCESS_DENIED, LOGIN_REFUSED, SECURE_TRANSPORT."""
        if len(password) > LONGEST_PASSWORD:
            raise Refusal(400, "The password is too long")
        headers = self.request.headers
        is_direct = not any(each in headers for each in PASSED_ON)
        how = {"is_direct": is_direct, "is_secure": self.is_secure}
        return await self._house.statements.log_in(name, password, address=self._peer[0], **how)

    @property
    def _peer(self) -> tuple[str, int]:
        client = self.request.client
        return ("", 0) if client is None else (client.host, client.port)

    def _enter(self, account: Account, user: str) -> None:
        address, port = self._peer
        self._kept = self._house.users.kept(account)
        cipher = ("TLS", "") if self.is_secure else None
        self._caller = Caller(account=account, user=user, address=address, port=port, cipher=cipher)

    async def body(self) -> dict[str, Any]:
        """Raises Refusal."""
        data = bytearray()
        async for part in self.request.stream():
            data += part
            if len(data) > self._house.body_bytes:
                raise Refusal(413, "The body of the request is longer than http_body_bytes in fe.conf")
        try:
            found = json.loads(bytes(data) or b"{}")
        except (ValueError, RecursionError) as error:
            raise Refusal(400, "The body of the request is no JSON") from error
        if not isinstance(found, dict):
            raise Refusal(400, "The body of the request is no JSON object")
        return found

    async def run(self, sql: str, *, db: str | None = None, most_rows: int = MOST_ROWS) -> Answer:
        """A statement, as the user."""
        return await self._house.statements.run(self.caller, sql, db=db, most_rows=most_rows)

    def renew(self, answer: Response) -> None:
        """Another token for a browser whose token is old."""
        now = time.time()
        if self.session is not None and self._house.tokens.is_old(self.session, now):
            session = self.session
            fresh = Session(account=session.account, user=session.user, begun=session.begun, made=now, key=session.key)
            self.keep(fresh, answer)

    def keep(self, session: Session, answer: Response) -> None:
        text = self._house.tokens.text(session)
        if text is not None:
            name = cookie_name(self.request)
            answer.set_cookie(name, text, httponly=True, samesite="strict", secure=self.is_secure, path="/")


def cookie_name(request: Request) -> str:
    """Cookies of one host are shared by all its ports."""
    prefix = "__Host-" if request.url.scheme == "https" else ""
    server = request.scope.get("server") or ("", 0)
    return f"{prefix}{COOKIE}-{server[1]}"


def _basic(request: Request) -> tuple[str, str]:
    """Raises Refusal."""
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        raise Refusal(401, "This needs a login", Code.ACCESS_DENIED.number)
    try:
        name, colon, password = base64.b64decode(given.strip(), validate=True).decode().partition(":")
    except (ValueError, binascii.Error) as error:
        raise Refusal(400, "The header authorization is no name and password") from error
    if not colon:
        raise Refusal(400, "The header authorization is no name and password")
    return name, password
