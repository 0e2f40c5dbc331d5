"""The routes of the HTTP door.

Owns: which address answers what, with which status.
Must not know: sockets, TLS, threads, who measures.
"""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from syncmgr.errors import SyncError
from syncmgr.job.metrics.sample import Sample
from syncmgr.web.answers import RETRY_SECOND, Refusal, failed, refused
from syncmgr.web.api.overview import seen
from syncmgr.web.api.recent import Recent
from syncmgr.web.api.table import routes
from syncmgr.web.asked import Asked, House
from syncmgr.web.exposition import Exposition, LastTexts
from syncmgr.web.guard import Guard
from syncmgr.web.health import Answer, bootstrap, health, readiness
from syncmgr.web.page import Page
from syncmgr.web.ports import Samples

UNAVAILABLE: Final = 503


@dataclass(frozen=True, kw_only=True, slots=True)
class Choices:
    """Of the operator. `own_hosts`: names by which it may be called; `hides_metrics`: they need a login."""

    query_port: int
    own_hosts: Callable[[], Collection[str]]
    hides_metrics: Callable[[], bool] = lambda: False
    most_streams: int = 24
    log_file: Path = Path("fe.log")


def application(samples: Samples, recent: Recent, house: House, choices: Choices) -> Starlette:
    """Metrics and health answer from the last sample, in the event loop: a slow lake or metadata make none of them
    slow.
    """
    texts = LastTexts()

    async def metrics(request: Request) -> Response:
        sample, accept = samples.last(), request.headers.get("accept", "")
        if choices.hides_metrics():
            asked = Asked(request, house)
            try:
                await asked.identify()
            except Refusal as error:
                return refused(error)
            except SyncError as error:
                return failed(error)
            body, kind = Exposition(_seen_by(asked, sample)).text(accept)
        else:
            body, kind = texts.text(sample, accept, time.monotonic())
        return Response(body, headers={"content-type": kind})

    async def alive(_: Request) -> Response:
        return _as_response(health(samples.last(), time.time()))

    async def ready(_: Request) -> Response:
        return _as_response(readiness(samples.last(), time.time()))

    async def first(_: Request) -> Response:
        return _as_response(bootstrap(choices.query_port))

    served = [
        Route("/metrics", metrics),
        Route("/api/health", alive),
        Route("/api/ready", ready),
        Route("/api/bootstrap", first),
        *Page().routes(),
        *(each.served(house) for each in routes(samples, recent, house.tokens, choices.most_streams, choices.log_file)),
    ]
    return Starlette(routes=served, middleware=[Middleware(Guard, own=choices.own_hosts)])


def _seen_by(asked: Asked, sample: Sample | None) -> Sample | None:
    return None if sample is None else replace(sample, jobs=tuple(seen(sample, asked.rights)))


def _as_response(answer: Answer) -> Response:
    if answer.reason is None:
        return JSONResponse(answer.body)
    return JSONResponse(answer.body, UNAVAILABLE, headers={"retry-after": str(RETRY_SECOND)})
