"""The routes of the HTTP door.

Owns: which address answers what, with which status.
Must not know: sockets, TLS, threads, who measures.
"""

import time
from collections.abc import Callable, Collection
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from syncmgr.web.allowed_hosts import may_call
from syncmgr.web.exposition import Exposition
from syncmgr.web.health import Answer, bootstrap, health, readiness
from syncmgr.web.ports import Samples

MISDIRECTED: Final = 421
UNAVAILABLE: Final = 503
RETRY_SECOND: Final = 2
WRONG_HOST: Final = "This frontend is not called by this name; add it to http_hosts in fe.conf if it is.\n"


class _Hosts:
    """Refuses requests under other names, whatever they ask."""

    def __init__(self, app: ASGIApp, own: Callable[[], Collection[str]]) -> None:
        self._app, self._own = app, own

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not may_call(Request(scope).headers.get("host"), self._own()):
            refusal = PlainTextResponse(WRONG_HOST, MISDIRECTED)
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)


def application(samples: Samples, query_port: int, own_hosts: Callable[[], Collection[str]]) -> Starlette:
    """Every route answers from the last sample, in the event loop: a slow lake or metadata make none of them slow."""

    async def metrics(request: Request) -> Response:
        body, kind = Exposition(samples.last()).text(request.headers.get("accept", ""))
        return Response(body, headers={"content-type": kind})

    async def alive(_: Request) -> Response:
        return _told(health(samples.last(), time.time()))

    async def ready(_: Request) -> Response:
        return _told(readiness(samples.last(), time.time()))

    async def first(_: Request) -> Response:
        return _told(bootstrap(query_port))

    routes = [
        Route("/metrics", metrics),
        Route("/api/health", alive),
        Route("/api/ready", ready),
        Route("/api/bootstrap", first),
    ]
    return Starlette(routes=routes, middleware=[Middleware(_Hosts, own=own_hosts)])


def _told(answer: Answer) -> Response:
    if answer.reason is None:
        return JSONResponse(answer.body)
    return JSONResponse(answer.body, UNAVAILABLE, headers={"retry-after": str(RETRY_SECOND)})
