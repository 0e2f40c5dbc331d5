"""The HTTP server: an event loop in a thread of its own.

Owns: the sockets, start and stop.
Must not know: routes.
"""

import asyncio
import logging
import socket
import ssl
import threading
from collections.abc import Sequence
from functools import partial
from typing import Final, cast

import uvicorn
from starlette.types import ASGIApp

from syncmgr.host.listening import listening_sockets, port_of
from syncmgr.web.connections import USUAL, Bounds, HttpConnection

DRAIN_SECOND: Final = 1  # for answers under way, when it stops
LONGEST_REQUEST: Final = 16 * 1024  # bytes of a request line and its headers
BACKLOG: Final = 128
HINT: Final = "; it is http_port in fe.conf, and 0 opens none"

log = logging.getLogger(__name__)


class HttpServer:
    """start() and stop() once each, from any thread. `identity` None: no TLS; `port` 0: any free one."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Sequence[str],
        port: int,
        identity: ssl.SSLContext | None,
        bounds: Bounds = USUAL,
    ) -> None:
        self._hosts, self.port = hosts, port
        self._sockets = list[socket.socket]()
        config = uvicorn.Config(
            app,
            http=cast("type[asyncio.Protocol]", partial(HttpConnection, bounds=bounds)),
            ws="none",
            lifespan="off",
            loop="asyncio",
            log_config=None,
            log_level="error",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=DRAIN_SECOND,
            h11_max_incomplete_event_size=LONGEST_REQUEST,
            ssl_context_factory=None if identity is None else lambda *_: identity,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)

    @property
    def scheme(self) -> str:
        return "https" if self._server.config.is_ssl else "http"

    def start(self) -> None:
        """Bind, and answer from a thread. Raises PORT_IN_USE."""
        self._sockets = listening_sockets(self._hosts, self.port, backlog=BACKLOG, hint=HINT)
        self.port = port_of(self._sockets)
        self._thread.start()
        log.info("the page and metrics: %s on port %d of %s", self.scheme, self.port, ", ".join(self._hosts))

    def _close(self) -> None:
        for listener in self._sockets:
            listener.close()

    def _run(self) -> None:
        try:
            asyncio.run(self._server.serve(self._sockets))
        except Exception:
            log.exception("HTTP is not served any more")

    def stop(self) -> None:
        """Let answers under way end, and wait for that."""
        if self._thread.is_alive():
            self._server.should_exit = True
            self._thread.join()
        self._close()
