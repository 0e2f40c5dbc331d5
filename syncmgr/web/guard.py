"""What every request passes, and every answer gets.

Owns: the refusal of other names, the headers that tell a browser what this page never does.
Must not know: routes, who asks.
"""

from collections.abc import Callable, Collection
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from syncmgr.web.allowed_hosts import may_call

MISDIRECTED: Final = 421
WRONG_HOST: Final = "This frontend is not called by this name; add it to http_hosts in fe.conf if it is.\n"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
HEADERS: Final = (
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)


class Guard:
    """Refuses requests under other names, whatever they ask."""

    def __init__(self, app: ASGIApp, own: Callable[[], Collection[str]]) -> None:
        self._app, self._own = app, own

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS:
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        if scope["type"] == "http" and not may_call(Request(scope).headers.get("host"), self._own()):
            await PlainTextResponse(WRONG_HOST, MISDIRECTED)(scope, receive, guarded)
            return
        if scope["type"] == "http" and scope.get("raw_path"):
            # routes are found by what was sent: a name may contain a slash
            scope = {**scope, "path": scope["raw_path"].decode("ascii", "replace")}
        await self._app(scope, receive, guarded)
